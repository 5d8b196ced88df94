# SPDX-License-Identifier: Apache-2.0
"""Heddle in a precision beside the engines that have one of that family: `./dev bench --peers
--precision LIST`.

A precision's family is its name up to the first hyphen: int8, int8-g128 and int8-weights are beside
the same engines. In every round Heddle's binaries and then the engines take their turns; a ratio is
the median over rounds of the quotients within a round, with the engine whose own median is best.
An engine that does not run is left out, and the text says so.
"""

import json
import math
import statistics
import subprocess
import sys
from collections import defaultdict

from compare import ENCODE, NAMES, json_lines, number, peers_python, processor, rounds_of
from translation import LENGTH, TRANSLATE

BEGIN, END = "<!-- precision peers: begin -->", "<!-- precision peers: end -->"
FAMILIES = {"bf16": ["openvino-bf16", "torch-bf16"],
            "int8": ["ctranslate2-int8", "openvino-int8", "onnxruntime-int8"],
            "int4": ["openvino-int4", "onnxruntime-int4"]}
# What `peers/translate.py --precision` calls the precision of an engine that translates.
TRANSLATORS = {"ctranslate2-int8": "int8"}
COSINES = {"least_cosine": "least cosine", "mean_cosine": "mean cosine"}


def family(precision):
    return precision.split("-")[0]


def engines_of(precision):
    return FAMILIES.get(family(precision), [])


def chosen_engines(parser, precisions, wanted):
    """The engines that --peers names, without names all that have one of the precisions."""
    for precision in precisions:
        if not engines_of(precision):
            parser.error(f"no engine is known for precision '{precision}', expected a precision of "
                         f"{' or '.join(FAMILIES)}")
    fitting = list(dict.fromkeys(name for each in precisions for name in engines_of(each)))
    for name in wanted:
        if name not in fitting:
            word = "no engine for these precisions" if name in NAMES else "an unknown engine"
            parser.error(f"'{name}' is {word}, expected one of {', '.join(fitting)}")
    return [name for name in fitting if not wanted or name in wanted]


def works_of(lines):
    """{shape, or "translation " and case: seconds, for a translation seconds a token}."""
    result = {}
    for line in lines:
        if "shape" in line:
            result[line["shape"]] = line["ms"] / 1000
        elif "beam" in line:
            result[f"translation {line['batch']}x{line['beam']}"] = 1 / line["tokens_per_s"]
    return result


class Peers:
    """Runs the engines, and remembers which of them did not run, and where."""

    def __init__(self, options, translation):
        python = peers_python(options)
        self.encode = {}
        for name in options.engines:
            self.encode[name] = [python, str(ENCODE), options.model, str(options.work), "--engine",
                                 name, "--threads", "1"]
        self.translate = {}
        if translation:
            for name in filter(TRANSLATORS.get, options.engines):
                self.translate[name] = [python, str(TRANSLATE), "time", str(translation.parent),
                                        "--threads", "1", "--precision", TRANSLATORS[name],
                                        "--cases", options.cases]
        self.failed = []

    def run(self, commands, name, work, *arguments):
        """The JSON lines of an engine's program; none, and none from then on, where it fails."""
        if name not in commands:
            return []
        done = subprocess.run([*commands[name], *arguments], capture_output=True, text=True)
        if done.returncode == 0:
            return json_lines(done.stdout)
        del commands[name]
        self.failed.append((name, work))
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        print(f"bench: {NAMES[name]} is left out of the {work}: exit code {done.returncode}, "
              f"expected 0: {last}", file=sys.stderr)
        return []


def cosines_of_heddle(options, binary, goldens):
    """The least and the mean cosine of a binary's embeddings with the goldens."""
    output = subprocess.run([options.heddle, "embed", str(binary), "--input", str(goldens),
                             "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout
    texts = goldens.read_text(encoding="utf-8").splitlines()
    cosines = []
    for own, golden in zip(json_lines(output), map(json.loads, texts), strict=True):
        a, b = own["embedding"], golden["embedding"]
        product = sum(x * y for x, y in zip(a, b, strict=True))
        cosines.append(product / math.hypot(*a) / math.hypot(*b))
    return {"least_cosine": min(cosines), "mean_cosine": statistics.mean(cosines)}


def measure(options, encoders, translation, speeds, goldens):
    """({(precision or engine, work): seconds of each round}, {precision or engine: cosines}, what
    did not run)."""
    peers = Peers(options, translation)
    cosines = {each: cosines_of_heddle(options, encoders[each], goldens)
               for each in options.precisions}
    # The first run of an engine also converts the model.
    for name in options.engines:
        print(f"bench: accuracy of {NAMES[name]}", file=sys.stderr)
        for line in peers.run(peers.encode, name, "encoder", "--shapes", "", "--goldens",
                              str(goldens)):
            cosines[name] = line
    times = defaultdict(list)
    for index in range(options.rounds):
        print(f"bench: round {index + 1} of {options.rounds}", file=sys.stderr)
        for each in options.precisions:
            for work, seconds in speeds(each).items():
                times[each, work].append(seconds)
        for name in options.engines:
            lines = peers.run(peers.encode, name, "encoder", "--shapes", options.shapes)
            lines += peers.run(peers.translate, name, "translation")
            for work, seconds in works_of(lines).items():
                times[name, work].append(seconds)
    # Rounds before a failure have no partner in those after it.
    for name, part in peers.failed:
        for key in [key for key in times if key[0] == name and
                    key[1].startswith("translation") == (part == "translation")]:
            del times[key]
    return times, cosines, peers.failed


def quotient(times, work, one, other):
    """How many times as long as the other the first one takes."""
    pairs = zip(times[one, work], times[other, work], strict=True)
    return f"**{statistics.median(first / second for first, second in pairs):.2f}x**"


def speed(times, name, work):
    """Milliseconds, or tokens a second of a translation; nothing where it was not measured."""
    if (name, work) not in times:
        return ""
    median = statistics.median(times[name, work])
    return number(1 / median if work.startswith("translation") else 1000 * median)


def table(options, times, cosines, precision):
    engines = [name for name in options.engines if name in engines_of(precision)]
    columns = ["f32", precision, *engines]
    head = ["work", "Heddle f32", f"Heddle {precision}", *(NAMES[name] for name in engines),
            "beside f32", "beside the fastest"]
    rows = [head, ["---"] * len(head)]
    for work in [work for name, work in times if name == precision]:
        unit = "tok/s" if work.startswith("translation") else "ms"
        ran = [name for name in engines if (name, work) in times]
        fastest = min(ran, key=lambda name: statistics.median(times[name, work]), default=None)
        rows.append([f"{work} {unit}", *(speed(times, name, work) for name in columns),
                     quotient(times, work, "f32", precision),
                     quotient(times, work, fastest, precision) if fastest else ""])
    for key, name in COSINES.items():
        rows.append([name, *(f"{cosines[each][key]:.5f}" if each in cosines else ""
                             for each in columns), "", ""])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def report(options, times, cosines, failed):
    """A table for each precision."""
    text = [f"Machine: {processor()}. One thread, {rounds_of(options.rounds)}."]
    text += [f"{NAMES[name]} did not run on the {work} and is left out." for name, work in failed]
    text += [table(options, times, cosines, each) for each in options.precisions if each != "f32"]
    return "\n\n".join(text)
