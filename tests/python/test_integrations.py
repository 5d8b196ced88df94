# SPDX-License-Identifier: Apache-2.0
"""The calls by which other packages use models, without these packages: tests/integrations has the packages
themselves."""

import asyncio
from types import SimpleNamespace

import numpy as np
import heddle
import pytest
from conftest import TEXTS
from heddle.integrations.langchain import HeddleEmbeddings
from heddle.integrations.llama_index import HeddleEmbedding
from heddle.integrations.onnxruntime import InferenceSession
from heddle.integrations.sentence_transformers import SentenceTransformer

SOME = TEXTS[:6]


@pytest.fixture(scope="module")
def sentences(encoder):
    return SentenceTransformer(encoder, prompts={"query": "ask ", "passage": "read "})


def test_encode_is_that_of_the_model(sentences, encoder, encoder_path):
    assert np.array_equal(sentences.encode(SOME), encoder.encode(SOME))
    assert np.array_equal(sentences.encode(SOME, prompt="go "), encoder.encode(["go " + text for text in SOME]))
    assert np.array_equal(sentences.encode(SOME[0], "query"), encoder.encode("ask " + SOME[0]))
    assert np.array_equal(sentences.encode_query(SOME), encoder.encode(SOME, prompt="ask "))
    assert np.array_equal(sentences.encode_document(SOME), encoder.encode(SOME, prompt="read "))
    assert np.array_equal(sentences.encode_query(SOME, prompt="x"), encoder.encode(SOME, prompt="x"))
    plain = SentenceTransformer(encoder_path, threads=2, default_prompt_name="a", prompts={"a": "b "})
    assert np.array_equal(plain.encode(SOME), encoder.encode(SOME, prompt="b "))
    assert np.array_equal(plain.encode_query(SOME), plain.encode(SOME))
    assert sentences.tokenize(SOME) == encoder.tokenize(SOME) and sentences.eval() is sentences
    # What evaluators give besides.
    assert np.array_equal(sentences.encode(SOME, pool=None, precision=None), encoder.encode(SOME))
    assert isinstance(sentences.encode(SOME, convert_to_numpy=False), list)


def test_embeddings_are_cut(encoder):
    cut = SentenceTransformer(encoder, truncate_dim=10)
    whole = encoder.encode(SOME)
    assert np.array_equal(cut.encode(SOME), whole[:, :10])
    assert cut.encode("a", truncate_dim=3).shape == (3,)
    assert cut.get_embedding_dimension() == cut.get_sentence_embedding_dimension() == 10
    unit = cut.encode(SOME, normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(unit * np.linalg.norm(whole[:, :10], axis=1)[:, None], whole[:, :10],
                               atol=1e-5)


@pytest.mark.parametrize("name, pair", [
    ("cosine", lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)), ("dot", lambda a, b: a @ b),
    ("euclidean", lambda a, b: -np.sqrt(((a - b) ** 2).sum())),
    ("manhattan", lambda a, b: -np.abs(a - b).sum())])
def test_similarities(encoder, name, pair):
    model = SentenceTransformer(encoder, similarity_fn_name=name)
    a, b = encoder.encode(TEXTS[:3]), encoder.encode(TEXTS[2:6])
    expected = [[pair(one, other) for other in b] for one in a]
    np.testing.assert_allclose(model.similarity(a, b), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.similarity_pairwise(a, b[:3]), np.diag(np.array(expected)[:, :3]),
                               rtol=1e-5, atol=1e-5)
    assert model.similarity(a[0], b).shape == (1, 4)
    assert model.similarity(a[:0], b).shape == (0, 4)
    model.similarity_fn_name = SimpleNamespace(value="dot")
    assert model.similarity_fn_name == "dot"


def test_evaluators_leave_their_metrics(sentences):
    evaluator = SimpleNamespace(name="sts")
    sentences.model_card_data.set_evaluation_metrics(evaluator, {"spearman_cosine": 0.5}, 0, 0)
    assert sentences.model_card_data.evaluations == {"sts": {"spearman_cosine": 0.5}}


def test_embeddings_of_langchain(encoder, encoder_path):
    model = HeddleEmbeddings(encoder, query_prompt="ask ", normalize=True)
    rows = model.embed_documents(SOME)
    assert rows == encoder.encode(SOME, normalize_embeddings=True).tolist()
    row = model.embed_query("a")
    assert row == encoder.encode("ask a", normalize_embeddings=True).tolist()
    assert asyncio.run(model.aembed_documents(SOME)) == rows
    assert asyncio.run(model.aembed_query("a")) == row
    assert HeddleEmbeddings(encoder_path, threads=2).embed_query("a") == encoder.encode("a").tolist()
    assert model.embed_documents([]) == []


