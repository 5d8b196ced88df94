# SPDX-License-Identifier: Apache-2.0
"""Embed and translate from Python; ./dev demo has compiled the models."""

import heddle
model = heddle.load("build/models/minilm.so", threads=2)
vectors = model.encode(["Where is the cat?", "It sits on the mat."])          # float32 [2, 384]
dates = heddle.load("build/examples/dates/model.so")
print(dates.translate(["zwölfter 3. 2021"], beam=4)[0][0].text)
