#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles models of tests/oracles with random options for a processor and a GPU, and runs both.

The GPU is the emulated one, whose library is found by LD_LIBRARY_PATH: it reports what no
comparison would show. The results of both must agree within the error of the precision. Models that
generate are also searched on the GPU, with steps that run ahead of the host and without.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import gpu  # noqa: E402

# The largest error that is permitted, relative to the magnitude of the results: products that round
# their factors round sums in another order to other numbers.
ERRORS = {"f32": 2e-3, "tf32x3": 2e-3, "bf16-weights": 2e-3, "int8-weights": 2e-3,
          "tf32": 0.1, "bf16": 0.1, "int8": 0.2, "int8-g128": 0.2, "int4": 0.2}
CACHES = ["f32", "bf16", "int8"]
TARGETS = ["sm_80", "sm_90a"]


def read_floats(path):
    """The f32 tensors of a safetensors file, by name."""
    return {name: tensor for name, tensor in gpu.read_tensors(path).items() if tensor[0] == "F32"}


def run(command):
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    except subprocess.TimeoutExpired:
        return -1, "it did not end within 1,200 seconds"
    return result.returncode, result.stdout + result.stderr


class Trial:
    """A model with its options."""

    def __init__(self, programs, model, chance):
        self.heddle, self.heddlec = programs
        self.model = model
        self.precision = chance.choice(list(ERRORS))
        self.cache = chance.choice(CACHES)
        self.target = chance.choice(TARGETS)
        self.prompts = [" ".join(str(chance.randrange(4, 14)) for _ in range(chance.randrange(1, 7)))
                        for _ in range(3)]
        self.search = ["--beam", str(chance.randrange(1, 6)), "--max-length",
                       str(chance.randrange(3, 30)), "--min-length", str(chance.choice([0, 0, 3])),
                       "--rules", chance.choice(["paper", "transformers", "ctranslate2"]),
                       "--length-penalty", str(chance.choice([0, 1]))]

    def __str__(self):
        return (f"{self.model.relative_to(self.model.parents[1])} --precision={self.precision} "
                f"--cache={self.cache} --target={self.target}")

    def finding(self, folder):
        """Returns what is wrong, or nothing."""
        binary = str(folder / "model.so")
        code, said = run([self.heddlec, str(self.model), f"--precision={self.precision}",
                          f"--cache={self.cache}", f"--target=x86-64-v3,{self.target}",
                          "--code-cache", str(folder / "code"), "-o", binary])
        if code != 0:
            return f"heddlec ended with {code}: {said}"
        results = []
        for device in ["cpu", "cuda"]:
            out = folder / f"{device}.safetensors"
            code, said = run([self.heddle, "run", binary, "--inputs",
                              str(self.model / "expected.safetensors"), "--outputs", str(out),
                              "--device", device])
            if code != 0:
                return f"heddle run --device={device} ended with {code}: {said}"
            results.append(read_floats(out))
        if not results[0] or results[0].keys() != results[1].keys():
            return f"outputs {sorted(results[0])} and {sorted(results[1])}, expected the same ones"
        for name, expected in results[0].items():
            error = gpu.difference(results[1][name], expected)
            if not error <= ERRORS[self.precision]:
                return f"{name} differs by {error:.2g}, expected at most {ERRORS[self.precision]}"
        return self.finding_of_search(folder, binary)

    def finding_of_search(self, folder, binary):
        code, said = run([self.heddle, "info", binary])
        if code != 0 or "decode" not in said:
            return None if code == 0 else said
        prompts = folder / "prompts.txt"
        prompts.write_text("".join(line + "\n" for line in self.prompts))
        # Steps that begin before the host has seen the one before, and steps that wait for it.
        answers = []
        for options in [], ["--no-run-ahead"]:
            code, said = run([self.heddle, "generate", binary, "--input", str(prompts), "--tokens",
                              "--device", "cuda", "--format", "jsonl", *self.search, *options])
            # Sources of floats or pixels are no lines of ids.
            if code != 0:
                return (None if "expected --inputs" in said
                        else f"heddle generate ended with {code}: {said}")
            answers.append(said)
        return (None if answers[0] == answers[1]
                else f"other answers if no step runs ahead: {' '.join(self.search)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--heddlec", required=True, help="the one for the emulated GPU")
    parser.add_argument("--oracles", required=True, type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1, help="0: another one every time")
    arguments = parser.parse_args()
    seed = arguments.seed or time.time_ns()
    chance = random.Random(seed)
    print(f"seed {seed}", flush=True)
    models = sorted(path.parent for path in arguments.oracles.glob("**/config.json")
                    if all((path.parent / name).exists()
                           for name in ["expected.safetensors", "model.safetensors"]))
    end, done, findings = time.monotonic() + arguments.seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            trial = Trial((arguments.heddle, arguments.heddlec), chance.choice(models), chance)
            finding = trial.finding(Path(folder))
            done += 1
            if finding:
                findings += 1
                print(f"{trial}: {finding}", flush=True)
    print(f"{done} models with options, {findings} findings")
    return 1 if findings or done == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
