#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/architecture.svg, the folders and who uses whom, from the #include lines of the code,
and checks that docs/architecture.md describes every folder in it.

  docs/architecture.py            write the picture
  docs/architecture.py --check    fail if the picture is out of date or a folder is not described

An arrow means that files of the upper folder include files of the lower one. Arrows that follow
from others are left out, and so is compiler/Passes.h, the list of all passes. A cycle is an error:
the folders of Heddle are layers.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "style"))
sys.dont_write_bytecode = True
from tree import files, read  # noqa: E402

PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "architecture.svg"
INCLUDE = re.compile(r'^\s*#?include ["<]([^">]+)[">]', re.M)
# Folders whose subfolders are layers of their own; the others are one layer each.
DIVIDED = ("compiler", "dialects", "runtime")
WHOLE = ("base", "formats", "frontend")
COLUMNS = {"frontend": 0, "dialects": 0, "compiler": 1, "runtime": 2, "formats": 1, "base": 1}
LEFT_OUT = "compiler/Passes."

BOX, HIGH, GAP, ROW, MARGIN = 130, 30, 14, 74, 12


def folder_of(path):
    """The layer that a file belongs to, from its path or from the text of an include line."""
    parts = path.split("/")
    if parts[0] == "heddle" or path.startswith("runtime/include/"):
        return "runtime/include"
    if path.startswith(LEFT_OUT) or parts[0] not in DIVIDED + WHOLE:
        return None
    if parts[0] in WHOLE or len(parts) == 2:
        return parts[0]
    return "/".join(parts[:2])


def uses():
    """For each folder the folders whose files its own include."""
    result = defaultdict(set)
    for path in files():
        user = folder_of(str(path))
        if user is None or path.suffix not in {".cpp", ".h", ".c", ".td"}:
            continue
        result[user] |= {folder_of(name) for name in INCLUDE.findall(read(path))} - {user, None}
    return result


def layers(graph):
    """The height of each folder: above everything that it uses."""
    height, open_folders = {}, []

    def climb(folder):
        if folder in open_folders:
            cycle = open_folders[open_folders.index(folder):] + [folder]
            sys.exit(f"the folders use each other in a circle: {' -> '.join(cycle)}")
        if folder not in height:
            open_folders.append(folder)
            height[folder] = 1 + max((climb(used) for used in sorted(graph[folder])), default=-1)
            open_folders.pop()
        return height[folder]

    for folder in sorted(graph):
        climb(folder)
    return height


def needed(graph, height):
    """The graph without the arrows that follow from others."""
    below = {}
    for folder in sorted(height, key=height.get):
        below[folder] = set(graph[folder]).union(*(below[used] for used in graph[folder]))
    return {folder: sorted(used for used in graph[folder]
                           if not any(used in below[other] for other in graph[folder]))
            for folder in height}


def lift(graph, height):
    """Raises each folder with as many users as uses to the row below the lowest user."""
    for folder in sorted(height, key=lambda name: (-height[name], name)):
        users = [height[user] for user in graph if folder in graph[user]]
        if users and len(users) >= len(graph[folder]):
            height[folder] = min(users) - 1


def routes(graph, height):
    """For each arrow its stops, from the user down: an arrow has a place of its own in every row
    that it crosses."""
    return {(user, used): [user, *((user, used, row) for row in
                                   range(height[user] - 1, height[used], -1)), used]
            for user in sorted(graph) for used in graph[user]}


