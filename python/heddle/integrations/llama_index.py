# SPDX-License-Identifier: Apache-2.0
"""Embeddings for LlamaIndex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from .._model import Model, Path, load


class _Alone:
    """Where there is no LlamaIndex, whose base class keeps these."""

    def __init__(self, **given: Any):
        self.__dict__.update(given)


if TYPE_CHECKING:
    BaseEmbedding: Any = _Alone
else:
    try:
        from llama_index.core.base.embeddings.base import BaseEmbedding
    except ImportError:
        BaseEmbedding = _Alone


class HeddleEmbedding(BaseEmbedding):
    """Embeds nodes and queries with a compiled model.

    Args:
        model: a heddle.Model, or its file.
        text_prompt: put before every text.
        query_prompt: put before every query.
        normalize: whether embeddings have length 1.
        options: what LlamaIndex' embeddings take, such as ``embed_batch_size``.
    """

    _model: Any
    _text_prompt: str
    _query_prompt: str
    _normalize: bool

    def __init__(self, model: Union[Model, Path], *, text_prompt: str = "", query_prompt: str = "",
                 normalize: bool = False, **options: Any):
        model = model if isinstance(model, Model) else load(model)
        super().__init__(model_name=model.path, **options)
        self._model = model
        self._text_prompt = text_prompt
        self._query_prompt = query_prompt
        self._normalize = normalize

    @classmethod
    def class_name(cls) -> str:
        """The name by which LlamaIndex knows it."""
        return "HeddleEmbedding"

    def _get_query_embedding(self, query: str) -> list:
        return self._rows(query, self._query_prompt)

    def _get_text_embedding(self, text: str) -> list:
        return self._rows(text, self._text_prompt)

    def _get_text_embeddings(self, texts: list) -> list:
        return self._rows(texts, self._text_prompt)

    async def _aget_query_embedding(self, query: str) -> list:
        return await self._arows(query, self._query_prompt)

    async def _aget_text_embedding(self, text: str) -> list:
        return await self._arows(text, self._text_prompt)

    async def _aget_text_embeddings(self, texts: list) -> list:
        return await self._arows(texts, self._text_prompt)

    def _rows(self, texts: Any, prompt: str) -> list:
        return self._model.encode(texts, prompt=prompt, normalize_embeddings=self._normalize).tolist()

    async def _arows(self, texts: Any, prompt: str) -> list:
        rows = await self._model.aencode(texts, prompt=prompt, normalize_embeddings=self._normalize)
        return rows.tolist()
