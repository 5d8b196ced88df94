# SPDX-License-Identifier: Apache-2.0
"""What calls return: hypotheses, scores, pieces of a stream, and the description of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

import numpy as np


class TokenScore(NamedTuple):
    """A token that could have been generated at a place.

    Attributes:
        token: its id.
        score: its log-probability there, after penalties and bans; a natural logarithm.
    """

    token: int
    score: float


@dataclass(frozen=True)
class Hypothesis:
    """A generated text.

    Attributes:
        text: the text without special tokens, and without the prompt that it continues; it ends
            before a stop string. None if the model has no tokenizer.
        tokens: the prefix of a source's text and the generated token ids, the end included if the
            rules keep it, and those of a stop string. A prompt is not part of them.
        score: natural logarithm of its probability, normalised as the rules say.
        token_scores: float32 [generated tokens], the log-probability of each generated token, the
            end included; None unless ``token_scores=True`` or ``attention=True``.
        attention: float32 [generated tokens, source tokens], the attention of the last layer,
            averaged over its heads; None unless ``attention=True``.
        top_scores: for each generated token the best tokens at its place, a list of TokenScore, best
            first, which is empty where a token was forced; None unless ``top_scores=K``.
        finish: why it ended: "end", a token that ends texts; "length", no more tokens were allowed;
            "stop", a stop string.
        sample: which of the samples it is, from 0 on.
        prefix_tokens: how many tokens the prompt, or the prefix, has.
        shared_tokens: how many of these, the start included, were taken over from other requests.
    """

    text: Optional[str]
    tokens: list
    score: float
    token_scores: Optional[np.ndarray] = field(default=None, compare=False)
    attention: Optional[np.ndarray] = field(default=None, compare=False)
    top_scores: Optional[list] = field(default=None, compare=False)
    finish: str = "length"
    sample: int = 0
    prefix_tokens: int = 0
    shared_tokens: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Piece:
    """A part of a text that is being generated.

    Attributes:
        text: what follows the pieces before: whole characters, and nothing that a stop string may
            begin with. All pieces joined are the text of the best hypothesis, or those of a sample
            that sample's.
        tokens: the token ids that are new in this piece.
        hypothesis: the whole result, in the last piece only.
        hypotheses: all of them, best first, in the last piece only.
        sample: which of several samples goes on, from 0 on.
        finish: in the last piece of a text why it ended, as in Hypothesis; None before.
        token_scores: float32 [new tokens], their log-probabilities; None unless
            ``token_scores=True``.
        top_scores: for each new token the best tokens at its place, a list of TokenScore; None
            unless ``top_scores=K``.
    """

    text: str
    tokens: list
    hypothesis: Optional[Hypothesis] = None
    hypotheses: list = field(default_factory=list, compare=False)
    sample: int = 0
    finish: Optional[str] = None
    token_scores: Optional[np.ndarray] = field(default=None, compare=False)
    top_scores: Optional[list] = field(default=None, compare=False)


@dataclass(frozen=True)
class Score:
    """How probable a given target, or a text, is.

    Attributes:
        score: the sum of ``scores``.
        scores: float32 [scored tokens], natural logarithms, the end of a target included.
    """

    score: float
    scores: np.ndarray = field(compare=False)

    @property
    def perplexity(self) -> float:
        """exp(-score / scored tokens)."""
        return math.exp(-self.score / len(self.scores))


@dataclass(frozen=True)
class CacheUse:
    """The memory that generation has for keys, values and states, after its last step.

    Attributes:
        used: bytes that running requests have.
        kept: bytes kept for prompts that begin alike, until running requests need them.
        limit: ``cache_bytes``, which both together never exceed.
        shared_tokens: how many tokens of prompts were taken over from other requests so far.
    """

    used: int
    kept: int
    limit: int
    shared_tokens: int


@dataclass(frozen=True)
class Classification:
    """What a classifier says of a text.

    Attributes:
        label: the label with the largest score.
        score: its score.
        scores: the score of every label, in the model's order: a probability or, of a regression,
            the number. Probabilities of a model that chooses one label add up to 1; of one where any
            labels may apply each stands alone, and those above 0.5 are usually taken.
        logits: float32 [labels], what the model computes.
    """

    label: str
    score: float
    scores: dict
    logits: np.ndarray = field(repr=False, compare=False)


@dataclass(frozen=True)
class TokenLabel:
    """What a classifier says of a token.

    Attributes:
        token: its id.
        text: what it stands for by itself; special tokens as they are spelt.
        label: the label with the largest score.
        score: its score, as in Classification.
        logits: float32 [labels], what the model computes.
    """

    token: int
    text: str
    label: str
    score: float
    logits: np.ndarray = field(repr=False, compare=False)


@dataclass(frozen=True)
class Ranked:
    """A text and how well it answers a query.

    Attributes:
        index: its place in the list that was given, from 0 on.
        score: the model's score, a logit: the more, the better.
        text: the text.
    """

    index: int
    score: float
    text: str


@dataclass(frozen=True)
class Port:
    """An input or output of an entry.

    Attributes:
        name: its name, as ``Model.run`` takes it.
        element: the type of its elements, "i32" or "f32".
        shape: its dimensions: numbers, or names such as "tokens" and "sequences".
        optional: whether an input may be left out, which means zeros.
        limit: ids lie in [0, limit); 0 for floats and outputs.
        pad: what says that a row of a rectangle is padding, of inputs that say it.
    """

    name: str
    element: str
    shape: tuple
    optional: bool = False
    limit: int = 0
    pad: Optional[int] = None


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
class Languages:
    """The languages that a model translates between.

    Attributes:
        names: their names, in ascending order.
        source: that of sources of which nothing is said.
        target: that of answers; None: every call must say it.
    """

    names: tuple
    source: Optional[str]
    target: Optional[str]


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
        languages: the Languages of a model that has tokens for them, else None.
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
    languages: Optional[Languages]
    producer: str
    source_hash: str
    details: dict = field(repr=False, compare=False)

    def rows(self) -> list:
        """A dict for each entry, with what Entry has: ``pandas.DataFrame(info.rows())``."""
        names = ("name", "max_length", "caches", "flops_per_token", "arena_bytes_per_token")
        return [{**{name: getattr(entry, name) for name in names},
                 "inputs": [port.name for port in entry.inputs],
                 "outputs": [port.name for port in entry.outputs]} for entry in self.entries.values()]


def _port(described: dict) -> Port:
    return Port(described["name"], described["element"], tuple(described["shape"]),
                described.get("optional", False), described.get("limit", 0), described.get("pad"))


def _entry(described: dict) -> Entry:
    return Entry(described["name"], tuple(_port(each) for each in described["inputs"]),
                 tuple(_port(each) for each in described["outputs"]), described["max_length"],
                 len(described.get("caches", ())), described["flops_per_token"],
                 described["arena_bytes_per_token"])


def _languages(described: Optional[dict]) -> Optional[Languages]:
    return described and Languages(tuple(described["names"]), described["source"], described["target"])


def info_of(described: dict) -> Info:
    """The description in the words of ``heddle info --json``, as an object."""
    same: dict[str, Any] = {name: described[name] for name in (
        "file", "model_type", "precision", "cache_precision", "this_machine", "file_bytes",
        "weights_bytes", "parameter_values", "producer", "source_hash")}
    return Info(targets=tuple(described["targets"]),
                entries={each["name"]: _entry(each) for each in described["entries"]},
                generates="generation" in described,
                has_tokenizer=described["tokenizer"] is not None,
                languages=_languages(described.get("languages")), details=described, **same)