def places(stops, height):
    """The middle of every stop; a row is ordered by what lies below it, side by side."""
    rows, below = defaultdict(set), defaultdict(list)
    for route in stops:
        for upper, lower in zip(route, route[1:] + [None]):
            rows[upper[2] if isinstance(upper, tuple) else height[upper]].add(upper)
            below[upper] += [lower] if lower else []
    wide = {True: 8, False: BOX}
    width = max(sum(wide[isinstance(stop, tuple)] + GAP for stop in row) for row in rows.values())
    middle = {}

    def order(stop):
        folder = stop[0] if isinstance(stop, tuple) else stop
        under = [middle[lower] for lower in below[stop]]
        return (COLUMNS[folder.split("/")[0]], sum(under) / len(under) if under else 0, str(stop))

    for row in sorted(rows):
        line = sorted(rows[row], key=order)
        sizes = [wide[isinstance(stop, tuple)] for stop in line]
        space = (width - sum(sizes)) / (len(line) + 1)
        at = MARGIN
        for stop, size in zip(line, sizes):
            middle[stop] = at + space + size / 2
            at += space + size
    return middle, width + 2 * MARGIN


def curve(route, middle, top, tall):
    """The path of an arrow, from the lower edge of a box through its stops to the upper edge."""
    def at(stop):
        row = stop[2] if isinstance(stop, tuple) else None
        return tall - MARGIN - HIGH - ROW * row if row is not None else top[stop]

    x, y = middle[route[0]], top[route[0]] + HIGH
    path = f"M{x:.0f} {y}"
    for stop in route[1:]:
        x1, y1 = middle[stop], at(stop) - 2
        bend = (y1 - y) / 2
        path += f" C{x:.0f} {y + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1}"
        x, y = x1, y1
        if isinstance(stop, tuple):
            y += HIGH
            path += f" L{x:.0f} {y}"
    return path


def picture(graph):
    height = layers(graph)
    arrows = needed(graph, height)
    lift(arrows, height)
    stops = routes(arrows, height)
    middle, width = places(stops.values(), height)
    tall = max(height.values()) * ROW + HIGH + 2 * MARGIN
    top = {folder: tall - MARGIN - HIGH - ROW * row for folder, row in height.items()}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {tall}" role="img" '
           'font-family="system-ui, sans-serif" font-size="12">',
           "<title>The folders of Heddle; an arrow points to what a folder uses</title>",
           "<style>text{fill:#1f2328}path{fill:none;stroke:#8b949e}marker path{fill:#8b949e}"
           ".compiler,.dialects,.frontend{fill:#dbe9f4;stroke:#2c6e9b}"
           ".runtime{fill:#e9dff0;stroke:#8250a4}.base,.formats,.include{fill:#e4eedb;stroke:#5a7d2c}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}"
           ".compiler,.dialects,.frontend{fill:#16334a}.runtime{fill:#38254a}"
           ".base,.formats,.include{fill:#27371a}}</style>",
           '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
           'markerHeight="7" orient="auto"><path d="M0 1 L7 4 L0 7 z"/></marker></defs>']
    for route in stops.values():
        out.append(f'<path d="{curve(route, middle, top, tall)}" marker-end="url(#head)"/>')
    for folder in sorted(height, key=lambda name: (-height[name], middle[name])):
        kind = "include" if folder == "runtime/include" else folder.split("/")[0]
        out.append(f'<rect class="{kind}" x="{middle[folder] - BOX / 2:.0f}" y="{top[folder]}" '
                   f'width="{BOX}" height="{HIGH}" rx="4"/><text x="{middle[folder]:.0f}" '
                   f'y="{top[folder] + 19}" text-anchor="middle">{folder}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    graph = uses()
    drawn = picture(graph)
    fresh = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == drawn
    if "--check" not in sys.argv[1:]:
        if not fresh:
            PICTURE.write_text(drawn, encoding="utf-8")
            print(f"{PICTURE.relative_to(ROOT)}: written")
        return
    findings = [] if fresh else [f"{PICTURE.relative_to(ROOT)}: is not what the include lines say, "
                                 "run docs/architecture.py"]
    page = PAGE.read_text(encoding="utf-8")
    findings += [f"{PAGE.relative_to(ROOT)}: does not describe '{folder}/', expected a row for "
                 "every folder" for folder in sorted(graph) if f"`{folder}/`" not in page]
    print("\n".join(findings), end="\n" if findings else "")
    sys.exit(bool(findings))


main()
