# SPDX-License-Identifier: Apache-2.0
"""Makes sentence-dense/ and sentence-modules/: random encoders with the modules that sentence-transformers puts after
them, in its layout, and the embeddings, computed in float64 from the stored float32 weights.

    python make_sentences.py FOLDER      needs torch, transformers and safetensors

The same versions give the same files.
"""

import json
import pathlib
import sys

import safetensors.torch
import torch
import transformers

from make_tiny import LENGTHS, randomize


def dense(inputs, outputs, bias, activation):
    """A module and its configuration."""
    module = torch.nn.Linear(inputs, outputs, bias=bias)
    name = f"{activation.__module__}.{type(activation).__name__}"
    return "Dense", "linear", module, activation, {
        "in_features": inputs, "out_features": outputs, "bias": bias, "activation_function": name}


def norm(width):
    return "LayerNorm", "norm", torch.nn.LayerNorm(width), torch.nn.Identity(), {"dimension": width}


def normalize():
    return "Normalize", "", None, None, None


def pool(states, mask, mode):
    weights = mask[:, :, None].double()
    if mode == "pooling_mode_mean_tokens":
        return (states * weights).sum(1) / weights.sum(1)
    return states.masked_fill(weights == 0, -torch.inf).max(1).values


def save(folder, config, tensors=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    if tensors is not None:
        safetensors.torch.save_file(tensors, folder / "model.safetensors")


def make(folder, place, encoder, mode, modules):
    """`place` is the encoder's path below the folder."""
    encoder.eval()
    listed = [(place, "Transformer"), ("1_Pooling", "Pooling")]
    with torch.no_grad():
        randomize(encoder)
        encoder.save_pretrained(folder / place)
        mask = torch.tensor([[int(i < n) for i in range(max(LENGTHS))] for n in LENGTHS])
        ids = torch.randint(3, encoder.config.vocab_size, mask.shape) * mask
        states = encoder.double()(input_ids=ids, attention_mask=mask).last_hidden_state
        x = pool(states, mask, mode)
        width = x.shape[1]
        for kind, prefix, module, activation, config in modules:
            path = f"{len(listed)}_{kind}"
            listed.append((path, kind))
            if module is None:
                (folder / path).mkdir(parents=True, exist_ok=True)
                x = torch.nn.functional.normalize(x)
                continue
            for parameter in module.parameters():
                parameter.data = torch.randn_like(parameter) * 0.3
            save(folder / path, config, {f"{prefix}.{name}": value for name, value in module.state_dict().items()})
            x = activation(module.double()(x))
    save(folder / "1_Pooling", {"word_embedding_dimension": width, "pooling_mode_cls_token": False,
                                "pooling_mode_mean_tokens": mode == "pooling_mode_mean_tokens",
                                "pooling_mode_max_tokens": mode == "pooling_mode_max_tokens"})
    listed = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
              for i, (path, kind) in enumerate(listed)]
    (folder / "modules.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    metadata = {"made_with": f"torch {torch.__version__}, transformers {transformers.__version__}"}
    safetensors.torch.save_file({"input_ids": ids.int(), "attention_mask": mask.int(), "embedding": x.float()},
                                folder / "expected.safetensors", metadata=metadata)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(31)
    make(root / "sentence-dense", "", transformers.DistilBertModel(transformers.DistilBertConfig(
        vocab_size=67, dim=28, n_layers=1, n_heads=2, hidden_dim=39, max_position_embeddings=17)),
         "pooling_mode_mean_tokens", [dense(28, 37, True, torch.nn.Tanh()), normalize()])
    torch.manual_seed(32)
    make(root / "sentence-modules", "0_Transformer", transformers.ModernBertModel(transformers.ModernBertConfig(
        vocab_size=71, hidden_size=24, num_hidden_layers=1, num_attention_heads=2, intermediate_size=31,
        local_attention=4, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)),
         "pooling_mode_max_tokens", [norm(24), dense(24, 19, False, torch.nn.GELU()), normalize(),
                                     dense(19, 11, True, torch.nn.Identity())])


if __name__ == "__main__":
    main()
