#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/performance.svg and the figures at the top of README.md from the tables of
docs/performance.md, so that no number is typed twice.

  docs/chart.py            write both
  docs/chart.py --check    fail if they are not what the tables say
"""

import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
CHART = ROOT / "docs" / "performance.svg"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"

WIDTH, LABELS, ROW, BAR, TOP = 760, 250, 26, 16, 46


def rows(text, name):
    """The rows of the table between the marks of that name, a dictionary each."""
    section = re.search(rf"<!-- {name}: begin -->(.*?)<!-- {name}: end -->", text, re.S)[1]
    lines = [[cell.strip().strip("*") for cell in line.strip("|").split("|")]
             for line in section.splitlines() if line.startswith("|")]
    head = lines[0]
    # Further tables of the section have other columns.
    return [dict(zip(head, cells)) for cells in lines[2:] if len(cells) == len(head)]


def ratio(text):
    return float(text.rstrip("x"))


def measurements(text):
    """Label, engine beside which, ratio: one thread, in the order of the page."""
    result = []
    for row in rows(text, "bench"):
        if row["threads"] == "1":
            what = f"sentence encoder, {row['work'].replace('x', ' x ')} tokens"
            result.append((what.replace("55 ragged tokens", "55 ragged texts"), "OpenVINO",
                           ratio(row["ratio"])))
    for row in rows(text, "translation"):
        if row["threads"] == "1":
            batch, beam = row["batch x beam"].split("x")
            what = f"translation, batch {batch}, beam {beam}"
            result.append((what, "CTranslate2", ratio(row["ratio"])))
    for row in rows(text, "variants"):
        if row["what"].startswith("weighted") and row["against"] == "OpenVINO f32":
            what = f"weighted branches, {row['case'].replace('x', ' x ')} tokens"
            result.append((what, "OpenVINO", ratio(row["measured"])))
    return result


def machine(text):
    return re.search(r"<!-- bench: begin -->\nMachine: (.*?),", text)[1]


def chart(text):
    bars = measurements(text)
    most = max(value for _, _, value in bars)
    scale = (WIDTH - LABELS - 130) / most
    height = TOP + ROW * len(bars) + 12
    one = LABELS + scale
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
           f'font-family="system-ui, sans-serif" font-size="13">',
           "<title>How many times as fast as the other engine Heddle is</title>",
           "<style>text{fill:#1f2328}.axis{stroke:#6e7781}.bar{fill:#2c6e9b}.other{fill:#8250a4}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#5aa7d6}"
           ".other{fill:#b78bd6}}</style>",
           f'<text x="0" y="16" font-weight="600">Speed beside the other engine, f32, one core of '
           f"an {escape(machine(text))}</text>",
           f'<text x="{one:.0f}" y="{TOP - 8}" text-anchor="middle" font-size="11">as fast</text>']
    for index, (label, engine, value) in enumerate(bars):
        y = TOP + ROW * index
        kind = "bar" if engine == "OpenVINO" else "other"
        out.append(f'<text x="{LABELS - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
        out.append(f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{value * scale:.1f}" '
                   f'height="{BAR}" rx="2"/>')
        out.append(f'<text x="{LABELS + value * scale + 6:.1f}" y="{y + 13}">{value:.2f}x '
                   f"{engine}</text>")
    out.append(f'<line class="axis" x1="{one:.1f}" y1="{TOP - 4}" x2="{one:.1f}" '
               f'y2="{height - 8}" stroke-dasharray="3 3"/>')
    return "\n".join([*out, "</svg>"]) + "\n"


def span(values):
    return f"{min(values):.2f} to {max(values):.2f}"


def figures(text):
    """The sentence of README.md with the numbers in it."""
    bars = measurements(text)

    def of(kind):
        return [value for label, _, value in bars if label.startswith(kind)]

    weighted = [ratio(row["measured"]) for row in rows(text, "variants")
                if row["against"] == "standard layers"]
    return (f"On one core of an {machine(text)}, in f32, it embeds sentences {span(of('sentence'))} "
            f"times as fast as OpenVINO,\ntranslates {span(of('translation'))} times as fast as "
            f"CTranslate2, and runs Weighted Transformer layers {span(weighted)} times\nas fast as "
            f"standard ones ([how this was measured](docs/performance.md)).\n")


def main():
    text = PAGE.read_text(encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    begin = readme.index(BEGIN) + len(BEGIN)
    wanted = {CHART: chart(text),
              README: readme[:begin] + figures(text) + readme[readme.index(END):]}
    wrong = [path for path, content in wanted.items()
             if not path.exists() or path.read_text(encoding="utf-8") != content]
    if "--check" in sys.argv[1:]:
        for path in wrong:
            print(f"{path.relative_to(ROOT)}: is not what docs/performance.md says, run "
                  "docs/chart.py")
        sys.exit(bool(wrong))
    for path in wrong:
        path.write_text(wanted[path], encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: written")


main()
