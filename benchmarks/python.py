#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The speed of the Python package: beside the programs and C++, and beside the packages of other engines.

`./dev bench --python` calls this. The wheel is installed in an environment of its own. Every number is measured in a
process of its own, pinned to the first cores; engines take turns, and what is printed are medians over rounds, as a
table in markdown. Only ratios of one run mean something.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from compare import (HERE, compiled_random_model, failure_of, json_lines, number, peers_python,
                     processor, rounds_of, write_between)

sys.path.insert(0, str(HERE.parent / "python"))
import build_wheel  # noqa: E402

ROOT = HERE.parent
CALLS = HERE / "peers" / "python_calls.py"
NATIVE = HERE / "peers" / "native_calls.cpp"
TRANSLATE = HERE / "peers" / "translate.py"
FIVE_LINES = ROOT / "examples" / "python" / "five_lines.py"
MAKE_LINES = ROOT / "examples" / "cluster" / "make_lines.py"
BEGIN, END = "<!-- python: begin -->", "<!-- python: end -->"
PEERS = {"sentence-transformers": "sentence-transformers", "ctranslate2": "CTranslate2"}
HEAD = ("measured", "threads", "Python package", "beside it", "ratio or difference", "goal")


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench --python", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has the engines, instead of build/peers")
    parser.add_argument("--peers", nargs="?", const=",".join(PEERS), default="", metavar="ENGINES",
                        help=f"compare with these, a comma between them ({', '.join(PEERS)})")
    parser.add_argument("--threads", default="1,2", help="thread counts (1,2)")
    parser.add_argument("--lines", type=int, default=10000, help="sentences of the long measurement (10000)")
    parser.add_argument("--calls", type=int, default=2000, help="calls with one sentence (2000)")
    parser.add_argument("--cases", default="1x1,1x4,8x1,32x1,32x4", help="translations: SENTENCESxBEAM, ...")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    for name in ("build", "work"):
        parser.add_argument(f"--{name}", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.size = "base"
    options.threads = [int(count) for count in options.threads.split(",")]
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.peers:
        if name not in PEERS:
            parser.error(f"unknown engine '{name}', expected one of {', '.join(PEERS)}")
    for name, least in (("lines", 1), ("calls", 20), ("rounds", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} {getattr(options, name)}, expected at least {least}")
    options.build, options.work = options.build.resolve(), options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    options.heddlec = options.build / "bin" / "heddlec"
    options.compiled = options.build / "models" / "minilm.so"
    options.model = options.build / "models" / "all-MiniLM-L6-v2"
    return options


def pinned(threads, command, **more):
    """What a program prints, on the first cores."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores), **more)
    return done.stdout


def calls(python, threads, what, *arguments):
    """What a run of python_calls.py has measured."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
    return json_lines(pinned(threads, [python, CALLS, what, *arguments], env=environment))[-1]


def medians(options, *measures):
    """Medians of several numbers, each of which is measured once a round, in turns."""
    found = [[measure() for measure in measures] for _ in range(options.rounds)]
    return [statistics.median(each) for each in zip(*found)]


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def installed(options):
    """A python with the package alone, and the seconds that pip took to install its wheel and numpy."""
    wheel = build_wheel.only_wheel(options.build / "python" / "dist")
    folder = options.work / "python-package"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    return python, seconds_of(lambda: subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel], check=True))


def first_rows(options, python, install_seconds):
    """From nothing to the first results, and what every later start takes."""
    first = seconds_of(lambda: subprocess.run([python, FIVE_LINES], cwd=options.build.parent, check=True,
                                              stdout=subprocess.DEVNULL))
    imports = [calls(python, 1, "import") for _ in range(5 * options.rounds)]
    ours, numpy = (statistics.median(each[name] for each in imports) for name in ("heddle_ms", "numpy_ms"))
    return [(f"`pip install` of the wheel and numpy, {number(install_seconds)} s, then the five lines of README", "",
             f"{number(install_seconds + first)} s", "", "", "10 s"),
            ("`import heddle` after `import numpy`", "", f"{number(ours)} ms", f"numpy {number(numpy)} ms", "", "50 ms")]


