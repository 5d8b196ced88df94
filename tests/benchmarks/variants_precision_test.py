#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --variants --precision: its table, made with programs that only say how long things
take, and what it says about a list that is not one."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import variants_precision  # noqa: E402

# A model of twice the speed, in a precision of four times the speed.
HEDDLE = """#!/usr/bin/env python3
import sys
binary, work = sys.argv[2], sys.argv[4]
ms = 16 / (4 if "int8" in binary else 1) / (2 if "standard" not in binary else 1)
print('{"shape": "%s", "ms": %s}' % (work, ms))
"""
HEDDLEC = """#!/usr/bin/env python3
import sys
from pathlib import Path
if "--help" in sys.argv:
    print("\\nPrecisions of --precision:\\n  f32  x\\n  int8  x\\n\\nPasses")
else:
    Path(sys.argv[sys.argv.index("-o") + 1]).write_text(sys.argv[sys.argv.index("--precision") + 1])
"""


class VariantsPrecision(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.work = Path(self.folder.name)
        for name, text in {"heddle": HEDDLE, "heddlec": HEDDLEC}.items():
            (self.work / name).write_text(text)
            (self.work / name).chmod(0o755)
        for name in ("standard", "weighted", "san"):
            (self.work / name).mkdir()
            (self.work / name / "config.json").write_text("{}")
        self.environment = {**os.environ, "HEDDLE_PEERS_PYTHON": sys.executable}

    def tearDown(self):
        self.folder.cleanup()

    def run_with(self, *words):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "benchmarks" / "variants.py", "--work", self.work,
             "--heddle", self.work / "heddle", "--heddlec", self.work / "heddlec", "--rounds", "1",
             *words], capture_output=True, text=True, check=False, env=self.environment)

    def test_gains_are_those_within_a_precision(self):
        done = self.run_with("--precision", "f32,int8")
        self.assertEqual(done.returncode, 0, done.stderr)
        table = done.stdout[done.stdout.index("| variant"):].splitlines()
        self.assertEqual(table[0], "| variant | case | f32 | int8 |")
        self.assertEqual(len(table), 2 + len(variants_precision.WORKS))
        self.assertEqual(table[2], "| weighted, 6 encoder layers | 1x128 | 8 ms (**2.00x**) | "
                                   "2 ms (**2.00x**) |")
        self.assertEqual(table[-1], "| shared attention | 32x4, 24 tokens | 8 ms (**2.00x**) | "
                                    "2 ms (**2.00x**) |")
        self.assertEqual((self.work / "san" / "model-int8.so").read_text(), "int8")

    def test_unknown_precisions(self):
        done = self.run_with("--precision", "f32,int9")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown precision 'int9', expected one of f32, int8", done.stderr)

    def test_the_page_has_a_place_for_it(self):
        page = variants_precision.PAGE.read_text(encoding="utf-8")
        self.assertEqual(page.count(variants_precision.BEGIN), 1)
        self.assertLess(page.index(variants_precision.BEGIN), page.index(variants_precision.END))


unittest.main()
