#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench --cluster: what it makes of the calls of two workers, and what it refuses."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import cluster  # noqa: E402

# Loading, then parts of 100 lines: one worker starts two seconds late, and the other one has nothing left at 24.
WORKERS = [
    [(9, 10, 0), (10, 12, 100), (12, 16, 100), (16, 20, 100), (20, 24, 100)],
    [(10, 12, 0), (12, 14, 100), (15, 19, 100), (20, 28, 100)],
]


def workers(times):
    return [[dict(zip(("begin", "end", "lines"), call)) for call in calls] for calls in times]


def refusal(*arguments, cores=None):
    """What the script says about its arguments, and its exit code."""
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run([sys.executable, "-B", cluster.__file__, "--build", "b", "--work", work, *arguments],
                              capture_output=True, text=True, check=False,
                              preexec_fn=lambda: cores and os.sched_setaffinity(0, cores))
    return done.returncode, done.stderr.splitlines()[-1]


def row(job, steady, **more):
    return {"job": job, "start": 3, "steady": steady, "busy": 0.99, "lines": 20000, "rounds": 1, **more}


class Calls(unittest.TestCase):
    def test_steady_time(self):
        begin, end, rate, busy = cluster.steady(workers(WORKERS))
        self.assertEqual((begin, end), (14, 24))
        # Half of a call, two whole ones; a whole one and half of one.
        self.assertAlmostEqual(rate, (50 + 200 + 100 + 50) / 10)
        self.assertAlmostEqual(busy, (10 + 8) / 20)

    def test_the_whole_job(self):
        found = cluster.found_of(workers(WORKERS), 700, 5, 35)
        self.assertEqual((found["job"], found["start"]), (20, 9))

    def test_lines_that_nobody_encoded(self):
        with self.assertRaises(SystemExit) as caught:
            cluster.found_of(workers(WORKERS), 800, 0, 30)
        self.assertEqual(str(caught.exception), "bench: the workers have encoded 700 lines, expected 800")

    def test_one_worker_that_did_all(self):
        with self.assertRaises(SystemExit) as caught:
            cluster.steady(workers(WORKERS[:1]))
        self.assertIn("bench: 1 workers have encoded lines", str(caught.exception))

    def test_too_little_work(self):
        late = [WORKERS[0], [(30, 31, 0), (31, 32, 100)]]
        with self.assertRaises(SystemExit) as caught:
            cluster.steady(workers(late))
        self.assertIn("0.0 s with all of them at work, expected 2 workers and more time", str(caught.exception))


class Encoders(unittest.TestCase):
    def test_calls_are_noted(self):
        sys.path.insert(0, str(ROOT / "benchmarks" / "peers"))
        import timed_encoder
        loaded = SimpleNamespace(load=lambda model: SimpleNamespace(encode=lambda texts: [model] * len(texts)))
        with tempfile.TemporaryDirectory() as log, mock.patch.dict(sys.modules, heddle=loaded), \
                mock.patch.dict(os.environ, HEDDLE_TIMED_ENCODER="heddle", HEDDLE_TIMED_LOG=log):
            self.assertEqual(timed_encoder.shared("m").encode(["a", "b"]), ["m", "m"])
            self.assertIs(timed_encoder.shared("m"), timed_encoder.shared("m"))
            # Loads and does nothing more: not one that takes part.
            Path(log, "1.jsonl").write_text(json.dumps({"begin": 1, "end": 2, "lines": 0}) + "\n", encoding="utf-8")
            calls, = cluster.calls_of(Path(log))
        self.assertEqual([call["lines"] for call in calls], [0, 2])
        self.assertTrue(all(call["begin"] <= call["end"] for call in calls))

    def test_scripts_load_by_the_module_that_times(self):
        with tempfile.TemporaryDirectory() as work:
            options = SimpleNamespace(work=Path(work))
            for _, script in cluster.ENGINES.values():
                text = cluster.timed_script(options, script).read_text(encoding="utf-8")
                self.assertEqual(text.count("import timed_encoder as heddle"), 1)
                self.assertRegex(text, r"heddle\.(load|shared)\(model\)")


class Table(unittest.TestCase):
    def test_ratios_are_to_the_same_engine(self):
        measured = {"dask f32": row(400, 450), "dask sentence-transformers": row(200, 300), "ray f32": row(100, 100),
                    # Of another size: no row.
                    "spark f32": row(1, 1, lines=1000)}
        text = cluster.table(SimpleNamespace(lines=20000, rounds=1), measured)
        self.assertIn("20,000 lines, one round.", text)
        self.assertEqual([line for line in text.splitlines() if line.startswith(("| Ray", "| Dask", "| Spark"))],
                         ["| Ray Data | Heddle f32 | 100 |  | 3.0 | 100 |  | 99% |",
                          "| Dask | Heddle f32 | 400 | **2.00x** | 3.0 | 450 | **1.50x** | 99% |",
                          "| Dask | sentence-transformers f32 | 200 |  | 3.0 | 300 |  | 99% |"])

    def test_a_table_of_no_measurement_is_not_written(self):
        failure = subprocess.CalledProcessError(3, ["p", "q"])
        with tempfile.TemporaryDirectory() as work, mock.patch.object(cluster, "measure", side_effect=failure), \
                mock.patch.object(sys, "argv", ["cluster.py", "--build", "b", "--work", work, "--write"]), \
                mock.patch.object(os, "sched_getaffinity", lambda _: {0, 1}), \
                mock.patch.object(cluster, "write_between") as write, self.assertRaises(SystemExit) as caught, \
                contextlib.redirect_stderr(io.StringIO()):
            cluster.main()
        self.assertEqual(str(caught.exception), "bench: 'p q' ended with exit code 3, expected 0")
        write.assert_not_called()


class Refusals(unittest.TestCase):
    def test_unknown_names(self):
        self.assertEqual(refusal("--engines", "ray,flink"), (2, "./dev bench --cluster: error: unknown name 'flink' in "
                         "--engines, expected one of ray, dask, spark"))
        self.assertEqual(refusal("--encoders", "bf16")[1], "./dev bench --cluster: error: unknown name 'bf16' in "
                         "--encoders, expected one of f32, int8, sentence-transformers")

    def test_numbers(self):
        self.assertEqual(refusal("--lines", "999")[1],
                         "./dev bench --cluster: error: --lines 999, expected at least 1000")
        self.assertEqual(refusal("--rounds", "0")[1],
                         "./dev bench --cluster: error: --rounds 0, expected at least 1")

    def test_one_core(self):
        core = min(os.sched_getaffinity(0))
        self.assertEqual(refusal(cores={core})[1], "./dev bench --cluster: error: this process may use 1 core, "
                         "expected 2, one for each worker")


if __name__ == "__main__":
    unittest.main()
