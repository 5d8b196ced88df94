# SPDX-License-Identifier: Apache-2.0
"""The largest difference of the float tensors of two safetensors files; more than a bound is an
error.

usage: compare.py A B BOUND
"""

import array
import json
import pathlib
import struct
import sys


def read(path):
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = array.array("f", data[begin:end])
    return tensors


def main():
    left, right = map(read, sys.argv[1:3])
    if left.keys() != right.keys() or not left:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} have other tensors")
    largest = max(abs(a - b) for name in left for a, b in zip(left[name], right[name], strict=True))
    print(f"largest difference {largest:.1e}")
    sys.exit(0 if largest <= float(sys.argv[3]) else 1)


main()
