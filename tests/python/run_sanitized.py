#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package under the address and undefined-behaviour sanitizers.

  tests/python/run_sanitized.py FOLDER BUILD [ARGUMENTS of pytest]

Only the extension module and the runtime in it are instrumented; they are built in FOLDER/python-sanitized.
BUILD has the programs that compile models. The sanitizer's library is loaded before the interpreter, which
is not instrumented and leaks a little itself: a leak counts where code of this project allocated.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
import build_wheel  # noqa: E402
import extension  # noqa: E402
from extension import LLVM  # noqa: E402

# What a caller of an allocator may stand behind.
ALLOCATING = re.compile(r" in (?:malloc|calloc|realloc|aligned_alloc|posix_memalign|operator new|std::|__gnu_cxx|"
                        r"void std::|auto std::)")
# Memory that freed blocks wait in grows under the sanitizer.
LEFT_OUT = "test_together.py::test_memory_stays"


def built(folder, python):
    """The package, with an instrumented extension module."""
    cmake = folder / "cmake"
    extension.configure(cmake, python, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                        "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1", "-DHEDDLE_SANITIZE=address,undefined")
    build_wheel.run("building the extension", "cmake", "--build", cmake, "--target", "heddle_python")
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "heddle", package / "heddle", ignore=shutil.ignore_patterns("__pycache__"))
    for library in (cmake / "python").glob("_core*.so"):
        shutil.copy(library, package / "heddle")
    return package


def programs(folder, build):
    """The programs, started without the library that is loaded into the interpreter."""
    place = folder / "programs" / "bin"
    place.mkdir(parents=True, exist_ok=True)
    for name in ("heddlec", "heddle"):
        script = place / name
        script.write_text(f'#!/bin/sh\nunset LD_PRELOAD ASAN_OPTIONS LSAN_OPTIONS\nexec "{build}/bin/{name}" "$@"\n')
        script.chmod(0o755)
    return place.parent


def library(name):
    """The path of a library of the compiler."""
    return subprocess.run([LLVM / "clang++", f"-print-file-name={name}"], capture_output=True, text=True,
                          check=True).stdout.strip()


def findings(reports):
    """What the sanitizers have found in code of this project: errors, and leaks of what it allocated."""
    found = []
    for report in sorted(reports):
        text = report.read_text(encoding="utf-8", errors="replace")
        if "ERROR: LeakSanitizer" not in text:
            found.append(text)
            continue
        for leak in re.split(r"\n\n", text):
            frames = re.findall(r"^ +#\d+ 0x\S+( in .*)$", leak, re.M)
            frame = next((each for each in frames if not ALLOCATING.match(each)), "")
            if " leak of " in leak and ("heddle" in frame or str(ROOT) in frame):
                found.append(leak)
    return found


def main():
    folder, build = Path(sys.argv[1]).resolve() / "python-sanitized", Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    python = extension.environment(folder / "env", "numpy", "pytest==9.2.0") / "python"
    package = built(folder, python)
    for old in folder.glob("report.*"):
        old.unlink()
    # The C++ library is there before exceptions are thrown, as the sanitizer looks for it when it starts.
    environment = dict(
        os.environ, HEDDLE_BUILD=str(programs(folder, build)), PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE="1",
        PYTHONMALLOC="malloc", LD_PRELOAD=f"{library('libclang_rt.asan-x86_64.so')} {library('libstdc++.so.6')}",
        ASAN_OPTIONS=f"detect_leaks=1:log_path={folder / 'report'}",
        LSAN_OPTIONS="exitcode=0", UBSAN_OPTIONS=f"print_stacktrace=1:log_path={folder / 'report'}",
        ASAN_SYMBOLIZER_PATH=str(LLVM / "llvm-symbolizer"))
    files = [ROOT / "tests" / "python" / f"test_{name}.py"
             for name in ("together", "errors", "encode", "generate", "answers", "chat", "classify")]
    done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml",
                           "--rootdir", ROOT / "tests" / "python", "--deselect", LEFT_OUT, *files, *sys.argv[3:]],
                          cwd=folder, env=environment, check=False)
    found = findings(folder.glob("report.*"))
    print("\n\n".join(found))
    print(f"sanitizers: {len(found)} findings in code of this project")
    sys.exit(done.returncode or (1 if found else 0))


main()
