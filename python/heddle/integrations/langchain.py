# SPDX-License-Identifier: Apache-2.0
"""Embeddings for LangChain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

from .._model import Model, Path, load

if TYPE_CHECKING:
    Embeddings: Any = object
else:
    try:
        from langchain_core.embeddings import Embeddings
    except ImportError:
        # Whoever has no LangChain asks by these methods alone.
        Embeddings = object


class HeddleEmbeddings(Embeddings):
    """Embeds documents and queries with a compiled model.

    Args:
        model: a heddle.Model, or its file.
        query_prompt: put before every query.
        document_prompt: put before every document.
        normalize: whether embeddings have length 1.
        options: those of ``heddle.load``, for a file.
    """

    def __init__(self, model: Union[Model, Path], *, query_prompt: str = "", document_prompt: str = "",
                 normalize: bool = False, **options: Any):
        self.model = model if isinstance(model, Model) else load(model, **options)
        self.query_prompt = query_prompt
        self.document_prompt = document_prompt
        self.normalize = normalize

    def embed_documents(self, texts: list) -> list:
        """The embedding of each text, a list of floats."""
        return self.model.encode(texts, prompt=self.document_prompt,
                                 normalize_embeddings=self.normalize).tolist()

    def embed_query(self, text: str) -> list:
        """The embedding of a query, a list of floats."""
        return self.model.encode(text, prompt=self.query_prompt,
                                 normalize_embeddings=self.normalize).tolist()

    async def aembed_documents(self, texts: list) -> list:
        """As ``embed_documents``, in a thread."""
        rows = await self.model.aencode(texts, prompt=self.document_prompt,
                                        normalize_embeddings=self.normalize)
        return rows.tolist()

    async def aembed_query(self, text: str) -> list:
        """As ``embed_query``, in a thread."""
        row = await self.model.aencode(text, prompt=self.query_prompt,
                                       normalize_embeddings=self.normalize)
        return row.tolist()
