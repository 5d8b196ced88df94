# SPDX-License-Identifier: Apache-2.0
"""Classifiers and rerankers: the scores of transformers, and of the program."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import heddle
import pytest
from conftest import ROOT, heddle_program, with_letters

PAIRS = [json.loads(line) for line in
         (ROOT / "tests/oracles/bert-pairs/pairs.jsonl").read_text(encoding="utf-8").splitlines()]
QUERY = PAIRS[0]["query"]
TEXTS = [each["text"] for each in PAIRS if each["query"] == QUERY]
WORDS = ["hello", "a b", "", "the cat sat, 12!", "zz"] * 3
BAD = "a\ud800b"


@pytest.fixture(scope="module")
def labeller(tmp_path_factory):
    return heddle.load(with_letters(tmp_path_factory.mktemp("labels"), "distilbert-labels"), threads=2)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    return heddle.load(with_letters(tmp_path_factory.mktemp("tags"), "bert-tags"))


def test_pairs_have_the_scores_of_transformers(ranker):
    found = ranker.classify([(each["query"], each["text"]) for each in PAIRS])
    np.testing.assert_allclose([each.score for each in found], [each["score"] for each in PAIRS],
                               atol=2e-5)
    assert ranker.labels == ("LABEL_0",)
    assert all(each.label == "LABEL_0" and each.scores == {"LABEL_0": each.score} for each in found)
    single = ranker.classify((PAIRS[0]["query"], PAIRS[0]["text"]))
    assert isinstance(single, heddle.Classification) and single == found[0]
    assert single.logits.dtype == np.float32 and single.logits.shape == (1,)
    mixed = ranker.classify([QUERY, (QUERY, TEXTS[0]), [QUERY, TEXTS[1]]], batch_size=1)
    assert mixed[0] == ranker.classify(QUERY) and mixed[1].score == found[0].score


def test_rerank_is_what_the_program_prints(ranker, ranker_path):
    out = heddle_program("rerank", ranker_path, "--query", QUERY, "--input", "-", "--json",
                         stdin=("\n".join(TEXTS) + "\n").encode()).decode().splitlines()
    expected = [json.loads(line) for line in out]
    for size in (1, 4, 32):
        order = ranker.rerank(QUERY, TEXTS, batch_size=size)
        assert [each.text for each in order] == [each["text"] for each in expected]
        assert [each.index + 1 for each in order] == [each["line"] for each in expected]
        np.testing.assert_allclose([each.score for each in order],
                                   [each["score"] for each in expected], atol=1e-6)
    assert ranker.rerank(QUERY, TEXTS, top=2) == order[:2]
    assert ranker.rerank(QUERY, []) == []
    # Of equal ones the earlier.
    assert [each.index for each in ranker.rerank(QUERY, ["x"] * 5)] == [0, 1, 2, 3, 4]


def test_any_labels(labeller):
    assert labeller.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    found = labeller.classify(WORDS, batch_size=4)
    logits = labeller.run(input_ids=labeller.tokenize(WORDS), entry="classify")["logits"]
    for each, row in zip(found, logits, strict=True):
        assert each.logits.tobytes() == row.tobytes()
        expected = 1 / (1 + np.exp(-row.astype(np.float64)))
        np.testing.assert_allclose(list(each.scores.values()), expected, rtol=1e-12)
        assert each.label == labeller.labels[int(row.argmax())]
        assert each.score == max(each.scores.values())
    assert labeller.classify([]) == []
    assert asyncio.run(labeller.aclassify("hello")) == found[0]


def test_labels_of_tokens(tagger):
    found = tagger.classify(["ab", "cat 1"])
    assert [each.text for each in found[0]] == ["[CLS]", "a", "##b", "[SEP]"]
    assert [each.token for each in found[1]] == tagger.tokenize("cat 1")
    logits = tagger.run(input_ids=tagger.tokenize(["ab", "cat 1"]), entry="classify")["logits"]
    for text, rows in zip(found, logits, strict=True):
        wide = np.exp(rows.astype(np.float64))
        for each, row, power in zip(text, rows, wide, strict=True):
            assert each.logits.tobytes() == row.tobytes()
            assert each.label == tagger.labels[int(row.argmax())]
            assert abs(each.score - (power / power.sum()).max()) < 1e-12
    assert tagger.classify("ab") == found[0]


def test_threads_and_coroutines_have_the_bits_of_one_alone(labeller):
    expected = [each.logits.tobytes() for each in labeller.classify(WORDS)]

    def work(_):
        return [each.logits.tobytes() for each in labeller.classify(WORDS, batch_size=2)]

    async def several():
        found = await asyncio.gather(*(labeller.aclassify(text) for text in WORDS[:10]))
        return [each.logits.tobytes() for each in found]

    with ThreadPoolExecutor(3) as threads:
        both = [threads.submit(work, i) for i in range(2)]
        beside = threads.submit(lambda: asyncio.run(several()))
        assert all(each.result() == expected for each in both)
        assert beside.result() == expected[:10]


WRONG = [
    ("ranker", lambda m: m.classify(3), heddle.WrongType, "texts is int"),
    ("ranker", lambda m: m.classify(b"a"), heddle.WrongType, "texts is bytes"),
    ("ranker", lambda m: m.classify([3]), heddle.WrongType, "text 1 is int, expected str or a pair"),
    ("ranker", lambda m: m.classify([("a", "b", "c")]), heddle.OutOfRange, "text 1 has 3 elements"),
    ("ranker", lambda m: m.classify([("a", 3)]), heddle.WrongType, "the second of text 1 is int"),
    ("ranker", lambda m: m.classify([("a", None)]), heddle.WrongType, "the second of text 1 is None"),
    ("ranker", lambda m: m.classify([(3, "a")]), heddle.WrongType, "text 1 is int"),
    ("ranker", lambda m: m.classify(["a", BAD]), heddle.InvalidArgument, "text 2 has a surrogate"),
    ("ranker", lambda m: m.classify([("a", BAD)]), heddle.InvalidArgument,
     "the second of text 1 has a surrogate"),
    ("ranker", lambda m: m.classify("a", batch_size=0), heddle.OutOfRange, "batch_size is 0"),
    ("ranker", lambda m: m.rerank(3, ["a"]), heddle.WrongType, "query is int, expected str"),
    ("ranker", lambda m: m.rerank("a", "b"), heddle.WrongType, "texts is str, expected a list of str"),
    ("ranker", lambda m: m.rerank("a", ["b", None]), heddle.WrongType, "text 2 is NoneType"),
    ("ranker", lambda m: m.rerank("a", ["b"], top=0), heddle.OutOfRange, "top is 0"),
    ("ranker", lambda m: m.rerank(BAD, ["b"]), heddle.InvalidArgument, "has a surrogate"),
    ("labeller", lambda m: m.rerank("a", ["b"]), heddle.Unsupported,
     "the classifier has 3 scores for a sequence, expected one for a sequence"),
    ("tagger", lambda m: m.rerank("a", ["b"]), heddle.Unsupported, "5 scores for a token"),
    ("encoder", lambda m: m.classify("a"), heddle.NotFound, "the model has no classifier"),
    ("dates", lambda m: m.rerank("a", ["b"]), heddle.NotFound, "the model has no classifier"),
]


@pytest.mark.parametrize("model, call, kind, message", WRONG, ids=[case[3] for case in WRONG])
def test_wrong_uses(request, model, call, kind, message):
    with pytest.raises(kind) as caught:
        call(request.getfixturevalue(model))
    assert message in str(caught.value)


def test_use_after_close(ranker_path):
    model = heddle.load(ranker_path)
    model.close()
    for call in (lambda: model.classify("a"), lambda: model.rerank("a", ["b"])):
        with pytest.raises(heddle.InvalidArgument, match="the model is closed"):
            call()
    assert model.labels == ("LABEL_0",)
