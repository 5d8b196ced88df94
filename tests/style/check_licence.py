#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in its first three lines; C++ then says its purpose. Comments that
document something say what it is: none begins with "Of", as in "Of one call, kept for its memory".
"""

import re

from tree import code_files, finish, read

DOCUMENTED = {".cpp", ".h", ".td", ".fbs", ".def", ".c"}
LINE = "SPDX-License-Identifier: Apache-2.0"

findings = []
for path in code_files():
    lines = read(path).splitlines()
    if lines and not any(LINE in line for line in lines[:3]):
        findings.append(f"{path}:1: no licence line, expected '{LINE}'")
    elif path.suffix in {".cpp", ".h"} and not any(line.startswith("///") and line.strip("/ ")
                                                  or line.startswith(" * ") for line in lines[:5]):
        findings.append(f"{path}:2: no purpose, expected a '///' line that says what this file is for")
    if path.suffix in DOCUMENTED:
        for number, (before, line) in enumerate(zip(["", *lines], lines), 1):
            goes_on = before.lstrip().startswith("//") and before.strip() != "///"
            if re.match(r"\s*/// Of\b", line) and not goes_on:
                findings.append(f"{path}:{number}: a comment begins with 'Of', expected the thing itself first")
finish(findings)
