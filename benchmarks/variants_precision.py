# SPDX-License-Identifier: Apache-2.0
"""The gains of variants in several precisions: `./dev bench --variants --precision LIST`.

A gain is that of a variant over the standard Transformer in the same precision: what fewer bits buy
is in both. In every round all precisions take turns, the standard model before each variant.
"""

import functools
import statistics
from pathlib import Path

from compare import number, rounds_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "precision.md"
BEGIN, END = "<!-- precision variants: begin -->", "<!-- precision variants: end -->"
# Row, variant, and whether it is generation, batch x beam, or encoding, batch x tokens.
WORKS = [("weighted, 6 encoder layers", "weighted", False, "1x128"),
         ("weighted, 6 encoder layers", "weighted", False, "8x128"),
         ("shared attention", "san", True, "1x1"),
         ("shared attention", "san", True, "32x4")]
TOKENS = 24


def chosen(parser, text, known):
    """The precisions of a list, each once; the first is what others are beside."""
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            parser.error(f"unknown precision '{name}', expected one of {', '.join(known)}")
    return names


def gains(lines, variant, precisions):
    """{precision: (milliseconds of the variant, gain)}, of lines by (model, precision), a round each."""
    found = {}
    for each in precisions:
        standard, own = lines["standard", each], lines[variant, each]
        found[each] = (statistics.median(line["ms"] for line in own),
                       statistics.median(a["ms"] / b["ms"] for a, b in zip(standard, own)))
    return found


def table(rows, precisions):
    """`rows` are (what, case, {precision: (milliseconds, gain)})."""
    lines = [["variant", "case", *precisions], ["---"] * (2 + len(precisions))]
    for what, case, found in rows:
        lines.append([what, case, *(f"{number(ms)} ms (**{gain:.2f}x**)"
                                    for ms, gain in (found[each] for each in precisions))])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def measure(options, models, take_turns, encode_line, generate_line):
    """The rows of the table. The last three are functions of variants.py."""
    rows = []
    for what, variant, generates, case in options.works or WORKS:
        measures = {}
        for each in options.precisions:
            for name in ("standard", variant):
                binary = models.binary(name, precision=each)
                measures[name, each] = (
                    functools.partial(generate_line, options, binary, case, TOKENS, 0) if generates
                    else functools.partial(encode_line, options, binary, case))
        lines = take_turns(options, f"{what}, {case}, {', '.join(options.precisions)}", measures)
        label = f"{case}, {TOKENS} tokens" if generates else case
        rows.append((what, label, gains(lines, variant, options.precisions)))
    return rows


def report(options, machine, rows):
    return (f"Machine: {machine}. One thread, {rounds_of(options.rounds)}; in brackets the "
            f"speed beside the standard model in the same precision.\n\n"
            f"{table(rows, options.precisions)}")
