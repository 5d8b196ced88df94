#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many lines each model gets right; the last one, trained as it is run, must get nearly all.

    exact.py HELDOUT.tsv FOUND.txt...
"""

import sys
from pathlib import Path

LEAST = 0.95

wanted = [line.split("\t")[1] for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
share = 0.0
for name in sys.argv[2:]:
    found = Path(name).read_text(encoding="utf-8").splitlines()
    right = sum(line == want for line, want in zip(found, wanted))
    share = right / len(found)
    print(f"{Path(name).stem}: {right} of {len(found)} lines exact")
sys.exit(0 if share >= LEAST else 1)
