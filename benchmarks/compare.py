#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heddle's speed, alone or beside other engines, as a table in markdown.

`./dev bench` calls this. Engines take turns: every round measures Heddle, then each engine, on the
same cores; what is printed are medians over rounds. Machines differ and drift, so only ratios of
one run mean something: engine ms / Heddle ms, above 1 where Heddle is faster. On the ragged lengths
an engine may choose: one padded batch or one sentence at a time, whichever is better.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import venv
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
LENGTHS = HERE / "lengths.txt"
ENCODE = HERE / "peers" / "encode.py"
NAMES = {"openvino": "OpenVINO f32", "openvino-bf16": "OpenVINO bf16",
         "openvino-int8": "OpenVINO int8", "openvino-int4": "OpenVINO int4",
         "onnxruntime-int4": "ONNX Runtime int4", "onnxruntime": "ONNX Runtime f32",
         "onnxruntime-int8": "ONNX Runtime int8", "ctranslate2": "CTranslate2 f32",
         "ctranslate2-int8": "CTranslate2 int8", "torch": "PyTorch f32 eager",
         "torch-bf16": "PyTorch bf16 eager", "torch-compile": "PyTorch f32 compiled"}
# torch and transformers turn the model into what the others read.
COMMON = ["numpy", "torch", "transformers", "safetensors", "tokenizers"]
NEEDS = {"openvino": ["openvino", "onnx", "onnxscript"],
         "openvino-int8": ["openvino", "onnx", "onnxscript", "nncf"],
         "openvino-int4": ["openvino", "onnx", "onnxscript", "nncf"],
         "onnxruntime-int4": ["onnxruntime", "onnx", "onnxscript", "onnx-ir"],
         "onnxruntime": ["onnxruntime", "onnx", "onnxscript"],
         "ctranslate2": ["ctranslate2"], "torch": [],
         "sentence-transformers": ["sentence-transformers"],
         "llama": ["llama-cpp-python", "gguf", "numpy", "safetensors"]}


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has the engines, instead of build/peers")
    parser.add_argument("--peers", nargs="?", const="openvino", default="", metavar="ENGINES",
                        help="compare with these, a comma between them (openvino); known are "
                             f"{', '.join(NAMES)}. The first use fetches up to 6 GB from PyPI")
    parser.add_argument("--shapes", default="1x16,1x128,32x128", help="SENTENCESxTOKENS, ...")
    parser.add_argument("--threads", default="1,2", help="thread counts (1,2)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    for name in ("heddle", "compiled", "model", "work"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in NAMES:
            parser.error(f"unknown engine '{name}', expected one of {', '.join(NAMES)}")
    options.threads = [int(count) for count in options.threads.split(",")]
    cores = len(os.sched_getaffinity(0))
    if min(options.threads) < 1 or max(options.threads) > cores:
        parser.error(f"--threads {max(options.threads)}, expected 1 to {cores}, the cores there are")
    return options


def peers_python(options):
    """A python with what the engines need, in a virtual environment that is made once."""
    given = os.environ.get("HEDDLE_PEERS_PYTHON")
    if given:
        return given
    folder = Path(options.work, "environment")
    python = folder / "bin" / "python"
    # llama.cpp reads the model that its script writes for it.
    common = [] if options.peers == ["llama"] else COMMON
    wanted = set(common).union(*(NEEDS.get(name) or NEEDS[name.split("-")[0]]
                                 for name in options.peers))
    pins = [line.strip() for line in (HERE / "peers" / "requirements.txt").read_text().splitlines()]
    pins = [line for line in pins if re.split("[=<>]", line)[0] in wanted]
    note = folder / "installed.txt"
    have = note.read_text().split() if note.exists() else []
    if set(pins) - set(have):
        print(f"bench: installing {' '.join(pins)} in {folder}", file=sys.stderr)
        if not python.exists():
            venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pins], check=True)
        note.write_text("\n".join(sorted(set(pins) | set(have))) + "\n")
    return str(python)


def compiled_random_model(options, python, script, folder):
    """The compiled model in `folder`, whose weights a script of `peers` writes for both engines."""
    if not (folder / "heddle" / "config.json").exists():
        print(f"bench: writing a random model of {options.size} size to {folder}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([python, str(script), "make", str(folder), "--size", options.size],
                       check=True)
    compiled = folder / "model.so"
    if not compiled.exists() or compiled.stat().st_mtime < options.heddlec.stat().st_mtime:
        subprocess.run([str(options.heddlec), str(folder / "heddle"), "-o", str(compiled)],
                       check=True)
    return compiled


