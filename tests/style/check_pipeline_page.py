#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/pipeline.md names every phase, in order, and every pass."""

import re

from tree import finish, read

PAGE = "docs/pipeline.md"

page = read(PAGE)
phases = re.findall(r'^HEDDLE_PHASE\(\w+, "(\w+)"', read("compiler/Phases.def"), re.M)
listed = re.findall(r"^\| `(\w+)` \|", page.split("## Passes")[0], re.M)
findings = []
if listed != phases:
    findings.append(f"{PAGE}:1: phases {', '.join(listed)}, expected those of compiler/Phases.def: "
                    f"{', '.join(phases)}")
passes = dict(re.findall(r'^def (\w+) : Pass<"([\w-]+)"', read("compiler/Passes.td"), re.M))
findings += [f"{PAGE}:1: no pass `{name}`, expected every pass of compiler/Passes.td"
             for name in passes.values() if f"`{name}`" not in page]
optional = re.findall(r"(?:addOptional\(|isEnabled\(\*)create(\w+)\(",
                      read("compiler/Pipeline.cpp"))
if not optional:
    findings.append("compiler/Pipeline.cpp:1: no addOptional(create...Pass()), expected some")
for name in (passes[each].split("-", 1)[1] for each in optional):
    if f"| `{name}`" not in page:
        findings.append(f"{PAGE}:1: no `--disable-pass` name `{name}`, expected every pass that "
                        "compiler/Pipeline.cpp can leave out")
finish(findings)
