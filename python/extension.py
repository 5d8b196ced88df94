#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configures the extension module of the Python package without pip.

  python/extension.py FOLDER    FOLDER/cmake has compile_commands.json, and the headers that the build
                                generates, for tools that read sources

tests/python/run_sanitized.py builds it with sanitizers.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import build_wheel  # noqa: E402

LLVM = Path("/usr/lib/llvm-22/bin")


def environment(folder, *packages):
    """The programs of a virtual environment with nanobind, in the version that pip uses, and other packages."""
    nanobind = [each for each in build_wheel.REQUIRES if each.startswith("nanobind")]
    return build_wheel.environment(folder, *nanobind, *packages)


def configure(cmake, python, *options):
    """Configures the extension module and the runtime in it, nothing else, in the folder `cmake`."""
    build_wheel.run("configuring the extension", "cmake", "-S", build_wheel.ROOT, "-B", cmake, "-G", "Ninja",
                    f"-DCMAKE_C_COMPILER={LLVM / 'clang'}", f"-DCMAKE_CXX_COMPILER={LLVM / 'clang++'}",
                    "-DHEDDLE_BUILD_COMPILER=OFF", "-DHEDDLE_BUILD_TESTS=OFF", "-DHEDDLE_BUILD_PYTHON=ON",
                    "-DHEDDLE_PRECOMPILED_HEADERS=OFF", f"-DPython_EXECUTABLE={python}",
                    *(f"-D{name}={value}" for name, value in build_wheel.launcher().items()), *options)


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    cmake = folder / "cmake"
    configure(cmake, environment(folder / "env") / "python", "-DCMAKE_BUILD_TYPE=Release")
    build_wheel.run("generating headers", "cmake", "--build", cmake, "--target",
                    "heddle_manifest_generate", "heddle_tokenizer_generate")


if __name__ == "__main__":
    main()
