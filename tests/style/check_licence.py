#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in its first three lines; C++ then says its purpose."""

from tree import code_files, finish, read

LINE = "SPDX-License-Identifier: Apache-2.0"

findings = []
for path in code_files():
    lines = read(path).splitlines()
    if lines and not any(LINE in line for line in lines[:3]):
        findings.append(f"{path}:1: no licence line, expected '{LINE}'")
    elif path.suffix in {".cpp", ".h"} and not any(line.startswith("///") and line.strip("/ ")
                                                  or line.startswith(" * ") for line in lines[:5]):
        findings.append(f"{path}:2: no purpose, expected a '///' line that says what this file is for")
finish(findings)
