#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dependency law, read from CMake's links and from #include lines.

The runtime depends on nothing of the compiler; compiler and frontend use of it only what both
halves must know; only Tools/ and tests/EndToEnd meet both.
"""

import re

from tree import files, finish, read

# What both halves know: status, files, the manifest's and the tokenizer's schema, the ELF layout,
# the analysis of attention as a file and as a picture, and the parts of tokenizers that are checked when they are packed.
SHARED = ["runtime/include", "runtime/Base", "runtime/Artifact/ElfFile", "runtime/Artifact/Layout",
          "runtime/Artifact/GenerationCheck", "runtime/Artifact/Manifest_generated.h",
          "runtime/Analysis/AttentionAnalysis", "runtime/Analysis/HeatMap",
          "runtime/Analysis/SharingPolicy", "runtime/Tokenizer/Tokenizer_generated.h",
          "runtime/Tokenizer/VocabularyHash.h", "runtime/Tokenizer/PairMerging.h",
          "runtime/Tokenizer/DoubleArray.h", "runtime/Tokenizer/CharsMap",
          "runtime/Tokenizer/SentencePieceModel"]
SHARED_TARGETS = ["heddle_base", "heddle_elf", "heddle_generation_check", "heddle_manifest_schema",
                  "heddle_analysis", "heddle_tokenizer_schema", "heddle_sentencepiece"]
# Reading files of a model needs no LLVM: the command line reads safetensors and tokenizers with the
# same code.
INPUT = ["frontend/Checkpoint", "frontend/Config", "frontend/Tokenizer"]

# A folder may use itself and these. The longest prefix counts.
LAW = {
    "dialects": [],
    "compiler": ["dialects", *SHARED],
    "compiler/Link": ["compiler", "dialects", "frontend", *SHARED],
    "compiler/Tools": ["compiler", "dialects", "frontend", *SHARED],
    "frontend": ["dialects", *SHARED],
    "runtime": [],
    "runtime/Tools": ["runtime", *INPUT],
    "tests/dialects": ["dialects"],
    "tests/compiler": ["tests/Fuzzing", "compiler", "dialects", "frontend", *SHARED],
    "tests/frontend": ["tests/Fuzzing", "frontend", "dialects", *SHARED],
    # Golden token ids are those that the runtime's tokenizer gives for an imported tokenizer.json.
    "tests/frontend/Tokenizer": ["tests/Fuzzing", "frontend", "runtime/Tokenizer", *SHARED],
    # Test models are written by the compiler's own writer, which needs no LLVM.
    "tests/runtime": ["tests/Fuzzing", "runtime", "compiler/Artifact"],
    "tests/runtime/Tools": ["tests/Fuzzing", "runtime", "compiler/Artifact", *INPUT],
    "tests/EndToEnd": ["runtime", "compiler", "frontend", "dialects", "tests"],
}
OURS = ("dialects", "compiler", "frontend", "runtime", "tests")
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
    parts = folder.split("/")
    half = "/".join(parts[:2] if parts[0] == "tests" else parts[:1])
    return folder, [half, *LAW[folder]]


def allows(permitted, used):
    return any(used == folder or used.startswith(folder + "/") or
               used.startswith(folder + ".") for folder in permitted)


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
            shared = any(name in permitted for name in SHARED) and target in SHARED_TARGETS
            if target in home and not shared and not allows(permitted, home[target]):
                findings.append(f"{path}:{line}: links '{target}' of {home[target]}, expected only "
                                f"targets of {', '.join(permitted)}")
        if folder.startswith("runtime") and re.search(r"\b(MLIR|LLVM|lldELF)\b", words):
            findings.append(f"{path}:{line}: links LLVM, expected the runtime to know nothing of it")
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
        if folder.startswith("runtime") and used.startswith(("mlir/", "llvm/", "lld/")):
            findings.append(f"{path}:{line}: includes '{used}', expected the runtime to know "
                            "nothing of LLVM")
finish(findings)