def json_lines(output):
    """The JSON lines of what a program printed; engines print other things in between."""
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def lines_of(command):
    return json_lines(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def heddle_command(options, threads, shapes, *more):
    return [options.heddle, "bench", options.compiled, "--shapes", shapes, "--threads",
            str(threads), *more]


def measure(options):
    """{(engine, threads, shape): [line, ...]}, one line a round."""
    python = peers_python(options) if options.peers else None
    measured = defaultdict(list)
    for threads in options.threads:
        for number in range(options.rounds):
            print(f"bench: {threads} threads, round {number + 1} of {options.rounds}",
                  file=sys.stderr)
            lines = lines_of(heddle_command(options, threads, options.shapes,
                                            "--lengths", str(LENGTHS)))
            for engine in options.peers:
                lines += lines_of([python, str(ENCODE), options.model, options.work, "--engine",
                                   engine, "--threads", str(threads), "--shapes", options.shapes,
                                   "--lengths", str(LENGTHS)])
            for line in lines:
                measured[line["engine"], threads, line["shape"]].append(line)
    return measured


def median(measured, engine, threads, shape, key="ms"):
    values = [line[key] for line in measured[engine, threads, shape] if line[key] is not None]
    return statistics.median(values) if values else None


def peer_time(measured, engine, threads, shape):
    """Milliseconds, and a word on how; the better way for ragged lengths."""
    if shape != "lengths":
        return median(measured, engine, threads, shape), ""
    ways = [(median(measured, engine, threads, f"lengths-{way}"), way.replace("-", " "))
            for way in ("padded", "one-by-one")]
    return min(ways)


def number(value):
    """Three digits that count."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def comparison_table(options, measured):
    head = ["work", "threads", "Heddle ms", "of the peak", "against 1 thread"]
    for engine in options.peers:
        head += [f"{NAMES[engine]} ms", "ratio"]
    rows = [head, ["---"] * len(head)]
    ragged = f"{len(LENGTHS.read_text().split())} ragged"
    for threads in options.threads:
        for shape in [*options.shapes.split(","), "lengths"]:
            ours = median(measured, "heddle", threads, shape)
            fraction = median(measured, "heddle", threads, shape, "fraction_of_peak")
            alone = measured.get(("heddle", 1, shape))
            scale = f"{median(measured, 'heddle', 1, shape) / ours:.2f}x" if alone else ""
            row = [ragged if shape == "lengths" else shape, str(threads), number(ours),
                   f"{fraction:.0%}" if fraction else "", scale if threads > 1 else ""]
            for engine in options.peers:
                theirs, how = peer_time(measured, engine, threads, shape)
                row += [f"{number(theirs)} {how}".strip(), f"**{theirs / ours:.2f}x**"]
            rows.append(row)
    return rows


def kernel_table(lines, shape):
    rows = [["kernel", "calls", "ms", "share", "GFLOP/s", "of the peak"], ["---"] * 6]
    for line in lines:
        if line.get("kind") == "kernel" and line["shape"] == shape:
            fraction = line["fraction_of_peak"]
            rows.append([f"`{line['kernel']}`", f"{line['calls']:g}", number(line["ms"]),
                         f"{line['share']:.1%}", number(line["gflops"]) if line["gflops"] else "",
                         f"{fraction:.1%}" if fraction else ""])
    return rows


def processor():
    """The name of the processor; hypervisors may hide half of it."""
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M))
    level2 = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")
    cache = f", {level2.read_text().strip()} of level 2 cache" if level2.exists() else ""
    return (f"{fields.get('model name', 'unknown processor')}, family {fields.get('cpu family')}, "
            f"model {fields.get('model')}{cache}")


def rounds_of(rounds):
    """How often each number was measured, in words."""
    return "one round" if rounds == 1 else f"medians of {rounds} rounds"


def report(options, measured):
    """The page: the machine, the comparison, the kernels of one thread."""
    largest = options.shapes.split(",")[-1]
    profile = lines_of(heddle_command(options, 1, largest, "--roofline"))
    machine = next(line for line in profile if line.get("kind") == "machine")
    peak = machine["peak_gflops"]
    text = [f"Machine: {processor()}; {len(os.sched_getaffinity(0))} cores. Measured in the same "
            f"run, one core: {f'{peak:.0f} GFLOP/s f32' if peak else 'peak unknown'}, "
            f"{machine['bandwidth_gb_per_s']:.0f} GB/s. Target {machine['isa']}. "
            f"Medians of {options.rounds} rounds.", ""]
    text += ["| " + " | ".join(row) + " |" for row in comparison_table(options, measured)]
    text += ["", f"Kernels at {largest}, one thread:", ""]
    text += ["| " + " | ".join(row) + " |" for row in kernel_table(profile, largest)]
    return "\n".join(text)


def write_between(begin, end, text, path=PAGE):
    """Puts a text between two lines of a page."""
    page = path.read_text(encoding="utf-8")
    if page.count(begin) != 1 or page.count(end) != 1:
        sys.exit(f"bench: {path}: expected the lines {begin} and {end} once each")
    before, rest = page.split(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}", encoding="utf-8")
    print(f"bench: wrote {path}", file=sys.stderr)


def failure_of(error, words):
    """What is said of a program that failed, by the first words of its command line."""
    program = " ".join(map(str, error.cmd[:words]))
    return f"bench: '{program}' ended with exit code {error.returncode}, expected 0"


def main():
    options = parse()
    try:
        text = report(options, measure(options))
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=2))
    print(text)
    if options.write:
        write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