def test_embeddings_of_llama_index(encoder, encoder_path):
    model = HeddleEmbedding(encoder, text_prompt="read ", query_prompt="ask ", embed_batch_size=4)
    assert model._get_text_embeddings(SOME) == encoder.encode(SOME, prompt="read ").tolist()
    assert model._get_text_embedding("a") == encoder.encode("read a").tolist()
    assert model._get_query_embedding("a") == encoder.encode("ask a").tolist()
    assert asyncio.run(model._aget_query_embedding("a")) == model._get_query_embedding("a")
    assert asyncio.run(model._aget_text_embedding("a")) == model._get_text_embedding("a")
    assert asyncio.run(model._aget_text_embeddings(SOME)) == model._get_text_embeddings(SOME)
    assert HeddleEmbedding(encoder_path, normalize=True)._get_text_embedding("a") == encoder.encode(
        "a", normalize_embeddings=True).tolist()
    assert model.model_name == encoder.path and model.class_name() == "HeddleEmbedding"


def test_sessions(encoder, encoder_path):
    session = InferenceSession(encoder_path, SimpleNamespace(intra_op_num_threads=2),
                               ["CPUExecutionProvider"])
    inputs = {each.name: each for each in session.get_inputs()}
    assert inputs["input_ids"].type == "tensor(int64)"
    assert inputs["attention_mask"].shape == inputs["input_ids"].shape == ["batch", "sequence"]
    ids = np.array([[2, 5, 6, 3], [2, 7, 3, 0]], np.int64)
    mask = np.array([[1, 1, 1, 1], [1, 1, 1, 0]], np.int64)
    names = [each.name for each in session.get_outputs()]
    every = session.run(None, {"input_ids": ids, "attention_mask": mask})
    assert len(every) == len(names)
    wanted = encoder.run({"input_ids": [ids[0], ids[1][:3]]})
    for name, output, node in zip(names, every, session.get_outputs(), strict=True):
        for i, length in enumerate((4, 3)):
            row = output[i][:length] if node.shape[1] == "sequence" else output[i]
            assert np.array_equal(row, wanted[name][i])
    last = session.run([names[-1]], {"input_ids": ids, "attention_mask": mask})
    assert len(last) == 1 and np.array_equal(last[0], every[-1])
    assert session.get_providers() == ["CPUExecutionProvider"]


WRONG = [
    (lambda e, d: SentenceTransformer(d), heddle.Error, "embed"),
    (lambda e, d: SentenceTransformer(e, threads=2), heddle.InvalidArgument, "threads is given for a model"),
    (lambda e, d: SentenceTransformer(e, truncate_dim=1000), heddle.OutOfRange, "expected at most 72"),
    (lambda e, d: SentenceTransformer(e, truncate_dim="x"), heddle.WrongType, "truncate_dim is 'x'"),
    (lambda e, d: SentenceTransformer(e, default_prompt_name="x"), heddle.NotFound, "no prompt 'x'"),
    (lambda e, d: SentenceTransformer(e, similarity_fn_name="x"), heddle.InvalidArgument, "is 'x'"),
    (lambda e, d: SentenceTransformer(e).encode("a", "query"), heddle.NotFound,
     "no prompt 'query', there are none"),
    (lambda e, d: SentenceTransformer(e).encode("a", pool={}), heddle.Unsupported, "pool is {}"),
    (lambda e, d: SentenceTransformer(e).encode("a", precision="int8"), heddle.InvalidArgument, "precision"),
    (lambda e, d: SentenceTransformer(e).similarity(np.ones((1, 2, 3)), np.ones(3)), heddle.WrongType,
     "embeddings1 has the shape [1, 2, 3]"),
    (lambda e, d: HeddleEmbeddings(e).embed_documents([3]), heddle.WrongType, "text 1"),
    (lambda e, d: HeddleEmbedding(e)._get_text_embedding(3), heddle.WrongType, "sentences is int"),
    (lambda e, d: InferenceSession(e, providers=["CUDAExecutionProvider"]), heddle.Unsupported,
     "providers has 'CUDAExecutionProvider', expected CPUExecutionProvider"),
    (lambda e, d: InferenceSession(d), heddle.Unsupported, "generates, expected a model that runs in one pass"),
    (lambda e, d: InferenceSession(e, entry="x"), heddle.NotFound, "no entry 'x'"),
    (lambda e, d: InferenceSession(e).run(None, [1]), heddle.WrongType, "input_feed is list"),
    (lambda e, d: InferenceSession(e).run(None, {"input_ids": np.ones(3, int)}), heddle.InvalidArgument,
     "input_ids has the shape [3], expected [batch, sequence]"),
    (lambda e, d: InferenceSession(e).run(["x"], {"input_ids": np.ones((1, 3), int)}), heddle.NotFound,
     "no output 'x'"),
]


@pytest.mark.parametrize("call, kind, message", WRONG, ids=[case[2] for case in WRONG])
def test_wrong_uses(encoder, dates, call, kind, message):
    with pytest.raises(kind) as caught:
        call(encoder, dates)
    assert message in str(caught.value)
