# SPDX-License-Identifier: Apache-2.0
"""What a model under construction is made of: parameters, and values of its entries."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from ._errors import InvalidArgument, WrongType

if TYPE_CHECKING:
    from ._entry import EntryBuilder

#: Sizes of axes; None for rows and for keys, whose number a batch decides.
Shape = tuple


def sizes(shape: Shape) -> str:
    """A shape as messages write it."""
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def tensor_type(shape: Shape, element: str = "f32") -> str:
    """A shape as the IR writes it."""
    return f"tensor<{''.join('?x' if size is None else f'{size}x' for size in shape)}{element}>"


class Parameter:
    """A weight of a model under construction: a tensor of its file.

    Attributes:
        name: its name there.
        shape: its sizes, one to four.
    """

    def __init__(self, model: Any, name: str, shape: Shape):
        self._model = model
        self.name = name
        self.shape = shape

    def __repr__(self) -> str:
        return f"<heddle.Parameter {self.name!r} {sizes(self.shape)}>"


class Value:
    """A value of an entry under construction."""

    def __init__(self, entry: EntryBuilder, text: str, type_: str, name: str):
        self._entry = entry
        # As the IR refers to it, its type there, and the name that it has for people.
        self._text = text
        self._type = type_
        self._name = name

    def __repr__(self) -> str:
        return f"<heddle.{type(self).__name__} {self._text}: {self._type}>"


class Segments(Value):
    """Which rows of a batch form one sequence."""

    #: How many rows stand for one, where these are choices.
    _choices: Optional[int] = None


class Ids(Value):
    """One integer for each row, [t]."""


class Mask(Value):
    """Which keys a query sees, [t, k]."""


class Cache(Value):
    """The rows of one tensor at all positions so far of every sequence."""

    _width: int = 0
    _key: str = ""


class State(Value):
    """What all positions of a sequence so far left."""

    _width: int = 0
    _key: str = ""
    _keyed: bool = False


class Tensor(Value):
    """f32 values of an entry under construction.

    ``+``, ``-``, ``*`` and ``/`` take a tensor, a Parameter or a number on either side. What is divided
    by a tensor is multiplied by its ``reciprocal``, unless it is a tensor too. The exponent of ``**`` is
    -1, -0.5, 0.5, 2 or 3.

    Attributes:
        shape: its sizes; None for rows and for keys, whose number a batch decides.
    """

    #: numpy leaves operators with its numbers to this class.
    __array_ufunc__ = None

    def __init__(self, entry: EntryBuilder, text: str, shape: Shape, name: str):
        super().__init__(entry, text, tensor_type(shape), name)
        self.shape = shape

    def __add__(self, other: Union[Tensor, Parameter, float]) -> Tensor:
        if isinstance(other, (Tensor, Parameter)):
            return self._entry.add(self, other)
        return self._entry.shift(self, _number("+", other))

    __radd__ = __add__

    def __mul__(self, other: Union[Tensor, Parameter, float]) -> Tensor:
        if isinstance(other, (Tensor, Parameter)):
            return self._entry.multiply(self, other)
        return self._entry.scale(self, _number("*", other))

    __rmul__ = __mul__

    def __neg__(self) -> Tensor:
        return self._entry.scale(self, -1.0)

    def __sub__(self, other: Union[Tensor, Parameter, float]) -> Tensor:
        if isinstance(other, Tensor) and other.shape == self.shape:
            return self._entry.add(self, self._entry.scale(other, -1.0))
        if isinstance(other, (Tensor, Parameter)):
            return self._entry.combine("subtract", self, other)
        return self._entry.shift(self, -_number("-", other))

    def __rsub__(self, other: Union[Parameter, float]) -> Tensor:
        return -self + (other if isinstance(other, Parameter) else _number("-", other))

    def __truediv__(self, other: Union[Tensor, Parameter, float]) -> Tensor:
        if isinstance(other, (Tensor, Parameter)):
            return self._entry.combine("divide", self, other)
        divisor = _number("/", other)
        if divisor == 0:
            raise InvalidArgument("a Tensor / 0, expected another divisor")
        return self._entry.scale(self, 1.0 / divisor)

    def __rtruediv__(self, other: Union[Parameter, float]) -> Tensor:
        if not isinstance(other, Parameter):
            other = _number("/", other)
        inverse = self._entry.activate("reciprocal", self)
        return inverse if other == 1 else inverse * other

    def __pow__(self, exponent: float) -> Tensor:
        if isinstance(exponent, numbers.Real) and not isinstance(exponent, bool):
            if exponent in _ROOTS:
                return self._entry.activate(_ROOTS[exponent], self)
            if exponent == 2:
                return self * self
            if exponent == 3:
                return self * self * self
        raise InvalidArgument(f"a Tensor ** {_shown(exponent)}, expected the exponent -1, -0.5, 0.5, 2 "
                              "or 3")

    def __bool__(self) -> bool:
        raise WrongType("a Tensor has no values while the model is built, so no condition can depend "
                        "on them; select() chooses by a mask")


_ROOTS = {-1: "reciprocal", -0.5: "rsqrt", 0.5: "sqrt"}


def _number(symbol: str, other: Any) -> float:
    """The operand of an operator beside a tensor that is neither tensor nor parameter."""
    if isinstance(other, (bool, np.bool_)) or not isinstance(other, numbers.Real):
        raise WrongType(f"{symbol} with a Tensor and {_shown(other)}, expected a Tensor, a Parameter or "
                        "a number")
    return float(other)


def _shown(value: Any) -> str:
    """A number as it is, anything else by its type."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return str(value) if is_number else type(value).__name__
