#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each precision costs and gains: size, accuracy and speed, as a table and a picture.

`./dev bench --precision LIST` calls this. all-MiniLM-L6-v2 is compiled in f32 and in every
precision of the list. Accuracy is that of the embeddings of tests/oracles/minilm, and of `heddle
compare` with the f32 binary on their texts; speed is that of `heddle bench`, in turns on the same core, and of a random
Transformer of base size that translates 24 tokens into 24. A ratio is the median over rounds of the
quotients within a round: above 1 where the precision is faster than f32.

With `--peers` other engines that have the precision take turns with Heddle, and the tables are
those of precision_peers.py.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from xml.sax.saxutils import escape

import precision_peers
from compare import HERE, lines_of, number, peers_python, processor, rounds_of, write_between
from translation import LENGTH, TRANSLATE

ROOT = HERE.parent
PAGE = ROOT / "docs" / "precision.md"
CHART = ROOT / "docs" / "precision.svg"
TEXTS = ROOT / "tests" / "oracles" / "minilm" / "embeddings.jsonl"
BEGIN, END = "<!-- precision: begin -->", "<!-- precision: end -->"
WIDTH, HEIGHT, LEFT, BOTTOM = 760, 300, 90, 46


def known_precisions(heddlec):
    """What heddlec's help lists, f32 first."""
    text = subprocess.run([heddlec, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout
    section = text.partition("\nPrecisions of --precision:\n")[2].partition("\n\n")[0]
    names = re.findall(r"^  (\S+)", section, re.M)
    if names[:1] != ["f32"]:
        sys.exit(f"bench: '{heddlec} --help' lists the precisions '{', '.join(names)}', expected "
                 "f32 and others")
    return names


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__.splitlines()[0],
        epilog="HEDDLE_PEERS_PYTHON: a python that has the engines, instead of build/peers")
    parser.add_argument("--precision", nargs="?", default="", metavar="LIST",
                        help="some of those that `heddlec --help` lists, a comma between them (all)")
    parser.add_argument("--peers", nargs="?", const="", metavar="ENGINES",
                        help="compare with these instead of f32 alone, a comma between them (all "
                        "that have one of the precisions); known are " + "; ".join(
                            f"{family}: {', '.join(names)}"
                            for family, names in precision_peers.FAMILIES.items()))
    parser.add_argument("--shapes", default="1x16,1x128,32x128", help="SENTENCESxTOKENS, ...")
    parser.add_argument("--cases", help="translation, SENTENCESxBEAMS, ... (1x1,32x1, with --peers "
                        "32x4 too); empty: none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true",
                        help="put table and picture into docs/precision.md and docs/precision.svg, "
                        "with --peers only its tables")
    for name in ("heddle", "heddlec", "model"):
        parser.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", required=True, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.beside = options.peers is not None
    known = known_precisions(options.heddlec)[1:]
    chosen = options.precision.split(",") if options.precision else [
        name for name in known if not options.beside or precision_peers.engines_of(name)]
    for name in chosen:
        if name not in known:
            parser.error(f"unknown precision '{name}', expected one of {', '.join(known)}")
    options.precisions = ["f32", *chosen]
    if options.cases is None:
        options.cases = "1x1,32x1,32x4" if options.beside else "1x1,32x1"
    options.engines = precision_peers.chosen_engines(
        parser, chosen, [name for name in options.peers.split(",") if name]
    ) if options.beside else []
    # What is installed; CTranslate2 makes the model that translates.
    options.peers = [*options.engines, "ctranslate2"]
    return options


def compiled(options, folder, name, precision):
    """The binary of a model's folder, made again if heddlec is newer."""
    path = options.work / f"{name}-{precision}.so"
    if not path.exists() or path.stat().st_mtime < Path(options.heddlec).stat().st_mtime:
        print(f"bench: compiling {name} in {precision}", file=sys.stderr)
        subprocess.run([options.heddlec, str(folder), "-o", str(path), "--precision", precision],
                       check=True)
    return path


def translation_folder(options):
    """A random model of base size, as `./dev bench --peers` makes it."""
    folder = options.work / "translate-base"
    if not (folder / "heddle" / "config.json").exists():
        subprocess.run([peers_python(options), str(TRANSLATE), "make", str(folder), "--size",
                        "base"], check=True)
    return folder / "heddle"


def accuracy(options, base, other):
    """Cosines with the goldens, every text alone, and what `heddle compare` says of the order of all
    texts that are not blank."""
    output = subprocess.run([options.heddle, "compare", str(base), str(other), "--json", "--input",
                             str(TEXTS)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {**json.loads(output)["b_against_a"],
            **precision_peers.cosines_of_heddle(options, other, TEXTS)}


def speeds(options, encoder, translator):
    """{shape or case: seconds}, see works_of."""
    command = [options.heddle, "bench", "--threads", "1"]
    lines = lines_of([*command, str(encoder), "--shapes", options.shapes])
    if translator:
        lines += lines_of([*command, str(translator), "--cases", options.cases, "--source-length",
                           str(LENGTH), "--target-length", str(LENGTH)])
    return precision_peers.works_of(lines)


def measure(options, encoders, translators):
    times = defaultdict(list)
    for index in range(options.rounds):
        print(f"bench: round {index + 1} of {options.rounds}", file=sys.stderr)
        for each in options.precisions:
            for work, seconds in speeds(options, encoders[each], translators.get(each)).items():
                times[each, work].append(seconds)
    rows = []
    for each in options.precisions:
        row = {"precision": each, "bytes": encoders[each].stat().st_size,
               **accuracy(options, encoders["f32"], encoders[each])}
        for (name, work), values in times.items():
            if name == each:
                base = times["f32", work]
                row[work] = statistics.median(values)
                row[work, "ratio"] = statistics.median(
                    f32 / own for f32, own in zip(base, values))
        rows.append(row)
    return rows


def works(rows):
    return [key for key in rows[0] if isinstance(rows[0].get((key, "ratio")), float)]


def table(rows):
    head = ["precision", "file", "least cosine", "mean cosine", "rank correlation"]
    head += [f"{work} tok/s" if work.startswith("translation") else f"{work} ms"
             for work in works(rows)]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        cells = [row["precision"], f"{row['bytes'] / 1e6:.1f} MB"]
        cells += [f"{row[key]:.5f}" for key in ("least_cosine", "mean_cosine", "rank_correlation")]
        for work in works(rows):
            value = 1 / row[work] if work.startswith("translation") else 1000 * row[work]
            ratio = "" if row["precision"] == "f32" else f" (**{row[work, 'ratio']:.2f}x**)"
            cells.append(number(value) + ratio)
        lines.append(cells)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def chart(rows):
    """Loss of accuracy, one minus the mean cosine on a logarithmic axis, against the speed of one
    translation; the area of a disc is the file's size."""
    import math
    work = works(rows)[-1] if not any(w.startswith("translation") for w in works(rows)) else next(
        w for w in works(rows) if w.startswith("translation"))
    marks = [(row["precision"], row[work, "ratio"], max(1 - row["mean_cosine"], 1e-6),
              row["bytes"]) for row in rows]
    most = max(ratio for _, ratio, _, _ in marks) * 1.15
    worst = math.ceil(max(math.log10(loss) for _, _, loss, _ in marks))

    def x(ratio):
        return LEFT + (WIDTH - LEFT - 40) * ratio / most

    def y(loss):
        return 40 + (HEIGHT - 40 - BOTTOM) * (worst - math.log10(loss)) / (worst + 6)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           'font-family="system-ui, sans-serif" font-size="13">',
           "<title>Accuracy, speed and size of each precision</title>",
           "<style>text{fill:#1f2328}.axis{stroke:#6e7781}.disc{fill:#2c6e9b;fill-opacity:.55}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.disc{fill:#5aa7d6}}</style>",
           f'<text x="0" y="16" font-weight="600">Loss of accuracy against speed, by precision; '
           "the area of a disc is the size of the file</text>"]
    for power in range(-6, worst + 1):
        height = y(10 ** power)
        out.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 40}" y1="{height:.1f}" '
                   f'y2="{height:.1f}" stroke-opacity=".3"/>')
        out.append(f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end" font-size="11">'
                   f"1e{power}</text>")
    ratio = 0
    while ratio <= most:
        out.append(f'<text x="{x(ratio):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" '
                   f'font-size="11">{ratio}x</text>')
        ratio += 1
    out.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">speed '
               f"beside f32: {escape(work)}</text>")
    out.append(f'<text x="8" y="32" font-size="11">1 - mean cosine</text>')
    for name, ratio, loss, size in marks:
        radius = math.sqrt(size / 1e6) * 2.2
        out.append(f'<circle class="disc" cx="{x(ratio):.1f}" cy="{y(loss):.1f}" r="{radius:.1f}"/>')
        out.append(f'<text x="{x(ratio):.1f}" y="{y(loss) - radius - 4:.1f}" text-anchor="middle">'
                   f"{escape(name)}, {size / 1e6:.0f} MB</text>")
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        folder = translation_folder(options) if options.cases else None
        encoders = {each: compiled(options, options.model, "minilm", each)
                    for each in options.precisions}
        translators = {each: compiled(options, folder, "translate", each)
                       for each in options.precisions if folder}
        if options.beside:
            text = precision_peers.report(options, *precision_peers.measure(
                options, encoders, folder,
                lambda each: speeds(options, encoders[each], translators.get(each)), TEXTS))
        else:
            rows = measure(options, encoders, translators)
            text = (f"Machine: {processor()}. One thread, {rounds_of(options.rounds)}; in "
                    f"brackets the speed beside f32.\n\n{table(rows)}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"bench: {error}")
    print(text)
    if options.write and options.beside:
        write_between(precision_peers.BEGIN, precision_peers.END, text, PAGE)
    elif options.write:
        write_between(BEGIN, END, text, PAGE)
        CHART.write_text(chart(rows), encoding="utf-8")
        print(f"bench: wrote {CHART}", file=sys.stderr)


if __name__ == "__main__":
    main()
