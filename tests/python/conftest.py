# SPDX-License-Identifier: Apache-2.0
"""Models for the tests, compiled once: an encoder with a tokenizer of letters, and the model of the
dates. HEDDLE_BUILD names the folder with the programs."""

import json
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


def with_letters(folder, oracle):
    """Compiles an oracle that has no tokenizer, with one of letters."""
    for name in ("config.json", "model.safetensors"):
        shutil.copy(ROOT / "tests/oracles" / oracle / name, folder)
    size = json.loads((folder / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *string.ascii_lowercase,
             *("##" + letter for letter in string.ascii_lowercase), *string.digits, *".,!?'-"]
    words += [f"unused{i}" for i in range(size - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return heddle.compile(folder, folder / "model.so")


@pytest.fixture(scope="session")
def encoder_path(tmp_path_factory):
    return with_letters(tmp_path_factory.mktemp("encoder"), "bert-tiny")


@pytest.fixture(scope="session")
def dates_path(tmp_path_factory):
    return heddle.compile(ROOT / "examples/dates/model", tmp_path_factory.mktemp("dates") / "dates.so")


@pytest.fixture(scope="session")
def talker_path(tmp_path_factory):
    """A decoder-only model that answers a few questions, with a chat template. Its folder says that it
    draws tokens; here it takes the best ones unless a test says otherwise."""
    folder = tmp_path_factory.mktemp("qwen") / "folder"
    shutil.copytree(ROOT / "tests/oracles/qwen2-tiny", folder)
    settings = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    kept = {name: settings[name] for name in ("eos_token_id", "pad_token_id")}
    (folder / "generation_config.json").write_text(json.dumps(kept), encoding="utf-8")
    return heddle.compile(folder, folder.parent / "t.so")


@pytest.fixture(scope="session")
def talker(talker_path):
    return heddle.load(talker_path, threads=2)


@pytest.fixture(scope="session")
def ranker_path(tmp_path_factory):
    return heddle.compile(ROOT / "tests/oracles/bert-pairs", tmp_path_factory.mktemp("rank") / "r.so")


@pytest.fixture(scope="session")
def ranker(ranker_path):
    return heddle.load(ranker_path)


@pytest.fixture(scope="session")
def encoder(encoder_path):
    return heddle.load(encoder_path, threads=2)


@pytest.fixture(scope="session")
def dates(dates_path):
    return heddle.load(dates_path, threads=2)
