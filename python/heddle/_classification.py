# SPDX-License-Identifier: Apache-2.0
"""Classifiers and rerankers: texts and pairs of texts to labels and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _arguments as arguments
from . import _core
from ._errors import Internal, OutOfRange, WrongType
from ._results import Classification, Info, Ranked, TokenLabel
from ._streams import in_thread

#: A text, or two as one sequence, as cross-encoders read them.
TextOrPair = Union[str, tuple]


class Classifying:
    """The part of ``Model`` that classifies."""

    _core: _core.Model
    info: Info

    @property
    def labels(self) -> tuple:
        """The labels of the model's classifier, in the order of its scores; empty: it has none."""
        return tuple(self.info.details.get("classification", {}).get("labels", ()))

    def classify(self, texts: Union[TextOrPair, Sequence[TextOrPair]], *,
                 batch_size: int = 32) -> Any:
        """Labels texts, or their tokens.

        Args:
            texts: a text, a pair of texts as a tuple of two, or a list of such. Long ones are cut at
                the model's limit, of a pair the longer one first.
            batch_size: the texts that run at once. It changes no bit of the result.

        Returns:
            For each text a Classification; of a model that labels tokens a list with a TokenLabel
            for each token, special ones included. For a single text or pair not in a list.

        Raises:
            NotFound: the model has no classifier.
        """
        single = _is_text_or_pair(texts)
        listed = [texts] if single else arguments.texts("texts", texts)
        size = arguments.whole("batch_size", batch_size, 1, 2**31 - 1)
        first, second = _split(listed)
        results = self._labelled(self._core.classify(first, second, size, False))
        return results[0] if single else results

    async def aclassify(self, texts: Union[TextOrPair, Sequence[TextOrPair]],
                        **options: Any) -> Any:
        """As ``classify``, in a thread, so that other coroutines go on."""
        return await in_thread(self.classify, texts, **options)

    def rerank(self, query: str, texts: Sequence[str], *, top: Optional[int] = None,
               batch_size: int = 32) -> list:
        """Orders texts by how well they answer a query, with a cross-encoder.

        Args:
            query: what the texts are to answer.
            texts: a list of texts.
            top: only so many of the best; by default all.
            batch_size: the texts that run at once. It changes no bit of the result.

        Returns:
            A list of Ranked, the best first; of equal ones the earlier.

        Raises:
            Unsupported: the model's classifier does not have one score for a pair.
        """
        if not isinstance(query, str):
            raise WrongType(f"query is {type(query).__name__}, expected str")
        if isinstance(texts, str):
            raise WrongType("texts is str, expected a list of str")
        listed = arguments.texts("texts", texts)
        for i, text in enumerate(listed, 1):
            if not isinstance(text, str):
                raise WrongType(f"text {i} is {type(text).__name__}, expected str")
        most = len(listed) if top is None else arguments.whole("top", top, 1, 2**31 - 1)
        size = arguments.whole("batch_size", batch_size, 1, 2**31 - 1)
        scores = self._core.classify([query] * len(listed), listed, size, True)
        # Numbers that are none come last.
        order = np.lexsort((-np.nan_to_num(scores[:, 0], nan=0), np.isnan(scores[:, 0])))
        return [Ranked(int(i), float(scores[i, 0]), listed[i]) for i in order[:most]]

    async def arerank(self, query: str, texts: Sequence[str], **options: Any) -> list:
        """As ``rerank``, in a thread, so that other coroutines go on."""
        return await in_thread(self.rerank, query, texts, **options)

    def _labelled(self, found: Any) -> list:
        described = self.info.details["classification"]
        labels, problem = described["labels"], described["problem"]
        if isinstance(found, np.ndarray):
            scores = _probabilities(found, problem)
            return [Classification(labels[int(row.argmax())], float(row.max()),
                                   dict(zip(labels, row.tolist())), logits)
                    for row, logits in zip(scores, found)]
        results = []
        for ids, words, logits in found:
            scores = _probabilities(logits, problem)
            results.append([TokenLabel(token, word, labels[int(row.argmax())], float(row.max()), each)
                            for token, word, row, each in zip(ids, words, scores, logits)])
        return results


def _probabilities(logits: np.ndarray, problem: str) -> np.ndarray:
    """What scores mean: computed in f64, since nothing here takes long."""
    wide = logits.astype(np.float64)
    if problem == "single label":
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    if problem == "multi label":
        # Without a power that is too large: exp(-|x|) is at most 1.
        small = np.exp(-np.abs(wide))
        return np.where(wide >= 0, 1 / (1 + small), small / (1 + small))
    if problem != "regression":
        raise Internal(f"a classifier for {problem!r}, expected one of which scores are known")
    return wide


def _is_text_or_pair(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and len(value) == 2
                                      and all(isinstance(each, str) for each in value))


def _split(texts: list) -> tuple:
    """First and second texts; None where there is no second."""
    first, second = [], []
    for i, each in enumerate(texts, 1):
        if isinstance(each, str):
            pair: tuple = (each, None)
        elif isinstance(each, (tuple, list)):
            if len(each) != 2:
                raise OutOfRange(f"text {i} has {len(each)} elements, expected two, a pair of texts")
            pair = (each[0], each[1])
            if pair[1] is None:
                raise WrongType(f"the second of text {i} is NoneType, expected str")
        else:
            raise WrongType(f"text {i} is {type(each).__name__}, expected str or a pair of str")
        first.append(pair[0])
        second.append(pair[1])
    return first, second
