#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No source file is longer than 600 lines, no line of C++ longer than 100 columns
(but in tests, which quote programs)."""

from tree import code_files, finish, read

LINES, COLUMNS = 600, 100

findings = []
for path in code_files():
    lines = read(path).splitlines()
    if len(lines) > LINES:
        findings.append(f"{path}:{len(lines)}: {len(lines)} lines, expected at most {LINES}: "
                        "split it along its ideas")
    if path.suffix in {".cpp", ".h", ".c"} and path.parts[0] != "tests":
        findings += [f"{path}:{number}: {len(line)} columns, expected at most {COLUMNS}"
                     for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
finish(findings)
