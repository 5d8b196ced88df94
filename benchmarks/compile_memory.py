#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much memory and time heddlec takes for large models, as a table in markdown.

`./dev bench --memory` calls this. Folders of Llamas of several sizes are written with random weights
in bf16, tensor by tensor, compiled, and removed. Memory that a file stands behind (the checkpoint
and the binary, which are mapped) is given back by the system when others need it; "own" is the rest.
"""

import argparse
import json
import random
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

# Layers, width, inner width, heads, heads of keys and values, vocabulary. 8b is Llama 3's.
SIZES = {"0.2b": (16, 1024, 2816, 16, 16, 8192), "1b": (16, 2048, 8192, 32, 8, 32768),
         "3b": (28, 3072, 8192, 24, 8, 32768), "8b": (32, 4096, 14336, 32, 8, 128256)}
PRECISIONS = ["bf16-weights", "int8", "int4"]


def tensors(size):
    layers, width, inner, heads, kv_heads, vocabulary = SIZES[size]
    kv = width // heads * kv_heads
    yield "model.embed_tokens.weight", (vocabulary, width)
    for layer in range(layers):
        at = f"model.layers.{layer}."
        for name, shape in {"self_attn.q_proj": (width, width), "self_attn.k_proj": (kv, width),
                            "self_attn.v_proj": (kv, width), "self_attn.o_proj": (width, width),
                            "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
                            "mlp.down_proj": (width, inner), "input_layernorm": (width,),
                            "post_attention_layernorm": (width,)}.items():
            yield f"{at}{name}.weight", shape
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (vocabulary, width)


def count(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def write_folder(folder, size):
    """Numbers of magnitudes from 2^-7 to 2^-4, of either sign: a block of them again and again."""
    layers, width, inner, heads, kv_heads, vocabulary = SIZES[size]
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(dict(
        model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=vocabulary,
        hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=2048,
        rms_norm_eps=1e-5, rope_theta=1e4, hidden_act="silu", tie_word_embeddings=False,
        attention_bias=False, mlp_bias=False, bos_token_id=1, eos_token_id=2)))
    header, offset = {}, 0
    for name, shape in tensors(size):
        end = offset + 2 * count(shape)
        header[name] = dict(dtype="BF16", shape=shape, data_offsets=[offset, end])
        offset = end
    text = json.dumps(header).encode()
    rng = random.Random(0)
    # An odd number of elements, so that rows differ.
    block = b"".join(struct.pack("<H", rng.choice((0x3c00, 0xbc00)) + rng.randrange(0x180))
                     for _ in range(999_983))
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        while offset > 0:
            file.write(block[:offset])
            offset -= len(block)


def memory(pid):
    """The most that a process has used so far and what is its own now, in MB."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    values = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmHWM", "RssAnon"))}
    return int(values.get("VmHWM", 0)) / 1024, int(values.get("RssAnon", 0)) / 1024


def compile_folder(options, folder, precision):
    """Seconds, the most memory and the most of its own in MB, the binary's size in GB."""
    binary = folder / "model.so"
    begin = time.monotonic()
    process = subprocess.Popen([str(options.heddlec), str(folder), "-o", str(binary),
                                "--precision", precision], stderr=subprocess.DEVNULL)
    most = own = 0
    while process.poll() is None:
        all_now, own_now = memory(process.pid)
        most, own = max(most, all_now), max(own, own_now)
        time.sleep(0.01)
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        sys.exit(f"bench: heddlec ended with exit code {process.returncode}, expected 0")
    return seconds, most, own, binary.stat().st_size / 1e9


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --memory",
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="0.2b,1b,3b", help=f"some of {','.join(SIZES)}")
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--work", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--heddlec", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for size in options.sizes.split(","):
        if size not in SIZES:
            parser.error(f"unknown size '{size}', expected some of {', '.join(SIZES)}")
    print("| parameters | precision | seconds | most memory, MB | of it its own, MB | binary, GB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in options.sizes.split(","):
        folder = options.work / size
        shutil.rmtree(folder, ignore_errors=True)
        needed = 4 * sum(count(shape) for _, shape in tensors(size))
        options.work.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(options.work).free < needed:
            sys.exit(f"bench: {size} needs {needed / 1e9:.0f} GB of disk in '{options.work}'")
        write_folder(folder, size)
        parameters = sum(count(shape) for _, shape in tensors(size))
        for precision in options.precisions.split(","):
            seconds, most, own, gigabytes = compile_folder(options, folder, precision)
            print(f"| {parameters / 1e9:.2f} billion | {precision} | {seconds:.1f} | {most:.0f} | "
                  f"{own:.0f} | {gigabytes:.2f} |", flush=True)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
