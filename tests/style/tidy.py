#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over sources, several in one translation unit.

Most of its time goes into headers, LLVM's and MLIR's above all. Sources that are compiled with flags
that go together therefore share a unit that includes them one after another, as long as no two of them
give one name to different things of their own. Where a unit does not compile nevertheless, it is cut in
two.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

# What a unit includes is looked at like its main file. That file includes sources on purpose.
OURS = r"(base|benchmarks|compiler|dialects|formats|frontend|python|runtime|tests)/.*\.(cpp|h)$"
INCLUDE = '#include "{}" // NOLINT(bugprone-suspicious-include)\n'
# Tests compute sizes and ids from small numbers, compare bits, step through ranges of floats, list messages
# of several lines, run commands in shells, and need not be fast.
NOT_OF_TESTS = ",".join(["-bugprone-implicit-widening-of-multiplication-result", "-bugprone-misplaced-widening-cast",
                         "-bugprone-narrowing-conversions", "-bugprone-suspicious-memory-comparison",
                         "-bugprone-float-loop-counter", "-bugprone-suspicious-missing-comma",
                         "-bugprone-command-processor", "-performance-*"])
# Sources that include themselves once for each instruction set.
ALONE = re.compile(r'#include "hwy/foreach_target\.h"')
# Flags that change the code of a source, and nothing that is looked at.
ONLY_CODE = re.compile(r"-f(PIC|PIE|rtti|no-rtti|sanitize=.*|visibility.*)|-O\d|-g\d?")
POSITION = re.compile(r"-f(PIC|PIE)")
PART_OF_UNIT = re.compile(r'^#include "(.+\.cpp)"$', re.M)
FINDING = re.compile(r"^(\S+?:\d+:\d+: )(?:warning|error): .*\[([\w.,-]+)\]$", re.M)

# Names that a source declares at the outermost level, where the style has no indentation.
NAMES = [re.compile(pattern, re.M) for pattern in (
    r"^#define (\w+)",
    r"^(?:struct|class|enum class|enum|union) (\w+)\b(?! *;)",
    r"^(?!using|namespace|return|struct|class|enum)[A-Za-z][^(=;{\n]*[ *&](\w+)(?:\[\w*\])* ?(?:[={]|;$)")]
FUNCTION = re.compile(r"^(?!#|using|return)[A-Za-z][^(=;{\n]*[ *&](\w+)\(([^()]*)\)", re.M)
TESTS = re.compile(r"^TEST(?:_F|_P)?\((\w+), *(\w+)\)", re.M)
PARAMETER = re.compile(r"\s|\w+(?=,|$)")


def names_of(text):
    """Names that may be declared by another source of the unit as well; too many do no harm."""
    found = {"::".join(test) for test in TESTS.findall(text)}
    for name, parameters in FUNCTION.findall(text):
        # Functions of one name are different things if they take different types.
        found.add(name + "(" + PARAMETER.sub("", parameters) + ")")
    for pattern in NAMES:
        found.update(pattern.findall(text))
    return {name for name in found if not name.startswith(("GEN_", "GET_"))}


