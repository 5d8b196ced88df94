#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The goals of Heddle's speed on a GPU: products, attention, an encoder and translation in bf16, beside
cuBLAS and PyTorch, and CTranslate2, in one run. gpu.py makes the models and prints the table.

Products and attention are timed as `heddle profile` times their dispatch, and PyTorch's by events of
the GPU too. A random Transformer of base size translates 24 tokens to 24. Where a peer is not
installed, or a model was not made, the table says so.
"""

import functools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections import namedtuple
from pathlib import Path

NOT_MEASURED = "not measured"
HEADS, HEAD = 8, 128
LENGTH = 24
# Sizes of products as rows x steps x columns, tokens of attention, and batches of the encoder, many
# sentences and one: of the goals, and for tests.
Sizes = namedtuple("Sizes", "products positions many one")
GOALS = Sizes([(8192, 8192, 8192), (4096, 384, 1152), (4096, 384, 384), (4096, 384, 1536), (4096, 1536, 384)],
              16384, "32x128", "1x16")
SMALL = Sizes([(96, 64, 96)], 160, "2x16", "1x8")
# The vocabulary of the programs, whose rows are looked up by random ids.
IDS = 64
CASES = {"1x1": 2.0, "32x4": 1.5}
# A block of random numbers that is repeated, since tensor cores draw less power on others.
BLOCK = 1 << 18


# --- making models -----------------------------------------------------------------------------


@functools.cache
def random_block():
    generator = random.Random(1)
    return array("f", (generator.gauss(0, 1) for _ in range(BLOCK)))


def write_program(folder, name, parameters, width, body):
    """A program with parameters of random numbers, name to shape, whose entry returns %out."""
    header, offset, chunks = {}, 0, []
    for parameter, shape in parameters.items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        scaled = array("f", (value / max(shape[-1], 1) ** 0.5 for value in random_block())).tobytes()
        header[parameter] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + 4 * count]}
        chunks.append((scaled, 4 * count))
        offset += 4 * count
    text = json.dumps(header).encode()
    with open(folder / f"{name}.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for scaled, size in chunks:
            for begin in range(0, size, len(scaled)):
                file.write(scaled[:min(len(scaled), size - begin)])
    declared = "".join(f"transformer.parameter @{parameter} : tensor<{'x'.join(map(str, shape))}xf32> "
                       f"from \"{parameter}\"\n" for parameter, shape in parameters.items())
    (folder / f"{name}.mlir").write_text(
        f"{declared}func.func @encode(%ids: tensor<?xi32> {{transformer.name = \"input_ids\"}}, "
        f"%rows: !transformer.segments) -> (tensor<?x{width}xf32> {{transformer.name = \"out\"}}) {{\n"
        f"{body}  return %out : tensor<?x{width}xf32>\n}}\n")
    return folder / f"{name}.mlir"


def rows_of(width):
    return f"tensor<?x{width}xf32>"


def product(folder, steps, columns):
    return write_program(
        folder, "product", {"table": [IDS, steps], "weight": [columns, steps], "bias": [columns]}, columns,
        f"  %x = transformer.gather @table[%ids] : {rows_of(steps)}\n"
        f"  %out = transformer.linear %x, @weight, @bias : {rows_of(steps)} -> {rows_of(columns)}\n")


def attention(folder):
    width = HEADS * HEAD
    looked_up = "".join(f"  %{each} = transformer.gather @{each}[%ids] : {rows_of(width)}\n" for each in "qkv")
    return write_program(
        folder, "attention", {each: [IDS, width] for each in "qkv"}, width,
        f"{looked_up}  %out = transformer.attention %q, %k, %v in(%rows, %rows) {{heads = {HEADS} : i64, "
        f"scale = {HEAD ** -0.5:.9e} : f32, visibility = #transformer.visibility<all>}} : "
        f"{rows_of(width)}, {rows_of(width)}, {rows_of(width)} -> {rows_of(width)}\n")


def name_of_product(steps, columns):
    return f"product-{steps}x{columns}.so"


def peers_python():
    """The python that has the peers."""
    return os.environ.get("HEDDLE_PEERS_PYTHON", sys.executable)


def make(folder, build, options):
    """Makes the models of the goals in a folder; `build(source, binary, *arguments)` compiles one."""
    sizes = SMALL if options.small else GOALS
    with tempfile.TemporaryDirectory() as work:
        for _, steps, columns in sizes.products:
            build(product(Path(work), steps, columns), name_of_product(steps, columns), "--precision=bf16")
        build(attention(Path(work)), "attention.so", "--precision=bf16")
    if options.model:
        build(options.model, "encoder-bf16.so", "--precision=bf16")
    # CTranslate2 writes its own model of the same weights.
    script = Path(__file__).parent / "peers" / "translate.py"
    shutil.copy(script, folder / "translate.py")
    made = subprocess.run([peers_python(), script, "make", folder / "translate", "--size", "base"], text=True,
                          capture_output=True, check=False)
    if made.returncode == 0:
        build(folder / "translate" / "heddle", "translate.so", "--precision=bf16")
        return
    shutil.rmtree(folder / "translate", ignore_errors=True)
    reason = (made.stderr.strip().splitlines() or ["it failed"])[-1]
    print(f"gpu: translation is not made: {reason}", file=sys.stderr)


# --- Heddle ------------------------------------------------------------------------------------


def json_lines(output):
    """The JSON lines of what a program printed; engines print other things in between."""
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def dispatch_seconds(folder, name, shape, kernel):
    """The seconds of the dispatches whose kernel's name begins so; None without the model."""
    if not (folder.path / name).exists():
        return None
    profile = json.loads(folder.heddle("profile", folder.path / name, "--shapes", shape, "--device", "cuda",
                                       "--by", "dispatch", "--json"))
    found = [row["ms"] for row in profile["works"][0]["rows"] if row["kernel"].startswith(kernel)]
    return sum(found) / 1e3 if found else None


