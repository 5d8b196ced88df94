#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines per second of the scripts of examples/cluster, with Heddle and with sentence-transformers in the workers.

`./dev bench --cluster` calls this. It runs the scripts as they are, but for the module that they load the model with:
peers/timed_encoder.py loads either encoder and notes when each call began and ended. So parts, batches, workers and
files are the same. The engine has two workers of one thread each, on the first two cores.

  job      lines over the seconds of the whole script: starting engine and workers, loading models, reading, writing
  start    seconds until every worker has a model and has encoded one batch
  steady   lines per second from there until the first worker has nothing left to do. A call that lies only
           partly in that time counts in proportion
  busy     the part of that time in which workers encode; the rest is the engine's

What is measured is kept in the work folder, so that one run may measure some rows and another one the rest.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from compare import HERE, failure_of, number, processor, rounds_of, write_between

ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "python"))
import build_wheel  # noqa: E402

EXAMPLES = ROOT / "examples" / "cluster"
REQUIREMENTS = ROOT / "tests" / "integrations" / "requirements.txt"
BEGIN, END = "<!-- cluster: begin -->", "<!-- cluster: end -->"
ENGINES = {"ray": ("Ray Data", "ray_data.py"), "dask": ("Dask", "dask_bag.py"), "spark": ("Spark", "spark_udf.py")}
ENCODERS = {"f32": "Heddle f32", "int8": "Heddle int8", "sentence-transformers": "sentence-transformers f32"}
PEER = "sentence-transformers"
WORKERS = 2
HEAD = ("engine", "encoder", "job, lines/s", "ratio", "start, s", "steady, lines/s", "ratio", "busy")


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench --cluster", description=__doc__.splitlines()[0],
        epilog="HEDDLE_INTEGRATIONS_PYTHON: a python that has the engines and sentence-transformers, instead of "
               "build/python/integrations-env")
    parser.add_argument("--engines", default=",".join(ENGINES), help=f"some of {','.join(ENGINES)}")
    parser.add_argument("--encoders", default=",".join(ENCODERS), help=f"some of {','.join(ENCODERS)}")
    parser.add_argument("--lines", type=int, default=20000, help="lines of a job (20000)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    for name in ("build", "work"):
        parser.add_argument(f"--{name}", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name, known in (("engines", ENGINES), ("encoders", ENCODERS)):
        wanted = getattr(options, name).split(",")
        for each in wanted:
            if each not in known:
                parser.error(f"unknown name '{each}' in --{name}, expected one of {', '.join(known)}")
        setattr(options, name, wanted)
    for name, least in (("lines", 1000), ("rounds", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} {getattr(options, name)}, expected at least {least}")
    cores = len(os.sched_getaffinity(0))
    if cores < WORKERS:
        parser.error(f"this process may use {cores} core, expected {WORKERS}, one for each worker")
    options.build, options.work = options.build.resolve(), options.work.resolve() / "cluster"
    options.work.mkdir(parents=True, exist_ok=True)
    return options


# --- what a job needs ------------------------------------------------------------------------


def python_of(options):
    """A python with the packages of tests/integrations."""
    given = os.environ.get("HEDDLE_INTEGRATIONS_PYTHON")
    if given:
        return Path(given)
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return build_wheel.environment(options.build / "python" / "integrations-env",
                                   *(line for line in lines if not line.startswith("#"))) / "python"


def package_of(options, python):
    """The folder that the wheel is installed in."""
    folder = options.work / "package"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", "--target",
                    folder, build_wheel.only_wheel(options.build / "python" / "dist")], check=True)
    return folder


def lines_of(options):
    path = options.work / f"lines-{options.lines}.txt"
    if not path.exists():
        made = subprocess.run([sys.executable, EXAMPLES / "make_lines.py", str(options.lines)], check=True,
                              stdout=subprocess.PIPE)
        path.write_bytes(made.stdout)
    return path


def model_of(options, encoder):
    """What the encoder loads: the folder, or the folder compiled."""
    folder = options.build / "models" / "all-MiniLM-L6-v2"
    if encoder == PEER:
        return folder
    heddlec, compiled = options.build / "bin" / "heddlec", options.work / f"{encoder}.so"
    if not compiled.exists() or compiled.stat().st_mtime < heddlec.stat().st_mtime:
        subprocess.run([heddlec, folder, "-o", compiled, "--precision", encoder], check=True)
    return compiled


def timed_script(options, name):
    """The example, with the module that times the encoder for the one that loads models."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    if text.count("\nimport heddle\n") != 1:
        sys.exit(f"bench: {EXAMPLES / name}: expected the line 'import heddle' once")
    path = options.work / name
    path.write_text(text.replace("\nimport heddle\n", "\nimport timed_encoder as heddle\n"), encoding="utf-8")
    return path


# --- a job -----------------------------------------------------------------------------------


def calls_of(folder):
    """The calls of each worker, in their order. One of no lines is loading."""
    workers = []
    for path in sorted(folder.glob("*.jsonl")):
        calls = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if any(call["lines"] for call in calls):
            workers.append(calls)
    return workers


def steady(workers):
    """When the steady time begins and ends, its lines per second, and the part of it that workers encode."""
    worked = [[call for call in calls if call["lines"]] for calls in workers]
    begin, end = max(calls[0]["end"] for calls in worked), min(calls[-1]["end"] for calls in worked)
    if len(workers) != WORKERS or end <= begin:
        sys.exit(f"bench: {len(workers)} workers have encoded lines and {max(0, end - begin):.1f} s with all of them at "
                 f"work, expected {WORKERS} workers and more time: more --lines")
    lines = busy = 0
    for call in (call for calls in worked for call in calls):
        inside = max(0, min(end, call["end"]) - max(begin, call["begin"]))
        lines += call["lines"] * inside / (call["end"] - call["begin"])
        busy += inside
    return begin, end, lines / (end - begin), busy / (end - begin) / len(workers)


def found_of(workers, lines, begin, seconds):
    """What a job is worth in the table."""
    total = sum(call["lines"] for calls in workers for call in calls)
    if total != lines:
        sys.exit(f"bench: the workers have encoded {total} lines, expected {lines}")
    first, _, rate, busy = steady(workers)
    return {"job": lines / seconds, "start": first - begin, "steady": rate, "busy": busy}


def job(options, python, package, engine, encoder):
    log, output = options.work / "log", options.work / "output"
    for folder in (log, output):
        shutil.rmtree(folder, ignore_errors=True)
    log.mkdir()
    environment = dict(os.environ, PYTHONPATH=f"{HERE / 'peers'}:{package}", HEDDLE_TIMED_LOG=str(log),
                       HEDDLE_TIMED_ENCODER=PEER if encoder == PEER else "heddle", OMP_NUM_THREADS="1",
                       TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1", PYTHONDONTWRITEBYTECODE="1",
                       RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    command = [python, timed_script(options, ENGINES[engine][1]), model_of(options, encoder), lines_of(options), output,
               WORKERS]
    cores = sorted(os.sched_getaffinity(0))[:WORKERS]
    begin = time.monotonic()
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=options.work, env=environment, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"bench: {ENGINES[engine][1]} ended with exit code {done.returncode}, expected 0\n{done.stdout[-4000:]}")
    return found_of(calls_of(log), options.lines, begin, seconds)


# --- the table -------------------------------------------------------------------------------


def measure(options):
    """Takes turns, and keeps medians over rounds beside those of earlier runs."""
    python = python_of(options)
    package = package_of(options, python)
    kept = options.work / "measured.json"
    measured = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for engine in options.engines:
        found = {encoder: [] for encoder in options.encoders}
        for _ in range(options.rounds):
            for encoder, rounds in found.items():
                rounds.append(job(options, python, package, engine, encoder))
                print("bench:", engine, encoder, rounds[-1], file=sys.stderr)
        for encoder, rounds in found.items():
            row = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
            measured[f"{engine} {encoder}"] = {**row, "lines": options.lines, "rounds": options.rounds}
        kept.write_text(json.dumps(measured, indent=1), encoding="utf-8")
    return measured


def row_of(engine, encoder, measured):
    """Ratios are to sentence-transformers with the same engine."""
    found, peer = measured[f"{engine} {encoder}"], measured.get(f"{engine} {PEER}")
    ratios = ["", ""]
    if peer and encoder != PEER:
        ratios = [f"**{found[key] / peer[key]:.2f}x**" for key in ("job", "steady")]
    return [ENGINES[engine][0], ENCODERS[encoder], number(found["job"]), ratios[0], f"{found['start']:.1f}",
            number(found["steady"]), ratios[1], f"{found['busy']:.0%}"]


def table(options, measured):
    rows = [HEAD, ["---"] * len(HEAD)]
    # Jobs of other sizes start as long and are no comparison.
    here = {name: row for name, row in measured.items()
            if (row["lines"], row["rounds"]) == (options.lines, options.rounds)}
    rows += [row_of(engine, encoder, here) for engine in ENGINES for encoder in ENCODERS if f"{engine} {encoder}" in here]
    return "\n".join([f"Machine: {processor()}; {WORKERS} workers of one thread on {WORKERS} cores. {options.lines:,} "
                      f"lines, {rounds_of(options.rounds)}.", "", *("| " + " | ".join(row) + " |" for row in rows)])


def main():
    options = parse()
    try:
        text = table(options, measure(options))
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=3))
    print(text)
    if options.write:
        write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
