#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names say what a thing is: none of the words that fit anything, in files or types; short paths.
No two headers define types of the same name, because a program may be linked with both."""

import re
from collections import defaultdict

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
# Folders whose code is linked together, as in heddlec and in tests.
LINKED = {"compiler", "frontend", "dialects", "runtime", "formats", "base"}
# A namespace with one declaration, which defines nothing, has no comment at its end.
SHORT_NAMESPACE = re.compile(r"^namespace [\w:]+ \{\n.*(?=\n\}\n)", re.M)
# The beginning or the end of a namespace, or the definition of a type.
DEFINITION = re.compile(r"^(?:inline )?namespace ([\w:]+) \{|^\} // namespace|"
                        r"^(?:template <[^>]*> )?(?:class|struct|union|enum(?: class)?) "
                        r"(?:alignas\(\w+\) )?(?:\[\[\w+\]\] )?(?:HEDDLE_API )?"
                        r"(\w+)(?: final)?(?: :[^;{]*)? \{", re.M)


def types_of(text):
    """The types that a header defines, with their namespaces, and their lines."""
    text = SHORT_NAMESPACE.sub("\n", text)
    spaces = []
    for match in DEFINITION.finditer(text):
        space, name = match.groups()
        if name:
            yield "::".join([*spaces, name]), text.count("\n", 0, match.start()) + 1
        elif space:
            spaces.append(space)
        elif spaces:
            spaces.pop()


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
places = defaultdict(list)
for path in code_files():
    if path.suffix == ".h" and path.parts[0] in LINKED:
        for name, line in types_of(read(path)):
            places[name].append((path, line))
for name, found in places.items():
    (first, _), *others = found
    for path, line in others:
        if path != first:
            findings.append(f"{path}:{line}: type '{name}' is also defined in {first}, expected "
                            "a name of its own")
finish(findings)
