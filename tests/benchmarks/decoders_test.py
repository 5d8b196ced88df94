#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --decoders: its table, made with programs that only say how long things take, and the
least times of a model by hand."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import decoders  # noqa: E402

# A step of 32 sequences takes 2 ms, any other 1 ms; a prompt, with its first token, 10 ms.
HEDDLE = """#!/usr/bin/env python3
import sys
def value(name):
    return int(sys.argv[sys.argv.index(name) + 1].split("x")[0])
if sys.argv[1] == "generate":
    print(" ".join(["7"] * 64))
elif sys.argv[1] == "profile":
    print('{"peak_gflops": 100, "bandwidth_gb_per_s": 10}')
else:
    step = 2 if value("--cases") == 32 else 1
    print('{"ms": %d}' % (10 + step * (value("--target-length") - 1)))
"""
HEDDLEC = """#!/usr/bin/env python3
import sys
from pathlib import Path
Path(sys.argv[sys.argv.index("-o") + 1]).write_text("")
"""
# Stands for the python that has llama.cpp: twice as long as Heddle, but for prompts.
PYTHON = """#!/usr/bin/env python3
import sys
from pathlib import Path
if sys.argv[2] == "make":
    (Path(sys.argv[3]) / "heddle").mkdir()
    (Path(sys.argv[3]) / "heddle" / "config.json").write_text("{}")
elif sys.argv[2] == "tokens":
    print('{"prompt": [1, 2], "tokens": [' + ", ".join(["7"] * 60 + ["8"] * 4) + ']}')
else:
    case = sys.argv[sys.argv.index("--cases") + 1]
    print('{"ms": %d}' % {"prompt": 5, "decode-1": 128, "decode-32": 256}[case])
"""


class Decoders(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.work = Path(self.folder.name)
        for name, text in {"heddle": HEDDLE, "heddlec": HEDDLEC, "python": PYTHON}.items():
            (self.work / name).write_text(text)
            (self.work / name).chmod(0o755)

    def run_script(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "benchmarks" / "decoders.py", "--heddle",
             self.work / "heddle", "--heddlec", self.work / "heddlec", "--work", self.work,
             *arguments],
            env=os.environ | {"HEDDLE_PEERS_PYTHON": str(self.work / "python")},
            capture_output=True, text=True)

    def test_the_table(self):
        done = self.run_script("--size", "tiny", "--rounds", "2", "--threads", "1", "--cases",
                               "prompt,decode-1,decode-32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("60 of 64 greedy tokens are the same in both engines", done.stderr)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]]
                for line in done.stdout.splitlines() if line.startswith("| ")]
        self.assertEqual([row[0] for row in rows[2:]], ["prompt", "decode-1", "decode-32"])
        # 512 tokens in 10 ms against 5; 64 steps of 1 ms against 2; 32 sequences the same.
        self.assertEqual([row[6] for row in rows[2:]], ["**0.50x**", "**2.00x**", "**2.00x**"])
        self.assertEqual(rows[3][2], "1000")
        self.assertEqual(rows[4][2], "16000")

    def test_unknown_cases_are_refused(self):
        done = self.run_script("--cases", "prompt,typing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown case 'typing', expected one of prompt, decode-1, ", done.stderr)

    def test_the_least_time(self):
        decoders.SIZES["of hand"] = dict(layers=1, width=10, inner=20, heads=2, kv_heads=1,
                                         vocabulary=30)
        self.addCleanup(decoders.SIZES.pop, "of hand")
        # Queries, keys, values and the output; three of the feed-forward; the vocabulary.
        self.assertEqual(decoders.parameters("of hand"), 100 + 50 + 50 + 100 + 600 + 300)
        options = SimpleNamespace(size="of hand")
        # 4,800 bytes at 1 GB/s; 512 rows of 2,400 operations at 1 GFLOP/s.
        least = decoders.least_ms(options, "decode-1", peak=1, bandwidth=1)
        self.assertAlmostEqual(least, decoders.STEPS * 4800e-6)
        self.assertAlmostEqual(decoders.least_ms(options, "prompt", 1, 1), 512 * 2400e-6)
        self.assertIsNone(decoders.least_ms(options, "prefix-32", 1, 1))


if __name__ == "__main__":
    unittest.main()
