# SPDX-License-Identifier: Apache-2.0
"""A compiled model where a SentenceTransformer is expected."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

import numpy as np

from .. import _arguments as arguments
from .._errors import InvalidArgument, NotFound, OutOfRange, Unsupported, WrongType
from .._model import Model, Path, load


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows of length 1; zeros stay."""
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def _distances(order: int) -> Callable:
    def similarity(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return -np.linalg.norm(a - b, ord=order, axis=-1)
    return similarity


# What two rows have in common, by name: "pairs" of arrays that broadcast.
_SIMILARITIES: dict[str, Callable] = {
    "cosine": lambda a, b: (_unit(a) * _unit(b)).sum(axis=-1),
    "dot": lambda a, b: (a * b).sum(axis=-1),
    "euclidean": _distances(2),
    "manhattan": _distances(1)}


class _ModelCard:
    """Keeps what evaluators say of a model: the last metrics of each."""

    def __init__(self) -> None:
        self.evaluations: dict[str, dict] = {}

    def set_evaluation_metrics(self, evaluator: Any, metrics: Mapping[str, Any], *_: Any) -> None:
        name = getattr(evaluator, "name", "") or type(evaluator).__name__
        self.evaluations[name] = dict(metrics)


class SentenceTransformer:
    """A compiled model with the methods of a SentenceTransformer that embed and compare.

    Args:
        model: a heddle.Model, or its file.
        prompts: texts that go before others, by name.
        default_prompt_name: the name of the one that is used where none is asked for.
        similarity_fn_name: how embeddings are compared.
        truncate_dim: how many numbers of an embedding are left; by default all.
        options: those of ``heddle.load``, for a file.

    Attributes:
        model_card_data: keeps the metrics of evaluators in ``evaluations``, by their names.
        max_seq_length: the most tokens of a text; None: any number.
    """

    def __init__(self, model: Union[Model, Path], *, prompts: Optional[Mapping[str, str]] = None,
                 default_prompt_name: Optional[str] = None, similarity_fn_name: str = "cosine",
                 truncate_dim: Optional[int] = None, **options: Any):
        if isinstance(model, Model) and options:
            raise InvalidArgument(f"{sorted(options)[0]} is given for a model that is loaded, expected "
                                  "its path")
        self.model = model if isinstance(model, Model) else load(model, **options)
        self.model.get_sentence_embedding_dimension()
        self.prompts = dict(prompts or {})
        self.default_prompt_name = default_prompt_name
        self.similarity_fn_name = similarity_fn_name
        self.truncate_dim = self._width(truncate_dim)
        self.model_card_data = _ModelCard()
        tokenizer = self.model.info.details["tokenizer"]
        limits = (self.model.info.entries["embed"].max_length, tokenizer and tokenizer["max_length"])
        self.max_seq_length = min((each for each in limits if each), default=None)
        self.device = self.model.device
        self._prompt(None, None)

    @property
    def similarity_fn_name(self) -> str:
        """How embeddings are compared: "cosine", "dot", "euclidean" or "manhattan"."""
        return self._similarity_fn_name

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: Any) -> None:
        # An enumerator of sentence-transformers is one of its words.
        self._similarity_fn_name = arguments.word("similarity_fn_name", getattr(name, "value", name),
                                                  tuple(_SIMILARITIES))

    def encode(self, inputs: Union[str, Sequence[str]], prompt_name: Optional[str] = None,
               prompt: Optional[str] = None, batch_size: int = 32,
               show_progress_bar: Optional[bool] = None, output_value: str = "sentence_embedding",
               precision: Optional[str] = "float32", convert_to_numpy: bool = True,
               convert_to_tensor: bool = False, device: Optional[str] = None,
               normalize_embeddings: bool = False, truncate_dim: Optional[int] = None,
               **others: Any) -> Any:
        """Embeds texts, as ``heddle.Model.encode``.

        Args:
            prompt_name: one of ``prompts``.
            truncate_dim: how many numbers of an embedding are left; they are normalised after that.
            others: what else sentence-transformers takes, as long as it is None.
        """
        if wrong := [name for name, value in others.items() if value is not None]:
            raise Unsupported(f"{wrong[0]} is {others[wrong[0]]!r}, expected None")
        width = self._width(truncate_dim) or self.truncate_dim
        given: dict[str, Any] = {
            "prompt": self._prompt(prompt_name, prompt), "batch_size": batch_size,
            "show_progress_bar": show_progress_bar, "output_value": output_value,
            "precision": precision or "float32", "device": device}
        if width is None:
            return self.model.encode(inputs, normalize_embeddings=normalize_embeddings,
                                     convert_to_numpy=convert_to_numpy,
                                     convert_to_tensor=convert_to_tensor, **given)
        rows = self.model.encode(inputs, **given)[..., :width]
        rows = np.ascontiguousarray(_unit(rows) if normalize_embeddings else rows)
        if convert_to_tensor:
            import torch  # type: ignore[import-not-found]
            return torch.from_numpy(rows)
        return rows if convert_to_numpy or isinstance(inputs, str) else list(rows)

    def encode_query(self, inputs: Union[str, Sequence[str]], prompt_name: Optional[str] = None,
                     prompt: Optional[str] = None, **options: Any) -> Any:
        """As ``encode``, with the prompt that is named "query", if there is one."""
        return self._encode_for(("query",), inputs, prompt_name, prompt, options)

    def encode_document(self, inputs: Union[str, Sequence[str]], prompt_name: Optional[str] = None,
                        prompt: Optional[str] = None, **options: Any) -> Any:
        """As ``encode``, with the prompt that is named "document", "passage" or "corpus"."""
        return self._encode_for(("document", "passage", "corpus"), inputs, prompt_name, prompt, options)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """How much each of the first embeddings has in common with each of the second: [first, second], a
        tensor if one of them is."""
        def blocks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            name = self.similarity_fn_name
            if name in ("cosine", "dot"):
                a, b = (first, second) if name == "dot" else (_unit(first), _unit(second))
                return a @ b.T
            # A row at a time: all pairs together would take their width as much memory.
            scores = np.empty((len(first), len(second)), np.result_type(first, second))
            for scored, row in zip(scores, first):
                scored[:] = _SIMILARITIES[name](row, second)
            return scores
        return _alike(blocks, embeddings1, embeddings2)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """How much each of the first embeddings has in common with the second in its place."""
        return _alike(_SIMILARITIES[self.similarity_fn_name], embeddings1, embeddings2)

    def get_embedding_dimension(self) -> int:
        """The number of floats in an embedding."""
        return self.truncate_dim or self.model.get_sentence_embedding_dimension()

    get_sentence_embedding_dimension = get_embedding_dimension

    def tokenize(self, texts: Sequence[str]) -> list:
        """The token ids of each text."""
        return self.model.tokenize(texts)

    def eval(self) -> "SentenceTransformer":
        """Itself: a compiled model is not trained."""
        return self

    def __repr__(self) -> str:
        return f"<heddle.integrations.SentenceTransformer {self.model.path!r}>"

    def _encode_for(self, names: tuple, inputs: Any, prompt_name: Optional[str], prompt: Optional[str],
                    options: dict) -> Any:
        if prompt is None and prompt_name is None:
            prompt_name = next((name for name in names if name in self.prompts), None)
        return self.encode(inputs, prompt_name, prompt, **options)

    def _prompt(self, name: Optional[str], text: Optional[str]) -> Optional[str]:
        if text is not None:
            return text
        name = self.default_prompt_name if name is None else name
        if name is not None and name not in self.prompts:
            raise NotFound(f"no prompt {name!r}, there are {', '.join(self.prompts) or 'none'}")
        return None if name is None else self.prompts[name]

    def _width(self, value: Any) -> Optional[int]:
        if value is None:
            return None
        most = self.model.get_sentence_embedding_dimension()
        width = arguments.whole("truncate_dim", value, 1, 2**31 - 1)
        if width > most:
            raise OutOfRange(f"truncate_dim is {width}, expected at most {most}")
        return width


def _alike(function: Callable, one: Any, other: Any) -> Any:
    """The function of two matrices; a tensor if one of these is."""
    torch = sys.modules.get("torch")
    wants = torch is not None and any(isinstance(each, torch.Tensor) for each in (one, other))
    result = function(*(_matrix(f"embeddings{i}", each) for i, each in enumerate((one, other), 1)))
    return torch.from_numpy(np.ascontiguousarray(result)) if wants else result  # type: ignore[union-attr]


def _matrix(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value, np.float32)
    if array.ndim not in (1, 2):
        raise WrongType(f"{name} has the shape {list(array.shape)}, expected [texts, width] or [width]")
    return array.reshape(-1, array.shape[-1])
