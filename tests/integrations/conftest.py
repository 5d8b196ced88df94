# SPDX-License-Identifier: Apache-2.0
"""The model of the tests, all-MiniLM-L6-v2, which `./dev demo` fetches and compiles."""

import importlib
import os
from pathlib import Path

import heddle
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HEDDLE_BUILD"])
FOLDER = BUILD / "models" / "all-MiniLM-L6-v2"


def needed(name):
    """A package; where only some are there, the test is skipped without it."""
    if os.environ.get("HEDDLE_ALL_PACKAGES"):
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="session")
def minilm_path(tmp_path_factory):
    compiled = BUILD / "models" / "minilm.so"
    if compiled.is_file():
        return str(compiled)
    return heddle.compile(FOLDER, tmp_path_factory.mktemp("minilm") / "minilm.so")


@pytest.fixture(scope="session")
def minilm(minilm_path):
    return heddle.load(minilm_path, threads=2)
