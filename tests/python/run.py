#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of the Python packages: builds their wheels, installs them into a fresh virtual environment
and runs pytest there.

  tests/python/run.py BUILD [ARGUMENTS of pytest]
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
import build_compiler_wheel  # noqa: E402
import build_wheel  # noqa: E402


def main():
    build = Path(sys.argv[1]).resolve()
    folder = build / "python"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build_wheel.build(folder)
    build_wheel.check(wheel)
    (folder / "compiler").mkdir(exist_ok=True)
    compiler = build_compiler_wheel.build(folder / "compiler", build)
    build_compiler_wheel.check(compiler, wheel)
    shutil.rmtree(folder / "test-env", ignore_errors=True)
    programs = build_wheel.environment(folder / "test-env", wheel, compiler, "pytest==9.2.0")
    environment = dict(os.environ, HEDDLE_BUILD=str(build), PYTHONDONTWRITEBYTECODE="1")
    # Not in the repository, where the folder python/heddle is no installed package.
    done = subprocess.run([programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                           "-c", ROOT / "pyproject.toml", "--rootdir", ROOT / "tests/python",
                           ROOT / "tests/python", *sys.argv[2:]], cwd=folder, env=environment,
                          check=False)
    sys.exit(done.returncode)


main()
