# SPDX-License-Identifier: Apache-2.0
"""A compiled model where a session of ONNX Runtime is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from .._errors import InvalidArgument, NotFound, Unsupported, WrongType
from .._model import Model, Path, load
from .._results import Entry

_MASK = "attention_mask"
_TYPES = {"i32": "tensor(int64)", "f32": "tensor(float)"}


@dataclass(frozen=True)
class NodeArg:
    """An input or output of a session.

    Attributes:
        name: its name.
        type: "tensor(int64)" or "tensor(float)".
        shape: its dimensions: numbers, or names of those that a batch decides.
    """

    name: str
    type: str
    shape: list


class InferenceSession:
    """Runs one entry of a compiled model over rectangular batches, as models exported to ONNX take them.

    Ids are [batch, sequence], of any integer type; ``attention_mask`` has ones where a sequence has tokens
    and may be left out. Outputs are float32, with zeros where there are none.

    Args:
        path_or_model: a heddle.Model, or its file.
        sess_options: an object whose ``intra_op_num_threads`` is the number of threads.
        providers: None or "CPUExecutionProvider".
        entry: the entry to run; by default the model's first.
        threads: the number of threads.
        options: those of ``heddle.load``, for a file.
    """

    def __init__(self, path_or_model: Union[Path, Model], sess_options: Any = None,
                 providers: Optional[Sequence[Any]] = None, *, entry: Optional[str] = None,
                 threads: Optional[int] = None, **options: Any):
        names = [each[0] if isinstance(each, tuple) else each for each in providers or ()]
        if wrong := [name for name in names if name != "CPUExecutionProvider"]:
            raise Unsupported(f"providers has {wrong[0]!r}, expected CPUExecutionProvider")
        count = threads or getattr(sess_options, "intra_op_num_threads", 0) or 1
        self.model = (path_or_model if isinstance(path_or_model, Model)
                      else load(path_or_model, threads=count, **options))
        if self.model.info.generates:
            raise Unsupported(f"{self.model.path} generates, expected a model that runs in one pass")
        entries = self.model.info.entries
        name = next(iter(entries)) if entry is None else entry
        if name not in entries:
            raise NotFound(f"{self.model.path}: no entry {name!r}, there are {', '.join(entries)}")
        self._entry: Entry = entries[name]

    def get_inputs(self) -> list:
        """The inputs, ``attention_mask`` among them."""
        found = [NodeArg(port.name, _TYPES[port.element], ["batch", "sequence", *port.shape[1:]])
                 for port in self._entry.inputs]
        # A model of an ONNX graph has what its graph knows padding by.
        if any(port.pad is not None for port in self._entry.inputs):
            return found
        return [*found, NodeArg(_MASK, _TYPES["i32"], ["batch", "sequence"])]

    def get_outputs(self) -> list:
        """The outputs."""
        return [NodeArg(port.name, _TYPES["f32"],
                        ["batch", "sequence", *port.shape[1:]] if port.shape[0] == "tokens"
                        else ["batch", *port.shape[1:]]) for port in self._entry.outputs]

    def get_providers(self) -> list:
        """What computes: the processor."""
        return ["CPUExecutionProvider"]

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, np.ndarray],
            run_options: Any = None) -> list:
        """The outputs of those names, or all, as arrays in their order."""
        if not isinstance(input_feed, Mapping):
            raise WrongType(f"input_feed is {type(input_feed).__name__}, expected a dict of arrays")
        feed = {name: np.asarray(value) for name, value in input_feed.items()}
        mask = feed.pop(_MASK, None)
        for name, array in feed.items():
            if array.ndim < 2:
                raise InvalidArgument(f"{name} has the shape {list(array.shape)}, expected "
                                      "[batch, sequence]")
        names = None if output_names is None else list(output_names)
        outputs = self.model.run(feed, entry=self._entry.name, outputs=names, attention_mask=mask)
        wanted = [port.name for port in self._entry.outputs] if names is None else names
        return [outputs[name] for name in wanted]