def bench(folder, name, *work):
    """The lines of `heddle bench`; none without the model."""
    if not (folder.path / name).exists():
        return []
    text = folder.heddle("bench", folder.path / name, *work, "--device", "cuda", "--json")
    return json_lines(text)


# --- peers -------------------------------------------------------------------------------------


class Torch:
    """What PyTorch takes for the same work, in bf16; None where it is not installed or has no GPU."""

    def __init__(self):
        self.torch = None
        try:
            import torch
        except ImportError:
            return
        if torch.cuda.is_available():
            self.torch = torch

    def seconds(self, call):
        """The median by the GPU's events."""
        torch, taken, begin = self.torch, [], time.time()
        with torch.inference_mode():
            for _ in range(3):
                call()
            while len(taken) < 10 or time.time() - begin < 1:
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                call()
                end.record()
                end.synchronize()
                taken.append(start.elapsed_time(end) / 1e3)
        return statistics.median(taken)

    def random(self, *shape):
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.bfloat16)

    def product(self, rows, steps, columns):
        if not self.torch:
            return None
        x, weight, bias = self.random(rows, steps), self.random(columns, steps), self.random(columns)
        return self.seconds(lambda: self.torch.nn.functional.linear(x, weight, bias))

    def attention(self, positions):
        if not self.torch:
            return None
        q, k, v = (self.random(1, HEADS, positions, HEAD) for _ in range(3))
        return self.seconds(lambda: self.torch.nn.functional.scaled_dot_product_attention(q, k, v))

    def encoder(self, config, shape, is_compiled):
        """The seconds of an encoder of the sizes in a configuration."""
        try:
            from transformers import AutoConfig, AutoModel
        except ImportError:
            return None
        if not self.torch or not config.exists():
            return None
        with tempfile.TemporaryDirectory() as work:
            shutil.copy(config, Path(work) / "config.json")
            model = AutoModel.from_config(AutoConfig.from_pretrained(work))
        model = model.to("cuda", self.torch.bfloat16).eval()
        model = self.torch.compile(model) if is_compiled else model
        batch, tokens = map(int, shape.split("x"))
        ids = self.torch.randint(1000, 2000, (batch, tokens), device="cuda")
        return self.seconds(lambda: model(input_ids=ids))


def translations(folder):
    """CTranslate2's tokens per second by case, in float16; empty where it is not there."""
    if not (folder.path / "translate" / "ct2").exists():
        return {}
    done = subprocess.run([peers_python(), folder.path / "translate.py", "time", folder.path / "translate",
                           "--precision", "float16", "--device", "cuda", "--cases", ",".join(CASES)],
                          text=True, capture_output=True, check=False)
    if done.returncode != 0:
        print(f"gpu: CTranslate2 is not measured: {done.stderr.strip()}", file=sys.stderr)
        return {}
    return {f"{line['batch']}x{line['beam']}": line["tokens_per_s"] for line in json_lines(done.stdout)}


