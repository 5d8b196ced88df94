# SPDX-License-Identifier: Apache-2.0
"""A function of a model under construction. Operations become lines of the generic form of MLIR, with
the Python line that made each as its location."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _arguments as arguments
from . import _shapes
from ._errors import InvalidArgument, OutOfRange, WrongType
from ._operation_table import OPERATIONS, WORDS
from ._operations import Operations
from ._values import (Cache, Ids, Mask, Parameter, Segments, Shape, State, Tensor, Value, sizes,
                      tensor_type)

if TYPE_CHECKING:
    from ._builder import ModelBuilder

_PACKAGE = os.path.dirname(__file__)
_CLASSES = {"tensor": Tensor, "rows": Tensor, "heads": Tensor, "scores": Tensor, "ids": Ids,
            "mask": Mask, "segments": Segments, "cache": Cache, "state": State}
_TYPES = {"segments": "!transformer.segments", "ids": "tensor<?xi32>", "mask": "tensor<?x?xi1>"}
#: What shapes of a kind look like: whether each size is known.
_FORMS = {"rows": ((False, True), "rows [?, width]"),
          "heads": ((False, True, True), "heads [?, heads, head size]"),
          "scores": ((False, True, False), "scores [?, heads, ?]")}
_WINDOW = {"height": 1, "width": 1, "strideDown": 1, "strideRight": 1, "dilationDown": 1,
           "dilationRight": 1, "across": 1, "causal": False}
_MOST = 2**62


def quoted(text: str) -> str:
    """A string of the IR: other than printable characters of ASCII are bytes in hexadecimal."""
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
                         for byte in text.encode()) + '"'


def real(value: float) -> str:
    """An f32 of the IR, to the bit."""
    single = np.float32(value)
    if np.isfinite(single):
        return f"{float(single):.9e} : f32"
    return f"0x{int(single.view(np.uint32)):08X} : f32"


def place() -> str:
    """The line of the program that calls this package, as a location."""
    frame: Any = sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == _PACKAGE:
        frame = frame.f_back
    if frame is None:
        return "unknown"
    return f"{quoted(frame.f_code.co_filename)}:{frame.f_lineno}:1"


def text(name: str, value: Any) -> str:
    """A name of a model."""
    if not isinstance(value, str):
        raise WrongType(f"{name} is {value!r}, expected str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} has a surrogate, which is no character") from None
    if not value or any(ord(each) < 32 or 127 <= ord(each) < 160 for each in value):
        raise InvalidArgument(f"{name} is {value!r}, expected a name without control characters")
    return value


class _Call:
    """An operation on its way: what it gets, as the IR writes it."""

    def __init__(self, entry: "EntryBuilder", operation: str):
        self.entry = entry
        self.operation = operation
        self.operands: list = []
        self.segments: list = []
        self.properties: list = []
        self.name = ""

    def wrong(self, kind: type, message: str) -> Exception:
        return kind(f"transformer.{self.operation}: {message}")

    def value(self, name: str, kind: str, given: Any) -> Value:
        """An operand, checked. A parameter stands for its value."""
        wanted = _CLASSES[kind]
        if isinstance(given, Parameter) and wanted is Tensor:
            given = self.entry.weight(given)
        if not isinstance(given, wanted):
            raise self.wrong(WrongType, f"{name} is {type(given).__name__}, expected "
                                        f"{wanted.__name__}")
        if given._entry is not self.entry:
            raise self.wrong(InvalidArgument, f"{name} belongs to entry {given._entry.name!r}, "
                                              f"expected a value of {self.entry.name!r}")
        if kind in _FORMS:
            form, words = _FORMS[kind]
            if tuple(size is not None for size in given.shape) != form:
                raise self.wrong(InvalidArgument, f"{name} has the shape {sizes(given.shape)}, "
                                                  f"expected {words}")
        return given

    def take(self, name: str, how: str, given: Any) -> Any:
        """An argument as its kind says; what rules of shapes get."""
        kind = how.rstrip("?*")
        if how.endswith("?") and given is None:
            if kind in _CLASSES:
                self.segments.append(0)
            return None
        if how.endswith("*"):
            if isinstance(given, (Value, str)) or not isinstance(given, Iterable):
                raise self.wrong(WrongType, f"{name} is {type(given).__name__}, expected a list")
            listed = [self.value(f"{name} {i}", kind, each) for i, each in enumerate(given, 1)]
            self.operands += listed
            self.segments.append(len(listed))
            return listed
        if kind in _CLASSES:
            value = self.value(name, kind, given)
            self.operands.append(value)
            self.segments.append(1)
            return value
        written, result = self.attribute(name, kind, given)
        if written is not None:
            self.properties.append(f"{name} = {written}")
        return result

    def attribute(self, name: str, kind: str, given: Any) -> tuple:
        """What is written for an attribute, and its value."""
        label = f"transformer.{self.operation}: {name}"
        if kind == "parameter":
            if not isinstance(given, Parameter):
                raise WrongType(f"{label} is {type(given).__name__}, expected Parameter")
            if given._model is not self.entry._model:
                raise InvalidArgument(f"{label} belongs to another model")
            self.name = _owner(given.name, self.name)
            return f"@{quoted(given.name)}", given
        if kind == "whole":
            number = arguments.whole(label, given, -_MOST, _MOST)
            return f"{number} : i64", number
        if kind == "number":
            number = arguments.number(label, given)
            return real(number), number
        if kind == "flag":
            return ("unit" if arguments.flag(label, given) else None), given
        if kind == "text":
            return quoted(text(label, given)), given
        if kind == "wholes":
            listed = [arguments.whole(label, each, -_MOST, _MOST) for each in given]
            return f"array<i64: {', '.join(map(str, listed))}>" if listed else "array<i64>", listed
        if kind == "numbers":
            reals = [arguments.number(label, each) for each in given]
            written = ", ".join(real(each).partition(" ")[0] for each in reals)
            return f"array<f32: {written}>" if reals else "array<f32>", reals
        if kind == "visibility":
            # The IR's own words; its parser says what is wrong with others.
            words = text(label, given)
            if any(each in words for each in '<>"#@{}\\'):
                raise InvalidArgument(f"{label} is {given!r}, expected bounds such as \"causal\" or "
                                      "\"from i - 3 to i + 1\"")
            return f"#transformer.visibility<{words}>", words
        if kind == "window":
            return _window(label, given), given
        mnemonic = kind.partition(":")[2]
        word = arguments.word(label, given, WORDS[mnemonic])
        return f"#transformer<{mnemonic} {word}>", word


def _owner(name: str, other: str) -> str:
    """What operations with parameters are called: "a.b" for "a.b.weight" and "a.b.bias"."""
    owner = name.rpartition(".")[0] or name
    return os.path.commonprefix([owner + ".", other + "."]).rstrip(".") or owner if other else owner


def _window(label: str, given: Any) -> str:
    if not isinstance(given, Mapping):
        raise WrongType(f"{label} is {type(given).__name__}, expected a dict such as "
                        '{"height": 3, "causal": True}')
    parts = []
    for key, value in given.items():
        if key not in _WINDOW:
            raise InvalidArgument(f"{label} has {key!r}, expected {', '.join(_WINDOW)}")
        if key == "causal":
            parts.append(f"causal = {'true' if arguments.flag(f'{label} {key}', value) else 'false'}")
        else:
            number = arguments.whole(f"{label} {key}", value, 0 if key == "across" else 1, 2**31)
            # Images of any width.
            parts.append(f"{key} = {number or '?'}")
    if "height" not in given:
        raise InvalidArgument(f"{label} has no 'height', expected one")
    order = list(_WINDOW)
    parts.sort(key=lambda part: order.index(part.partition(" ")[0]))
    return f"#transformer.window<{', '.join(parts)}>"


class EntryBuilder(Operations):
    """A function of a model under construction, that programs can call. ``ModelBuilder.entry`` makes
    it.

    Its operations are those of the dialect (docs/reference/transformer.md has their constraints). They
    work on the rows of all sequences of a batch, laid end to end, and shapes say which axis is what:

    * t: rows, one for each token of the batch; [t, w] are rows of width w
    * s: one row for each sequence
    * h and d: the heads of a row, and their size; [t, h, d]
    * k: the keys that a row looks at, those of its own sequence; scores are [t, h, k]

    Which rows form a sequence is said by ``segments()``, the argument that operations call ``rows``,
    ``queries`` or ``keys``. A ``Parameter`` may stand wherever a Tensor is expected.

    Attributes:
        name: its name.
    """

    def __init__(self, model: "ModelBuilder", name: str):
        self._model = model
        self.name = name
        self._location = f"loc({quoted(name)}({place()}))"
        self._inputs: list = []
        self._memory: Optional[tuple] = None
        self._kept: dict[str, list] = {}
        self._outputs: dict[str, Tensor] = {}
        # Lines of the function, and of regions inside the one that is written.
        self._bodies: list = [[]]
        self._count = 0
        self._rows = Segments(self, "%rows", _TYPES["segments"], name)

    # --- what it reads and gives ----------------------------------------------------------------

    def input(self, name: str, width: Optional[int] = None, *, optional: bool = False) -> Any:
        """An input: one integer for each row, Ids [t], or with a width rows of floats, [t, width].
        One that is optional is zeros where a caller leaves it out."""
        label = text("the name of an input", name)
        if any(each[0] == label for each in self._inputs):
            raise InvalidArgument(f"input {label!r} of entry {self.name!r} appears twice")
        reference = f"%input{len(self._inputs)}"
        value: Value
        if width is None:
            value = Ids(self, reference, _TYPES["ids"], label)
        else:
            value = Tensor(self, reference, (None, arguments.whole("width", width, 1, 2**31)), label)
        self._inputs.append((label, value, arguments.flag("optional", optional)))
        return value

    def segments(self) -> Segments:
        """Which rows of the inputs form one sequence."""
        return self._rows

    def memory(self, name: str) -> Segments:
        """The rows that a run of another entry has left in caches, such as a source's."""
        label = text("the name of a memory", name)
        if self._memory is None:
            self._memory = (label, Segments(self, "%memory", _TYPES["segments"], label))
        elif self._memory[0] != label:
            raise InvalidArgument(f"entry {self.name!r} has the memory {self._memory[0]!r}, expected "
                                  f"one, got {label!r}")
        return self._memory[1]

    def cache(self, name: str, width: int) -> Cache:
        """The cache of that name, with rows of a width. Entries that use the same name share it."""
        cache = self._keep(Cache, name, width, "!transformer.cache<{}>")
        return cache

    def state(self, name: str, width: int, *, keyed: bool = False) -> State:
        """The state of that name, of a width; with keys it has so many numbers for each key of the
        memory. It is zero before the first run of a sequence."""
        state = self._keep(State, name, width,
                           "!transformer.state<{}, keys>" if arguments.flag("keyed", keyed)
                           else "!transformer.state<{}>")
        state._keyed = bool(keyed)
        return state

    def _keep(self, kind: type, name: str, width: int, form: str) -> Any:
        label = text("the name of a cache or state", name)
        if label in self._kept:
            raise InvalidArgument(f"{label!r} of entry {self.name!r} appears twice")
        size = arguments.whole("width", width, 1, 2**31)
        value = kind(self, f"%kept{len(self._kept)}", form.format(size), label)
        value._width, value._key = size, label
        # The value that the entry gets, and what it becomes.
        self._kept[label] = [value, None]
        return value

    def output(self, name: str, result: Tensor) -> None:
        """Names a result: rows [t, w], rows of sequences or blocks, or scores [t, h, k]."""
        label = text("the name of an output", name)
        if not isinstance(result, Tensor):
            raise WrongType(f"output {label!r} is {type(result).__name__}, expected Tensor")
        if result._entry is not self:
            raise InvalidArgument(f"output {label!r} is not a value of entry {self.name!r}")
        form = tuple(size is not None for size in result.shape)
        if form not in (_FORMS["rows"][0], _FORMS["scores"][0]):
            raise InvalidArgument(f"output {label!r} has the shape {sizes(result.shape)}, expected rows "
                                  "[?, width] or scores [?, heads, ?]")
        if label in self._outputs:
            raise InvalidArgument(f"output {label!r} of entry {self.name!r} appears twice")
        self._outputs[label] = result

    # --- recurrences ----------------------------------------------------------------------------

    def recurrence(self, inputs: Sequence[Tensor], carried: Sequence[int],
                   step: Callable[[list, list], tuple], *, rows: Optional[Segments] = None,
                   initial: Sequence[Tensor] = (), reversed: bool = False) -> tuple:
        """Mathematics on one row of each sequence after the other.

        ``step`` writes it for one row: it is called once, with the rows of the inputs and the carried
        values, [t, w] each, as the step before left them, and returns two lists: the new carried
        values, and what the step gives beside them.

        Args:
            inputs: rows [t, w].
            carried: the widths of the carried values.
            step: a function of two lists of Tensor.
            rows: which rows form one sequence; by default those of the entry.
            initial: rows [s, w], what the first step gets; by default zeros.
            reversed: from the last row of a sequence to the first.

        Returns:
            Two lists: the carried values after the last step, a row for each sequence, and what the
            steps gave, rows of the inputs.
        """
        call = _Call(self, "recurrence")
        given = call.take("inputs", "rows*", inputs)
        begun = call.take("initial", "tensor*", initial)
        segments = call.take("rows", "segments", self._rows if rows is None else rows)
        call.take("reversed", "flag", reversed)
        widths = [arguments.whole("carried", width, 1, 2**31) for width in carried]
        shapes = [each.shape for each in begun] or [(None, width) for width in widths]
        location = f"loc({quoted(self._named(call))}({place()}))"
        arriving = [Tensor(self, self._fresh(), each.shape, each._name) for each in given]
        before = [Tensor(self, self._fresh(), shape, self.name) for shape in shapes]
        self._bodies.append([])
        try:
            carries, gives = ([call.value("a result of the step", "tensor", each) for each in part]
                              for part in step(list(arriving), list(before)))
        finally:
            body = self._bodies.pop()
        if [each.shape for each in carries] != shapes:
            raise call.wrong(InvalidArgument, "the step carries "
                             f"{', '.join(sizes(each.shape) for each in carries) or 'nothing'}, expected "
                             f"{', '.join(map(sizes, shapes))}")
        ends = [*carries, *gives]
        types = ", ".join(each._type for each in ends)
        body.append(f'"transformer.next"({", ".join(each._text for each in ends)}) : ({types}) -> () '
                    f"{location}")
        begin = ", ".join(f"{each._text}: {each._type} {location}" for each in [*arriving, *before])
        region = " ({\n^bb0(" + begin + "):\n" + "\n".join(body) + "\n})"
        results = [Tensor(self, "", each.shape, self.name) for each in ends]
        self._write(call, results, ["operandSegmentSizes = array<i32: "
                                    f"{len(given)}, {len(begun)}, 1>"], location, region)
        assert segments is not None
        return results[:len(carries)], results[len(carries):]

    # --- operations -----------------------------------------------------------------------------

    def _make(self, operation: str, given: dict) -> Any:
        declared, kind, changed, segmented = OPERATIONS[operation]
        call = _Call(self, operation)
        known = {name: call.take(name, how, given[name]) for name, how in declared}
        rule = getattr(_shapes, operation, None) if kind == "rule" else None
        results = self._results(call, kind, rule, {**given, **known})
        extra = ["operandSegmentSizes = array<i32: " + ", ".join(map(str, call.segments)) + ">"] \
            if segmented else []
        location = f"loc({quoted(self._named(call))}({place()}))"
        for each in results:
            each._name = self._named(call)
        self._write(call, results, extra, location)
        if changed is not None:
            self._change(call, known[changed], results[0])
        if operation == "choices":
            results[0]._choices = known["count"]
        return results[0] if len(results) == 1 else tuple(results)

    def _results(self, call: _Call, kind: str, rule: Any, known: dict) -> list:
        """The results, without a name in the IR."""
        form, _, what = kind.partition(":")
        if form == "like":
            like = known[what]
            result: Value
            if isinstance(like, Tensor):
                result = Tensor(self, "", like.shape, "")
            else:
                result = type(like)(self, "", like._type, "")
                for name in ("_width", "_key", "_keyed"):
                    if hasattr(like, name):
                        setattr(result, name, getattr(like, name))
            return [result]
        if form == "kind":
            return [_CLASSES[what](self, "", _TYPES[what], "")]
        names = rule.__code__.co_varnames[:rule.__code__.co_argcount]
        try:
            shape: Shape = rule(**{name: known[name] for name in names})
        except (InvalidArgument, OutOfRange) as problem:
            raise call.wrong(type(problem), str(problem)) from None
        made: list = [Tensor(self, "", shape, "")]
        return [Ids(self, "", _TYPES["ids"], ""), *made] if call.operation == "top_k" else made

    def _change(self, call: _Call, before: Any, after: Any) -> None:
        """A cache or state has become another value, which the entry gives."""
        if self._kept[before._key][1] is not None:
            raise call.wrong(InvalidArgument, f"{before._key!r} was changed before, expected one change "
                                              "in an entry")
        self._kept[before._key][1] = after

    def _named(self, call: _Call) -> str:
        """What errors and reports call an operation."""
        if call.name:
            return call.name
        if self._model._scope:
            return self._model._scope
        return call.operands[0]._name if call.operands else self.name

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _write(self, call: _Call, results: list, extra: list, location: str, region: str = "") -> None:
        for each in results:
            each._text = self._fresh()
        properties = ", ".join([*call.properties, *extra])
        types = ", ".join(each._type for each in results)
        self._bodies[-1].append(
            f"{', '.join(each._text for each in results)} = \"transformer.{call.operation}\"("
            f"{', '.join(each._text for each in call.operands)})"
            f"{' <{' + properties + '}>' if properties else ''}{region} : "
            f"({', '.join(each._type for each in call.operands)}) -> "
            f"{types if len(results) == 1 else '(' + types + ')'} {location}")

    def _text(self) -> str:
        """The function."""
        if not self._outputs:
            raise InvalidArgument(f"entry {self.name!r} has no output, expected at least one")
        gets = [(value, label, optional) for label, value, optional in self._inputs]
        gets.append((self._rows, "", False))
        if self._memory is not None:
            gets.append((self._memory[1], self._memory[0], False))
        gets += [(value, label, False) for label, (value, _) in self._kept.items()]
        gives = [(value, label) for label, value in self._outputs.items()]
        gives += [(after, label) for label, (_, after) in self._kept.items() if after is not None]

        def named(label: str, optional: bool = False) -> str:
            parts = ([f"transformer.name = {quoted(label)}"] if label else []) + (
                ["transformer.optional"] if optional else [])
            return f" {{{', '.join(parts)}}}" if parts else ""

        head = ", ".join(f"{value._text}: {value._type}{named(label, optional)} "
                         f"loc({quoted(label or self.name)})" for value, label, optional in gets)
        tail = ", ".join(f"{value._type}{named(label)}" for value, label in gives)
        types = ", ".join(value._type for value, _ in gives)
        back = f"return {', '.join(value._text for value, _ in gives)} : {types} {self._location}"
        return "\n".join([f"func.func @{quoted(self.name)}({head}) -> ({tail}) {{",
                          *self._bodies[0], back, f"}} {self._location}"])


# Sizes that a parameter may have: as the dialect's C2 of transformer.parameter.
def checked_shape(name: str, shape: Any) -> Shape:
    """One to four positive sizes."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise WrongType(f"the shape of {name!r} is {shape!r}, expected a tuple of sizes")
    listed = tuple(arguments.whole(f"a size of {name!r}", size, 1, 2**40) for size in shape)
    if not 1 <= len(listed) <= 4 or math.prod(listed) > 2**40:
        raise InvalidArgument(f"{name!r} has the shape {list(listed)}, expected one to four sizes of at "
                              "most 2^40 elements in all")
    return listed


def declaration(parameter: Parameter, location: str) -> str:
    """The line that declares a parameter."""
    return (f"transformer.parameter @{quoted(parameter.name)} : {tensor_type(parameter.shape)} from "
            f"{quoted(parameter.name)} {location}")

