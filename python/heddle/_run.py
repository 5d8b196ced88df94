# SPDX-License-Identifier: Apache-2.0
"""The forms that batches have in Python, and the flat one that the core takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional

import numpy as np

from . import _arguments as arguments
from . import _core
from ._errors import InvalidArgument, NotFound, WrongType
from ._rectangles import choose_entry, clear_hidden, is_over_rectangles, rows_kept
from ._results import Entry, Info


class _Batch:
    """The lengths of the sequences of a batch, how an input becomes flat, and an output their form."""

    def __init__(self, lengths: np.ndarray, flatten: Callable, shape: Callable):
        self.lengths = np.ascontiguousarray(lengths, np.int32)
        self.flatten = flatten
        self.shape = shape

    def tokens(self) -> int:
        return int(self.lengths.sum(dtype=np.int64))


def _flat(name: str, values: Any, width: bool) -> np.ndarray:
    return (arguments.rows if width else arguments.ids)(name, values)


def _ragged(name: str, values: Sequence, width: bool) -> _Batch:
    """A list with an element for each sequence."""
    lengths = np.array([len(each) for each in values], np.int64)

    def flatten(name: str, values: Any, width: bool) -> np.ndarray:
        parts = [_flat(f"{name} {i}", each, width) for i, each in enumerate(values, 1)]
        if [len(part) for part in parts] != lengths.tolist():
            raise InvalidArgument(f"{name} has other lengths than the input before it, expected "
                                  "the same sequences")
        if not parts:
            return np.empty((0, 1), np.float32) if width else np.empty(0, np.int32)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def shape(output: np.ndarray) -> list:
        return np.split(output, np.cumsum(lengths)[:-1]) if len(lengths) else []

    return _Batch(lengths, flatten, shape)


def _rectangular(array: np.ndarray, mask: Optional[Any], width: bool,
                 holes: bool = False) -> _Batch:
    """One array for all sequences, the shorter ones padded where the mask has zeros: at both ends of
    a row or, with ``holes``, anywhere."""
    size = array.shape[:2]
    if mask is None:
        keep = None
        lengths = np.full(size[0], size[1], np.int64)
    else:
        keep = arguments.array_of("attention_mask", mask, f"the shape of the input, {list(size)}")
        if keep.shape != size:
            raise InvalidArgument(f"attention_mask has the shape {list(keep.shape)}, expected that "
                                  f"of the input, {list(size)}")
        if not np.isin(keep, (0, 1)).all():
            raise InvalidArgument("attention_mask has other values than 0 and 1")
        keep = keep.astype(bool)
        lengths = keep.sum(axis=1)
        # A row that begins twice has a hole.
        begins = (keep.any(axis=1) if holes else
                  keep[:, :1].sum(axis=1) + (keep[:, 1:] & ~keep[:, :-1]).sum(axis=1))
        if (wrong := np.flatnonzero(begins != 1)).size:
            raise InvalidArgument(f"row {wrong[0] + 1} of attention_mask has "
                                  f"{'no ones' if begins[wrong[0]] == 0 else 'a hole'}, expected "
                                  "ones that stand together")

    def flatten(name: str, values: Any, width: bool) -> np.ndarray:
        array = arguments.array_of(name, values, f"the shape of the first input, {list(size)}")
        if array.shape[:2] != size or array.ndim != (3 if width else 2):
            raise InvalidArgument(f"{name} has the shape {list(array.shape)}, expected "
                                  f"{[*size, 'width'] if width else list(size)}")
        if keep is not None:
            return _flat(name, array[keep], width)
        return _flat(name, array.reshape(size[0] * size[1], *array.shape[2:]), width)

    def shape(output: np.ndarray) -> np.ndarray:
        if keep is None:
            return output.reshape(*size, *output.shape[1:])
        padded = np.zeros((*size, *output.shape[1:]), output.dtype)
        padded[keep] = output
        return padded

    return _Batch(lengths, flatten, shape)


def _batch_of(name: str, values: Any, width: bool, lengths: Optional[Any],
              mask: Optional[Any]) -> _Batch:
    """The batch that the first input is."""
    if lengths is not None:
        if mask is not None:
            raise InvalidArgument("lengths and attention_mask are both given, expected one of them")
        counts = arguments.ids("lengths", lengths)
        return _Batch(counts, _flat, lambda output: output)
    wanted = "[sequences, tokens, width]" if width else "[sequences, tokens]"
    if mask is not None and not isinstance(values, (str, bytes)) and isinstance(values, Sequence):
        values = arguments.array_of(name, values, f"{wanted} for attention_mask")
    if isinstance(values, np.ndarray):
        if values.ndim != (3 if width else 2):
            raise InvalidArgument(f"{name} has the shape {list(values.shape)}, expected {wanted}, or "
                                  f"lengths= for {wanted.replace('sequences, ', '')}")
        return _rectangular(values, mask, width)
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise WrongType(f"{name} is {type(values).__name__}, expected a list of sequences or an array")
    if not all(isinstance(each, (Sequence, np.ndarray)) and not isinstance(each, str)
               for each in values):
        raise WrongType(f"{name} has elements that are no sequences, expected a list with the ids "
                        "of each sequence")
    return _ragged(name, values, width)


def _entry_of(info: Info, name: Optional[str]) -> Entry:
    if name is None:
        return next(iter(info.entries.values()))
    if name not in info.entries:
        raise NotFound(f"{info.file}: no entry {name!r}, there are {', '.join(info.entries)}")
    return info.entries[name]


def _whole(values: Any, port: Any) -> Any:
    """Images of any axes, [sequences, ...] or one alone, as the one row that each sequence is."""
    if isinstance(values, np.ndarray) and port.element == "f32":
        if values.ndim > 1 and values[0:1].size == port.shape[-1]:
            return values.reshape(len(values), 1, port.shape[-1])
        if values.size == port.shape[-1]:
            return values.reshape(1, 1, port.shape[-1])
    return values


def run_entry(core: _core.Model, info: Info, name: Optional[str], given: Mapping[str, Any],
              outputs: Optional[Sequence[str]], lengths: Optional[Any],
              mask: Optional[Any]) -> dict:
    """Runs one entry; outputs have the form of the inputs."""
    entry = _entry_of(info, name)
    ports = {port.name: port for port in entry.inputs}
    for key in given:
        if key not in ports:
            raise NotFound(f"no input {key!r}, there are {', '.join(ports)}")
    first = next((port for port in entry.inputs if port.name in given), None)
    if first is None:
        raise InvalidArgument(f"no input is given, expected {', '.join(ports)}")
    if isinstance(outputs, str):
        outputs = [outputs]
    names = [port.name for port in entry.outputs] if outputs is None else list(outputs)
    shapes = {port.name: port.shape for port in entry.outputs}
    for key in names:
        if key not in shapes:
            raise NotFound(f"no output {key!r}, there are {', '.join(shapes)}")
    over = is_over_rectangles(info, entry, given[first.name], lengths, mask)
    if over:
        keep = rows_kept(entry, given, mask)
        entry, given = choose_entry(info, entry, given, keep)
        ports = {port.name: port for port in entry.inputs}
        batch = _rectangular(np.asarray(given[first.name]), keep.astype(np.int32),
                             first.element == "f32", holes=True)
    else:
        are_images = (entry.max_length == 1 and lengths is None
                      and isinstance(given[first.name], np.ndarray))
        if are_images:
            given = {key: _whole(values, ports[key]) for key, values in given.items()}
        batch = _batch_of(first.name, given[first.name], first.element == "f32", lengths, mask)
    flat = {key: batch.flatten(key, values, ports[key].element == "f32")
            for key, values in given.items()}
    results = core.run(entry.name, batch.lengths, flat, names)
    if over:
        clear_hidden(results, shapes, keep)
    if not over and are_images:
        # The parts of images are as many for each.
        return {key: value if shapes[key][0] == "sequences" else
                value.reshape(len(batch.lengths), -1, value.shape[-1])
                for key, value in results.items()}
    return {key: batch.shape(value) if shapes[key][0] == "tokens" else value
            for key, value in results.items()}


def run_decoder(core: _core.Model, given: Mapping[str, Any]) -> dict:
    """Encoder and decoder over sources and given targets."""
    if set(given) != {"source", "target"}:
        raise InvalidArgument(f"inputs are {', '.join(sorted(given)) or 'none'}, expected source and "
                              "target: the model generates")
    batches = {key: _batch_of(key, values, False, None, None) for key, values in given.items()}
    counts = [len(batches[key].lengths) for key in ("source", "target")]
    if counts[0] != counts[1]:
        raise InvalidArgument(f"{counts[0]} sources and {counts[1]} targets, expected as many")
    lists = {key: [arguments.ids(f"{key} {i}", each) for i, each in enumerate(values, 1)]
             for key, values in given.items()}
    for key, arrays in lists.items():
        if empty := [i for i, each in enumerate(arrays, 1) if len(each) == 0]:
            raise InvalidArgument(f"{key} {empty[0]} has no tokens, expected at least one")
    results = core.run_decoder(lists["source"], lists["target"])
    shaped = {}
    for key, value in results.items():
        batch = batches["source" if key.startswith("encode.") else "target"]
        shaped[key] = batch.shape(value) if len(value) == batch.tokens() else value
    return shaped
