#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --python: its rows, from times that are given, and what it refuses."""

import contextlib
import io
import subprocess
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import python  # noqa: E402

# What each run of python_calls.py finds, round by round.
FOUND = {
    ("import",): [{"numpy_ms": 80, "heddle_ms": ms} for ms in (20, 30, 40)],
    ("beside-native",): [{"python_us": 1500, "native_us": 1490}, {"python_us": 1700, "native_us": 1500},
                         {"python_us": 1530, "native_us": 1500}],
    ("one", "heddle"): [{"us": 1500}],
    ("one", "sentence-transformers"): [{"us": us} for us in (9000, 6000, 7500)],
    ("many", "heddle"): [{"load_s": 1, "encode_s": 10}],
    ("many", "sentence-transformers"): [{"load_s": 5, "encode_s": 25}],
    ("translate", "heddle"): [{"tokens_per_s": {"1x1": 200, "8x1": 900}}],
    ("translate", "ctranslate2"): [{"tokens_per_s": {"1x1": 100, "8x1": 600}}],
}


class Replayed:
    """Stands for python.calls()."""

    def __init__(self):
        self.number = {}

    def __call__(self, interpreter, threads, what, *arguments):
        key = (what, *arguments[:1])
        key = key if key in FOUND else (what,)
        number = self.number[key] = self.number.get(key, -1) + 1
        return FOUND[key][number % len(FOUND[key])]


def options(**more):
    return SimpleNamespace(threads=[1], rounds=3, lines=10000, calls=100, cases="1x1,8x1", size="base",
                           build=Path("build"), work=Path("work"), compiled="m.so", model="m", heddlec=Path("h"),
                           **more)


def refusal(*arguments):
    """What the script says about its arguments, and its exit code."""
    done = subprocess.run([sys.executable, "-B", python.__file__, "--build", "b", "--work", "w", *arguments],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()[-1]


class Rows(unittest.TestCase):
    def setUp(self):
        patches = [mock.patch.object(python, "calls", Replayed()),
                   mock.patch.object(python, "native_library", lambda options: "native.so"),
                   mock.patch.object(python, "compiled_random_model", lambda *_: "t.so"),
                   mock.patch.object(python, "pinned", lambda *_, **__: ""),
                   mock.patch.object(python.subprocess, "run")]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def test_beside_cpp(self):
        with mock.patch.object(python, "seconds_of", lambda call: call() or 10.0):
            one, many = python.native_rows(options(), "python", "lines.txt")
        # The median of the differences of a round, not the difference of the medians.
        self.assertEqual(one[1:], (1, "1530 µs", "1500 µs", "+30.0 µs", "+30 µs"))
        # Loading counts: 11 s beside 10.
        self.assertEqual(many[2:5], ("11 s", "10 s", "+10.0 %"))

    def test_beside_other_packages(self):
        one, many = python.sentence_rows(options(), "python", "peer", "lines.txt")
        self.assertEqual(one[2:5], ("1500 µs", "7500 µs", "**5.00x**"))
        # Loading does not count.
        self.assertEqual(many[2:5], ("10 s", "25 s", "**2.50x**"))
        rows = list(python.translation_rows(options(), "python", "peer"))
        self.assertEqual([row[4] for row in rows], ["**2.00x**", "**1.50x**"])

    def test_first_result(self):
        with mock.patch.object(python, "seconds_of", lambda call: call() and 1.5):
            first, imports = python.first_rows(options(), "python", 4.0)
        self.assertEqual(first[2], "5.5 s")
        self.assertEqual(imports[2:4], ("30 ms", "numpy 80 ms"))


class Refusals(unittest.TestCase):
    def test_unknown_engines(self):
        self.assertEqual(refusal("--peers", "torch"), (2, "./dev bench --python: error: unknown engine "
                         "'torch', expected one of sentence-transformers, ctranslate2"))

    def test_numbers(self):
        self.assertEqual(refusal("--calls", "19")[1],
                         "./dev bench --python: error: --calls 19, expected at least 20")
        self.assertEqual(refusal("--lines", "0")[1],
                         "./dev bench --python: error: --lines 0, expected at least 1")

    def test_a_table_of_no_measurement_is_not_written(self):
        failure = subprocess.CalledProcessError(3, ["p", "q"])
        with mock.patch.object(python, "rows_of", side_effect=failure), \
                mock.patch.object(Path, "mkdir"), \
                mock.patch.object(sys, "argv", ["python.py", "--build", "b", "--work", "build", "--write"]), \
                mock.patch.object(python, "write_between") as write, self.assertRaises(SystemExit) as caught, \
                contextlib.redirect_stderr(io.StringIO()):
            python.main()
        self.assertEqual(str(caught.exception), "bench: 'p q' ended with exit code 3, expected 0")
        write.assert_not_called()


if __name__ == "__main__":
    unittest.main()
