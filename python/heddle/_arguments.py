# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. A call says which argument is wrong, what it is, and what was expected."""

from __future__ import annotations

import json
import numbers
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from . import _core
from ._errors import InvalidArgument, OutOfRange, WrongType

#: Token ids: a list of int, or an integer array [tokens].
Ids = Union[Sequence[int], np.ndarray]
#: What is generated from: a text, token ids, or rows of floats [rows, width] where a model reads those.
Source = Union[str, Ids]

LARGEST_ID = 2**31 - 1


def whole(name: str, value: Any, least: int, most: int) -> int:
    """An integer between two others."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise WrongType(f"{name} is {value!r}, expected a whole number")
    number = operator.index(value)
    if not least <= number <= most:
        raise OutOfRange(f"{name} is {number}, expected {least} to {most}")
    return number


def number(name: str, value: Any) -> float:
    """Any real number; the core says what range it wants."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise WrongType(f"{name} is {value!r}, expected a number")
    try:
        result = float(value)
    except OverflowError:
        raise OutOfRange(f"{name} is larger than any float, expected one that a float of 32 bits "
                         "has") from None
    with np.errstate(over="ignore", under="ignore"):
        kept = np.float32(result)
    if np.isfinite(result) and (not np.isfinite(kept) or (kept == 0) != (result == 0)):
        raise OutOfRange(f"{name} is {result!r}, expected one that a float of 32 bits has")
    return result


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise WrongType(f"{name} is {value!r}, expected True or False")
    return bool(value)


def word(name: str, value: Any, words: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in words:
        kind = InvalidArgument if isinstance(value, str) else WrongType
        raise kind(f"{name} is {value!r}, expected one of {', '.join(words)}")
    return value


def texts(name: str, values: Any) -> list:
    """A list of texts, of anything that can be iterated but a str or bytes."""
    if isinstance(values, (bytes, bytearray)) or not isinstance(values, Iterable):
        raise WrongType(f"{name} is {type(values).__name__}, expected str or a list of str")
    return values if type(values) is list else list(values)


def array_of(name: str, values: Any, expected: str) -> np.ndarray:
    """An array, or lists that have the shape of one."""
    try:
        return np.asarray(values)
    except ValueError:
        raise WrongType(f"{name} is a ragged list, expected {expected}") from None


def ids(name: str, values: Any) -> np.ndarray:
    """Token ids as int32 [tokens]; an int32 array that lies in one piece is not copied."""
    array = array_of(name, values, "token ids [tokens]")
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.int32)
    if array.dtype.kind not in "iu":
        raise WrongType(f"{name} has elements of {array.dtype}, expected whole numbers: token ids")
    if array.ndim != 1:
        raise InvalidArgument(f"{name} has the shape {list(array.shape)}, expected [tokens]")
    if array.dtype != np.int32:
        least, most = int(array.min()), int(array.max())
        if least < 0 or most > LARGEST_ID:
            raise OutOfRange(f"{name} has the token {least if least < 0 else most}, "
                             f"expected 0 to {LARGEST_ID}")
    return np.ascontiguousarray(array, np.int32)


def rows(name: str, values: Any) -> np.ndarray:
    """Rows of floats as float32 [rows, width]; such an array in one piece is not copied."""
    array = array_of(name, values, "floats [rows, width]")
    if array.dtype.kind not in "fiu":
        raise WrongType(f"{name} has elements of {array.dtype}, expected floats")
    if array.ndim != 2:
        raise InvalidArgument(f"{name} has the shape {list(array.shape)}, expected [rows, width]")
    with np.errstate(over="ignore"):
        kept = np.ascontiguousarray(array, np.float32)
    if array.dtype.kind == "f" and array.dtype.itemsize > 4:
        lost = array[np.isinf(kept) & np.isfinite(array)]
        if lost.size:
            raise OutOfRange(f"{name} has the number {float(lost[0])!r}, expected those that a float of "
                             "32 bits has")
    return kept


def source(name: str, value: Any) -> Any:
    """A text as it is, ids as int32 [tokens], rows as float32 [rows, width]."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return rows(name, value)
    if isinstance(value, (bytes, bytearray, dict, set)) or not isinstance(value, Iterable):
        raise WrongType(f"{name} is {type(value).__name__}, expected str or token ids")
    return ids(name, value if isinstance(value, np.ndarray) else list(value))


def is_single(value: Any) -> bool:
    """Whether this is one source, not a list of them: a text, an array, or a list of numbers."""
    if isinstance(value, (str, np.ndarray)):
        return isinstance(value, str) or value.dtype.kind == "f" or value.ndim == 1
    return isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(
        value[0], (int, np.integer)) and not isinstance(value[0], bool)


def sources(name: str, values: Any) -> list:
    """A list of sources, checked one by one."""
    if isinstance(values, (bytes, bytearray, dict)) or not isinstance(values, Iterable):
        raise WrongType(f"{name} is {type(values).__name__}, expected str, token ids, "
                        "or a list of these")
    return [source(f"{name[:-1]} {i}", value) for i, value in enumerate(values, 1)]


def beside(name: str, values: Any, single: bool, count: int) -> list:
    """What goes with each source: as many as these, or an empty list for none."""
    if values is None:
        return []
    if not single and (isinstance(values, str) or not isinstance(values, Iterable)):
        raise WrongType(f"{name} is {type(values).__name__}, expected a list with one for each source")
    given = [values] if single else list(values)
    if len(given) != count:
        raise InvalidArgument(f"{name} has {len(given)} elements, expected {count}, one for each "
                              "source")
    return given


def messages(name: str, values: Any) -> list:
    """A conversation: a list of mappings. What these must have the model's template says."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise WrongType(f"{name} is {type(values).__name__}, expected a list of dicts such as "
                        '{"role": "user", "content": "..."}')
    listed = [dict(each) if isinstance(each, Mapping) else each for each in values]
    for i, each in enumerate(listed, 1):
        if not isinstance(each, dict):
            raise WrongType(f"message {i} of {name} is {type(each).__name__}, expected a dict such as "
                            '{"role": "user", "content": "..."}')
    if not listed:
        raise InvalidArgument(f"{name} has no elements, expected at least one message")
    return listed


