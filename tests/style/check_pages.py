#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Paths and links in pages exist; every top folder has a README of at most 25 lines; decisions have
at most 80 lines and say what was rejected."""

import re

from tree import ROOT, files, finish, read

TOP_FOLDERS = ["compiler", "dialects", "formats", "frontend", "python", "runtime"]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# `compiler/Passes.td`, `dialects/`: begins with something that lies in the root.
CODE = re.compile(r"`([\w.{},*/-]+)`")

tree = files()
pages = [path for path in tree if path.suffix == ".md"]
known = {str(path) for path in tree} | {str(parent) for path in tree for parent in path.parents}
top = {path.parts[0] for path in tree}
findings = []


def exists(name):
    """Whether a path, or every path that braces and stars stand for, is there."""
    braces = re.search(r"\{([^{}]*)\}", name)
    if braces:
        return all(exists(name[:braces.start()] + part + name[braces.end():])
                   for part in braces[1].split(","))
    if "*" in name:
        return any(ROOT.glob(name))
    return name.rstrip("/") in known


for page in pages:
    for number, line in enumerate(read(page).splitlines(), 1):
        for target in LINK.findall(line):
            if "://" not in target and not (ROOT / page.parent / target).exists():
                findings.append(f"{page}:{number}: a link to '{target}', expected a file there")
        for name in CODE.findall(line):
            # NAME in capitals, and NNNN, stand for what the reader chooses.
            if name.split("/")[0] in top and "/" in name and not re.search(r"NAME|NNNN", name):
                if not exists(name):
                    findings.append(f"{page}:{number}: '{name}', expected such a path in the tree")
for folder in TOP_FOLDERS:
    page = f"{folder}/README.md"
    if page not in known:
        findings.append(f"{page}:1: no such page, expected every top folder to have one")
    elif len(read(page).splitlines()) > 25:
        findings.append(f"{page}:26: {len(read(page).splitlines())} lines, expected at most 25")
for page in ROOT.glob("docs/decisions/*.md"):
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT)
    if len(text.splitlines()) > 80:
        findings.append(f"{name}:81: {len(text.splitlines())} lines, expected at most 80")
    if not re.search(r"^## Rejected", text, re.M):
        findings.append(f"{name}:1: no section 'Rejected', expected the ideas not taken, and why")
finish(findings)
