# SPDX-License-Identifier: Apache-2.0
"""What a model costs, and what its attention does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Optional, Union

from . import _arguments as arguments
from . import _core
from ._arguments import Source
from ._errors import InvalidArgument, WrongType
from ._reports import Alignment, Analysis, Profile, analysis_of, profile_of

#: Pairs of numbers: (sentences, tokens) or (sentences, beam).
Pairs = Sequence[tuple[int, int]]
_MOST = 2**20
_MOST_TOKENS = 1 << 26


def _pairs(name: str, values: Optional[Pairs], what: str) -> list:
    pairs = []
    for i, each in enumerate(arguments.texts(name, values or ()), 1):
        if not isinstance(each, (tuple, list)) or len(each) != 2:
            raise WrongType(f"{name} {i} is {each!r}, expected ({what})")
        pairs.append(tuple(arguments.whole(f"{name} {i}", value, 1, _MOST) for value in each))
    return pairs


class Measuring:
    """The part of ``Model`` that measures."""

    _core: _core.Model

    def profile(self, texts: Union[str, Sequence[str], None] = None, *, shapes: Optional[Pairs] = None,
                cases: Optional[Pairs] = None, entry: Optional[str] = None, beam: Optional[int] = None,
                source_length: int = 24, target_length: int = 24, by: str = "name",
                runs: int = 5) -> Profile:
        """Runs work with a clock on every dispatch, as ``heddle profile`` does.

        It works beside whatever else the model does, which disturbs the times, as does anything else
        that runs. Threads are not tied to processors.

        Args:
            texts: texts to embed or generate from.
            shapes: (sentences, tokens) of batches of made-up inputs for one entry.
            cases: (sentences, beam) of made-up sources to generate from.
            entry: the function that shapes, or texts, run through; by default the first, or "embed".
            beam: hypotheses for each text.
            source_length: tokens in each source of ``cases``.
            target_length: tokens in each answer of ``cases``.
            by: what has a row: "name" (numbers of layers left out), "dispatch", "layer" or "kind".
            runs: runs to measure, after one to warm up; times are medians of them.

        Returns:
            A Profile, whose ``rows()`` are made for pandas.

        Raises:
            Error: an argument is wrong, or nothing is to be run.
        """
        request = _core.ProfileRequest()
        request.shapes = _pairs("shapes", shapes, "sentences, tokens")
        request.cases = _pairs("cases", cases, "sentences, beam")
        given = [texts] if isinstance(texts, str) else arguments.texts(
            "texts", () if texts is None else texts)
        if not (given or request.shapes or request.cases):
            raise InvalidArgument("nothing to run is given, expected texts, shapes or cases")
        for sentences, tokens in request.shapes:
            if sentences * tokens > _MOST_TOKENS:
                raise InvalidArgument(f"shapes has one of {sentences * tokens} tokens, expected at most "
                                      f"{_MOST_TOKENS}")
        if entry is not None:
            if not isinstance(entry, str) or not entry:
                raise WrongType(f"entry is {entry!r}, expected the name of one")
            request.entry = arguments.unicode("entry", entry)
        if beam is not None:
            if not given:
                raise InvalidArgument("beam is given without texts, to which it belongs")
            request.beam = arguments.whole("beam", beam, 1, 2**31 - 1)
        request.source_length = arguments.whole("source_length", source_length, 1, _MOST)
        request.target_length = arguments.whole("target_length", target_length, 1, _MOST)
        request.runs = arguments.whole("runs", runs, 1, 1_000_000)
        request.by = getattr(_core.ProfileBy, arguments.word(
            "by", by, ("name", "dispatch", "layer", "kind")))
        return profile_of(json.loads(self._core.profile(given, request)))

    def analyze(self, texts: Union[Source, Sequence[Source]], *, beam: Optional[int] = None,
                theta: Optional[float] = None, blocks: str = "largest") -> Analysis:
        """Compares what the layers of a model attend to, as ``heddle analyze`` does (docs/analysis.md).

        A model that generates is asked for its best answer to each text first.

        Args:
            texts: texts or token ids.
            beam: hypotheses of the search for answers; by default the model's.
            theta: also choose a policy of sharing: blocks of layers whose mean similarity is above this
                share, from 0 to 1.
            blocks: how far a block reaches: "largest", to the last layer with which its mean similarity
                is above ``theta``; "extend", to the last one before it falls to that.

        Returns:
            An Analysis.

        Raises:
            Error: a text is wrong; or the model shows no attention.
        """
        single = arguments.is_single(texts)
        given = arguments.sources("texts", [texts] if single else texts)
        if not given:
            raise InvalidArgument("texts has no elements, expected at least one")
        level = None if theta is None else arguments.number("theta", theta)
        if level is not None and not 0 <= level <= 1:
            raise InvalidArgument(f"theta is {theta!r}, expected 0 to 1")
        rule = arguments.word("blocks", blocks, ("largest", "extend"))
        return analysis_of(*self._core.analyze(given, _beam(beam), level,
                                               getattr(_core.BlockRule, rule)))

    def alignments(self, text: Source, *, beam: Optional[int] = None) -> list:
        """What each attention makes of one text, word by word: a list of Alignment, those of the encoder
        first. Of a decoder these are the words of its best answer."""
        if not arguments.is_single(text):
            raise WrongType(f"text is {type(text).__name__}, expected one text or its token ids")
        maps = self._core.alignments(arguments.source("text", text), _beam(beam))
        return [Alignment(*each) for each in maps]


def _beam(value: Any) -> Optional[int]:
    return None if value is None else arguments.whole("beam", value, 1, 2**31 - 1)