def is_conversation(values: Any) -> bool:
    """Whether this is one conversation, not a list of them."""
    return not (isinstance(values, (list, tuple)) and len(values) > 0
                and not isinstance(values[0], (str, bytes, Mapping))
                and isinstance(values[0], Iterable))


def conversation(name: str, values: Any, variables: Mapping) -> str:
    """The JSON of a conversation, as templates read it."""
    return to_json(name, {"messages": messages(name, values), **variables})


def stops(name: str, values: Any) -> list:
    """Stop strings: one str, or a list of them."""
    listed = [values] if isinstance(values, str) else texts(name, values)
    for i, each in enumerate(listed, 1):
        if not isinstance(each, str):
            raise WrongType(f"{name} {i} is {type(each).__name__}, expected str")
        unicode(f"{name} {i}", each)
    return listed


def unicode(name: str, text: str) -> str:
    """A str that is Unicode text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{name} has a surrogate, which is no character, expected Unicode "
                              "text") from None
    return text


def schema(name: str, value: Any) -> str:
    """The text of a JSON schema: str is one, and what json.loads() gives becomes one."""
    if isinstance(value, str):
        if not value:
            raise InvalidArgument(f"{name} has no text, expected a JSON schema")
        return unicode(name, value)
    if not isinstance(value, (bool, Mapping)):
        raise WrongType(f"{name} is {type(value).__name__}, expected a dict, a bool or the text of a "
                        "JSON schema")
    return to_json(name, value if isinstance(value, bool) else dict(value))


def to_json(name: str, value: Any) -> str:
    """The JSON text of a value."""
    try:
        return unicode(name, json.dumps(value, ensure_ascii=False, allow_nan=False))
    except TypeError as problem:
        raise WrongType(f"{name}: {problem}, expected what JSON has") from None
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, InvalidArgument):
            raise
        raise InvalidArgument(f"{name}: {problem}, expected what JSON has") from None


def languages(source: Any, target: Any, count: int) -> _core.Languages:
    """The languages of sources and of answers: None, a name for all, or a list with one for each."""
    both = []
    for name, value in (("source_language", source), ("target_language", target)):
        single = isinstance(value, str)
        listed = [value] * count if single else beside(name, value, False, count)
        for i, each in enumerate(listed, 1):
            if not isinstance(each, str):
                raise WrongType(f"{name} {i} is {type(each).__name__}, expected str")
            if not each:
                raise InvalidArgument(f"{name if single else f'{name} {i}'} is '', expected the name of "
                                      "a language")
            unicode(name if single else f"{name} {i}", each)
        both.append(listed)
    return _core.Languages(*both)


RULES = ("paper", "transformers", "ctranslate2")
_MOST = 2**31 - 1
# Options of the search: how each is checked. The core checks the ranges of numbers.
_WHOLE = ("beam", "nbest", "no_repeat_ngram", "min_length", "max_length", "top_k", "forced_first",
          "forced_last", "command", "top_scores")
_REAL = ("length_penalty", "coverage_penalty", "repetition_penalty", "temperature", "top_p",
         "min_p")
_FLAGS = ("sample", "alternatives", "token_scores", "attention")


def search_options(given: dict) -> _core.Options:
    """The options of a search; None means that the model decides."""
    options = _core.Options()
    for name, value in given.items():
        if value is None:
            continue
        if name in _WHOLE:
            setattr(options, name, whole(name, value, 0, _MOST))
        elif name in _REAL:
            setattr(options, name, number(name, value))
        elif name in _FLAGS:
            setattr(options, name, flag(name, value))
        elif name == "seed":
            options.seed = whole(name, value, 0, 2**64 - 1)
        elif name == "rules":
            options.rules = getattr(_core.Rules, word(name, value, RULES))
        elif name == "early_stopping":
            options.early_stopping = early_stopping(value)
        elif name == "suppressed":
            options.suppressed = ids(name, value).tolist()
        elif name == "stop":
            options.stop = stops(name, value)
        elif name == "json_schema":
            options.json_schema = schema(name, value)
    return options


def check_sampling(given: dict, samples: bool) -> None:
    """Refuses what only samples use, for a search that draws nothing."""
    for name in () if samples else ("temperature", "top_k", "top_p", "min_p", "seed"):
        if given.get(name) is not None:
            raise InvalidArgument(f"{name} is given without sample=True, which alone uses it")


def early_stopping(value: Any) -> _core.EarlyStopping:
    """As Transformers spells it."""
    if value == "never" and isinstance(value, str):
        return _core.EarlyStopping.never
    if not isinstance(value, (bool, np.bool_)):
        raise WrongType(f"early_stopping is {value!r}, expected True, False or 'never'")
    return _core.EarlyStopping.yes if value else _core.EarlyStopping.no
