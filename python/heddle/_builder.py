# SPDX-License-Identifier: Apache-2.0
"""Models written in Python: a program in the text of the IR and a file of weights, which heddlec
compiles like any other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np

from . import _arguments as arguments
from . import _safetensors
from ._compile import Path, compile, temporary_folder
from ._entry import EntryBuilder, checked_shape, declaration, place, quoted, real, text
from ._errors import InvalidArgument, WrongType
from ._reports import Report
from ._values import Parameter

_PROGRAM = "program.mlir"
_WEIGHTS = "model.safetensors"


class ModelBuilder:
    """A model under construction.

        model = heddle.ModelBuilder("mine")
        weight = model.parameter("dense.weight", numpy.eye(8))
        encode = model.entry("encode")
        x = encode.input("x", 8)
        encode.output("y", encode.activate("gelu", encode.linear(x, weight)) + x)
        model.compile("mine.so")

    Operations are methods of entries, those of the dialect (docs/reference/transformer.md), and
    primitive mathematics is enough: the compiler finds what is fast in it. Operations are named after
    their parameters, or the scope; errors of the compiler say the name and the line of Python.
    """

    def __init__(self, model_type: str):
        self._type = text("model_type", model_type)
        self._parameters: dict[str, tuple] = {}
        self._values: dict[str, np.ndarray] = {}
        self._entries: dict[str, EntryBuilder] = {}
        self._scope = ""
        self._generation: Optional[str] = None

    def parameter(self, name: str, values: Any = None, *,
                  shape: Optional[Sequence[int]] = None) -> Parameter:
        """A weight, of its values or of a shape alone.

        Args:
            name: its name, below the scope.
            values: floats of one to four axes, kept as float32. Without them ``compile`` takes a
                file of weights that has them.
            shape: the sizes, where there are no values.

        Returns:
            The parameter; for a name that is known, the known one, which must have this shape.
        """
        label = self._join(text("the name of a parameter", name))
        if (values is None) == (shape is None):
            raise InvalidArgument(f"{label!r}: values and shape are both "
                                  f"{'missing' if values is None else 'given'}, expected one of them")
        array = None
        # A tuple of whole numbers is a shape wherever numpy takes one.
        if isinstance(values, tuple) and values and all(type(each) is int for each in values):
            raise InvalidArgument(f"{label!r}: values is the tuple {values}, expected shape={values} for "
                                  f"its sizes, or the list {list(values)} for its numbers")
        if values is not None:
            array = np.asarray(values)
            if array.dtype.kind not in "fiu":
                raise WrongType(f"{label!r} has elements of {array.dtype}, expected floats")
            array = np.array(array, np.float32, order="C")
            shape = array.shape
        sizes = checked_shape(label, shape)
        if label in self._parameters:
            known = self._parameters[label][0]
            if known.shape != sizes or array is not None:
                raise InvalidArgument(f"{label!r} is a parameter of shape {list(known.shape)} already, "
                                      "expected another name")
            return known
        parameter = Parameter(self, label, sizes)
        self._parameters[label] = (parameter, f"loc({quoted(label)}({place()}))")
        if array is not None:
            self._values[label] = array
        return parameter

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator["ModelBuilder"]:
        """Within it names of parameters and operations begin with ``name`` and a dot."""
        before = self._scope
        self._scope = self._join(text("the name of a scope", name))
        try:
            yield self
        finally:
            self._scope = before

    def entry(self, name: str) -> EntryBuilder:
        """Starts a function that programs can call, such as "encode". A decoder's is "decode"."""
        label = text("the name of an entry", name)
        if label in self._entries:
            raise InvalidArgument(f"entry {label!r} appears twice")
        self._entries[label] = EntryBuilder(self, label)
        return self._entries[label]

    def generation(self, *, start: Sequence[int] = (), end: Sequence[int] = (), pad: int = 0,
                   forced_first: int = -1, forced_last: int = -1, suppressed: Sequence[int] = (),
                   rules: str = "transformers", max_length: int = 0, min_length: int = 0,
                   num_beams: int = 1, length_penalty: float = 1.0, early_stopping: bool = False,
                   never_stop_early: bool = False, no_repeat_ngram: int = 0,
                   repetition_penalty: float = 1.0, sample: bool = False,
                   temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
                   min_p: float = 0.0, context_length: int = 0) -> None:
        """Says that the model generates, and the defaults of the search.

        Args:
            start: tokens that every text starts with.
            end: tokens that end one.
            pad: the token that sources in files end in.
            forced_first: the first token, -1: any.
            forced_last: the last one at the maximum length, -1: any.
            suppressed: tokens that are never generated.
            rules: "paper", "transformers" or "ctranslate2".
            max_length: the most tokens; 0: no limit but the caller's.
            min_length: the fewest tokens before the end.
            num_beams: hypotheses that the search follows.
            length_penalty: exponent of the length that scores are divided by.
            early_stopping: stop as soon as there are as many texts as beams.
            never_stop_early: only when no better text can come.
            no_repeat_ngram: no group of so many tokens occurs twice.
            repetition_penalty: penalty for repeated tokens.
            sample: draw tokens instead of taking the best; the rest are the numbers of that.
            temperature: of the distribution that tokens are drawn from.
            top_k: draw from so many of the best tokens; 0: from all.
            top_p: draw from the fewest whose probabilities add up to this.
            min_p: draw from those with at least so many times the probability of the best.
            context_length: the tokens of a text that the model was trained for; 0: unknown.
        """
        def listed(name: str, values: Any) -> str:
            ids = arguments.ids(name, values).tolist()
            return f"array<i32: {', '.join(map(str, ids))}>" if ids else "array<i32>"

        def whole(name: str, value: Any, least: int = 0) -> str:
            return f"{arguments.whole(name, value, least, 2**31 - 1)} : i32"

        def flag(name: str, value: Any) -> str:
            return "true" if arguments.flag(name, value) else "false"

        values = {
            "start": listed("start", start), "end": listed("end", end), "pad": whole("pad", pad, -1),
            "forced_first": whole("forced_first", forced_first, -1),
            "forced_last": whole("forced_last", forced_last, -1),
            "suppressed": listed("suppressed", sorted(suppressed)),
            "rules": quoted(arguments.word("rules", rules, arguments.RULES)),
            "max_length": whole("max_length", max_length),
            "min_length": whole("min_length", min_length),
            "num_beams": whole("num_beams", num_beams, 1),
            "length_penalty": real(arguments.number("length_penalty", length_penalty)),
            "early_stopping": flag("early_stopping", early_stopping),
            "never_stop_early": flag("never_stop_early", never_stop_early),
            "no_repeat_ngram": whole("no_repeat_ngram", no_repeat_ngram),
            "repetition_penalty": real(arguments.number("repetition_penalty", repetition_penalty)),
            "sample": flag("sample", sample),
            "temperature": real(arguments.number("temperature", temperature)),
            "top_k": whole("top_k", top_k), "top_p": real(arguments.number("top_p", top_p)),
            "min_p": real(arguments.number("min_p", min_p)),
            "context_length": whole("context_length", context_length)}
        self._generation = "{" + ", ".join(f"{name} = {value}" for name, value in values.items()) + "}"

    def text(self) -> str:
        """The program, in the generic form of the IR; ``lowered`` gives it in the dialect's."""
        if not self._entries:
            raise InvalidArgument("the model has no entry, expected at least one")
        attributes = [f"transformer.model_type = {quoted(self._type)}"]
        if self._generation is not None:
            attributes.append(f"transformer.generation = {self._generation}")
        return "\n".join([f"module attributes {{{', '.join(attributes)}}} {{",
                          *(declaration(*each) for each in self._parameters.values()),
                          *(entry._text() for entry in self._entries.values()),
                          f"}} loc({quoted(self._type)})", ""])

    def save(self, folder: Path) -> str:
        """Writes the program and its weights, program.mlir and model.safetensors, to a folder that is
        made if it is missing. Returns the program's path, which heddlec and ``heddle.compile`` take."""
        os.makedirs(folder, exist_ok=True)
        program = os.path.join(os.fspath(folder), _PROGRAM)
        with open(program, "w", encoding="utf-8") as file:
            file.write(self.text())
        if self._values:
            _safetensors.write(os.path.join(os.fspath(folder), _WEIGHTS), self._values)
        return program

    def compile(self, output: Path, *, weights: Optional[Path] = None, **options: Any) -> str:
        """Compiles the model to one binary, which ``heddle.load`` runs.

        Args:
            output: the binary to write.
            weights: a file of tensors, or a model's folder, with the values of all parameters; by
                default these are the values that the parameters were given.
            options: those of ``heddle.compile``.

        Returns:
            The path of the binary.

        Raises:
            CompileError: the program is wrong, and the message says where in Python; or the compiler
                refuses it.
        """
        lacking = [name for name in self._parameters if name not in self._values]
        if weights is None and lacking:
            raise InvalidArgument(f"parameter {lacking[0]!r} has no values, expected weights= with them")
        with temporary_folder() as folder:
            program = self.save(folder)
            if weights is None and self._values:
                weights = os.path.join(folder, _WEIGHTS)
            return compile(program, output, weights=weights, **options)

    def lowered(self, phase: str = "fused", **options: Any) -> str:
        """The program after a phase of the compiler: "model", "fused", "dataflow", "kernels", "llvm" or
        "asm". Takes the options of ``compile``."""
        with temporary_folder() as folder:
            path = os.path.join(folder, "lowered")
            self.compile(path, stop_after=text("phase", phase), **options)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def report(self, **options: Any) -> Report:
        """What the compiler's passes found, each candidate, taken or not, and why. Takes the options of
        ``compile``."""
        with temporary_folder() as folder:
            path = os.path.join(folder, "report.json")
            self.compile(os.path.join(folder, "model.so"), report=path, **options)
            return Report.read(path)

    def _join(self, name: str) -> str:
        return f"{self._scope}.{name}" if self._scope else name
