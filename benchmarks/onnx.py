#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX graphs: all-MiniLM-L6-v2 by both exporters of PyTorch beside engines that read the same
files, and the attentions that each engine fuses in the graphs of the tests.

`./dev bench --onnx` calls this. Engines take turns, as for `./dev bench`; ratios are engine ms /
Heddle ms. On the ragged lengths an engine may choose between one padded batch and one sentence at a
time. What importing and compiling takes is that of one run of heddlec, from file to binary.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import compare

ENCODE = compare.ENCODE
COUNT = compare.HERE / "peers" / "onnx_attentions.py"
ORACLES = compare.HERE.parent / "tests" / "oracles" / "onnx"
PAGE = compare.HERE.parent / "docs" / "onnx.md"
EXPORTERS = {"torchscript": "TorchScript", "dynamo": "torch.export"}
# As peers/encode.py names them.
FILES = {"torchscript": "model.onnx", "dynamo": "model-dynamo.onnx"}


def parse():
    parser = argparse.ArgumentParser(prog="./dev bench --onnx",
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", default="1x16,1x128,32x128", help="SENTENCESxTOKENS, ...")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--exporters", default=",".join(EXPORTERS),
                        help=f"some of {','.join(EXPORTERS)}")
    parser.add_argument("--tables", default="speed,attentions", help="one of speed, attentions, or both")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/onnx.md")
    for name in ("heddle", "heddlec", "model", "work"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.peers = ["openvino", "onnxruntime"]
    options.exporters = options.exporters.split(",")
    options.tables = options.tables.split(",")
    for name in options.tables:
        if name not in ("speed", "attentions"):
            parser.error(f"unknown table '{name}', expected speed, attentions or both")
    for name in options.exporters:
        if name not in EXPORTERS:
            parser.error(f"unknown exporter '{name}', expected some of {', '.join(EXPORTERS)}")
    return options


def encode(options, python, exporter, engine, *more):
    return [python, str(ENCODE), options.model, options.work, "--engine", engine, "--exporter",
            exporter, "--threads", "1", *more]


def compile_graph(file, options):
    """The binary, the seconds and the megabytes that it took."""
    binary = file.with_suffix(".so")
    begin = time.monotonic()
    process = subprocess.Popen([options.heddlec, str(file), "-o", str(binary)],
                               stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if status != 0:
        sys.exit(f"bench: heddlec {file} ended with status {status}, expected 0")
    return binary, seconds, used.ru_maxrss / 1024


def measure(options, python, exporter, compiled):
    measured = defaultdict(list)
    shapes = ["--shapes", options.shapes, "--lengths", str(compare.LENGTHS)]
    for number in range(options.rounds):
        print(f"bench: {exporter}, round {number + 1} of {options.rounds}", file=sys.stderr)
        lines = compare.lines_of([options.heddle, "bench", str(compiled), "--threads", "1",
                                  *shapes])
        for engine in options.peers:
            lines += compare.lines_of(encode(options, python, exporter, engine, *shapes))
        for line in lines:
            measured[line["engine"], 1, line["shape"]].append(line)
    return measured


def speed(options, python):
    head = ["exporter", "work", "Heddle ms"]
    for engine in options.peers:
        head += [f"{compare.NAMES[engine]} ms", "ratio"]
    rows, costs = [head, ["---"] * len(head)], []
    ragged = f"{len(compare.LENGTHS.read_text().split())} ragged"
    for exporter in options.exporters:
        name = EXPORTERS[exporter]
        # The first engine that needs the file writes it.
        compare.lines_of(encode(options, python, exporter, "onnxruntime", "--shapes", "1x16"))
        file = Path(options.work, FILES[exporter])
        compiled, seconds, megabytes = compile_graph(file, options)
        costs.append(f"{name}: {seconds:.1f} s and {megabytes:.0f} MB")
        measured = measure(options, python, exporter, compiled)
        for shape in [*options.shapes.split(","), "lengths"]:
            ours = compare.median(measured, "heddle", 1, shape)
            row = [name, ragged if shape == "lengths" else shape, compare.number(ours)]
            for engine in options.peers:
                theirs, how = compare.peer_time(measured, engine, 1, shape)
                row += [f"{compare.number(theirs)} {how}".strip(), f"**{theirs / ours:.2f}x**"]
            rows.append(row)
    text = [f"Machine: {compare.processor()}. One thread, {compare.rounds_of(options.rounds)}. "
            f"From file to binary, {'; '.join(costs)}.", ""]
    return text + ["| " + " | ".join(row) + " |" for row in rows]


def counter():
    """docs/onnx.py, which counts those of Heddle for the table of models."""
    spec = importlib.util.spec_from_file_location("table_of_models", PAGE.with_suffix(".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attentions(options, python):
    totals = defaultdict(lambda: defaultdict(int))
    count = counter()
    for line in compare.lines_of([python, str(COUNT), str(ORACLES / "models.json")]):
        name = Path(line["file"]).name
        code = name.split("-")[1]
        kind = " ".join([{"ts": "TorchScript", "dynamo": "torch.export", "raw": "torch.export",
                          "ort": "onnxruntime's optimizer"}.get(name.split("-")[0], "by hand"),
                         "op" if code.startswith("op") else code])
        row = totals[kind]
        row["files"] += 1
        row["attentions"] += line["attentions"]
        row["heddle"] += count.fused_in(options.heddlec, line["file"])[0]
        for engine in ("openvino", "onnxruntime", "optimizer"):
            row[engine] += line[engine] or 0
    keys = ["files", "attentions", "heddle", "openvino", "onnxruntime", "optimizer"]
    text = ["| exporter, attention code | files | attentions | Heddle | OpenVINO | ONNX Runtime | "
            "its tool |", "|---" * 7 + "|"]
    for kind in sorted(totals):
        text.append(f"| {kind} | " + " | ".join(str(totals[kind][key]) for key in keys) + " |")
    sums = [sum(row[key] for row in totals.values()) for key in keys]
    return text + ["| all | " + " | ".join(map(str, sums)) + " |"]


def main():
    options = parse()
    python = compare.peers_python(options)
    try:
        makers = {"speed": speed, "attentions": attentions}
        tables = {name: makers[name](options, python) for name in options.tables}
    except subprocess.CalledProcessError as error:
        sys.exit(compare.failure_of(error, words=2))
    for name, table in tables.items():
        print("\n".join(table) + "\n")
        if options.write:
            compare.write_between(f"<!-- {name}: begin -->", f"<!-- {name}: end -->",
                                  "\n".join(table), PAGE)


if __name__ == "__main__":
    main()
