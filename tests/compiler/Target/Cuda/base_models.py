# SPDX-License-Identifier: Apache-2.0
"""Models of base size for assembled_kernels.py: oracles with larger numbers in config.json and in the
shapes of tensors. Only the shapes matter to kernels, so weights are zeros in files without blocks on the
disk, but for one number in each, because heddlec computes equal things once."""

import json
import struct

BYTES = {"F32": 4, "BF16": 2, "F16": 2}
# The oracle, what differs in its config.json, and the sizes of its tensors that become others.
MODELS = {
    "bert": ("bert-tiny", {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12,
                           "max_position_embeddings": 512, "vocab_size": 30522},
             {72: 768, 100: 3072, 40: 512, 211: 30522}),
    "modernbert": ("modernbert-tiny", {"hidden_size": 768, "intermediate_size": 1152, "num_attention_heads": 12,
                                       "local_attention": 128, "vocab_size": 50368},
                   {40: 768, 120: 2304, 86: 2304, 43: 1152, 101: 50368}),
    "translator": ("transformer-post", {"d_model": 512, "heads": 8, "d_ff": 2048, "vocab_size": 32000,
                                        "max_positions": 512}, {48: 512, 96: 2048, 61: 32000}),
    "weighted": ("weighted", {"d_model": 512, "heads": 8, "d_ff": 2048, "vocab_size": 32000, "max_positions": 512,
                              "branches": {"count": 8, "ffn": "per-branch"}},
                 {48: 512, 24: 256, 12: 64, 4: 8, 61: 32000}),
    # Gates have as many rows as inner layers in the oracle.
    "averages": ("san-average", {"d_model": 512, "heads": 8, "d_ff": 1024, "vocab_size": 32000,
                                 "max_positions": 512}, {48: 512, 96: 1024, 61: 32000}),
    "t5": ("t5-tiny", {"d_model": 768, "d_ff": 2048, "d_kv": 64, "num_heads": 12, "vocab_size": 32128,
                       "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128},
           {40: 768, 48: 768, 96: 2048, 8: 32, 4: 12, 101: 32128}),
    "gpt2": ("gpt2-tiny", {"n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257},
             {52: 768, 156: 2304, 208: 3072, 64: 1024, 107: 50257}),
    "llama": ("llama-tiny", {"hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 16,
                             "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 32000,
                             "max_position_embeddings": 2048}, {64: 2048, 120: 5632, 16: 512, 109: 32000}),
    "gemma2": ("gemma2-tiny", {"hidden_size": 2304, "intermediate_size": 9216, "num_attention_heads": 8,
                               "num_key_value_heads": 4, "head_dim": 256, "query_pre_attn_scalar": 256,
                               "sliding_window": 4096, "max_position_embeddings": 8192, "vocab_size": 32000},
               {48: 2304, 72: 9216, 28: 1024, 56: 2048, 107: 32000}),
    "qwen3": ("qwen3-tiny", {"hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
                             "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 32000,
                             "max_position_embeddings": 4096},
              {52: 1024, 108: 3072, 20: 128, 40: 1024, 80: 2048, 106: 32000}),
    "mixtral": ("mixtral-tiny", {"hidden_size": 1024, "intermediate_size": 3584, "num_attention_heads": 8,
                                 "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 32000,
                                 "max_position_embeddings": 4096},
                {44: 1024, 48: 1024, 24: 256, 52: 3584, 108: 32000}),
    "lstm": ("recurrent/lstm-general", {"vocab_size": 32000, "d_embed": 512},
             {28: 512, 56: 1024, 112: 2048, 18: 512, 46: 1024, 29: 32000}),
}


def header_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:8 + size])
    tensors.pop("__metadata__", None)
    return tensors


def with_branches(tensors, count):
    """As many branches in each layer as there should be, like its first."""
    found = dict(tensors)
    for name, entry in tensors.items():
        if ".branches.0." in name:
            found |= {name.replace(".branches.0.", f".branches.{branch}."): entry for branch in range(count)}
    return found


def write_model(oracles, name, folder):
    """Writes the model of that name into the folder, which it returns."""
    oracle, changes, sizes = MODELS[name]
    config = json.loads((oracles / oracle / "config.json").read_text())
    for key in ("encoder", "decoder"):
        if isinstance(config.get(key), dict) and "hidden" in config[key]:
            changes = changes | {key: config[key] | {"hidden": sizes[config[key]["hidden"]]}}
    tensors = {}
    for path in sorted((oracles / oracle).glob("model*.safetensors")):
        tensors |= header_of(path)
    if "branches" in changes:
        tensors = with_branches(tensors, changes["branches"]["count"])
    header, end = {}, 0
    for tensor, entry in sorted(tensors.items()):
        shape, size = [sizes.get(extent, extent) for extent in entry["shape"]], BYTES[entry["dtype"]]
        for extent in shape:
            size *= extent
        header[tensor] = {"dtype": entry["dtype"], "shape": shape, "data_offsets": [end, end + size]}
        end += size
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config | changes))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for number, entry in enumerate(header.values()):
            begin, last = entry["data_offsets"]
            file.seek(8 + len(text) + begin)
            # The upper halves of floats from 1 on, one for each tensor.
            half = struct.pack("<H", 0x3F80 + number % 0x400)
            file.write(half if last - begin < 4 or entry["dtype"] != "F32" else b"\0\0" + half)
        file.truncate(8 + len(text) + end)
    return folder
