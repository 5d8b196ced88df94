#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The policies of an analysis as `heddlec --share-attention` takes them: self:2,cross:2.

    policy.py ANALYSIS.json
"""

import json
import sys

# What the analysis calls the decoder's own attention is named after what is shared.
NAMES = {"decoder": "self", "cross": "cross"}

with open(sys.argv[1], encoding="utf-8") as stream:
    kinds = json.load(stream)["kinds"]
print(",".join(f"{NAMES[kind['kind']]}:" + ",".join(map(str, kind["policy"]))
               for kind in kinds if kind["kind"] in NAMES))
