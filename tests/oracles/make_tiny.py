# SPDX-License-Identifier: Apache-2.0
"""Makes distilbert-tiny/, roberta-tiny/, albert-tiny/, mpnet-tiny/ and modernbert-tiny/: random models of odd sizes,
saved as Hugging Face transformers saves them, and what they answer, computed in float64 from the stored float32
weights. The config.json of modernbert-tiny/ has the keys of the first folders that were published.

    python make_tiny.py FOLDER      needs torch, transformers and safetensors

The same versions give the same files.
"""

import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

LENGTHS = [13, 1, 8, 5]


def models():
    """Name, model and the id that fills rows after a sequence."""
    torch.manual_seed(1)
    distilbert = transformers.DistilBertConfig(
        vocab_size=173, dim=54, n_layers=2, n_heads=3, hidden_dim=91,
        max_position_embeddings=29, activation="gelu")
    yield "distilbert-tiny", transformers.DistilBertModel(distilbert), 0
    torch.manual_seed(2)
    roberta = transformers.RobertaConfig(
        vocab_size=151, hidden_size=60, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=77, max_position_embeddings=33, type_vocab_size=1,
        hidden_act="gelu_new", layer_norm_eps=1e-5, pad_token_id=1)
    yield "roberta-tiny", transformers.RobertaModel(roberta), 1


    torch.manual_seed(3)
    albert = transformers.AlbertConfig(
        vocab_size=131, embedding_size=23, hidden_size=56, num_hidden_layers=5, num_hidden_groups=2,
        inner_group_num=2, num_attention_heads=4, intermediate_size=71, max_position_embeddings=21)
    yield "albert-tiny", transformers.AlbertModel(albert), 0
    torch.manual_seed(4)
    mpnet = transformers.MPNetConfig(
        vocab_size=119, hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=67, max_position_embeddings=40)
    yield "mpnet-tiny", transformers.MPNetModel(mpnet), 1
    torch.manual_seed(5)
    modernbert = transformers.ModernBertConfig(
        vocab_size=101, hidden_size=40, num_hidden_layers=4, num_attention_heads=4, intermediate_size=43,
        local_attention=6, global_rope_theta=5000.0, local_rope_theta=300.0, global_attn_every_n_layers=3,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    yield "modernbert-tiny", transformers.ModernBertModel(modernbert), 0


def randomize(model):
    """Values large enough that every part of the model shows in the result."""
    for name, parameter in model.named_parameters():
        scale = 0.3 if parameter.dim() == 2 else 0.2
        parameter.data = torch.randn_like(parameter) * scale
        if name.endswith("LayerNorm.weight") or name.endswith("norm.weight"):
            parameter.data += 1


def spell_as_first(path):
    """The keys of transformers 4 in place of those of 5, with the same meaning."""
    config = json.loads(path.read_text(encoding="utf-8"))
    rope = config.pop("rope_parameters")
    config["global_rope_theta"] = rope["full_attention"]["rope_theta"]
    config["local_rope_theta"] = rope["sliding_attention"]["rope_theta"]
    types = config.pop("layer_types")
    config["global_attn_every_n_layers"] = types.index("full_attention", 1)
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def make(folder, model, filler):
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    with torch.no_grad():
        randomize(model)
        model.save_pretrained(folder)
        if model.config.model_type == "modernbert":
            spell_as_first(folder / "config.json")
        mask = torch.tensor([[int(i < n) for i in range(max(LENGTHS))] for n in LENGTHS])
        ids = torch.randint(3, model.config.vocab_size, mask.shape)
        ids = torch.where(mask == 1, ids, torch.tensor(filler))
        result = model.double()(input_ids=ids, attention_mask=mask)
    tensors = {"input_ids": ids.int(), "attention_mask": mask.int(),
               "last_hidden_state": (result.last_hidden_state * mask[:, :, None]).float()}
    if getattr(result, "pooler_output", None) is not None:
        tensors["pooler_output"] = result.pooler_output.float()
    versions = {"made_with": f"torch {torch.__version__}, transformers {transformers.__version__}"}
    safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
                                folder / "expected.safetensors", metadata=versions)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, model, filler in models():
        make(root / name, model, filler)


if __name__ == "__main__":
    main()
