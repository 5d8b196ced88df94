#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrences, MultiModel and windows of attention beside other engines, as two tables.

`./dev bench --seeds` calls this. Models have random weights, the same for all; f32, one thread.
peers/seeds.py makes them, says what is timed, and times the other engines. Heddle and the engines
take turns: every round measures one after the other. An engine with several ways to do a case gets
the one that was fastest in a run of each. A ratio is the median over rounds of the quotients of the
fastest engine and Heddle within a round, above 1 where Heddle is faster.

The second table is about Heddle alone, from `heddle profile`:
  recurrent products   what is called at every step, as a part of the peak where there are many
                       sequences, and of the bandwidth of the cache that holds the weights where
                       there is one. That bandwidth is the roof of `recurrence`, the same recurrence
                       with inputs of 16 numbers: a pass reads hardly more than recurrent weights
  against the roofs    the time over the least that arithmetic and reading allow
  experts              the time over that of the active experts' operations at the rate of the other
                       products of the model
  attention alone      to a window against all keys: how much faster, and its time over that of its
                       operations at the rate of all keys
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from compare import HERE, NAMES, failure_of, number, peers_python, processor, write_between

SEEDS = HERE / "peers" / "seeds.py"
RAGGED = HERE / "ragged.txt"
BEGIN, END = "<!-- seeds: begin -->", "<!-- seeds: end -->"
LENGTH, WINDOW, LONG, PIXELS = 24, 256, 8192, 64 * 64
# Cases of a model, and the ratio to the fastest engine that is asked of each.
MODELS = {"bilstm": {"1x64": 1.4, "32x64": 1.15, "ragged": 1.8},
          "bigru": {"1x64": 1.4, "32x64": 1.05, "ragged": 1.8},
          "rnnsearch": {"1x1": 1.1, "32x1": 1.3, "8x4": 1.3},
          "multimodel": {"1x128": 1.5, "8x128": 1.35},
          "multimodel-image": {"1": 1.2, "8": 1.2},
          "window": {"1x2048": 1.3, "1x8192": 1.3},
          "window-full": {"1x2048": None, "1x8192": None}}


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench --seeds", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has torch and the engines, instead of "
               "build/peers")
    parser.add_argument("--models", default=",".join(MODELS), help=f"some of {','.join(MODELS)}")
    parser.add_argument("--peers", default="openvino,onnxruntime,torch,torch-compile",
                        metavar="ENGINES", help="the other engines (all four)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2,
                        help="how long one measurement takes at least; 0 is a single run, to see "
                             "that all works (2)")
    parser.add_argument("--write", action="store_true",
                        help="put the tables into docs/performance.md")
    parser.add_argument("--work", required=True, type=Path, help=argparse.SUPPRESS)
    for name in ("heddle", "heddlec"):
        parser.add_argument(f"--{name}", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.models = options.models.split(",")
    options.peers = [name for name in options.peers.split(",") if name]
    for name in options.models:
        if name not in MODELS:
            parser.error(f"unknown model '{name}', expected one of {', '.join(MODELS)}")
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, expected at least 1")
    return options


def say(text):
    print(f"bench: {text}", file=sys.stderr)


def last_line(text):
    """What a program says when it refuses."""
    return (text.strip() or "no message").splitlines()[-1]


# --- Heddle ----------------------------------------------------------------------------------


class Heddle:
    """Models compiled when they are first asked for, and what was measured of them."""

    def __init__(self, options, python):
        self.options, self.python = options, python
        self.refused = {}

    def make(self, name):
        subprocess.run([self.python, str(SEEDS), "make", str(self.options.work), "--models", name],
                       check=True)

    def binary(self, name):
        """The compiled model, or none where heddlec refuses it."""
        folder, heddlec = self.options.work / name, self.options.heddlec
        binary = folder / "model.so"
        if name in self.refused:
            return None
        if not binary.exists() or binary.stat().st_mtime < heddlec.stat().st_mtime:
            say(f"compiling {folder}")
            done = subprocess.run([str(heddlec), str(folder), "-o", str(binary)], text=True,
                                  stderr=subprocess.PIPE)
            if done.returncode != 0:
                self.refused[name] = last_line(done.stderr)
                return None
        return binary

    def work_of(self, name, case):
        """The options that say what is measured."""
        if name == "rnnsearch":
            return ["--cases", case, "--source-length", str(LENGTH), "--target-length", str(LENGTH)]
        if case == "ragged":
            return ["--lengths", str(RAGGED)]
        # Rows of an image are its pixels.
        return ["--shapes", f"{case}x{PIXELS}" if name == "multimodel-image" else case]

    def measure(self, name, case, runs):
        """The line of `heddle bench`, or its message as an error."""
        command = [str(self.options.heddle), "bench", str(self.binary(name)),
                   *self.work_of(name, case), "--threads", "1", "--runs", str(runs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return {"error": last_line(done.stderr)}
        line, = map(json.loads, done.stdout.splitlines())
        return line

    def turn(self, name, case):
        """A function that measures one turn, or why there is none: as of an engine."""
        if self.binary(name) is None:
            return None, self.refused[name]
        first = self.measure(name, case, 1)
        if "error" in first:
            return None, first["error"]
        least = 3 if self.options.seconds else 1
        runs = max(least, min(1000, int(self.options.seconds * 1e3 / first["ms"])))
        return functools.partial(self.measure, name, case, runs), None

    def profile(self, name, case):
        """The fastest of five runs of one work, dispatch by dispatch. Means would have every
        interruption in one of the dispatches."""
        say(f"{name} {case}, profile")
        command = [str(self.options.heddle), "profile", str(self.binary(name)),
                   *self.work_of(name, case), "--threads", "1", "--json", "--by", "dispatch",
                   "--runs", "1"]
        records = []
        for _ in range(5 if self.options.seconds else 1):
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = json.loads(output)
            work, = found["works"]
            records.append({**work, "peak_gflops": found["peak_gflops"]})
        return min(records, key=lambda record: record["ms"])


# --- the other engines -----------------------------------------------------------------------


class Engine:
    """A process that keeps its models between the turns."""

    def __init__(self, options, python, name):
        self.name = name
        self.process = subprocess.Popen(
            [python, str(SEEDS), "time", str(options.work), "--engine", name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        """The answer; engines print other things in between."""
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            for line in self.process.stdout:
                if line.startswith("{"):
                    return json.loads(line)
        except BrokenPipeError:
            pass
        return {"error": f"the process ended with exit code {self.process.wait()}"}

    def turn(self, model, case, seconds):
        """A function that measures a turn in the fastest form, or why there is none."""
        found = self.ask(model=model, case=case, forms=True)
        forms, once = found.get("forms", []), {}
        for form in forms if len(forms) > 1 else []:
            say(f"{model} {case}, {self.name} {form}")
            found = self.ask(model=model, case=case, form=form, runs=1)
            if "ms" in found:
                once[form] = found["ms"]
        if len(forms) != 1 and not once:
            return None, found.get("error", "no form of it works")
        best = min(once, key=once.get) if once else forms[0]
        return functools.partial(self.ask, model=model, case=case, form=best, seconds=seconds,
                                 runs=0 if seconds else 1), None

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# --- the first table -------------------------------------------------------------------------


def median(lines, key="ms"):
    return statistics.median(line[key] for line in lines)


def measure(options, heddle, engines, model, case):
    """{name: [line, ...]}, a line a round, and {name: why there is none}."""
    turns, missing = {}, {}
    turn, reason = heddle.turn(model, case)
    if turn:
        turns["heddle"] = turn
    else:
        missing["heddle"] = reason
    for engine in engines:
        turn, reason = engine.turn(model, case, options.seconds)
        if turn:
            turns[engine.name] = turn
        else:
            missing[engine.name] = reason
    measured = defaultdict(list)
    for number_of_round in range(options.rounds):
        say(f"{model} {case}, round {number_of_round + 1} of {options.rounds}")
        for name, turn in turns.items():
            measured[name].append(turn())
    for name, lines in list(measured.items()):
        wrong = [line["error"] for line in lines if "error" in line]
        if wrong:
            missing[name] = wrong[0]
            del measured[name]
    return measured, missing


def ratio_to_fastest(measured):
    """The median over rounds, or none."""
    others = [lines for name, lines in measured.items() if name != "heddle"]
    if not others or "heddle" not in measured:
        return None
    return statistics.median(min(line["ms"] for line in theirs) / ours["ms"]
                             for ours, *theirs in zip(measured["heddle"], *others))


def speed(model, case, milliseconds):
    """Milliseconds; of rnnsearch target tokens per second."""
    if model != "rnnsearch":
        return number(milliseconds)
    return number(int(case.split("x")[0]) * LENGTH / milliseconds * 1e3)


def comparison_row(options, model, case, measured):
    asked, ratio = MODELS[model][case], ratio_to_fastest(measured)
    ours = measured.get("heddle")
    share = ours and ours[0].get("fraction_of_peak") and median(ours, "fraction_of_peak")
    row = [model, case, speed(model, case, median(ours)) if ours else "refused",
           f"{share:.0%}" if share else ""]
    for engine in options.peers:
        lines = measured.get(engine)
        form = (lines[0].get("form") or "").replace("-", " ") if lines else ""
        row.append(f"{speed(model, case, median(lines))} {form}".strip() if lines else "")
    return row + [f"**{ratio:.2f}x**" if ratio else "", f"{asked:.2f}x" if asked else ""]


def comparison(options, heddle, engines):
    """Rows, and a line for each that lacks something."""
    head = ["model", "case", "Heddle", "of the peak", *(NAMES[name] for name in options.peers),
            "ratio to the fastest", "asked"]
    rows, notes = [head, ["---"] * len(head)], []
    for model in options.models:
        heddle.make(model)
        for case in MODELS[model]:
            measured, missing = measure(options, heddle, engines, model, case)
            rows.append(comparison_row(options, model, case, measured))
            notes += [f"* {model} {case}, {NAMES.get(name, 'Heddle')}: {reason}"
                      for name, reason in missing.items()]
    return rows, notes


# --- the second table ------------------------------------------------------------------------


def products(rows):
    return [row for row in rows if row["flops"] > 0]


def rate(rows):
    """GFLOP/s of several dispatches."""
    return sum(row["flops"] for row in rows) * 1e-6 / sum(row["ms"] for row in rows)


def at_every_step(work, length):
    return [row for row in products(work["rows"]) if row["calls"] >= length]


def recurrent_rows(options, heddle):
    rows = []
    for model in ("bilstm", "bigru"):
        if model not in options.models or heddle.binary(model) is None:
            continue
        many, one = heddle.profile(model, "32x64"), heddle.profile(model, "1x64")
        found = rate(at_every_step(many, 64))
        rows.append([f"{model}, recurrent products", "32x64", f"{found:.1f} GFLOP/s",
                     f"{many['peak_gflops']:.1f} GFLOP/s", f"{found / many['peak_gflops']:.0%}",
                     "85%"])
        heddle.make("recurrence")
        if heddle.binary("recurrence") is None:
            continue
        cache = heddle.profile("recurrence", "1x64")["entries"][0]["roof_gb_per_s"]
        steps = at_every_step(one, 64)
        found = sum(row["weight_bytes"] for row in steps) * 1e-6 / sum(row["ms"] for row in steps)
        rows.append([f"{model}, recurrent products", "1x64", f"{found:.1f} GB/s",
                     f"{cache:.1f} GB/s", f"{found / cache:.0%}", "80%"])
    return rows


def roof_rows(options, heddle):
    rows = []
    if "rnnsearch" not in options.models or heddle.binary("rnnsearch") is None:
        return rows
    for case in MODELS["rnnsearch"]:
        work = heddle.profile("rnnsearch", case)
        # A roof that is exceeded, of weights that come from a cache after all, is none.
        least = sum(row["ms"] * min(row["fraction_of_roof"], 1) for row in work["rows"])
        rows.append(["rnnsearch, against the roofs", case, f"{number(work['ms'])} ms",
                     f"{number(least)} ms", f"{work['ms'] / least:.2f}x", "1.25x"])
    return rows


def expert_rows(options, heddle):
    if "multimodel" not in options.models or heddle.binary("multimodel") is None:
        return []
    work = heddle.profile("multimodel", "8x128")
    config = json.loads((options.work / "multimodel" / "config.json").read_text())
    moe = config["moe"]
    # Two maps for each of the active experts of every row.
    operations = work["tokens"] * moe["active"] * 2 * 2 * config["d_model"] * moe["hidden"]
    experts = [row for row in work["rows"] if "expert" in row["name"] or "moe" in row["name"]]
    others = [row for row in products(work["rows"])
              if row not in experts and row["kernel"].startswith("contract")]
    least = operations * 1e-6 / rate(others)
    taken = sum(row["ms"] for row in experts)
    return [["multimodel, experts", "8x128", f"{number(taken)} ms", f"{number(least)} ms",
             f"{taken / least:.2f}x", "1.25x"]]


def attention_rows(options, heddle):
    if not {"window", "window-full"} <= set(options.models):
        return []
    if heddle.binary("window") is None or heddle.binary("window-full") is None:
        return []
    taken = [sum(row["ms"] for row in heddle.profile(model, f"1x{LONG}")["rows"]
                 if row["kernel"].startswith("attention")) for model in ("window", "window-full")]
    window, full = taken
    # At both ends of the sentence there is half a window with fewer keys.
    least = full * (LONG * WINDOW - WINDOW ** 2 / 4) / LONG ** 2
    return [["window, attention alone", f"1x{LONG}", f"{number(window)} ms",
             f"all keys, {number(full)} ms", f"{full / window:.1f}x", "8x"],
            ["window, its operations at that rate", f"1x{LONG}", f"{number(window)} ms",
             f"{number(least)} ms", f"{window / least:.2f}x", "1.30x"]]


def own_table(options, heddle):
    head = ["what", "case", "Heddle", "against", "measured", "asked"]
    rows = (recurrent_rows(options, heddle) + roof_rows(options, heddle)
            + expert_rows(options, heddle) + attention_rows(options, heddle))
    return [head, ["---"] * len(head), *rows] if rows else []


def markdown(rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main():
    options = parse()
    engines = []
    try:
        python = peers_python(options)
        heddle = Heddle(options, python)
        engines = [Engine(options, python, name) for name in options.peers]
        rows, notes = comparison(options, heddle, engines)
        # What took minutes to measure is not lost with the second table.
        say(f"measured\n{markdown(rows)}")
        own = own_table(options, heddle)
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=3))
    except OSError as error:
        sys.exit(f"bench: {error}")
    finally:
        for engine in engines:
            engine.close()
    about = (f"Machine: {processor()}; {os.cpu_count()} cores, of which one computes. Medians of "
             f"{options.rounds} rounds; milliseconds, of rnnsearch target tokens per second.")
    parts = [about, markdown(rows), "\n".join(notes), markdown(own)]
    text = "\n\n".join(part for part in parts if part)
    print(text)
    if options.write:
        write_between(BEGIN, END, text)


if __name__ == "__main__":
    main()
