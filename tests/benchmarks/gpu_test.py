#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev gpu: the whole run on the emulated GPU, and what it says where results are wrong.

usage: gpu_test.py BUILD
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from array import array
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "gpu.py"
BUILD = Path(sys.argv.pop()).resolve()
sys.path.insert(0, str(SCRIPT.parent))
import gpu  # noqa: E402
# Runs a program, and changes what the GPU gave: the last number of the first tensor, or that of
# every sentence that is alone.
DAMAGING = """#!/bin/sh
"$0.real" "$@" || exit $?
case "$*" in *"--device cuda"*) ;; *) exit 0 ;; esac
case "$1" in run) ;; *) exit 0 ;; esac
exec python3 - "$6" <<'END'
import json, struct, sys
path = sys.argv[1]
found = open(path, "rb").read()
size = struct.unpack("<Q", found[:8])[0]
header = json.loads(found[8:8 + size])
first = next(name for name in header if name != "__metadata__")
isAlone = header[first]["shape"][0] == 1
if WHEN:
    end = 8 + size + header[first]["data_offsets"][1]
    value = struct.unpack("<f", found[end - 4:end])[0]
    found = found[:end - 4] + struct.pack("<f", value + BY) + found[end:]
    open(path, "wb").write(found)
END
"""


# Stands for compute-sanitizer, with `--tool KIND --error-exitcode 9 PROGRAM ...`. What it would watch is run elsewhere.
SANITIZER = """#!/bin/sh
case "$2 $*" in racecheck*bert-tiny-tf32.so*) echo "a hazard" >&2; exit 9 ;; esac
"""


