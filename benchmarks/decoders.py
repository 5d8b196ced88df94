#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoder-only models beside llama.cpp, as a table in markdown.

`./dev bench --decoders` calls this. A random Llama of 213 million parameters is written once for
both engines, with the same weights in f32; peers/llama.py says what is timed. Engines take turns:
a ratio is the median over rounds of the quotients within a round, above 1 where Heddle is faster.
The least time of a step is that of reading all weights once at the bandwidth that Heddle measures in
the same run; that of a prompt is its operations at the peak.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from compare import (HERE, compiled_random_model, failure_of, lines_of, number, peers_python,
                     processor, write_between)

PEER = HERE / "peers" / "llama.py"
SIZES = {"213m": dict(layers=16, width=1024, inner=2816, heads=16, kv_heads=16, vocabulary=8192),
         "tiny": dict(layers=2, width=64, inner=176, heads=4, kv_heads=2, vocabulary=256)}
PROMPT, SHARED, BEFORE, STEPS = 512, 480, 16, 64
# Timed in a round, after one.
RUNS = 2
BEGIN, END = "<!-- decoders: begin -->", "<!-- decoders: end -->"
# Cases, and the ratio to llama.cpp that is asked of each.
CASES = {"prompt": 1.5, "decode-1": 1.0, "decode-8": 3, "decode-32": 5, "prefix-32": None}


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench --decoders", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has llama_cpp and gguf, instead of build/peers")
    parser.add_argument("--cases", default=",".join(CASES), help=f"some of {','.join(CASES)}")
    parser.add_argument("--threads", default="1,2", help="thread counts (1,2)")
    parser.add_argument("--size", default="213m", choices=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true",
                        help="put the table into docs/performance.md")
    parser.add_argument("--work", required=True, type=Path, help=argparse.SUPPRESS)
    for name in ("heddle", "heddlec"):
        parser.add_argument(f"--{name}", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.threads = [int(count) for count in options.threads.split(",")]
    options.cases = options.cases.split(",")
    options.peers = ["llama"]
    for case in options.cases:
        if case not in CASES:
            parser.error(f"unknown case '{case}', expected one of {', '.join(CASES)}")
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, expected at least 1")
    return options


def check_tokens(options, python, folder, compiled):
    """Both engines should go on alike: else they do not compute the same model."""
    theirs = lines_of([python, str(PEER), "tokens", str(folder)])[0]
    done = subprocess.run(
        [str(options.heddle), "generate", str(compiled), "--input", "-", "--tokens", "--beam", "1",
         "--max-length", str(STEPS)],
        input=" ".join(map(str, theirs["prompt"])) + "\n", check=True, text=True,
        stdout=subprocess.PIPE)
    ours = [int(word) for word in done.stdout.split()]
    same = sum(a == b for a, b in zip(ours, theirs["tokens"]))
    print(f"bench: {same} of {STEPS} greedy tokens are the same in both engines", file=sys.stderr)


def generated_ms(options, compiled, threads, sequences, source, target, *more):
    return lines_of([str(options.heddle), "bench", str(compiled), "--cases", f"{sequences}x1",
                     "--source-length", str(source), "--target-length", str(target), "--threads",
                     str(threads), "--runs", str(RUNS), "--json", *more])[0]["ms"]


def heddle_ms(options, compiled, threads, case):
    """What peers/llama.py times of llama.cpp."""
    kind, _, count = case.partition("-")
    sequences = int(count or 1)
    if kind == "prompt":
        return generated_ms(options, compiled, threads, 1, PROMPT, 1)
    if kind == "prefix":
        return generated_ms(options, compiled, threads, sequences, PROMPT, 1, "--shared-length",
                            str(SHARED))
    # The prompt and its first token are what is not timed.
    return (generated_ms(options, compiled, threads, sequences, BEFORE, STEPS + 1)
            - generated_ms(options, compiled, threads, sequences, BEFORE, 1))


def measure(options, python, folder, compiled):
    """{(engine, threads, case): [ms, ...]}, one a round."""
    measured = defaultdict(list)
    for threads in options.threads:
        for number_of_round in range(options.rounds):
            for case in options.cases:
                print(f"bench: {case}, {threads} threads, round {number_of_round + 1} of "
                      f"{options.rounds}", file=sys.stderr)
                measured["heddle", threads, case].append(
                    heddle_ms(options, compiled, threads, case))
                theirs = lines_of([python, str(PEER), "time", str(folder), "--threads",
                                   str(threads), "--cases", case])
                measured["llama.cpp", threads, case].append(theirs[0]["ms"])
    return measured


def roofs(options, compiled, threads):
    """GFLOP/s and GB/s of the machine."""
    done = subprocess.run(
        [str(options.heddle), "profile", str(compiled), "--cases", "1x1", "--json",
         "--source-length", "16", "--target-length", "2", "--threads", str(threads)],
        check=True, text=True, stdout=subprocess.PIPE)
    work = json.loads(done.stdout)
    return work["peak_gflops"], work["bandwidth_gb_per_s"]


def parameters(size):
    """Numbers that a token is multiplied with."""
    size = SIZES[size]
    kv = size["width"] // size["heads"] * size["kv_heads"]
    layer = 2 * size["width"] * (size["width"] + kv) + 3 * size["width"] * size["inner"]
    return size["layers"] * layer + size["vocabulary"] * size["width"]


def least_ms(options, case, peak, bandwidth):
    """The time that arithmetic or reading allows, whichever is longer; of a prefix none."""
    kind, _, count = case.partition("-")
    if kind == "prefix":
        return None
    rows, steps = (PROMPT, 1) if kind == "prompt" else (int(count), STEPS)
    numbers = parameters(options.size)
    return steps * max(numbers * 2e-6 * rows / peak, numbers * 4e-6 / bandwidth)


def table(options, measured, machine):
    head = ["case", "threads", "Heddle tokens/s", "of the roof", "against 1 thread",
            "llama.cpp tokens/s", "ratio", "asked"]
    rows = [head, ["---"] * len(head)]
    for threads in options.threads:
        for case in options.cases:
            kind, _, count = case.partition("-")
            tokens = {"prompt": PROMPT, "decode": STEPS, "prefix": PROMPT}[kind] * int(count or 1)
            ours, theirs = (measured[name, threads, case] for name in ("heddle", "llama.cpp"))
            ratio = statistics.median(b / a for a, b in zip(ours, theirs))
            milliseconds = statistics.median(ours)
            least = least_ms(options, case, *machine[threads])
            alone = measured.get(("heddle", 1, case))
            asked = CASES[case] if threads == 1 else None
            rows.append([
                case, str(threads), number(tokens / milliseconds * 1e3),
                f"{least / milliseconds:.0%}" if least else "",
                f"{statistics.median(alone) / milliseconds:.2f}x" if alone and threads > 1 else "",
                number(tokens / statistics.median(theirs) * 1e3), f"**{ratio:.2f}x**",
                f"{asked:.1f}x" if asked else ""])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    options = parse()
    try:
        python = peers_python(options)
        folder = options.work / options.size
        compiled = compiled_random_model(options, python, PEER, folder)
        check_tokens(options, python, folder, compiled)
        machine = {threads: roofs(options, compiled, threads) for threads in options.threads}
        measured = measure(options, python, folder, compiled)
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=3))
    peak, bandwidth = machine[options.threads[0]]
    text = (f"Machine: {processor()}; {os.cpu_count()} cores. {options.threads[0]} thread: "
            f"{number(peak)} GFLOP/s f32, {number(bandwidth)} GB/s. Medians of {options.rounds} "
            f"rounds.\n\n{table(options, measured, machine)}")
    print(text)
    if options.write:
        write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
