#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names say what a thing is: none of the words that fit anything, in files or types; short paths."""

import re

from tree import code_files, files, finish, read

WORDS = "Utils?|Utility|Utilities|Common|Helpers?|Manager|Misc|Impl"
# A word of a CamelCase or snake_case name.
IN_PATH = re.compile(rf"(?:^|[a-z0-9_/.-])(?:{WORDS})(?=$|[A-Z0-9_/.-])|"
                     rf"(?:^|[_/.-])(?:{WORDS.lower()})(?=$|[_/.-])")
TYPE = re.compile(rf"^\s*(?:class|struct|enum(?: class)?)\s+(?:\[\[\w+\]\]\s*)?"
                  rf"(\w*(?:{WORDS})(?![a-z])\w*)(?!\w*;)", re.M)
# Names in which the word has its own meaning: expressions that are common to several users.
MEANT = re.compile(r"[Ee]liminate-?[Cc]ommon")
LONGEST = 70

findings = []
for path in files():
    if IN_PATH.search(MEANT.sub("", str(path))):
        findings.append(f"{path}:1: a name that fits anything, expected one that says what is inside")
    if len(str(path)) > LONGEST:
        findings.append(f"{path}:1: a path of {len(str(path))} characters, expected at most {LONGEST}")
for path in code_files():
    if path.suffix in {".cpp", ".h", ".td"}:
        text = read(path)
        for match in TYPE.finditer(text):
            if MEANT.search(match[1]):
                continue
            line = text.count("\n", 0, match.start(1)) + 1
            findings.append(f"{path}:{line}: type '{match[1]}' has a name that fits anything, "
                            "expected one that says what it is")
finish(findings)
