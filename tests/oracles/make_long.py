# SPDX-License-Identifier: Apache-2.0
"""Makes long-texts/: what models answer to texts that are longer than those of their first training, whose
rotary positions depend on the length of a text. The weights are those of phi3-tiny and llama-tiny, with other
configurations; Hugging Face transformers computes in float64, with the frequencies in float32 as always.

    python make_long.py FOLDER      FOLDER has phi3-tiny and llama-tiny; needs torch, transformers and safetensors

The same versions give the same files. Each text is computed alone, by a model that has seen no other.
"""

import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

PAD = 0
# Where the weights are, what is other in config.json, and the lengths of the texts. Frequencies of
# "dynamic" are those of the length itself, so that all texts have one.
MODELS = {
    "longrope": ("phi3-tiny", {
        "max_position_embeddings": 96, "original_max_position_embeddings": 24,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.05, 1.1, 1.3, 1.4, 1.6],
                         "long_factor": [1.0, 1.2, 1.9, 2.7, 3.5, 4.0]}}, [41, 25, 30]),
    "longrope-short": ("phi3-tiny", None, [24, 7, 1]),
    "dynamic": ("llama-tiny", {
        "max_position_embeddings": 20,
        "rope_scaling": {"rope_type": "dynamic", "factor": 3.0}}, [45, 45]),
}


def logits(folder, text):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager").eval()
    return model, model(torch.tensor([text])).logits[0].float()


def expected(folder, vocabulary, lengths, generated):
    texts = [torch.randint(8, vocabulary, (n,)).tolist() for n in lengths]
    most = max(lengths)
    tensors = {
        "input_ids": torch.tensor([t + [PAD] * (most - len(t)) for t in texts], dtype=torch.int32),
        "attention_mask": torch.tensor([[int(i < n) for i in range(most)] for n in lengths],
                                       dtype=torch.int32),
        "logits": torch.zeros(len(texts), most, vocabulary)}
    rows = []
    for row, text in enumerate(texts):
        model, values = logits(folder, text)
        tensors["logits"][row, :len(text)] = values
        if generated:
            rows.append(model.generate(torch.tensor([text]), do_sample=False, pad_token_id=PAD,
                                       max_new_tokens=generated, eos_token_id=None)[0].tolist())
    if generated:
        longest = max(map(len, rows))
        tensors["greedy.sequences"] = torch.tensor(
            [row + [-1] * (longest - len(row)) for row in rows], dtype=torch.int32)
    return tensors


def main():
    base = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(11)
    changes = None
    for name, (weights, given, lengths) in MODELS.items():
        changes = given or changes
        config = json.loads((base / weights / "config.json").read_text())
        config = {k: v for k, v in {**config, **changes}.items() if k != "rope_parameters"}
        folder = base / "long-texts" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        link = folder / "model.safetensors"
        link.symlink_to((base / weights / "model.safetensors").resolve())
        with torch.no_grad():
            tensors = expected(folder, config["vocab_size"], lengths, 12 if name == "longrope" else 0)
        link.unlink()
        safetensors.torch.save_file(tensors, folder / "expected.safetensors", metadata={
            "made_with": f"torch {torch.__version__}, transformers {transformers.__version__}"})


if __name__ == "__main__":
    main()
