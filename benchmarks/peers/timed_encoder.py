# SPDX-License-Identifier: Apache-2.0
"""Stands for the module `heddle` in the scripts of examples/cluster while benchmarks/cluster.py runs them: loads
the encoder that it asks for, and notes when it was loaded and what each call took.

HEDDLE_TIMED_ENCODER is heddle or sentence-transformers. Every process writes a file of its own into the folder
HEDDLE_TIMED_LOG: lines of JSON with the seconds of the clock that the processes of a machine share.
"""

import functools
import json
import os
import time


class Encoder:
    def __init__(self, model):
        begin = time.monotonic()
        if os.environ["HEDDLE_TIMED_ENCODER"] == "heddle":
            import heddle
            self.encoder = heddle.load(model)
        else:
            import torch
            from sentence_transformers import SentenceTransformer
            torch.set_num_threads(1)
            self.encoder = SentenceTransformer(str(model), device="cpu")
        self.note(begin, 0)

    def note(self, begin, lines):
        """Written at once: engines end their workers by signals."""
        line = json.dumps({"begin": begin, "end": time.monotonic(), "lines": lines})
        with open(os.path.join(os.environ["HEDDLE_TIMED_LOG"], f"{os.getpid()}.jsonl"), "a", encoding="utf-8") as file:
            file.write(line + "\n")

    def encode(self, texts):
        begin = time.monotonic()
        rows = self.encoder.encode(texts)
        self.note(begin, len(texts))
        return rows


load = Encoder
shared = functools.cache(Encoder)
