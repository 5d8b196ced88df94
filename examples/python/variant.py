# SPDX-License-Identifier: Apache-2.0
"""A layer that no paper has, from its formula to its output; HEDDLEC names the compiler.

usage: variant.py FOLDER    the binary goes there"""

import sys

import heddle
import numpy as np

rng = np.random.default_rng(0)
width, heads = 64, 4


def weights(*shape):
    return rng.normal(0, 0.1, shape)


model = heddle.ModelBuilder("gated")
encode = model.entry("encode")
x, rows = encode.input("x", width), encode.segments()
with model.scope("layer.0"):
    query, key, value = (
        encode.split_heads(encode.linear(x, model.parameter(f"{name}.weight", weights(width, width))), heads)
        for name in ("query", "key", "value"))
    # A learned number scales the scores, and each row sees itself and the seven before it.
    scores = encode.contract("thd,khd->thk", query, key, segments=[rows, rows])
    scores = scores * model.parameter("temperature", [0.3])
    seen = encode.mask("from i - 7 to i + 1", rows, rows)
    attention = encode.softmax(encode.select(seen, scores, float("-inf")), rows)
    mixed = encode.contract("thk,khd->thd", attention, value, segments=[rows, rows])
    # A branch with a gate of its own, beside the residual.
    gate = encode.activate("sigmoid", encode.linear(x, model.parameter("gate.weight", weights(width, width))))
    branch = encode.linear(encode.merge_heads(mixed), model.parameter("out.weight", weights(width, width)))
    y = encode.rms_norm(x + gate * branch, model.parameter("norm.weight", np.ones(width)), 1e-6)
encode.output("y", y)

print(model.lowered("fused"))
binary = model.compile(f"{sys.argv[1]}/gated.so")
rows_of_two = [rng.normal(size=(5, width)).astype(np.float32), rng.normal(size=(9, width)).astype(np.float32)]
print([each.shape for each in heddle.load(binary).run(x=rows_of_two)["y"]])
