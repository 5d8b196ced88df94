# SPDX-License-Identifier: Apache-2.0
"""heddle.integrations with the packages themselves."""

import asyncio
import inspect

import numpy as np
import pytest
from conftest import FOLDER, needed
from heddle.integrations.langchain import HeddleEmbeddings
from heddle.integrations.llama_index import HeddleEmbedding
from heddle.integrations.onnxruntime import InferenceSession
from heddle.integrations.sentence_transformers import SentenceTransformer

TEXTS = ["A man is eating food.", "A man eats a piece of bread.", "The girl is carrying a baby.",
         "A man is riding a horse.", "A woman is playing the violin.", "Two men pushed carts through the woods.",
         "A man rides a white horse on an enclosed ground.", "A monkey is playing drums.",
         "A cheetah is running behind its prey.", "Someone in a gorilla costume plays a set of drums."]


@pytest.fixture(scope="module")
def theirs():
    return needed("sentence_transformers").SentenceTransformer(str(FOLDER), device="cpu")


@pytest.fixture(scope="module")
def ours(minilm):
    return SentenceTransformer(minilm)


def test_embeddings_are_theirs(ours, theirs):
    torch = needed("torch")
    for options in ({}, {"normalize_embeddings": True}, {"truncate_dim": 100}, {"convert_to_tensor": True},
                    {"truncate_dim": 100, "convert_to_tensor": True, "normalize_embeddings": True}):
        one, other = ours.encode(TEXTS, **options), theirs.encode(TEXTS, **options)
        assert type(one) is type(other) and one.shape == other.shape
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=2e-5)
    assert ours.get_embedding_dimension() == theirs.get_embedding_dimension()
    assert ours.max_seq_length == theirs.max_seq_length
    for name in ("cosine", "dot", "euclidean", "manhattan"):
        ours.similarity_fn_name = theirs.similarity_fn_name = name
        one, other = (model.similarity(model.encode(TEXTS, convert_to_tensor=True),
                                       model.encode(TEXTS[:3], convert_to_tensor=True))
                      for model in (ours, theirs))
        assert isinstance(one, torch.Tensor)
        np.testing.assert_allclose(one, other, atol=1e-3)
    ours.similarity_fn_name = theirs.similarity_fn_name = "cosine"


def evaluators():
    module = needed("sentence_transformers.sentence_transformer.evaluation")
    queries = {f"q{i}": text for i, text in enumerate(TEXTS[:3])}
    corpus = {f"d{i}": text for i, text in enumerate(TEXTS)}
    relevant = {"q0": {"d0", "d1"}, "q1": {"d1", "d0"}, "q2": {"d2"}}
    return [
        module.EmbeddingSimilarityEvaluator(TEXTS[:-1], TEXTS[1:], [i / 9 for i in range(9)], name="sts"),
        module.BinaryClassificationEvaluator(TEXTS[:8], TEXTS[1:9], [1, 0, 0, 1, 0, 0, 1, 0], name="pairs"),
        module.TripletEvaluator(TEXTS[:4], TEXTS[1:5], TEXTS[5:9], name="triplets"),
        module.InformationRetrievalEvaluator(queries, corpus, relevant, name="search", accuracy_at_k=[1, 3],
                                             precision_recall_at_k=[3], mrr_at_k=[3], ndcg_at_k=[3],
                                             map_at_k=[3]),
        module.ParaphraseMiningEvaluator({str(i): text for i, text in enumerate(TEXTS)}, [("0", "1")],
                                         name="mining"),
        module.RerankingEvaluator([{"query": TEXTS[0], "positive": [TEXTS[1]], "negative": TEXTS[2:]}],
                                  name="reranking"),
        module.SequentialEvaluator([module.EmbeddingSimilarityEvaluator(
            TEXTS[:5], TEXTS[5:], [0.1, 0.2, 0.3, 0.5, 0.4], name="in turn")])]


@pytest.mark.parametrize("which", range(7))
def test_evaluators_find_the_same(ours, theirs, which, tmp_path):
    evaluator = evaluators()[which]
    mine = evaluator(ours, str(tmp_path))
    expected = evaluators()[which](theirs)
    assert mine.keys() == expected.keys()
    for name, value in expected.items():
        assert mine[name] == pytest.approx(value, abs=1e-3), name
    if getattr(evaluator, "name", ""):
        assert ours.model_card_data.evaluations[evaluator.name]


def test_langchain_searches(minilm):
    stores = needed("langchain_core.vectorstores")
    embeddings = HeddleEmbeddings(minilm, normalize=True)
    assert isinstance(embeddings, needed("langchain_core.embeddings").Embeddings)
    store = stores.InMemoryVectorStore(embeddings)
    store.add_texts(TEXTS)
    found = store.similarity_search("Who is eating?", k=2)
    assert {each.page_content for each in found} == set(TEXTS[:2])
    later = asyncio.run(store.asimilarity_search("Who is eating?", k=2))
    assert [each.page_content for each in later] == [each.page_content for each in found]


def test_llama_index_searches(minilm):
    core = needed("llama_index.core")
    schema = needed("llama_index.core.schema")
    model = HeddleEmbedding(minilm, embed_batch_size=3)
    assert isinstance(model, needed("llama_index.core.base.embeddings.base").BaseEmbedding)
    assert model.get_text_embedding(TEXTS[0]) == minilm.encode(TEXTS[0]).tolist()
    assert model.get_text_embedding_batch(TEXTS) == minilm.encode(TEXTS).tolist()
    assert asyncio.run(model.aget_query_embedding("a")) == minilm.encode("a").tolist()
    index = core.VectorStoreIndex([schema.TextNode(text=text) for text in TEXTS], embed_model=model)
    found = index.as_retriever(similarity_top_k=2).retrieve("Who is eating?")
    assert {each.node.get_content() for each in found} == set(TEXTS[:2])
    assert model.to_dict()["model_name"] == minilm.path


def test_sessions_are_called_as_those_of_onnx_runtime(minilm_path, minilm):
    package = needed("onnxruntime")
    options = package.SessionOptions()
    options.intra_op_num_threads = 2
    session = InferenceSession(minilm_path, options, providers=["CPUExecutionProvider"])
    for name in ("run", "get_inputs", "get_outputs", "get_providers"):
        mine = list(inspect.signature(getattr(InferenceSession, name)).parameters)
        assert mine == list(inspect.signature(getattr(package.InferenceSession, name)).parameters)
    outputs = session.run(None, {"input_ids": np.array([minilm.tokenize("a man")])})
    assert len(outputs) == len(session.get_outputs())
