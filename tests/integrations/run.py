#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled models in other packages: sentence-transformers, LangChain, LlamaIndex, notebooks.
The nightly preset runs it.

  tests/integrations/run.py BUILD [ARGUMENTS of pytest]

The packages are several GB, and come from PyPI into an environment in BUILD that is kept.
HEDDLE_INTEGRATIONS_PYTHON names a python that has them, or some: tests of those that it lacks are skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "integrations"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
import build_wheel  # noqa: E402


def packages(folder):
    """A python with the packages."""
    if given := os.environ.get("HEDDLE_INTEGRATIONS_PYTHON"):
        return Path(given)
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return build_wheel.environment(folder / "integrations-env",
                                   *(line for line in lines if not line.startswith("#"))) / "python"


def main():
    build = Path(sys.argv[1]).resolve()
    folder = build / "python"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build_wheel.build(folder)
    python = packages(folder)
    installed = folder / "integrations"
    shutil.rmtree(installed, ignore_errors=True)
    build_wheel.run("installing the wheel", python, "-m", "pip", "install", "-q", "--no-deps",
                    "--disable-pip-version-check", "--target", installed, wheel)
    environment = dict(os.environ, HEDDLE_BUILD=str(build), HEDDLEC=str(build / "bin" / "heddlec"),
                       PYTHONPATH=str(installed), PYTHONDONTWRITEBYTECODE="1",
                       HEDDLE_ALL_PACKAGES="" if "HEDDLE_INTEGRATIONS_PYTHON" in os.environ else "1")
    done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c",
                           ROOT / "pyproject.toml", "--rootdir", HERE, HERE, *sys.argv[2:]], cwd=folder,
                          env=environment, check=False)
    sys.exit(done.returncode)


main()