def commands_of(build):
    """The entry of each source in compile_commands.json. CMake's units of several sources
    (HEDDLE_UNITY_BUILD) count as those sources; what is compiled for several programs counts once."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        parts = [file]
        if file.parent.name == "Unity" and file.exists():
            parts = [Path(part) for part in PART_OF_UNIT.findall(file.read_text(encoding="utf-8"))]
        for part in parts:
            command = entry["command"].replace(str(file), str(part))
            commands.setdefault(part, {**entry, "file": str(part), "command": command})
    return commands


def flags_of(entry):
    """The command without what belongs to one source, to compare and to use again."""
    words = shlex.split(entry["command"])
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word == "-o":
            skip = True
        elif word not in ("-c", entry["file"]):
            kept.append(word)
    return tuple(kept)


class Flags:
    """Flags that sources of a unit share. Macros and folders of headers are those of all of them."""

    def __init__(self, words):
        self.rest, self.macros, self.folders = [], {}, []
        # A precompiled header asks for the flags that it was made with. Of two that say where code lies the
        # last counts.
        dropped = POSITION if "-include-pch" in words else ONLY_CODE
        kept = [word for word in words if POSITION.fullmatch(word)][-1:] if dropped is POSITION else []
        words = iter(words)
        for word in words:
            if word == "-isystem":
                self.folders.append((word, next(words)))
            elif word.startswith("-I"):
                self.folders.append((word,))
            elif word.startswith("-D"):
                name, _, value = word.partition("=")
                self.macros[name] = value
            elif not dropped.fullmatch(word):
                self.rest.append(word)
        self.rest += kept

    def fits(self, other):
        return self.rest == other.rest and all(
            self.macros.get(name, value) == value for name, value in other.macros.items())

    def add(self, other):
        self.macros.update(other.macros)
        self.folders += [folder for folder in other.folders if folder not in self.folders]

    def words(self):
        macros = [f"{name}={value}" if value else name for name, value in self.macros.items()]
        return [self.rest[0], *macros, *(word for folder in self.folders for word in folder), *self.rest[1:]]


def is_test(source):
    return "tests" in source.parts


class Unit:
    """Sources that are looked at together, tests or others."""

    def __init__(self, source, flags, names):
        self.sources, self.flags, self.names = [source], flags, names

    def takes(self, source, flags, names):
        return (is_test(self.sources[0]) == is_test(source) and not self.names & names
                and self.flags.fits(flags))

    def add(self, source, flags, names):
        self.sources.append(source)
        self.flags.add(flags)
        self.names |= names


def units_of(sources, commands, most):
    """Lists of sources whose flags go together and that share no names, each of at most `most`."""
    filling, done = [], []
    for source in sources:
        text = source.read_text(encoding="utf-8")
        flags, names = Flags(flags_of(commands[source])), names_of(text)
        if ALONE.search(text):
            done.append([source])
            continue
        for unit in filling:
            if len(unit.sources) < most and unit.takes(source, flags, names):
                unit.add(source, flags, names)
                break
        else:
            filling.append(Unit(source, flags, names))
    return done + [unit.sources for unit in filling]


def together(unit, commands):
    """The flags of a unit; those of a source alone as they are."""
    if len(unit) == 1:
        return flags_of(commands[unit[0]])
    flags = Flags(flags_of(commands[unit[0]]))
    for source in unit[1:]:
        flags.add(Flags(flags_of(commands[source])))
    return flags.words()


def findings_of(output):
    """Each finding with what is said to it, without the rest of the output."""
    starts = [match.start() for match in FINDING.finditer(output)]
    return [output[begin:end].rstrip() for begin, end in zip(starts, starts[1:] + [len(output)])]


def look_at(unit, commands, options, checks):
    """The findings of a unit. A source that does not compile alone is a finding, too."""
    changed = ",".join(filter(None, [checks, NOT_OF_TESTS if is_test(unit[0]) else None]))
    command = [*options, f"--checks={changed}"] if changed else options
    with tempfile.TemporaryDirectory() as folder:
        main = unit[0]
        if len(unit) > 1:
            main = Path(folder) / "unit.cpp"
            main.write_text("".join(map(INCLUDE.format, unit)), encoding="utf-8")
        entry = {"directory": commands[unit[0]]["directory"], "file": str(main),
                 "arguments": [*together(unit, commands), "-c", str(main)]}
        (Path(folder) / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
        done = subprocess.run([*command, "-p", folder, str(main)], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = findings_of(done.stdout)
    if "clang-diagnostic-error" in done.stdout or (done.returncode != 0 and not found):
        if len(unit) > 1:
            half = len(unit) // 2
            return [finding for part in (unit[:half], unit[half:])
                    for finding in look_at(part, commands, options, checks)]
        if not found:
            found = [f"{unit[0]}:1: clang-tidy ended with {done.returncode}:\n{done.stderr.rstrip()}"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path, help="folder with compile_commands.json")
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--clang-tidy", default="clang-tidy")
    parser.add_argument("--checks", help="added to those of .clang-tidy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--together", type=int, default=12, help="sources of a unit at most")
    # Options may stand between the build folder and the sources.
    given = parser.parse_intermixed_args()
    commands = commands_of(given.build)
    sources = [source.resolve() for source in given.sources]
    for source in sources:
        if source not in commands:
            print(f"{source}: not compiled in {given.build}, not looked at", file=sys.stderr)
    root = Path(__file__).resolve().parents[2]
    options = [given.clang_tidy, "--quiet", "--warnings-as-errors=*", f"--header-filter={OURS}",
               f"--config-file={root / '.clang-tidy'}"]
    units = units_of([source for source in sources if source in commands], commands, given.together)
    seen = set()
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for found in pool.map(lambda unit: look_at(unit, commands, options, given.checks), units):
            # A header's finding comes with every unit that includes it.
            for finding in found:
                if finding not in seen:
                    seen.add(finding)
                    print(finding, flush=True)
    sys.exit(1 if seen else 0)


if __name__ == "__main__":
    main()
