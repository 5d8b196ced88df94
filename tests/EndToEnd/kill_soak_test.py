#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What kill_soak.py makes of programs that end as they should, and as they should not."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# Answers after a while, whole or not at all; `trap` says what becomes of signals. What is not
# finished is beside the program.
PROGRAM = """#!/bin/sh
{trap}
sleep 0.02 & wait
for last; do :; done
case "$*" in
  *--output*) echo answer > "$0.$$" && mv "$0.$$" "$last" ;;
  *) echo answer ;;
esac
"""


class KillSoakTest(unittest.TestCase):
    def soak(self, trap=""):
        """The exit code and the output for a program that ends so."""
        with tempfile.TemporaryDirectory() as place:
            program = Path(place) / "program"
            program.write_text(PROGRAM.format(trap=trap), encoding="utf-8")
            program.chmod(0o755)
            source = Path(place) / "input.txt"
            source.write_text("a line\n", encoding="utf-8")
            soak = Path(__file__).with_name("kill_soak.py")
            run = subprocess.run([sys.executable, soak, "--heddle", str(program), "--model", "none",
                                  "--input", str(source), "--seconds", "2"],
                                 stdout=subprocess.PIPE, text=True, check=False)
        return run.returncode, run.stdout

    def test_a_program_that_dies_of_the_signal(self):
        code, output = self.soak()
        self.assertEqual(code, 0, output)
        self.assertIn(" 0 findings", output)

    def test_a_program_that_ends_with_a_code_of_its_own(self):
        code, output = self.soak(trap="trap 'exit 1' TERM INT HUP")
        self.assertEqual(code, 1)
        self.assertRegex(output, "exit code 1, expected -(1|2|15) or 0")

    def test_a_program_that_says_it_is_done_and_is_not(self):
        code, output = self.soak(trap="trap 'exit 0' TERM INT HUP")
        self.assertEqual(code, 1)
        self.assertIn("ended with 0", output)


if __name__ == "__main__":
    unittest.main()
