#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variants of the Transformer against the standard one and against other engines, as one table.

`./dev bench --variants` calls this. Everything is of base size with random weights, f32, one thread.
What is compared takes turns: every round measures one after the other, a gain is the median over
rounds of the quotients within a round, above 1 where Heddle's variant is faster.

Parts:
  encoder   six Weighted Transformer layers against six standard ones, and against other engines
  policies  shared and average attention: the gain that the models' sizes promise, and the gain; of
            the whole translation, of the decoder's steps (beside what `heddlec --report` predicts),
            and of the decoder's layers alone
  growth    where that gain grows: beams, depth, a shortlist
  grid      each fused form against the unfused one, over 30 shapes: one round, and where the fused
            one looks slower the median of six, five of them from copies of both binaries

The promised gain is that of a machine that is limited by nothing but arithmetic and memory: a step
takes as long as its products at the measured peak, or its weights at the measured bandwidth, if
that is longer; and then as long as its attention, or its caches. Sizes are those that `heddle info`
gives of the two binaries.

With --precision LIST the table is another: the gains in each of these precisions
(variants_precision.py).
"""

import argparse
import functools
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import variants_precision
from compare import NAMES, failure_of, lines_of, number, peers_python, processor, write_between
from precision import known_precisions

HERE = Path(__file__).resolve().parent
BRANCHES = HERE / "peers" / "branches.py"
BEGIN, END = "<!-- variants: begin -->", "<!-- variants: end -->"
PARTS = ["encoder", "policies", "growth", "grid"]
SOURCE = 24
SHAPES = ["1x128", "8x128"]
CASES = ["1x1", "32x4"]
LENGTHS = [24, 200]
POLICIES = ["san", "average", "san-average"]
# Name, the variant and what it is compared with, batch x beam, target tokens, shortlist.
GROWTH = [("4 beams", "san", "standard", "1x4", 24, 0),
          ("32 sentences", "san", "standard", "32x1", 24, 0),
          ("100 tokens", "san", "standard", "1x1", 100, 0),
          ("12 layers", "deep-san", "deep", "1x1", 24, 0),
          ("12 layers", "deep-san", "deep", "32x4", 24, 0),
          ("shortlist of 1,000", "san", "standard", "1x1", 24, 1000),
          ("shortlist of 1,000", "san", "standard", "32x4", 24, 1000)]
# What is switched off, and the models of which it fuses something: encoders over shapes, and
# generation over cases and target lengths.
GRID = [(name, shape, 0)
        for name in ("branches-128-512-4", "branches-256-1024-4", "branches-512-2048-2",
                     "branches-512-2048-8", "branches-1024-4096-16")
        for shape in ("1x1", "1x16", "1x128", "8x16", "32x32", "4x256")]
GENERATION_GRID = [(name, case, length)
                   for name in ("equal-128-512", "equal-256-1024", "equal-512-2048")
                   for case in ("1x1", "1x4", "8x1", "32x1", "32x4") for length in (24, 100)]
GRID_PASSES = {"fuse-attention": GRID, "share-attention": GENERATION_GRID, "fuse-branches": GRID,
               "fuse-projections": GRID, "fuse-embedding": GRID, "fold-epilogues": GRID}
# Above this a shape of the grid is measured again, in so many more rounds.
DOUBTED, MORE_ROUNDS = 1.01, 5
# A timed call takes about so long, in runs of what it times.
SECONDS = 0.7


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench --variants", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has torch and the engines, instead of "
               "build/peers")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--peers", default="openvino,onnxruntime,torch,torch-compile",
                        metavar="ENGINES", help="engines that encode the weighted model")
    parser.add_argument("--precision", metavar="LIST",
                        help="gains in these precisions, separated by commas, instead of the parts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md, that of "
                        "--precision into docs/precision.md")
    parser.add_argument("--verbose", action="store_true", help="every shape of the grid")
    parser.add_argument("--work", required=True, type=Path, help="where models are kept")
    for name in ("heddle", "heddlec"):
        parser.add_argument(f"--{name}", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    options.peers = [name for name in options.peers.split(",") if name]
    options.works = None
    if options.precision is not None:
        options.precisions = variants_precision.chosen(parser, options.precision,
                                                       known_precisions(options.heddlec))
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"unknown part '{name}', expected one of {', '.join(PARTS)}")
    return options


def say(text):
    print(f"bench: {text}", file=sys.stderr)


class Models:
    """Checkpoints and their binaries, made when they are first asked for."""

    def __init__(self, options, python):
        self.options = options
        self.python = python
        self.infos = {}

    def folder(self, name):
        folder = self.options.work / name
        if not (folder / "config.json").exists():
            say(f"writing a random model to {folder}")
            subprocess.run([self.python, str(BRANCHES), "make", str(self.options.work), "--models",
                            name], check=True)
        return folder

    def binary(self, name, without="", precision="f32"):
        """The compiled model, with a pass left out if one is named."""
        folder = self.folder(name)
        stem = f"without-{without}" if without else "model"
        binary = folder / (f"{stem}.so" if precision == "f32" else f"{stem}-{precision}.so")
        heddlec = self.options.heddlec
        if not binary.exists() or binary.stat().st_mtime < heddlec.stat().st_mtime:
            disabled = [f"--disable-pass={without}"] if without else []
            subprocess.run([str(heddlec), str(folder), *disabled, "--precision", precision, "-o",
                            str(binary)], check=True)
        return binary

    def entries(self, name):
        """What `heddle info` says of the entries, by name."""
        if name not in self.infos:
            described, = lines_of([str(self.options.heddle), "info", str(self.binary(name)),
                                   "--json"])
            self.infos[name] = {entry["name"]: entry for entry in described["entries"]}
        return self.infos[name]


# --- measurements ----------------------------------------------------------------------------


def encode_line(options, binary, shape, runs):
    line, = (line for line in lines_of([str(options.heddle), "bench", str(binary), "--shapes", shape,
                                        "--threads", "1", "--runs", str(runs)])
             if line.get("shape") == shape)
    return line


def generate_line(options, binary, case, length, shortlist, runs):
    command = [str(options.heddle), "bench", str(binary), "--cases", case, "--source-length",
               str(SOURCE), "--target-length", str(length), "--threads", "1", "--runs", str(runs)]
    line, = lines_of(command + (["--shortlist", str(shortlist)] if shortlist else []))
    return line


def runs_within(milliseconds):
    return max(1, min(200, int(SECONDS * 1e3 / milliseconds)))


def take_turns(options, label, measures, peers=None):
    """{name: [line, ...]}, a line a round. A measure is called with a number of runs; peers know
    theirs."""
    say(label)
    turns = dict(peers or {})
    for name, measure in measures.items():
        turns[name] = functools.partial(measure, runs_within(measure(1)["ms"]))
    measured = defaultdict(list)
    for _ in range(options.rounds):
        for name, turn in turns.items():
            measured[name].append(turn())
    return measured


def median(lines, key="ms"):
    return statistics.median(line[key] for line in lines)


def gain(slower, faster):
    """The median of the quotients of lines that were measured one after the other."""
    return statistics.median(a["ms"] / b["ms"] for a, b in zip(slower, faster))


def peer_line(options, models, engine, shape):
    line, = lines_of([models.python, str(BRANCHES), "time", str(options.work), "--engine", engine,
                      "--model", "weighted", "--threads", "1", "--shapes", shape])
    return line


# --- predictions -----------------------------------------------------------------------------


class Machine:
    """The measured peak and bandwidth of one core."""

    def __init__(self, options, models):
        lines = lines_of([str(options.heddle), "bench", str(models.binary("standard")), "--shapes",
                          "1x1", "--threads", "1", "--roofline", "--runs", "1"])
        machine = next(line for line in lines if line.get("kind") == "machine")
        self.peak = machine["peak_gflops"] * 1e9
        self.bandwidth = machine["bandwidth_gb_per_s"] * 1e9

    def seconds(self, operations, read):
        return max(operations / self.peak, read / self.bandwidth)


def cache_widths(entry, written):
    """Floats that a position has in the caches that an entry appends to, or only reads. A state is
    one row, whatever the length."""
    return sum(cache["width"] for cache in entry.get("caches", [])
               if cache["written"] == written and cache["layout"] != "state")


def step_seconds(machine, entry, rows, history, projection):
    """One step of decoding with so many positions before it. Of every cached float there is one
    multiplication and one addition; of every weight too. Of the last product, the one with the
    vocabulary, the part `projection` is computed."""
    products = entry["flops_per_token"] - (1 - projection) * 2 * entry["vocabulary"] * entry["width"]
    cached = rows * (history * cache_widths(entry, True) + SOURCE * cache_widths(entry, False))
    return (machine.seconds(rows * products, 2 * products) + machine.seconds(2 * cached, 4 * cached))


def predict(machine, models, name, case, length, shortlist):
    """Seconds to translate, from the sizes alone."""
    config = json.loads((models.folder(name) / "config.json").read_text())
    entries = models.entries(name)
    batch, beam = map(int, case.split("x"))
    encode = entries["encode"]
    tokens = batch * SOURCE
    seconds = machine.seconds(tokens * encode["flops_per_token"], 2 * encode["flops_per_token"])
    seconds += tokens * SOURCE * encode["flops_per_token_and_key"] / machine.peak
    decode = {**entries["decode"], "vocabulary": config["vocab_size"], "width": config["d_model"]}
    projection = shortlist / config["vocab_size"] if shortlist else 1
    for step in range(length):
        rows = batch * (beam if step > 0 else 1)
        seconds += step_seconds(machine, decode, rows, step + 1, projection)
    return seconds


def caches_by_hand(config):
    """Bytes of a target token and of a source token in the caches, from the paper's definition: a
    block of self-attention layers has one cache of keys and one of values for each layer, a block
    of layers that attend to the source one of both. An average is a state, not a cache."""
    layers, width = config["decoder_layers"], config["d_model"]
    blocks = len(config.get("self_attention_sharing", range(layers)))
    own = 0 if config.get("decoder_self_attention") == "average" else blocks + layers
    cross = 2 * len(config.get("cross_attention_sharing", range(layers)))
    return 4 * width * own, 4 * width * cross


# --- the table -------------------------------------------------------------------------------


class Table:
    HEAD = ["what", "case", "ms", "against", "its ms", "predicted", "measured"]

    def __init__(self):
        self.rows = []

    def add(self, what, case, milliseconds, against, its, predicted, measured):
        def ratio(value):
            return "" if value is None else f"{value:.2f}x"
        self.rows.append([what, case, number(milliseconds), against, number(its), ratio(predicted),
                          f"**{measured:.2f}x**"])

    def note(self, what, case, value, against, other):
        """A number that is known in two ways."""
        self.rows.append([what, case, f"{value:,}", against, f"{other:,}", "", ""])

    def text(self):
        rows = [self.HEAD, ["---"] * len(self.HEAD), *self.rows]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def encoder_part(options, models, table):
    for shape in SHAPES:
        measures = {name: functools.partial(encode_line, options, models.binary(name), shape)
                    for name in ("standard", "weighted")}
        peers = {engine: functools.partial(peer_line, options, models, engine, shape)
                 for engine in options.peers}
        measured = take_turns(options, f"encoder, {shape}", measures, peers)
        standard, weighted = measured["standard"], measured["weighted"]
        work = [median(lines, "gflops") * median(lines) for lines in (standard, weighted)]
        gained = gain(standard, weighted)
        table.add("weighted, 6 encoder layers", shape, median(weighted), "standard layers",
                  median(standard), work[0] / work[1], gained)
        # The time of the folded operations at the rate of the standard layers, over its own.
        share = gained / (work[0] / work[1])
        table.add("its operations at that rate", shape, median(weighted), "",
                  median(weighted) * share, None, share)
        if not options.peers:
            continue
        for engine in options.peers:
            table.add("weighted, 6 encoder layers", shape, median(weighted), NAMES[engine],
                      median(measured[engine]), None, gain(measured[engine], weighted))


def generation_rows(options, models, machine, table, names, base, case, length, shortlist):
    """A row for each of the names: label, variant. All of them take turns with the base."""
    variants = [variant for _, variant in names]
    measures = {name: functools.partial(generate_line, options, models.binary(name), case, length,
                                        shortlist) for name in (base, *variants)}
    measured = take_turns(options, f"{', '.join(variants)}, {case}, {length} tokens", measures)
    before = predict(machine, models, base, case, length, shortlist)
    for label, variant in names:
        promised = before / predict(machine, models, variant, case, length, shortlist)
        table.add(label, f"{case}, {length} tokens", median(measured[variant]), base,
                  median(measured[base]), promised, gain(measured[base], measured[variant]))


def policies_part(options, models, table):
    machine = Machine(options, models)
    for name in POLICIES:
        config = json.loads((models.folder(name) / "config.json").read_text())
        own, cross = caches_by_hand(config)
        decode = models.entries(name)["decode"]
        table.note(f"{name}, caches", "bytes a target token", own, "by hand; info",
                   4 * cache_widths(decode, True))
        table.note(f"{name}, caches", "bytes a source token", cross, "by hand; info",
                   4 * cache_widths(decode, False))
    for case in CASES:
        for length in LENGTHS:
            generation_rows(options, models, machine, table, [(name, name) for name in POLICIES],
                            "standard", case, length, 0)
        step_rows(options, models, machine, table, case, LENGTHS[0])


def step_line(options, machine, binary, case, length, runs):
    """The time of all steps of the decoder without search and encoder; that of its layers alone,
    without the vocabulary; and the least that the layers' dispatches need on that machine."""
    command = [str(options.heddle), "profile", str(binary), "--cases", case, "--source-length",
               str(SOURCE), "--target-length", str(length), "--threads", "1", "--runs", str(runs),
               "--json"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    work, = json.loads(output)["works"]
    steps = [row for row in work["rows"] if row["entry"] == "decode"]
    layers = [row for row in steps if row["name"].startswith("decoder.layers")]
    return {"ms": sum(row["ms"] for row in steps), "layers": sum(row["ms"] for row in layers),
            "least": sum(machine.seconds(row["flops"], row["weight_bytes"] + row["cache_bytes"])
                         for row in layers)}


def reported_gain(options, models, length, limit):
    """What `heddlec --report` predicts of a step when the policy of `san` is asked of `standard`."""
    config = json.loads((models.folder("san") / "config.json").read_text())
    policy = ",".join(f"{kind}:" + ",".join(map(str, config[f"{kind}_attention_sharing"]))
                      for kind in ("self", "cross"))
    report = options.work / "policy.json"
    subprocess.run([str(options.heddlec), str(models.folder("standard")), "-o",
                    str(options.work / "policy.mlir"), "--stop-after=dataflow",
                    f"--share-attention={policy}", f"--report={report}"], check=True)
    decode, = (element for element in json.loads(report.read_text())
               if element["pass"] == "predicted-gain" and element["where"] == "decode")
    size, = (size for size in decode["predicted"] if size["history"] == length)
    return size[limit]


def step_rows(options, models, machine, table, case, length):
    """The decoder alone: all of it against what the report predicts, its layers against the roofs.
    One row is limited by memory, many by arithmetic."""
    measures = {name: functools.partial(step_line, options, machine, models.binary(name), case,
                                        length)
                for name in ("standard", "san")}
    measured = take_turns(options, f"decoder steps, {case}, {length} tokens", measures)
    limit = "memory" if case == "1x1" else "arithmetic"
    rows = [("san, steps; predicted by the report", "ms",
             reported_gain(options, models, length, limit)),
            ("san, the decoder's layers alone", "layers",
             statistics.median(a["least"] / b["least"]
                               for a, b in zip(measured["standard"], measured["san"])))]
    for label, key, promised in rows:
        gained = statistics.median(a[key] / b[key]
                                   for a, b in zip(measured["standard"], measured["san"]))
        table.add(label, f"{case}, {length} tokens", median(measured["san"], key), "standard",
                  median(measured["standard"], key), promised, gained)


def growth_part(options, models, table):
    machine = Machine(options, models)
    for what, variant, base, case, length, shortlist in GROWTH:
        generation_rows(options, models, machine, table, [(f"{variant}, {what}", variant)], base,
                        case, length, shortlist)


def grid_time(options, models, without, shape):
    """The time with the pass as a part of that without it, and the milliseconds of both."""
    name, work, length = shape
    binaries = {"with": models.binary(name), "without": models.binary(name, without)}
    once = argparse.Namespace(**{**vars(options), "rounds": 1})

    def measure(label, files):
        measures = {key: (functools.partial(generate_line, options, file, work, length, 0) if length
                          else functools.partial(encode_line, options, file, work))
                    for key, file in files.items()}
        return take_turns(once, label, measures)

    measured = measure(f"grid, {without}, {grid_name(shape)}", binaries)
    if gain(measured["with"], measured["without"]) > DOUBTED:
        with tempfile.TemporaryDirectory(dir=options.work) as folder:
            for _ in range(MORE_ROUNDS):
                # Where its pages lie in memory makes a file of tens of megabytes faster or slower
                # by several per cent, for as long as it is there.
                copies = {key: Path(shutil.copy(file, Path(folder) / f"{key}.so"))
                          for key, file in binaries.items()}
                for key, lines in measure("another round of the same, from copies", copies).items():
                    measured[key] += lines
                for file in copies.values():
                    file.unlink()
    return (gain(measured["with"], measured["without"]), median(measured["with"]),
            median(measured["without"]))


def grid_name(shape):
    name, work, length = shape
    return f"{name.removeprefix('branches-')}, {work}" + (f", {length} tokens" if length else "")


def grid_part(options, models, table):
    for without, shapes in GRID_PASSES.items():
        rows = []
        for shape in shapes:
            rows.append((*grid_time(options, models, without, shape), grid_name(shape)))
            if options.verbose:
                print(f"{without} {rows[-1][-1]}: {rows[-1][0]:.3f} of the time without")
        time, fused, unfused, name = max(rows)
        table.add(f"{without}, the worst of {len(rows)}", name, fused, "without it", unfused, None,
                  1 / time)


def main():
    options = parse()
    parts = {"encoder": encoder_part, "policies": policies_part, "growth": growth_part,
             "grid": grid_part}
    table = Table()
    try:
        models = Models(options, peers_python(options))
        if options.precision is not None:
            rows = variants_precision.measure(options, models, take_turns, encode_line,
                                              generate_line)
            text = variants_precision.report(options, processor(), rows)
            place = (variants_precision.BEGIN, variants_precision.END, text,
                     variants_precision.PAGE)
        else:
            for name in options.parts:
                parts[name](options, models, table)
            text = table.text()
            place = (BEGIN, END, text)
    except subprocess.CalledProcessError as error:
        sys.exit(failure_of(error, words=3))
    print(text)
    if options.write:
        write_between(*place)


if __name__ == "__main__":
    main()