def code_folder():
    """The code of kernels that other tests have compiled with the same compilers (CompiledModel.cpp)."""
    files = [(BUILD / path).stat() for path in ("bin/heddlec", "tests/heddlec-emulated")]
    version = "-".join(f"{file.st_mtime_ns // 10**9}-{file.st_mtime_ns % 10**9}-{file.st_size}" for file in files)
    return BUILD / "tests" / "code" / version


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.made = Path(cls.temporary.name) / "made"
        compiler = BUILD / "tests" / "heddlec-emulated"
        cls.run_script("make", cls.made, "--heddlec", compiler, "--heddle", BUILD / "bin" / "heddle", "--models",
                       "bert-tiny", "--emulated", compiler, "--emulator", BUILD / "tests" / "emulator",
                       "--small", "--model", ROOT / "tests" / "oracles" / "bert-tiny", "--code-cache", code_folder())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @staticmethod
    def run_script(*arguments, gpu=True, programs=None):
        environment = dict(os.environ)
        if programs:
            environment["PATH"] = f"{programs}:{environment['PATH']}"
        environment.pop("LD_LIBRARY_PATH", None)
        if gpu:
            environment["LD_LIBRARY_PATH"] = str(BUILD / "tests" / "emulator")
        return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], text=True,
                              capture_output=True, env=environment, check=False)

    def damaged(self, when, by, models):
        folder = Path(self.temporary.name) / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.made, folder)
        for path in folder.glob("*.safetensors"):
            if path.stem not in models:
                path.unlink()
        (folder / "heddle").rename(folder / "heddle.real")
        (folder / "heddle").write_text(DAMAGING.replace("WHEN", when).replace("BY", str(by)))
        (folder / "heddle").chmod(0o755)
        return self.run_script("run", folder, "--no-speed", "--no-goals")

    def test_all_agrees(self):
        programs = Path(self.temporary.name) / "programs"
        programs.mkdir()
        (programs / "compute-sanitizer").write_text(SANITIZER)
        (programs / "compute-sanitizer").chmod(0o755)
        done = self.run_script("run", self.made, "--no-speed", "--small", programs=programs)
        # It finds an error in one of the models.
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "(?m)^gpu: compute-sanitizer racecheck, bert-tiny-tf32: .*a hazard")
        for model in ("bert-tiny", "bert-tiny-bf16", "bert-tiny-int4"):
            for tool in ("memcheck", "racecheck", "synccheck"):
                self.assertIn(f"compute-sanitizer {tool}, {model}: nothing found", done.stdout)
        self.assertIn("compute-sanitizer racecheck, bert-tiny-tf32: failed", done.stdout)
        self.assertIn("emulated, compute capability 9.0", done.stdout)
        # What is measured means nothing here, but all of it is there.
        rate = r"\d[\d.e+-]* T"
        self.assertRegex(done.stdout, rf"At best, measured: f32 {rate}FLOP/s, memory {rate}B/s, "
                                      rf"bf16 {rate}FLOP/s, tf32 {rate}FLOP/s, integers {rate}FLOP/s\.\n")
        self.assertRegex(done.stdout, r"\| bert-tiny \| \d\.\de-0\d \| 4 of 4 \| same bits \|")
        # Products and attention of bf16 have kernels of their own on Hopper.
        for name in ("bert-tiny-bf16", "bert-tiny-bf16, sm_80", "bert-tiny-tf32", "bert-tiny-tf32x3",
                     "bert-tiny-int4"):
            self.assertRegex(done.stdout, rf"\| {name} \| \d\.\de-0\d \| 32 of 32 \| same bits \|")
        self.assertIn("target sm_90a", done.stdout)
        number = r"\d[\d.e+-]*"
        for line in (rf"product 96 x 64 x 96, with bias \| {number} TFLOP/s \| not measured \| 0.9 of cuBLAS "
                     rf"\| not measured \|",
                     rf"attention, 8 heads of 128, 160 positions \| {number} TFLOP/s \| not measured "
                     rf"\| 450 TFLOP/s \| missed \|",
                     rf"encoder 1x8, beside torch.compile \| {number} ms \| not measured \| 0.08 ms \| missed \|"):
            self.assertRegex(done.stdout, line)
        self.assertIn("wgmma: not checked, cuModuleLoadDataEx fails with 218", done.stdout)

    def test_a_difference_is_named(self):
        done = self.damaged("True", 0.5, ["bert-tiny", "bert-tiny-bf16"])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "gpu: bert-tiny: differs by .* from the CPU, expected at most")
        self.assertIn("gpu: bert-tiny: has other bits than on the emulated GPU", done.stderr)
        self.assertRegex(done.stderr, "gpu: bert-tiny-bf16: differs by .* from the emulated GPU")

    def test_goals_without_a_gpu_are_not_measured(self):
        rows, wrong = gpu.gpu_goals.table(None, is_small=False)
        self.assertEqual(wrong, [])
        self.assertEqual(len(rows), 13)
        for row in rows[2:]:
            self.assertEqual(row[1:3], ["not measured"] * 2)
            self.assertEqual(row[4], "not measured" if row[3] else "")

    def test_goals_are_reached_or_missed(self):
        goals = gpu.gpu_goals
        # Milliseconds of products and attention, of encoders, and tokens per second.
        class Measured:
            path = Path(self.temporary.name) / "goals"

            def heddle(self, *arguments):
                if arguments[0] == "profile":
                    kernel = "attention_8x128" if "attention" in str(arguments[1]) else "contract_1152x384"
                    return json.dumps({"works": [{"rows": [{"kernel": kernel, "ms": 2.0},
                                                           {"kernel": "gather_384", "ms": 50}]}]})
                if "--cases" in arguments:
                    return "\n".join(json.dumps({"batch": batch, "beam": beam, "tokens_per_s": 900})
                                     for batch, beam in ((1, 1), (32, 4)))
                return json.dumps({"shape": arguments[3], "ms": 0.07})

        class Peer:
            product = staticmethod(lambda *size: 1.9e-3 if size[0] == 8192 else None)
            attention = staticmethod(lambda positions: 3e-3)
            encoder = staticmethod(lambda config, shape, is_compiled: 0.2e-3 if is_compiled else None)

        Measured.path.mkdir()
        for _, steps, columns in goals.GOALS.products:
            (Measured.path / goals.name_of_product(steps, columns)).touch()
        for name in ("attention.so", "encoder-bf16.so", "translate.so"):
            (Measured.path / name).touch()
        torch, translations = goals.Torch, goals.translations
        goals.Torch, goals.translations = Peer, lambda folder: {"1x1": 500, "32x4": 500}
        try:
            rows, wrong = goals.table(Measured(), is_small=False)
        finally:
            goals.Torch, goals.translations = torch, translations
        self.assertEqual(wrong, [])
        self.assertEqual([row[4] for row in rows[2:]],
                         ["reached", *["not measured"] * 4, "reached", "reached", "", "reached", "missed", "reached"])
        self.assertEqual(rows[2][1:3], ["550 TFLOP/s", "579 TFLOP/s"])

    def test_a_goal_that_fails_is_named(self):
        folder = Path(self.temporary.name) / "failing"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.made, folder)
        (folder / "product-64x96.so").write_text("nothing")
        for path in [*folder.glob("*.safetensors"), *folder.glob("encoder*.so")]:
            path.unlink()
        done = self.run_script("run", folder, "--no-speed", "--small")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "gpu: a goal: heddle profile .*product-64x96.so")
        self.assertIn("| attention, 8 heads of 128, 160 positions |", done.stdout)

    def test_numbers_on_one_side_only_differ(self):
        nan, infinity = float("nan"), float("inf")

        def between(ours, theirs):
            return gpu.difference(*(("F32", [3], array("f", each).tobytes())
                                    for each in (ours, theirs)))

        self.assertEqual(between([1, 2, nan], [1, 2, nan]), 0)
        self.assertEqual(between([1, 2, infinity], [1, 2, infinity]), 0)
        self.assertEqual(between([1, 2, nan], [1, 2, 3]), infinity)
        self.assertEqual(between([1, 2, 3], [1, 2, infinity]), infinity)
        self.assertEqual(between([1, 3, 4], [1, 2, 4]), 0.25)

    def test_other_bits_are_named(self):
        # Too little to be a difference.
        done = self.damaged("isAlone", 1e-6, ["bert-tiny"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpu: bert-tiny: 4 of 4 sentences have other bits alone", done.stderr)
        self.assertNotIn("differs", done.stderr)

    def test_steps_that_wait_are_measured_too(self):
        # Milliseconds by what is measured; steps of these beams do not run ahead.
        class Measured:
            path = Path(self.temporary.name)

            def heddle(self, *arguments):
                waits, on_gpu = "--no-run-ahead" in arguments, "cuda" in arguments
                lines = [{"batch": 1, "beam": beam, "ms": 7 if waits else 5 if on_gpu else 9}
                         for beam in (1, 4)]
                if on_gpu:
                    lines[0]["steps_ahead"] = 0 if waits else 30
                    lines[1]["steps_ahead"] = 0
                return "\n".join(map(json.dumps, lines))

        (Measured.path / "dates.so").touch()
        self.assertEqual(gpu.speed(Measured())[2:], [["dates 1x1", "5", "7", "9", "not measured"],
                                                     ["dates 1x4", "5", "", "9", "not measured"]])

    def test_without_a_gpu(self):
        done = self.run_script("run", self.made, gpu=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("gpu: no GPU: no NVIDIA driver", done.stderr)

    def test_a_folder_that_is_none(self):
        done = self.run_script("run", self.temporary.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no program heddle, expected a folder that 'make' made", done.stderr)

    def test_an_unknown_model(self):
        done = self.run_script("make", Path(self.temporary.name) / "other", "--heddlec", "x",
                               "--heddle", BUILD / "bin" / "heddle", "--models", "bert-tny")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpu: no model 'bert-tny' in tests/oracles, expected one of", done.stderr)


unittest.main()