# --- the table ---------------------------------------------------------------------------------


def row(work, ours, theirs, unit, goal, reached):
    """A line of the table. `ours` and `theirs` are texts or None; `reached` is None if unknown."""
    verdict = "" if not goal else NOT_MEASURED if reached is None else "reached" if reached else "missed"
    cells = [f"{each} {unit}" if each else NOT_MEASURED for each in (ours, theirs)]
    return [work, *cells, goal, verdict]


def rate(work, seconds):
    """Operations per second as TFLOP/s; None if the time is unknown."""
    return None if not seconds else work / seconds / 1e12


def compared(ours, theirs, least):
    return None if not ours or not theirs else ours / theirs >= least


def text(value):
    return None if not value else f"{value:.3g}"


def row_of_product(folder, torch, size, least):
    rows, steps, columns = size
    work = 2 * rows * steps * columns
    ours, theirs = (rate(work, seconds) for seconds in (
        folder and dispatch_seconds(folder, name_of_product(steps, columns), f"1x{rows}", "contract_"),
        folder and torch.product(rows, steps, columns)))
    return row(f"product {rows} x {steps} x {columns}, with bias", text(ours), text(theirs), "TFLOP/s",
               f"{least:.1f} of cuBLAS", compared(ours, theirs, least))


def row_of_attention(folder, torch, positions):
    work = 4 * positions * positions * HEADS * HEAD
    ours, theirs = (rate(work, seconds) for seconds in (
        folder and dispatch_seconds(folder, "attention.so", f"1x{positions}", "attention_"),
        folder and torch.attention(positions)))
    return row(f"attention, {HEADS} heads of {HEAD}, {positions} positions", text(ours), text(theirs), "TFLOP/s",
               "450 TFLOP/s", None if not ours else ours >= 450)


def row_of_encoder(folder, torch, shape, kind, goal, reaches):
    """`reaches` says of both times, in milliseconds, whether they reach the goal."""
    lines = bench(folder, "encoder-bf16.so", "--shapes", shape) if folder else []
    ours = lines[0]["ms"] if lines else None
    theirs = folder and torch.encoder(folder.path / "encoder.json", shape, kind == "torch.compile")
    theirs = theirs and theirs * 1e3
    return row(f"encoder {shape}, beside {kind}", text(ours), text(theirs), "ms", goal, reaches(ours, theirs))


def rows_of_translation(folder):
    lines = bench(folder, "translate.so", "--cases", ",".join(CASES), "--source-length", LENGTH,
                  "--target-length", LENGTH) if folder else []
    ours = {f"{line['batch']}x{line['beam']}": line["tokens_per_s"] for line in lines}
    theirs = translations(folder) if folder else {}
    return [row(f"base translation {case}, beside float16", text(ours.get(case)), text(theirs.get(case)),
                "tokens/s", f"{least} times CTranslate2", compared(ours.get(case), theirs.get(case), least))
            for case, least in CASES.items()]


def table(folder, is_small):
    """The goals, what was measured and whether each was reached, and what went wrong. Without a
    folder, only the goals."""
    rows, wrong = [["in bf16", "Heddle", "beside", "goal", "reached"], ["---"] * 5], []
    sizes, torch = SMALL if is_small else GOALS, Torch()
    calls = [lambda size=size, least=1.0 if index else 0.9: [row_of_product(folder, torch, size, least)]
             for index, size in enumerate(sizes.products)]
    calls.append(lambda: [row_of_attention(folder, torch, sizes.positions)])
    calls += [lambda: [row_of_encoder(folder, torch, sizes.many, "torch.compile", "1.5 times torch.compile",
                                      lambda ours, theirs: compared(theirs, ours, 1.5))],
              lambda: [row_of_encoder(folder, torch, sizes.many, "eager", "", lambda *_: None)],
              lambda: [row_of_encoder(folder, torch, sizes.one, "torch.compile", "0.08 ms",
                                      lambda ours, _: None if not ours else ours <= 0.08)],
              lambda: rows_of_translation(folder)]
    for call in calls:
        try:
            rows += call()
        except (OSError, subprocess.TimeoutExpired, RuntimeError) as error:
            wrong.append(f"a goal: {error}")
    return rows, wrong
