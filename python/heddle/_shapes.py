# SPDX-License-Identifier: Apache-2.0
"""The shapes of results that the dialect's definitions do not say. A rule has the name of its
operation and takes some of its arguments; what it takes beside these are arguments of the method in
Python alone. The compiler checks everything again."""

from __future__ import annotations

import math
from typing import Any, Optional

from ._errors import InvalidArgument
from ._values import sizes


def _divided(what: str, whole: int, by: str, parts: Any) -> int:
    if not isinstance(parts, int) or parts < 1 or whole % parts != 0:
        raise InvalidArgument(f"{by} is {parts!r}, expected a number that divides {whole}, {what}")
    return whole // parts


def _rank(name: str, parameter: Any, rank: int) -> Any:
    if len(parameter.shape) != rank:
        raise InvalidArgument(f"{name} has the shape {sizes(parameter.shape)}, expected "
                              f"{rank} {'size' if rank == 1 else 'sizes'}")
    return parameter.shape


def angles(frequencies: Any) -> tuple:
    return (None, len(frequencies))


def cached(cache: Any) -> tuple:
    return (None, cache._width)


def chosen_linear(weight: Any, maps: int) -> tuple:
    return (None, _divided("the rows of the weight", _rank("weight", weight, 2)[0], "maps", maps))


def columns(input: Any, first: int, count: int) -> tuple:
    width = input.shape[1]
    if not (isinstance(count, int) and 1 <= count and 0 <= first <= width - count):
        raise InvalidArgument(f"columns {first} to {first} + {count!r}, expected columns of rows of "
                              f"width {width}")
    return (None, count)


def concat(inputs: Any) -> tuple:
    return (None, sum(each.shape[1] for each in inputs))


def contract(axes: str, lhs: Any, rhs: Any) -> tuple:
    operands, arrow, result = axes.partition("->")
    left, comma, right = operands.partition(",")
    if not arrow or not comma or len(left) != len(lhs.shape) or len(right) != len(rhs.shape):
        raise InvalidArgument(f"axes are {axes!r}, expected \"axes,axes->axes\" for the shapes "
                              f"{sizes(lhs.shape)} and {sizes(rhs.shape)}")
    known = {**dict(zip(right, rhs.shape)), **dict(zip(left, lhs.shape))}
    for letter, size in zip(right, rhs.shape):
        # Rows and keys have no size of their own.
        if letter in left and None not in (size, known[letter]) and size != known[letter]:
            raise InvalidArgument(f"axis {letter!r} of {axes!r} has {known[letter]} elements on the "
                                  f"left and {size} on the right, expected as many")
    for letter in result:
        if letter not in known:
            raise InvalidArgument(f"axis {letter!r} of the result of {axes!r} is on neither operand")
    return tuple(None if letter in "tk" else known[letter] for letter in result)


def convolve_keys(weight: Any) -> tuple:
    return (None, None, _rank("weight", weight, 3)[0])


def gather(table: Any) -> tuple:
    return (None, _rank("table", table, 2)[1])


def join_rows(input: Any, choices: Any) -> tuple:
    return (None, input.shape[1] * _choices(choices))


def linear(input: Any, weight: Any) -> tuple:
    width, read = _rank("weight", weight, 2)
    if input.shape[1] != read:
        raise InvalidArgument(f"input has the shape {sizes(input.shape)}, expected [?, {read}] for "
                              f"the weight {weight.name!r}, {sizes(weight.shape)}")
    return (None, width)


def load(state: Any) -> tuple:
    return (None, state._width, None) if state._keyed else (None, state._width)


def mask_bias(mask: Any) -> tuple:
    return (None, None)


def merge_heads(input: Any) -> tuple:
    return (None, input.shape[1] * input.shape[2])


def pair_sum(query: Any) -> tuple:
    return (None, None, query.shape[1])


def place_columns(value: Any, columns: int) -> tuple:
    if not isinstance(columns, int) or columns < 1:
        raise InvalidArgument(f"columns is {columns!r}, expected 1 or more")
    return (None, columns)


def prefix_mean(input: Any) -> tuple:
    return input.shape


def reduce(input: Any) -> tuple:
    return (None, 1)


def relative_bias(table: Any) -> tuple:
    return (None, _rank("table", table, 2)[0], None)


def repeat_heads(input: Any, times: int) -> tuple:
    if not isinstance(times, int) or times < 1:
        raise InvalidArgument(f"times is {times!r}, expected 1 or more")
    return (None, input.shape[1] * times, input.shape[2])


def slide(kind: str, input: Any, window: Any) -> tuple:
    if kind != "patches":
        return input.shape
    return (None, input.shape[1] * math.prod(window.get(each, 1) for each in ("height", "width")))


def split_heads(input: Any, heads: int) -> tuple:
    return (None, heads, _divided("the width of the rows", input.shape[1], "heads", heads))


def split_rows(input: Any, choices: Any) -> tuple:
    return (None, _divided("the width of the rows", input.shape[1], "choices", _choices(choices)))


def top_k(choices: Any) -> tuple:
    return (None, _choices(choices))


def transpose(input: Any, permutation: Any) -> tuple:
    if sorted(permutation) != list(range(len(input.shape))):
        raise InvalidArgument(f"permutation is {list(permutation)}, expected every axis of "
                              f"{sizes(input.shape)} once")
    return tuple(input.shape[axis] for axis in permutation)


def weight(parameter: Any) -> tuple:
    return parameter.shape


def _choices(segments: Any) -> int:
    count: Optional[int] = segments._choices
    if count is None:
        raise InvalidArgument("choices are other segments, expected those that choices() gives")
    return count
