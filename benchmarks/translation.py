#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heddle's speed in translation, alone or beside CTranslate2, as a table in markdown.

`./dev bench` calls this after the encoders. A random Transformer of base size (6 + 6 layers, width
512, vocabulary 32,000) is written once for both engines, with the same weights; 24 tokens go in and
exactly 24 come out, so that both do the same work. Engines take turns; what is printed are medians
over rounds. Only ratios of one run mean something: above 1 where Heddle is faster.
"""

import argparse
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from compare import (HERE, compiled_random_model, failure_of, lines_of, number, peers_python,
                     write_between)

TRANSLATE = HERE / "peers" / "translate.py"
BEGIN, END = "<!-- translation: begin -->", "<!-- translation: end -->"
LENGTH = 24


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has ctranslate2, instead of build/peers")
    parser.add_argument("--cases", default="1x1,1x4,8x1,32x1,32x4", help="SENTENCESxBEAMS, ...")
    parser.add_argument("--threads", default="1,2", help="thread counts (1,2)")
    parser.add_argument("--size", default="base", choices=["base", "big"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--work", required=True, type=Path, help="where models and engines are kept")
    for name in ("heddle", "heddlec"):
        parser.add_argument(f"--{name}", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.threads = [int(count) for count in options.threads.split(",")]
    options.peers = ["ctranslate2"]
    return options


def measure(options, python, folder, compiled):
    """{(engine, threads, batch, beam): [tokens per second, ...]}, one a round."""
    measured = defaultdict(list)
    for threads in options.threads:
        for round_number in range(options.rounds):
            print(f"bench: translation, {threads} threads, round {round_number + 1} of "
                  f"{options.rounds}", file=sys.stderr)
            ours = lines_of([str(options.heddle), "bench", str(compiled), "--cases", options.cases,
                             "--source-length", str(LENGTH), "--target-length", str(LENGTH),
                             "--threads", str(threads)])
            theirs = lines_of([python, str(TRANSLATE), "time", str(folder), "--threads",
                               str(threads), "--cases", options.cases])
            for line in ours:
                measured["heddle", threads, line["batch"], line["beam"]].append(line["tokens_per_s"])
            for line in theirs:
                measured["peer", threads, line["batch"], line["beam"]].append(line["tokens_per_s"])
    return measured


def table(options, measured):
    head = ["batch x beam", "threads", "Heddle tokens/s", "against 1 thread",
            "CTranslate2 f32 tokens/s", "ratio"]
    rows = [head, ["---"] * len(head)]
    for threads in options.threads:
        for case in options.cases.split(","):
            batch, beam = map(int, case.split("x"))
            ours = statistics.median(measured["heddle", threads, batch, beam])
            theirs = statistics.median(measured["peer", threads, batch, beam])
            alone = measured.get(("heddle", 1, batch, beam))
            scale = f"{ours / statistics.median(alone):.2f}x" if alone and threads > 1 else ""
            rows.append([case, str(threads), number(ours), scale, number(theirs),
                         f"**{ours / theirs:.2f}x**"])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    options = parse()
    try:
        python = peers_python(options)
        folder = options.work / f"translate-{options.size}"
        compiled = compiled_random_model(options, python, TRANSLATE, folder)
        text = table(options, measure(options, python, folder, compiled))
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=2))
    print(text)
    if options.write:
        write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
