# SPDX-License-Identifier: Apache-2.0
"""heddle.compile runs heddlec: its options are the keywords, its messages the exceptions."""

import importlib.machinery
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import types
import warnings

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
    with pytest.raises(heddle.CompileError, match="--text-length is 64, expected none"):
        heddle.compile(MODEL, tmp_path / "model.so", text_length=64)
    with pytest.raises(heddle.CompileError, match="int5"):
        heddle.compile(MODEL, tmp_path / "model.so", precision="int5")


def test_warnings_of_the_compiler(tmp_path):
    folder = shutil.copytree(MODEL, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "number_of_moons": 2}))
    with pytest.warns(heddle.CompileWarning, match="number_of_moons"):
        heddle.compile(folder, tmp_path / "model.so")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heddle.compile(MODEL, tmp_path / "model.so")


def test_wrong_arguments(tmp_path):
    with pytest.raises(heddle.WrongType, match="precision is 8, expected str"):
        heddle.compile(MODEL, tmp_path / "model.so", precision=8)
    with pytest.raises(heddle.WrongType, match="text_length is '4k', expected int"):
        heddle.compile(MODEL, tmp_path / "model.so", text_length="4k")
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
    monkeypatch.setitem(sys.modules, "heddle_compiler", None)
    with pytest.raises(heddle.NotFound, match="heddle-compiler is not installed and heddlec is not on "
                       "PATH, expected the compiler of Heddle: pip install heddle-compiler"):
        heddle.compile(MODEL, tmp_path / "model.so")


def test_the_compiler_of_the_package(tmp_path, monkeypatch):
    """Without a build, a clone or anything on PATH: the same bytes as from the build's own compiler."""
    expected = heddle.compile(MODEL, tmp_path / "expected.so", code_cache=tmp_path / "cache")
    monkeypatch.delenv("HEDDLEC")
    monkeypatch.setenv("PATH", str(tmp_path))
    path = heddle.compile(MODEL, tmp_path / "model.so")
    with open(path, "rb") as one, open(expected, "rb") as other:
        assert one.read() == other.read()
    assert heddle.load(path).run(input_ids=[[1, 2, 3]])
    # pip puts the program beside python.
    program = os.path.join(os.path.dirname(sys.executable), "heddlec")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert heddle.__version__ in done.stdout


def test_a_compiler_of_another_version(tmp_path, monkeypatch):
    other = types.ModuleType("heddle_compiler")
    other.__spec__ = importlib.machinery.ModuleSpec("heddle_compiler", None)
    other.__version__ = "0.0.1"
    monkeypatch.setitem(sys.modules, "heddle_compiler", other)
    monkeypatch.delenv("HEDDLEC")
    with pytest.raises(heddle.Unsupported, match=f"heddle-compiler is 0.0.1 and heddle "
                       f"{heddle.__version__}, expected the same"):
        heddle.compile(MODEL, tmp_path / "model.so")


def test_explain(tmp_path):
    model = ROOT / "examples/dates/model"
    report = heddle.explain(model, target="x86-64-v3", disable_pass="fuse-projections")
    assert isinstance(report, heddle.Report) and len(report) > 3
    assert {each["pass"] for each in report.gains} == {"predicted-gain"}
    assert len(report.taken) + len(report.declined) + len(report.gains) == len(report)
    fused = [row for row in report.rows() if row["pass"] == "fuse-attention"]
    assert fused and all(row["taken"] and "flops_per_token" in row for row in fused)
    assert report.declined and all(each["reason"] for each in report.declined)
    assert {row["reason"] for row in report.rows() if not row["taken"]} == {
        each["reason"] for each in report.declined}
    html = report._repr_html_()
    assert fused[0]["where"] in html and f"{len(report.taken)} taken" in html
    path = tmp_path / "report.json"
    heddle.compile(model, tmp_path / "model.so", target="x86-64-v3", disable_pass="fuse-projections",
                   report=path)
    assert heddle.Report.read(path) == report
    for text, problem in (("<html>", "no JSON, Expecting value"), ('{"a": 1}', "other JSON"),
                          ("[1]", "other JSON")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(heddle.InvalidArgument, match=f"report.json: {problem}.*expected a report"):
            heddle.Report.read(path)
    with pytest.raises(heddle.InvalidArgument, match="report is given, expected none"):
        heddle.explain(MODEL, report=path)