def native_library(options):
    """native_calls.cpp, compiled where it has changed."""
    library = options.work / "native_calls.so"
    if not library.exists() or library.stat().st_mtime < NATIVE.stat().st_mtime:
        folder = options.build / "lib"
        subprocess.run(["c++", "-std=c++20", "-O2", "-shared", "-fPIC", NATIVE, "-o", library,
                        f"-I{ROOT / 'runtime' / 'include'}", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lheddle"],
                       check=True)
    return library


def native_rows(options, python, lines):
    """Beside C++ and the program, which do the same work without Python."""
    library = native_library(options)
    program = [options.build / "bin" / "heddle", "embed", options.compiled, "--input", lines, "--output",
               options.work / "embedded.npy"]
    for threads in options.threads:
        found = [calls(python, threads, "beside-native", options.compiled, threads, library, options.calls)
                 for _ in range(options.rounds)]
        ours, native = (statistics.median(each[name] for each in found) for name in ("python_us", "native_us"))
        more = statistics.median(each["python_us"] - each["native_us"] for each in found)
        yield ("`encode` of one sentence beside C++", threads, f"{number(ours)} µs", f"{number(native)} µs",
               f"{more:+.1f} µs", "+30 µs")
        ours, theirs = medians(
            options,
            lambda: sum(calls(python, threads, "many", "heddle", options.compiled, threads, lines).values()),
            lambda: seconds_of(lambda: pinned(threads, [*program, "--threads", threads], stderr=subprocess.DEVNULL)))
        yield (f"{options.lines:,} sentences, loading included, beside `heddle embed`", threads, f"{number(ours)} s",
               f"{number(theirs)} s", f"{(ours / theirs - 1) * 100:+.1f} %", "+2 %")


def sentence_rows(options, python, peer, lines):
    """Beside sentence-transformers, loading not counted."""
    for threads in options.threads:
        for what, argument, name, key, unit, asked in (
                ("one", options.calls // 10, "`encode` of one sentence", "us", "µs", "4x"),
                ("many", lines, f"`encode` of {options.lines:,} sentences", "encode_s", "s", "2.5x")):
            ours, theirs = medians(
                options,
                lambda: calls(python, threads, what, "heddle", options.compiled, threads, argument)[key],
                lambda: calls(peer, threads, what, "sentence-transformers", options.model, threads, argument)[key])
            yield (f"{name} beside sentence-transformers", threads, f"{number(ours)} {unit}",
                   f"{number(theirs)} {unit}", f"**{theirs / ours:.2f}x**", asked)


def translation_rows(options, python, peer):
    """Beside CTranslate2, the random model of `./dev bench`'s translation."""
    folder = options.work / f"translate-{options.size}"
    compiled = compiled_random_model(options, peer, TRANSLATE, folder)
    for threads in options.threads:
        found = [[calls(*call)["tokens_per_s"]
                  for call in ((python, threads, "translate", "heddle", compiled, threads, options.cases),
                               (peer, threads, "translate", "ctranslate2", folder / "ct2", threads, options.cases))]
                 for _ in range(options.rounds)]
        for case in options.cases.split(","):
            ours, theirs = (statistics.median(each[which][case] for each in found) for which in (0, 1))
            yield (f"translation, {case} (sentences x beam), beside CTranslate2", threads, f"{number(ours)} tokens/s",
                   f"{number(theirs)} tokens/s", f"**{ours / theirs:.2f}x**", "as in Translation")


def rows_of(options):
    lines = options.work / f"lines-{options.lines}.txt"
    if not lines.exists():
        lines.write_text(pinned(1, [sys.executable, MAKE_LINES, options.lines]), encoding="utf-8")
    peer = peers_python(options) if options.peers else None
    python, seconds = installed(options)
    yield from first_rows(options, python, seconds)
    yield from native_rows(options, python, lines)
    if "sentence-transformers" in options.peers:
        yield from sentence_rows(options, python, peer, lines)
    if "ctranslate2" in options.peers:
        yield from translation_rows(options, python, peer)


def main():
    options = parse()
    table = [HEAD, ("---",) * len(HEAD)]
    try:
        for row in rows_of(options):
            print("bench:", " | ".join(map(str, row)), file=sys.stderr)
            table.append(row)
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=3))
    text = "\n".join([f"Machine: {processor()}; {len(os.sched_getaffinity(0))} cores; "
                      f"{rounds_of(options.rounds)}.", "",
                      *("| " + " | ".join(map(str, row)) + " |" for row in table)])
    print(text)
    if options.write:
        write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
