# SPDX-License-Identifier: Apache-2.0
"""What calls return: hypotheses, scores, pieces of a stream, and the description of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np


@dataclass(frozen=True)
class Hypothesis:
    """A generated text.

    Attributes:
        text: the text without special tokens; None if the model has no tokenizer.
        tokens: the prefix and the generated token ids, the end included if the rules keep it.
        score: natural logarithm of its probability, normalised as the rules say.
        token_scores: float32 [generated tokens], the log-probability of each generated token, the
            end included; None unless ``token_scores=True`` or ``attention=True``.
        attention: float32 [generated tokens, source tokens], the attention of the last layer,
            averaged over its heads; None unless ``attention=True``.
    """

    text: Optional[str]
    tokens: list
    score: float
    token_scores: Optional[np.ndarray] = field(default=None, compare=False)
    attention: Optional[np.ndarray] = field(default=None, compare=False)


@dataclass(frozen=True)
class Piece:
    """A part of a text that is being generated.

    Attributes:
        text: what follows the pieces before; all pieces joined are the text of the best hypothesis.
        tokens: the token ids that are new in this piece.
        hypothesis: the whole result, in the last piece only.
    """

    text: str
    tokens: list
    hypothesis: Optional[Hypothesis] = None


@dataclass(frozen=True)
class Score:
    """How probable a given target is.

    Attributes:
        score: the sum of ``scores``.
        scores: float32 [target tokens], natural logarithms, the end included.
    """

    score: float
    scores: np.ndarray = field(compare=False)


@dataclass(frozen=True)
class Port:
    """An input or output of an entry.

    Attributes:
        name: its name, as ``Model.run`` takes it.
        element: the type of its elements, "i32" or "f32".
        shape: its dimensions: numbers, or names such as "tokens" and "sequences".
        optional: whether an input may be left out, which means zeros.
        limit: ids lie in [0, limit); 0 for floats and outputs.
    """

    name: str
    element: str
    shape: tuple
    optional: bool = False
    limit: int = 0


@dataclass(frozen=True)
class Entry:
    """A function of a model.

    Attributes:
        name: its name, for example "embed".
        inputs: what it reads.
        outputs: what it computes.
        max_length: the longest sequence in tokens; 0: any.
        caches: the number of caches and states that a decoder keeps for it.
        flops_per_token: floating-point operations for each token, without attention's.
        arena_bytes_per_token: bytes of working memory for each token of a batch.
    """

    name: str
    inputs: tuple
    outputs: tuple
    max_length: int
    caches: int
    flops_per_token: int
    arena_bytes_per_token: int


@dataclass(frozen=True)
class Info:
    """What is known about a compiled model without running it.

    Attributes:
        file: its path.
        model_type: of its configuration, for example "bert".
        precision: of weights and products, for example "f32".
        cache_precision: what caches keep; "none" without caches.
        targets: the processors that it has code for.
        this_machine: the best of them that this processor can run; None if it can run none.
        file_bytes: bytes of the file.
        weights_bytes: bytes of the weights in it.
        parameter_values: the number of stored values.
        entries: its functions by name.
        generates: whether ``generate`` works.
        has_tokenizer: whether texts can be given.
        producer: the compiler that wrote it.
        source_hash: XXH3 128 of the model's files, in hexadecimal.
        details: everything that ``heddle info --json`` prints.
    """

    file: str
    model_type: str
    precision: str
    cache_precision: str
    targets: tuple
    this_machine: Optional[str]
    file_bytes: int
    weights_bytes: int
    parameter_values: int
    entries: dict
    generates: bool
    has_tokenizer: bool
    producer: str
    source_hash: str
    details: dict = field(repr=False, compare=False)


def _port(described: dict) -> Port:
    return Port(described["name"], described["element"], tuple(described["shape"]),
                described.get("optional", False), described.get("limit", 0))


def _entry(described: dict) -> Entry:
    return Entry(described["name"], tuple(_port(each) for each in described["inputs"]),
                 tuple(_port(each) for each in described["outputs"]), described["max_length"],
                 len(described.get("caches", ())), described["flops_per_token"],
                 described["arena_bytes_per_token"])


def info_of(described: dict) -> Info:
    """The description in the words of ``heddle info --json``, as an object."""
    same: dict[str, Any] = {name: described[name] for name in (
        "file", "model_type", "precision", "cache_precision", "this_machine", "file_bytes",
        "weights_bytes", "parameter_values", "producer", "source_hash")}
    return Info(targets=tuple(described["targets"]),
                entries={each["name"]: _entry(each) for each in described["entries"]},
                generates="generation" in described,
                has_tokenizer=described["tokenizer"] is not None, details=described, **same)


