# SPDX-License-Identifier: Apache-2.0
"""Models for the tests, compiled once: an encoder with a tokenizer of letters, and the model of the
dates. HEDDLE_BUILD names the folder with the programs."""

import os
import shutil
import string
import subprocess
from pathlib import Path

import heddle
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HEDDLE_BUILD"])
os.environ["HEDDLEC"] = str(BUILD / "bin" / "heddlec")
TEXTS = ["hello world", "a", "the cat sat, then it ran.", "", "x" * 500, "naive cafe 1, 2"] * 4


def heddle_program(*arguments, stdin=None):
    """What a command of the program prints."""
    done = subprocess.run([BUILD / "bin" / "heddle", *map(str, arguments)], input=stdin,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def sources():
    lines = (ROOT / "examples/dates/heldout.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines]


@pytest.fixture(scope="session")
def encoder_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(ROOT / "tests/oracles/bert-tiny" / name, folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *string.ascii_lowercase,
             *("##" + letter for letter in string.ascii_lowercase), *string.digits, *".,!?'-"]
    words += [f"unused{i}" for i in range(211 - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return heddle.compile(folder, folder.parent / "encoder.so")


@pytest.fixture(scope="session")
def dates_path(tmp_path_factory):
    return heddle.compile(ROOT / "examples/dates/model", tmp_path_factory.mktemp("dates") / "dates.so")


@pytest.fixture(scope="session")
def encoder(encoder_path):
    return heddle.load(encoder_path, threads=2)


@pytest.fixture(scope="session")
def dates(dates_path):
    return heddle.load(dates_path, threads=2)
