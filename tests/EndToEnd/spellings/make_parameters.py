#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes parameters.safetensors, and a link to it for every program of this folder.

One layer, hidden size 24, 3 heads, 32 words; every spelling of attention has the same weights, so
that programs of the same mathematics give the same results. Needs nothing but Python; the same
bytes on every machine.
"""

import json
import pathlib
import random
import struct

HIDDEN = 24
WORDS = 32

# Spread that makes attention prefer some keys without choosing one: scores of a few units.
SHAPES = {
    "word.weight": ([WORDS, HIDDEN], 1.0),
    "query.weight": ([HIDDEN, HIDDEN], 0.4),
    "query.bias": ([HIDDEN], 0.5),
    "key.weight": ([HIDDEN, HIDDEN], 0.4),
    "key.bias": ([HIDDEN], 0.5),
    "value.weight": ([HIDDEN, HIDDEN], 0.3),
    "value.bias": ([HIDDEN], 0.2),
    "output.weight": ([HIDDEN, HIDDEN], 0.3),
    "output.bias": ([HIDDEN], 0.2),
    "norm.weight": ([HIDDEN], 1.0),
    "norm.bias": ([HIDDEN], 0.1),
}


def main():
    folder = pathlib.Path(__file__).resolve().parent
    generator = random.Random(24)
    header, values = {}, b""
    for name, (shape, spread) in SHAPES.items():
        count = 1
        for size in shape:
            count *= size
        tensor = [generator.uniform(-spread, spread) for _ in range(count)]
        data = struct.pack(f"<{count}f", *tensor)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(values), len(values) + len(data)],
        }
        values += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    parameters = folder / "parameters.safetensors"
    parameters.write_bytes(struct.pack("<Q", len(text)) + text + values)
    for program in sorted(folder.glob("*.mlir")):
        link = program.with_suffix(".safetensors")
        link.unlink(missing_ok=True)
        link.symlink_to(parameters.name)


if __name__ == "__main__":
    main()
