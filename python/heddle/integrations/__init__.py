# SPDX-License-Identifier: Apache-2.0
"""Compiled models in the interfaces of other packages. Each module works alone and asks for its package only
where that is needed.

* ``heddle.integrations.sentence_transformers``: what sentence-transformers' own evaluation takes.
* ``heddle.integrations.langchain`` and ``heddle.integrations.llama_index``: embeddings.
* ``heddle.integrations.onnxruntime``: sessions that run named inputs to named outputs.
"""
