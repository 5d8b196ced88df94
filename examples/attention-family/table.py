#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What run measured, as the table of README.md.

    table.py dates HELDOUT.tsv               the lines of a file of ../dates that are dates
    table.py results MODELS OUT NAME...      exact match, parameters, speed, time of compiling

Fails if a model that looks at the source gets less than LEAST of the lines right.
"""

import json
import math
import re
import struct
import sys
from pathlib import Path

DATE = re.compile(r"(\d{4}|-)-\d\d(-\d\d)?")
LEAST = 0.9


def dates(path):
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if DATE.fullmatch(line.split("\t")[1]):
            print(line)


def parameters(path):
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    return sum(math.prod(entry["shape"]) for name, entry in json.loads(data[8:8 + size]).items()
               if name != "__metadata__")


def results(models, out, names):
    wanted = [line.split("\t")[1]
              for line in (out / "dates.tsv").read_text(encoding="utf-8").splitlines()]
    bad = []
    print(f"| model | exact match of {len(wanted)} lines | parameters | steps a second | compiled in |")
    print("|---|---|---|---|---|")
    for name in names:
        found = (out / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        exact = sum(one == other for one, other in zip(found, wanted, strict=True)) / len(wanted)
        steps = json.loads((out / f"{name}.bench").read_text())["tokens_per_s"]
        seconds = int((out / f"{name}.ms").read_text()) / 1000
        print(f"| `{name}` | {100 * exact:.2f} % | {parameters(models / name / 'model.safetensors'):,} "
              f"| {steps:,.0f} | {seconds:.1f} s |")
        if name != "none" and exact < LEAST:
            bad.append(f"{name}: {exact:.4f} exact, expected at least {LEAST}")
    return bad


def main():
    if sys.argv[1] == "dates":
        dates(sys.argv[2])
        return 0
    bad = results(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
    print("\n".join(bad), file=sys.stderr, end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
