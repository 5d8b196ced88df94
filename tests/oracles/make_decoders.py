# SPDX-License-Identifier: Apache-2.0
"""Makes gpt2-options/: a random model whose options are those that gpt2-tiny lacks, saved as Hugging
Face transformers saves it, and what it answers, computed in float64 from the stored bfloat16 weights.

    python make_decoders.py FOLDER      needs torch, transformers and safetensors

The same versions give the same files. Prompts have different lengths, are padded on the right, and
each is computed alone. Sequences are prompt and continuation, then -1; what follows an end token
has no meaning.
"""

import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

LENGTHS = [9, 1, 6]
PAD = 0
SEARCHES = {
    "greedy": {"max_new_tokens": 14, "num_beams": 1},
    "beam4": {"max_new_tokens": 10, "num_beams": 4, "length_penalty": 1.0,
              "early_stopping": False, "num_return_sequences": 4},
    "beam5lp": {"max_new_tokens": 8, "num_beams": 5, "length_penalty": 0.6,
                "early_stopping": True, "num_return_sequences": 2},
}


def model():
    torch.manual_seed(3)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=53, n_embd=36, n_layer=3, n_head=3, n_inner=58, n_positions=40,
        activation_function="relu", scale_attn_weights=False,
        scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False, bos_token_id=1,
        eos_token_id=[2, 7], pad_token_id=PAD, layer_norm_epsilon=1e-3,
        attn_implementation="eager"))


def randomize(model):
    """Values large enough that every part of the model shows in the result."""
    for name, parameter in model.named_parameters():
        scale = 0.25 if parameter.dim() == 2 else 0.2
        parameter.data = torch.randn_like(parameter) * scale
        if "ln_" in name and name.endswith("weight"):
            parameter.data += 1


def search(model, prompts, options):
    """The sequences of all prompts, and their scores if there are beams."""
    sequences, scores = [], []
    for prompt in prompts:
        found = model.generate(torch.tensor([prompt]), do_sample=False, output_scores=True,
                               return_dict_in_generate=True, pad_token_id=PAD, **options)
        sequences += found.sequences.tolist()
        scores += found.sequences_scores.tolist() if options["num_beams"] > 1 else []
    longest = max(map(len, sequences))
    padded = [row + [-1] * (longest - len(row)) for row in sequences]
    return torch.tensor(padded, dtype=torch.int32), torch.tensor(scores, dtype=torch.float32)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "gpt2-options"
    folder.mkdir(parents=True, exist_ok=True)
    made = model().eval()
    with torch.no_grad():
        randomize(made)
        made = made.bfloat16()
        made.save_pretrained(folder)
        made = made.double()
        prompts = [torch.randint(8, 53, (n,)).tolist() for n in LENGTHS]
        tensors = {
            "input_ids": torch.tensor([p + [PAD] * (max(LENGTHS) - len(p)) for p in prompts],
                                      dtype=torch.int32),
            "attention_mask": torch.tensor([[int(i < n) for i in range(max(LENGTHS))]
                                            for n in LENGTHS], dtype=torch.int32),
            "logits": torch.zeros(len(prompts), max(LENGTHS), 53)}
        for row, prompt in enumerate(prompts):
            tensors["logits"][row, :len(prompt)] = made(torch.tensor([prompt])).logits[0].float()
        metadata = {"made_with":
                    f"torch {torch.__version__}, transformers {transformers.__version__}"}
        for name, options in SEARCHES.items():
            tensors[f"{name}.sequences"], scores = search(made, prompts, options)
            if options["num_beams"] > 1:
                tensors[f"{name}.scores"] = scores
            metadata[name] = json.dumps(options)
    (folder / "generation_config.json").unlink(missing_ok=True)
    safetensors.torch.save_file(tensors, folder / "expected.safetensors", metadata=metadata)


if __name__ == "__main__":
    main()
