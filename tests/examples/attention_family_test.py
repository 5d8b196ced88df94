#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the committed models and pictures of examples/attention-family promise, read from their files."""

import json
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

FAMILY = Path(__file__).parents[2] / "examples" / "attention-family"
NAMES = ["none", "additive", "general", "local-p", "location"]
# line.txt, and what the models write for it.
LINE, NORMAL = "the third of May, nineteen eighty-four", "1984-05-03"
SVG = "{http://www.w3.org/2000/svg}"


def config(name):
    return json.loads((FAMILY / "models" / name / "config.json").read_text())


class Models(unittest.TestCase):
    def test_all_are_there_and_small(self):
        self.assertEqual(sorted(path.name for path in (FAMILY / "models").iterdir()),
                         sorted(NAMES))
        for name in NAMES:
            size = (FAMILY / "models" / name / "model.safetensors").stat().st_size
            self.assertLessEqual(size, 1_000_000, name)

    def test_they_differ_in_how_they_attend_only(self):
        def common(name):
            decoder = {key: value for key, value in config(name)["decoder"].items()
                       if key not in ("order", "feed")}
            return config(name) | {"decoder": decoder, "attention": None}

        for name in NAMES:
            self.assertEqual(common(name), common("none"), name)
            self.assertEqual((FAMILY / "models" / name / "tokenizer.json").read_bytes(),
                             (FAMILY / "models" / "none" / "tokenizer.json").read_bytes(), name)
        self.assertEqual([config(name)["attention"]["kind"] for name in NAMES],
                         ["none", "additive", "general", "general", "location"])
        self.assertEqual(config("general")["decoder"]["feed"], "attentional")
        self.assertEqual(config("local-p")["attention"]["window"]["kind"], "predictive")

    def test_tokens_of_normal_forms_come_first(self):
        vocabulary = json.loads((FAMILY / "models" / "none" / "tokenizer.json").read_text(
            encoding="utf-8"))["model"]["vocab"]
        self.assertEqual(sorted(vocabulary.values()), list(range(config("none")["vocab_size"])))
        outputs = config("none")["target_vocab_size"]
        self.assertEqual({token for token, number in vocabulary.items() if 4 <= number < outputs},
                         set("0123456789-"))

    def test_each_has_answers_to_compare_with(self):
        for name in NAMES:
            lines = (FAMILY / "models" / name / "greedy.txt").read_text().splitlines()
            self.assertEqual(len(lines), 200, name)


class Pictures(unittest.TestCase):
    def test_words_stand_on_both_axes(self):
        self.assertEqual((FAMILY / "line.txt").read_text(), LINE + "\n")
        for name in NAMES:
            with self.subTest(name):
                root = xml.parse(FAMILY / "pictures" / f"{name}.svg").getroot()
                labels = [text for text in root.iter(SVG + "text")]
                columns = [text.text or "" for text in labels if "transform" in text.attrib]
                rows = [text.text or "" for text in labels if text.get("text-anchor") == "end"]
                self.assertEqual("".join(columns).replace("␣", ""),
                                 LINE.replace(" ", "") + "</s>")
                self.assertEqual("".join(rows), NORMAL + "</s>")
                self.assertGreater(len(list(root.iter(SVG + "title"))), len(rows))


if __name__ == "__main__":
    unittest.main()
