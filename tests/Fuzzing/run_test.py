#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What run.py says of targets that end on their own, with a finding, or by a signal."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import result_of, run  # noqa: E402

TARGET = """#!/bin/sh
echo "#1234 pulse"
{end}
"""


class RunTest(unittest.TestCase):
    def result(self, end, wanted=1234):
        """The result of a target that ends so, and the inputs that it has seen."""
        with tempfile.TemporaryDirectory() as place:
            target = Path(place) / "target"
            target.write_text(TARGET.format(end=end), encoding="utf-8")
            target.chmod(0o755)
            inputs, _, code = run(Path(place), "Some", [str(target), "corpus"], wanted, 60)
            return result_of(code, inputs, wanted, 60, "the log"), inputs

    def test_done(self):
        self.assertEqual(self.result("exit 0"), ("nothing found", 1234))

    def test_stopped(self):
        self.assertEqual(self.result("exit 0", 5000), ("nothing found, stopped after 60 s", 1234))

    def test_finding(self):
        self.assertEqual(self.result("exit 77")[0], "exit code 77, see the log")
        self.assertEqual(self.result("kill -SEGV $$")[0], "exit code -11, see the log")

    def test_interrupted(self):
        for end in ["exit 72", "kill -INT $$", "kill -TERM $$", "exit 130", "exit 143"]:
            self.assertEqual(self.result(end, 5000)[0], "interrupted, nothing found until then", end)


if __name__ == "__main__":
    unittest.main()
