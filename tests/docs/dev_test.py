#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev itself: its help, and what it says about a command that it does not have."""

import subprocess
import unittest
from pathlib import Path

DEV = Path(__file__).resolve().parents[2] / "dev"


def run(*arguments):
    return subprocess.run([DEV, *arguments], capture_output=True, text=True, check=False)


class Dev(unittest.TestCase):
    def test_help(self):
        expected = run("help")
        self.assertEqual(expected.returncode, 0)
        self.assertIn("usage: ./dev COMMAND", expected.stdout)
        self.assertIn("  test", expected.stdout)
        for words in ([], ["--help"], ["-h"]):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected.stdout, ""))

    def test_unknown_commands(self):
        for word, message in [("tset", 'no command "tset", did you mean "test"?'),
                              ("lnit", 'no command "lnit", did you mean "lint"?'),
                              ("--version", 'no command "--version"'),
                              ("frobnicate", 'no command "frobnicate"'),
                              # A part of a command, not one.
                              ("bench_seeds", 'no command "bench_seeds"')]:
            done = run(word)
            self.assertEqual(done.returncode, 2, word)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr, f"dev: {message}\ndev: try './dev help'\n")


unittest.main()
