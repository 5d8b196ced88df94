#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dependency law of CONTRIBUTING.md, read from CMake's links and from #include lines."""

import re

from tree import files, finish, read

BELOW = ["runtime/include", "base", "formats"]
COMPILER = ["dialects", *BELOW]
# What passes and the code of targets use.
PASSES = ["compiler/Cost", "compiler/Remarks", "compiler/Parameters", "compiler/Passes", *COMPILER]

KIND = ["compiler/Target/Emitters", "compiler/Target/LlvmCode", "compiler/Target/Panels",
        "compiler/Target/Target", *PASSES]

# A folder may use itself and these. The longest prefix counts.
LAW = {
    "runtime/include": [],
    "base": ["runtime/include"],
    "formats": BELOW,
    "runtime": ["runtime", *BELOW],
    # The extension module of the Python package.
    "python": ["runtime", *BELOW],
    "dialects": ["dialects", "runtime/include"],
    "frontend": ["frontend", *COMPILER],
    "compiler": ["compiler", *COMPILER],
    "compiler/Remarks": COMPILER,
    "compiler/Parameters": COMPILER,
    "compiler/Cost": ["compiler/Remarks", "compiler/Parameters", *COMPILER],
    "compiler/Model": PASSES,
    "compiler/Dataflow": PASSES,
    "compiler/Target": PASSES,
    # Kinds of machines know what they share, and nothing of each other.
    "compiler/Target/Cpu": KIND,
    "compiler/Target/Cuda": KIND,
    "compiler/Target/Emitters": ["compiler/Target/Target", *PASSES],
    "compiler/Link": ["compiler/Target", "compiler/Cost", "compiler/Parameters", "compiler/Remarks",
                      *COMPILER],
    "compiler/ReportPage": ["compiler/Cost", "compiler/Remarks", *COMPILER],
    # Runs the model on texts.
    "compiler/Calibration": ["compiler/Link", "compiler/Dataflow", "compiler/Passes",
                             "compiler/Remarks", "runtime/Session", "runtime/Generate", *COMPILER],
    "compiler/Driver": ["compiler", "frontend", *COMPILER],
    "compiler/Tools": ["compiler", "frontend", *COMPILER],
    "tests/base": ["tests", *BELOW],
    "tests/formats": ["tests", *BELOW],
    # Golden token ids are those that the runtime's tokenizer gives for an imported tokenizer.json;
    # an analysis is made of divergences.
    "tests/formats/Tokenizer": ["tests", "runtime/Tokenizer", *BELOW],
    "tests/formats/Analysis": ["tests", "runtime/Kernels", *BELOW],
    "tests/dialects": COMPILER,
    "tests/compiler": ["tests", "compiler", "frontend", *COMPILER],
    "tests/frontend": ["tests", "frontend", *COMPILER],
    "tests/runtime": ["tests", "runtime", *BELOW],
    "tests/Emulator": ["tests"],
    "tests/Fuzzing": ["tests"],
    # Devices compute normalisers with the host's bits.
    "tests/EmulatedCompiler": ["tests", "compiler", "frontend", "runtime/Kernels", *COMPILER],
    "tests/EndToEnd": ["tests", "runtime", "compiler", "frontend", *COMPILER],
}
# A folder that only these may use, whatever else they are: a device, by what knows which there are;
# programs, by nothing below them.
PRIVATE = {
    "compiler/Tools": ["compiler/Tools", "tests/compiler/Tools", "tests/EmulatedCompiler"],
    "compiler/Target/Cpu": ["compiler/Target"],
    # The emulated device has the units of kernels from it, and its own way to an image.
    "compiler/Target/Cuda": ["compiler/Target", "tests/compiler/Target", "tests/EmulatedCompiler"],
    "runtime/Device/Cpu": ["runtime/Device", "tests/runtime/Device"],
    "runtime/Device/Cuda": ["runtime/Device", "tests/runtime/Device"],
}
OURS = ("base", "formats", "dialects", "compiler", "frontend", "python", "runtime", "tests")
LINKS = re.compile(r"^heddle_(?:library|executable|gtest|fuzzer)\(\s*(\w+)([^)]*)\)|"
                   r"^(?:add_library|add_executable)\(\s*(\w+)", re.M)
LINKS_LATER = re.compile(r"^target_link_libraries\(\s*(\w+)([^)]*)\)", re.M)
INCLUDE = re.compile(r'^\s*#include ["<]([^">]+)[">]', re.M)


def law(path):
    """The folder whose rule counts, and what it may use."""
    rules = [folder for folder in LAW if path == folder or path.startswith(folder + "/")]
    if not rules:
        return None, []
    folder = max(rules, key=len)
    return folder, [folder, *LAW[folder]]


def within(path, folder):
    return path == folder or path.startswith((folder + "/", folder + "."))


def private(path, used):
    """Who may use `used`, if `path` is not among them."""
    for folder, users in PRIVATE.items():
        if within(used, folder) and not any(within(path, user) for user in users):
            return users
    return None


def allows(permitted, used):
    return any(within(used, folder) for folder in permitted)


findings = []
leaves = {path: read(path) for path in files() if path.name == "CMakeLists.txt"}
home = {}
for path, text in leaves.items():
    for match in LINKS.finditer(text):
        home[match[1] or match[3]] = str(path.parent)
for path, text in leaves.items():
    folder, permitted = law(str(path.parent))
    if folder is None:
        continue
    linked = [(match.start(), match[2]) for match in LINKS.finditer(text) if match[2]]
    linked += [(match.start(), match[2]) for match in LINKS_LATER.finditer(text)]
    for start, words in linked:
        line = text.count("\n", 0, start) + 1
        for target in words.split():
            if target in home and not allows(permitted, home[target]):
                findings.append(f"{path}:{line}: links '{target}' of {home[target]}, expected only "
                                f"targets of {', '.join(permitted)}")
            if target in home and (users := private(str(path.parent), home[target])):
                findings.append(f"{path}:{line}: links '{target}' of {home[target]}, expected that "
                                f"only of {', '.join(users)}")
        if folder.startswith(("runtime", "python")) and re.search(r"\b(MLIR|LLVM|lldELF)\b", words):
            findings.append(f"{path}:{line}: links LLVM, expected it to know nothing of that")
for path in files():
    folder, permitted = law(str(path.parent))
    if folder is None or path.suffix not in {".cpp", ".h", ".c", ".td"}:
        continue
    text = read(path)
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(1)) + 1
        used = match[1]
        if used.startswith(OURS) and not allows(permitted, used):
            findings.append(f"{path}:{line}: includes '{used}', expected only files of "
                            f"{', '.join(permitted)}")
        if users := private(str(path.parent), used):
            findings.append(f"{path}:{line}: includes '{used}', expected that only in "
                            f"{', '.join(users)}")
        if folder.startswith(("runtime", "python")) and used.startswith(("mlir/", "llvm/", "lld/")):
            findings.append(f"{path}:{line}: includes '{used}', expected it to know "
                            "nothing of LLVM")
finish(findings)
