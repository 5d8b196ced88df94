# SPDX-License-Identifier: Apache-2.0
"""heddle.compile runs heddlec: its options are the keywords, its messages the exceptions."""

import inspect
import os
import re
import subprocess

import heddle
import pytest
from conftest import ROOT

MODEL = ROOT / "tests/oracles/bert-tiny"


def test_keywords_are_the_options():
    text = subprocess.run([os.environ["HEDDLEC"], "--help"], capture_output=True, text=True,
                          check=True).stdout
    options = set(re.findall(r"^  (?:-\w,)?--([a-z-]+)", text, re.M))
    keywords = {name.replace("_", "-") for name in inspect.signature(heddle.compile).parameters}
    # Help, version and a text on standard output are not for a program.
    assert options - {"help", "version", "emit"} == keywords - {"model", "output", "progress"}


def test_options_reach_the_compiler(tmp_path):
    path = heddle.compile(MODEL, tmp_path / "model.so", precision="int8", target=["x86-64-v3"],
                          keep="layer.1=f32", disable_pass=["fuse-attention", "fold-epilogues"],
                          report=tmp_path / "report.json")
    about = heddle.info(path)
    assert path == str(tmp_path / "model.so")
    assert (about.precision, about.targets) == ("int8", ("x86-64-v3",))
    assert about.details["kept"][0]["layers"] == "layer.1"
    assert (tmp_path / "report.json").is_file()


def test_what_the_compiler_says(tmp_path):
    with pytest.raises(heddle.CompileError, match="none"):
        heddle.compile(tmp_path / "none", tmp_path / "model.so")
    with pytest.raises(heddle.CompileError, match="int5"):
        heddle.compile(MODEL, tmp_path / "model.so", precision="int5")


def test_wrong_arguments(tmp_path):
    with pytest.raises(heddle.WrongType, match="precision is 8, expected str"):
        heddle.compile(MODEL, tmp_path / "model.so", precision=8)
    with pytest.raises(heddle.WrongType, match="keep is 3, expected str or a list of str"):
        heddle.compile(MODEL, tmp_path / "model.so", keep=3)
    with pytest.raises(heddle.InvalidArgument, match="expected a path that is no option"):
        heddle.compile("--version", tmp_path / "model.so")


def test_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDDLEC", "/nowhere/heddlec")
    with pytest.raises(heddle.NotFound, match="HEDDLEC names '/nowhere/heddlec', which is no program"):
        heddle.compile(MODEL, tmp_path / "model.so")
    monkeypatch.delenv("HEDDLEC")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(heddle.NotFound, match="heddlec is not on PATH, expected the compiler"):
        heddle.compile(MODEL, tmp_path / "model.so")
