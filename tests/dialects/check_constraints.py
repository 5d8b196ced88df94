# SPDX-License-Identifier: Apache-2.0
"""Compares the specifications of a dialect with its tests.

Every numbered constraint C<n> of an operation or type needs an invalid case @<mnemonic>_c<n>, every
such case a constraint, and every line of an example must stand in a round-trip test.

usage: check_constraints.py DIALECT_FOLDER TEST_FOLDER
"""

import pathlib
import re
import sys


def definitions(text):
    """Yields (mnemonic, body) for each operation, attribute and type of a .td file."""
    starts = list(re.finditer(r"^def ", text, re.MULTILINE))
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends):
        body = text[start.start():end]
        mnemonic = re.search(r'let mnemonic = "(\w+)"', body) or re.match(
            r'def \w+\s*:\s*\w+<"(\w+)"', body)
        if mnemonic and "description = [{" in body:
            yield mnemonic.group(1), body


def main():
    dialect, tests = map(pathlib.Path, sys.argv[1:])
    # A test may show an operation as it is written and what is wrong with others.
    texts = [path.read_text() for path in sorted(tests.glob("*.mlir"))]
    invalid = "".join(text for text in texts if "-verify-diagnostics" in text)
    round_trips = {
        " ".join(line.split())
        for text in texts if "FileCheck" in text
        for line in text.splitlines()
    }
    cases = set(re.findall(r"@(\w+_c\d+)\b", invalid))
    wanted, errors, lines = set(), [], 0
    for path in sorted(dialect.glob("*.td")):
        for mnemonic, body in definitions(path.read_text()):
            numbers = [int(number) for number in re.findall(r"^ +- C(\d+):", body, re.MULTILINE)]
            if numbers != list(range(1, len(numbers) + 1)):
                errors.append(f"{path.name}: constraints of {mnemonic} are numbered {numbers}")
            wanted |= {f"{mnemonic}_c{number}" for number in numbers}
            for example in re.findall(r"```mlir\n(.*?)```", body, re.DOTALL):
                for line in filter(None, (" ".join(line.split()) for line in example.splitlines())):
                    lines += 1
                    if line not in round_trips:
                        errors.append(f"{path.name}: no round-trip test has the example '{line}'")
    errors += [f"no invalid case @{name}" for name in sorted(wanted - cases)]
    errors += [f"no constraint for the invalid case @{name}" for name in sorted(cases - wanted)]
    for error in errors:
        print(error)
    print(f"{dialect.name}: {len(wanted)} constraints, {lines} lines of examples, {len(errors)} errors")
    return 1 if errors else 0


sys.exit(main())
