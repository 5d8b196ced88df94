#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the committed models of examples/dates promise, read from their files alone."""

import json
import struct
import unittest
from pathlib import Path

DATES = Path(__file__).parents[2] / "examples" / "dates"


class Model:
    """The files of a model: its config, the types and shapes of its tensors, and their values."""

    def __init__(self, folder):
        self.folder = folder
        self.config = json.loads((folder / "config.json").read_text())
        self.bytes = (folder / "model.safetensors").read_bytes()
        (self.begin,) = struct.unpack("<Q", self.bytes[:8])
        self.tensors = json.loads(self.bytes[8:8 + self.begin])
        self.tensors.pop("__metadata__", None)

    def values(self, name):
        tensor = self.tensors[name]
        assert tensor["dtype"] == "F32", tensor
        begin, end = (8 + self.begin + offset for offset in tensor["data_offsets"])
        return struct.unpack(f"<{(end - begin) // 4}f", self.bytes[begin:end])

    def layers_with(self, part):
        """The decoder layers that have a tensor."""
        return [layer for layer in range(self.config["decoder_layers"])
                if f"decoder.layers.{layer}.{part}" in self.tensors]


class Models(unittest.TestCase):
    def test_all_are_small_and_have_one_tokenizer(self):
        for folder in sorted(DATES.glob("*model")):
            with self.subTest(folder.name):
                self.assertLessEqual(len(Model(folder).bytes), 3_000_000)
                self.assertEqual((folder / "tokenizer.json").read_bytes(),
                                 (DATES / "model" / "tokenizer.json").read_bytes())

    def test_the_shared_model_differs_in_sharing_only(self):
        standard = Model(DATES / "model").config
        shared = Model(DATES / "shared-model").config
        kinds = ["self_attention_sharing", "cross_attention_sharing"]
        self.assertEqual(shared, standard | {kind: shared[kind] for kind in kinds})

    def test_the_weights_of_branches_lie_on_the_simplex(self):
        model = Model(DATES / "weighted-model")
        names = [name for name in model.tensors if name.endswith((".kappa", ".alpha"))]
        layers = model.config["encoder_layers"] + model.config["decoder_layers"]
        self.assertEqual(len(names), 2 * layers)
        for name in names:
            values = model.values(name)
            self.assertEqual(len(values), model.config["branches"]["count"])
            self.assertGreaterEqual(min(values), 0)
            self.assertAlmostEqual(sum(values), 1, places=6)

    def test_a_layer_that_shares_has_no_projections_for_it(self):
        model = Model(DATES / "shared-model")
        for kind, left_out in [("self_attention", ["query", "key"]),
                               ("cross_attention", ["query", "key", "value"])]:
            sizes = model.config[f"{kind}_sharing"]
            self.assertGreater(max(sizes), 1)
            self.assertEqual(sum(sizes), model.config["decoder_layers"])
            begins = [sum(sizes[:block]) for block in range(len(sizes))]
            for part in left_out:
                self.assertEqual(model.layers_with(f"{kind}.{part}.weight"), begins)
            self.assertEqual(len(model.layers_with(f"{kind}.output.weight")), sum(sizes))


if __name__ == "__main__":
    unittest.main()
