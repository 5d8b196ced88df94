# SPDX-License-Identifier: Apache-2.0
"""Models whose graph is over rectangles: which rows are padding, and which entry takes the rest.
runtime/include/heddle/RectangleEntries.h says what holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from . import _arguments as arguments
from ._errors import InvalidArgument
from ._results import Entry, Info

_SIMPLE, _WITH_COLUMNS, _COLUMNS = "run", "run_columns", "columns"
_COLUMN_NUMBERS = "column_numbers"


def is_over_rectangles(info: Info, entry: Entry, values: Any, lengths: Optional[Any],
                       mask: Optional[Any]) -> bool:
    """Whether inputs are rectangles of such a model; lists of sequences have no padding."""
    return (entry.name == _SIMPLE and lengths is None
            and any(port.pad is not None for port in entry.inputs)
            and (isinstance(values, np.ndarray) or mask is not None))


def rows_kept(entry: Entry, given: Mapping[str, Any], mask: Optional[Any]) -> np.ndarray:
    """Which rows of the rectangle are no padding, bool [sequences, tokens]."""
    masks = [port for port in entry.inputs if port.optional and port.pad is not None]
    if not masks and mask is not None:
        raise InvalidArgument("attention_mask is given to a model that finds padding by its ids, "
                              "expected None: ids of padding are in the other inputs")
    ids = [port for port in entry.inputs if not port.optional and port.pad is not None
           and port.name in given]
    first = next(arguments.array_of(port.name, given[port.name], "[sequences, tokens]")
                 for port in entry.inputs if port.name in given)
    if first.ndim < 2:
        raise InvalidArgument(f"the first input has the shape {list(first.shape)}, expected "
                              "[sequences, tokens]")
    keep = np.ones(first.shape[:2], bool)
    for port in masks:
        values = given.get(port.name, mask)
        if values is None:
            continue
        values = arguments.array_of(port.name, values, f"ones and zeros {list(keep.shape)}")
        if values.ndim == 1 and port.limit == 2 and len(values) == len(keep):
            if ((values < 0) | (values > keep.shape[1])).any():
                raise InvalidArgument(f"{port.name} has other numbers of columns than 0 to "
                                      f"{keep.shape[1]}")
            keep = np.arange(keep.shape[1]) < values[:, np.newaxis]
            continue
        if values.shape != keep.shape or ((values < 0) | (values >= port.limit)).any():
            expected = "ones and zeros" if port.limit == 2 else "ids"
            raise InvalidArgument(f"{port.name} has the shape {list(values.shape)}, or other values "
                                  f"than {port.name} has, expected {expected} {list(keep.shape)}")
        keep = values != port.pad
    for port in ids:
        values = arguments.array_of(port.name, given[port.name], f"{list(keep.shape)}")
        if values.shape != keep.shape:
            raise InvalidArgument(f"{port.name} has the shape {list(values.shape)}, expected "
                                  f"{list(keep.shape)}")
        if not masks:
            keep = values != port.pad
            continue
        # Whether a row that is no padding stands here or later.
        later = np.flip(np.cumsum(np.flip(keep, 1), 1), 1) > 0
        if wrong := np.argwhere(later & (values == port.pad)).tolist():
            raise InvalidArgument(f"{port.name}, row {wrong[0][0] + 1}, column {wrong[0][1] + 1} is "
                                  f"{port.pad}, which the model counts positions without, expected "
                                  "it only where the rest of a row is padding")
    return keep


def choose_entry(info: Info, entry: Entry, given: Mapping[str, Any],
                 keep: np.ndarray) -> tuple[Entry, dict]:
    """The entry that takes these rows, and its inputs: the mask has done its work."""
    masks = {port.name for port in entry.inputs if port.optional and port.pad is not None}
    inputs = {name: values for name, values in given.items() if name not in masks}
    starts = np.arange(keep.shape[1]) < keep.sum(axis=1, keepdims=True)
    if (keep == starts).all():
        return entry, inputs
    if _WITH_COLUMNS not in info.entries:
        row = int(np.flatnonzero((keep != starts).any(axis=1))[0])
        raise InvalidArgument(f"row {row + 1} has padding before its last token, expected padding "
                              "after all tokens: the model knows how far these are from each "
                              "other, or how many there are")
    columns = np.broadcast_to(np.arange(keep.shape[1], dtype=np.int32), keep.shape)
    inputs[_COLUMNS] = columns
    if any(port.name == _COLUMN_NUMBERS for port in info.entries[_WITH_COLUMNS].inputs):
        inputs[_COLUMN_NUMBERS] = columns.astype(np.float32)[..., np.newaxis]
    return info.entries[_WITH_COLUMNS], inputs


def clear_hidden(results: dict, shapes: Mapping[str, tuple], keep: np.ndarray) -> None:
    """Zeros the rows of sequences that a graph computes from their first column where that is
    padding."""
    for name, values in results.items():
        if shapes[name][0] == "sequences":
            values[~keep[:, 0]] = 0
