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
passes = re.findall(r'^def \w+ : Pass<"([\w-]+)"', read("compiler/Passes.td"), re.M)
findings += [f"{PAGE}:1: no pass `{name}`, expected every pass of compiler/Passes.td"
             for name in passes if f"`{name}`" not in page]
table = re.search(r"OptionalPass optional\[\] = \{(.*?)\};", read("compiler/Pipeline.cpp"), re.S)
switches = re.findall(r'"([\w-]+)"', table[1]) if table else []
if not switches:
    findings.append("compiler/Pipeline.cpp:1: no table of OptionalPass, expected the passes that can "
                    "be left out")
for name in switches:
    if f"| `{name}`" not in page:
        findings.append(f"{PAGE}:1: no `--disable-pass` name `{name}`, expected every one of "
                        "optionalPasses()")
finish(findings)
