# SPDX-License-Identifier: Apache-2.0
"""Compiling, by the program heddlec: the compiler and its LLVM are a package of their own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Optional, Union

from . import _core
from ._errors import CompileError, CompileWarning, InvalidArgument, NotFound, Unsupported, WrongType
from ._reports import Report

Path = Union[str, "os.PathLike[str]"]
Words = Union[str, Sequence[str]]
_WARNING = "heddlec: warning: "


def temporary_folder() -> Any:
    """A folder that goes with its block. What only compiling needs is imported by it: it is a third of the
    time that importing heddle takes."""
    import tempfile
    return tempfile.TemporaryDirectory(prefix="heddle-")


def _program() -> str:
    """The compiler that HEDDLEC names, else that of the package heddle-compiler, else one on PATH."""
    import shutil
    named = os.environ.get("HEDDLEC")
    packed = None if named else _packed()
    found = packed or shutil.which(named or "heddlec")
    if found is None:
        what = (f"HEDDLEC names {named!r}, which is no program" if named
                else "heddle-compiler is not installed and heddlec is not on PATH")
        raise NotFound(f"{what}, expected the compiler of Heddle: pip install heddle-compiler, or "
                       "./dev build, then put build/bin on PATH or its path into HEDDLEC")
    return found


def _packed() -> Optional[str]:
    """The compiler of the package heddle-compiler, if that is installed."""
    import importlib.util
    if importlib.util.find_spec("heddle_compiler") is None:
        return None
    package = importlib.import_module("heddle_compiler")
    if package.__version__ != _core.version:
        raise Unsupported(f"heddle-compiler is {package.__version__} and heddle {_core.version}, "
                          f"expected the same: pip install heddle-compiler=={_core.version}")
    return package.program()


def _words(option: str, value: Words) -> list:
    """An option that may be repeated: a str is one of it."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise WrongType(f"{option[2:].replace('-', '_')} is {value!r}, expected str or a list of str")
    return [word for each in value for word in (option, each)]


def _word(option: str, value: object) -> list:
    if not isinstance(value, (str, os.PathLike)):
        raise WrongType(f"{option.strip('-').replace('-', '_')} is {value!r}, expected str or a path")
    return [option, os.fspath(value)]


def compile(model: Path, output: Path, *, target: Optional[Words] = None,
            precision: Optional[str] = None, cache: Optional[str] = None,
            keep: Optional[Words] = None, stop_after: Optional[str] = None,
            start_at: Optional[str] = None, weights: Optional[Path] = None,
            report: Optional[Path] = None, analysis: Optional[Path] = None,
            calibration: Optional[Path] = None, text_length: Optional[int] = None,
            share_attention: Optional[str] = None, disable_pass: Optional[Words] = None,
            code_cache: Optional[Path] = None, ptxas: Optional[Path] = None,
            no_chat_template: bool = False, static: bool = False, progress: bool = False) -> str:
    """Compiles a model to one binary, with the program ``heddlec``.

    The program is the one that the environment variable HEDDLEC names, else that of the package
    heddle-compiler, else ``heddlec`` on PATH. The keywords are its options; ``heddlec --help`` explains
    their values.

    Args:
        model: a model's folder, a GGUF or ONNX file, or a program in IR text.
        output: the binary to write.
        target: processors, for example "x86-64-v3" or ["x86-64-v3", "x86-64-v4"]; by default
            "x86-64-v3" and those that do the most with the precisions, for f32 "x86-64-v4".
        precision: of weights and products, for example "int8"; by default as the files say, or f32.
        cache: what caches keep of earlier tokens: "f32", "bf16" or "int8".
        keep: layers of another precision, for example "attention.self=int8".
        stop_after: write the program after this phase instead of a binary.
        start_at: the first phase to run on a program in text.
        weights: the weights of a program in text.
        report: write the report to this file, .html or JSON.
        analysis: a file of ``heddle analyze`` to show in the report.
        calibration: a file of texts by which codes of weights are chosen.
        text_length: the most tokens of a text, of a model whose rotary positions depend on that.
        share_attention: for example "self:1,5,cross:4,2".
        disable_pass: passes to leave out.
        code_cache: a folder that keeps compiled functions.
        ptxas: the program of CUDA that makes machine code beside the PTX of GPUs.
        no_chat_template: leave the model's chat templates out.
        static: compile an ONNX graph in which the exporter made constants of open sizes, for these
            sizes alone.
        progress: print what heddlec prints while it runs. Without it, each of its warnings is a
            ``CompileWarning``.

    Returns:
        The path of the binary.

    Raises:
        NotFound: there is no heddlec.
        CompileError: heddlec refused the model; the message is its own.
    """
    if isinstance(target, (list, tuple)):
        target = ",".join(target)
    command = [_program(), *_word("model", model)[1:], *_word("-o", output)]
    for option, value in (("--target", target), ("--precision", precision), ("--cache", cache),
                          ("--stop-after", stop_after), ("--start-at", start_at),
                          ("--weights", weights), ("--report", report), ("--analysis", analysis),
                          ("--calibration", calibration), ("--share-attention", share_attention),
                          ("--code-cache", code_cache), ("--ptxas", ptxas)):
        if value is not None:
            command += _word(option, value)
    if text_length is not None:
        if isinstance(text_length, bool) or not isinstance(text_length, int):
            raise WrongType(f"text_length is {text_length!r}, expected int")
        command.append(f"--text-length={text_length}")
    for option, values in (("--keep", keep), ("--disable-pass", disable_pass)):
        if values is not None:
            command += _words(option, values)
    if no_chat_template:
        command.append("--no-chat-template")
    if static:
        command.append("--static")
    if command[1].startswith("-"):
        raise InvalidArgument(f"model is {command[1]!r}, expected a path that is no option")
    import subprocess
    done = subprocess.run(command, stdout=subprocess.DEVNULL,
                          stderr=None if progress else subprocess.PIPE, check=False)
    said = (done.stderr or b"").decode("utf-8", "replace").strip()
    if done.returncode != 0:
        raise CompileError(said or f"heddlec ended with {done.returncode}, expected 0")
    for line in said.splitlines():
        if line.startswith(_WARNING):
            warnings.warn(line.removeprefix(_WARNING), CompileWarning, stacklevel=2)
    return os.fspath(output)


def explain(model: Path, **options: Any) -> Report:
    """Compiles a model for its report alone: what each pass took or declined, and why.

    Args:
        model: as for ``compile``.
        options: those of ``compile``, but for ``report``.

    Returns:
        The Report, which a notebook shows as tables.
    """
    if "report" in options:
        raise InvalidArgument("report is given, expected none: the report is what is returned")
    with temporary_folder() as folder:
        path = os.path.join(folder, "report.json")
        compile(model, os.path.join(folder, "model.so"), report=path, **options)
        return Report.read(path)
