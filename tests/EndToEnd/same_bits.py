#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares two builds bit by bit: every model of tests/oracles and the examples, compiled and run by each.

usage: same_bits.py OLD/bin NEW/bin [--model FOLDER ...] [--new-option=OPTION ...]

Compared are all outputs of every entry, the tokens and scores of greedy, beam and sampled generation,
and embeddings, for every instruction set of this machine, with one thread and with two. A build that
changes structure and not arithmetic must give no difference, nor does an option of NEW/bin/heddlec that only
changes how weights are stored: --new-option=--target=x86-64-v3:16,x86-64-v4. Exit code 1 if there is
one.
"""

import argparse
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu import PORTS, read_tensors, write_tensors  # noqa: E402

ISAS = ["x86-64-v3", "x86-64-v4"]


def rows_of(tensor):
    """The ids of an I32 matrix, row by row."""
    count = tensor[1][1]
    values = struct.unpack(f"<{len(tensor[2]) // 4}i", tensor[2])
    return [values[i:i + count] for i in range(0, len(values), count)]


class Build:
    """One build, and what it compiled."""

    def __init__(self, programs, work, options):
        self.programs, self.work, self.options = programs, work, options

    def run(self, program, *arguments):
        done = subprocess.run([self.programs / program, *map(str, arguments)],
                              capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{program} {' '.join(map(str, arguments))}: {done.stderr.decode()}")
        return done.stdout

    def compile(self, folder):
        binary = self.work / (folder.name + ".so")
        self.run("heddlec", folder, "-o", binary, *self.options)
        return binary

    def outputs(self, binary, inputs, isa, threads):
        """All outputs of its entries for the tensors of a file."""
        result = self.work / "outputs.safetensors"
        self.run("heddle", "run", binary, "--inputs", inputs, "--outputs", result, "--isa", isa,
                 "--threads", threads)
        return read_tensors(result)

    def generated(self, binary, lines, isa, threads, *options):
        source = self.work / "lines.txt"
        source.write_text(lines)
        return self.run("heddle", "generate", binary, "--input", source, "--isa", isa, "--threads",
                        threads, "--format", "jsonl", *options)

    def embedded(self, binary, texts, isa, threads):
        return self.run("heddle", "embed", binary, "--input", texts, "--isa", isa, "--threads",
                        threads)


class Comparison:
    """What was compared, and what differs."""

    def __init__(self):
        self.tensors = self.answers = self.values = 0
        self.different = []

    def compare_tensors(self, where, old, new):
        for name in sorted(old.keys() | new.keys()):
            self.tensors += 1
            if old.get(name) != new.get(name):
                self.different.append(f"{where}: {name}")
            else:
                self.values += len(old[name][2]) // 4

    def compare_answers(self, where, old, new):
        self.answers += old.count(b"\n")
        if old != new:
            self.different.append(where)


SEARCHES = {"greedy": [], "beam 4": ["--beam", 4, "--nbest", 4, "--scores"],
            "sample": ["--sample", "--seed", 7, "--top-k", 5]}


def compare_model(folder, old, new, comparison):
    binaries = old.compile(folder), new.compile(folder)
    builds = list(zip((old, new), binaries))
    expected = folder / "expected.safetensors"
    lines, options = None, []
    if expected.exists():
        tensors = read_tensors(expected)
        generates = "logits" in tensors
        inputs = {name: tensor for name, tensor in tensors.items()
                  if name in ("source", "target", "attention_mask", "token_type_ids", *PORTS)}
        # Under both names: what an entry does not have is ignored.
        inputs |= {PORTS[name]: tensor for name, tensor in tensors.items() if name in PORTS}
        given = old.work / "inputs.safetensors"
        write_tensors(given, inputs)
        for isa in ISAS:
            for threads in (1, 2):
                results = [build.outputs(binary, given, isa, threads) for build, binary in builds]
                comparison.compare_tensors(f"{folder.name}, {isa}, {threads} threads", *results)
        if generates:
            lines = "".join(" ".join(str(token) for token in row if token > 0) + "\n"
                            for row in rows_of(inputs["source"]))
            options = ["--tokens"]
    elif folder.parent.name == "dates":
        lines = "".join(line.split("\t")[0] + "\n" for line in
                        (ROOT / "examples/dates/heldout.tsv").read_text().splitlines()[:40])
    else:
        texts = old.work / "texts.txt"
        texts.write_text("".join(line + "\n" for line in
                                 (ROOT / "README.md").read_text().splitlines()[:60] if line))
        for isa in ISAS:
            for threads in (1, 2):
                results = [build.embedded(binary, texts, isa, threads)
                           for build, binary in builds]
                comparison.compare_answers(f"{folder.name}, {isa}, {threads} threads", *results)
    for name, search in (SEARCHES.items() if lines else ()):
        for isa in ISAS:
            results = [build.generated(binary, lines, isa, threads, *options, *search)
                       for threads, (build, binary) in enumerate(builds, 1)]
            comparison.compare_answers(f"{folder.name}, {isa}, {name}", *results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--model", type=Path, action="append", default=[],
                        help="a further folder: embeddings of lines of README")
    parser.add_argument("--new-option", action="append", default=[],
                        help="an option of the second heddlec")
    arguments = parser.parse_args()
    folders = sorted(path.parent for path in ROOT.glob("tests/oracles/*/config.json"))
    folders += sorted(path.parent for path in ROOT.glob("examples/dates/*/config.json"))
    comparison = Comparison()
    with tempfile.TemporaryDirectory() as temporary:
        builds = []
        for name, programs, options in (("old", arguments.old, []),
                                        ("new", arguments.new, arguments.new_option)):
            work = Path(temporary) / name
            work.mkdir()
            builds.append(Build(programs.resolve(), work, options))
        for folder in folders + arguments.model:
            compare_model(folder, *builds, comparison)
    for where in comparison.different:
        print(f"different: {where}")
    print(f"{len(folders) + len(arguments.model)} models: {comparison.tensors} tensors of "
          f"{comparison.values} values and {comparison.answers} lines of answers compared, "
          f"{len(comparison.different)} different")
    return 1 if comparison.different else 0


if __name__ == "__main__":
    sys.exit(main())
