# SPDX-License-Identifier: Apache-2.0
"""Decoder-only models: prompts, conversations, streams, stop strings, scores of texts. The answers are
those of transformers, and of the program."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import heddle
import pytest
from conftest import ROOT, heddle_program

GOLDENS = [json.loads(line) for line in
           (ROOT / "tests/oracles/qwen2-tiny/texts.jsonl").read_text(encoding="utf-8").splitlines()]
PROMPTS = [each["prompt"] for each in GOLDENS]
QUESTION = "What is three plus four?"
MESSAGES = [{"role": "user", "content": QUESTION}]


def generated(path, prompts, *options):
    """What the program answers: a prompt has line breaks, so ids are given."""
    lines = "\n".join(" ".join(map(str, each)) for each in prompts) + "\n"
    out = heddle_program("generate", path, "--input", "-", "--tokens", "--format", "jsonl", *options,
                         stdin=lines.encode())
    return [json.loads(line)["hypotheses"] for line in out.decode().splitlines()]


def test_answers_are_those_of_transformers(talker):
    for each, (best,) in zip(GOLDENS, talker.generate(PROMPTS), strict=True):
        assert talker.tokenize(each["prompt"]) == each["ids"]
        assert (best.tokens, best.text, best.finish) == (each["greedy"], each["text"], "end")
        assert best.prefix_tokens == len(each["ids"])
    assert talker.generate(GOLDENS[0]["ids"]) == talker.generate(PROMPTS[0])
    assert talker.generate(np.array(GOLDENS[0]["ids"])) == talker.generate(PROMPTS[0])
    assert talker.generate(["", PROMPTS[0]])[0] == []
    assert talker.generate([]) == []


@pytest.mark.parametrize("options, arguments", [
    ({"beam": 3, "nbest": 2}, ["--beam", "3", "--nbest", "2"]),
    ({"sample": True, "seed": 4, "temperature": 1.7, "top_k": 40, "top_p": 0.95, "min_p": 0.02,
      "nbest": 3, "max_length": 12},
     ["--sample", "--seed", "4", "--temperature", "1.7", "--top-k", "40", "--top-p", "0.95",
      "--min-p", "0.02", "--nbest", "3", "--max-length", "12"]),
    ({"repetition_penalty": 1.4, "max_length": 5, "token_scores": True, "top_scores": 3},
     ["--repetition-penalty", "1.4", "--max-length", "5", "--token-scores", "--top-scores", "3"]),
    ({"stop": ["even", "Tok"]}, ["--stop", "even", "--stop", "Tok"]),
])
def test_is_what_the_program_prints(talker, talker_path, options, arguments):
    ids = [each["ids"] for each in GOLDENS]
    expected = generated(talker_path, ids, *arguments)
    results = talker.generate(ids, **options)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        for one, other in zip(result, wanted, strict=True):
            # The program writes ids where it reads them, so texts are those of the tokens.
            assert (one.tokens, one.finish) == (other["tokens"], other["finish"])
            assert abs(one.score - other["score"]) < 1e-6
            if "token_scores" in options:
                np.testing.assert_allclose(one.token_scores, other["token_scores"], atol=1e-6)
                assert [[each.token for each in place] for place in one.top_scores] == [
                    [each["token"] for each in place] for place in other["top_scores"]]
                assert all(len(place) == 3 for place in one.top_scores)
    assert [talker.generate(each, **options) for each in ids[:3]] == results[:3]


def test_stop_strings_end_texts(talker):
    best = talker.generate(PROMPTS[0], stop="is")[0]
    assert (best.text, best.finish) == ("three plus four ", "stop")
    assert talker.generate(PROMPTS[0], stop="nothing of it")[0].finish == "end"
    assert talker.generate(PROMPTS[0], max_length=2)[0].finish == "length"


@pytest.mark.parametrize("options", [
    {}, {"beam": 3, "nbest": 2}, {"stop": "is"}, {"stop": ["o"]}, {"token_scores": True,
                                                                   "top_scores": 2},
    {"sample": True, "seed": 2, "temperature": 1.5, "max_length": 20}])
def test_pieces_joined_are_the_text(talker, options):
    several = 0
    for prompt in PROMPTS:
        best = talker.generate(prompt, **options)[0]
        parts = list(talker.stream(prompt, **options))
        # Half a character in a piece would not join to the whole one.
        assert "".join(part.text for part in parts) == best.text
        assert [token for part in parts for token in part.tokens] == best.tokens
        assert parts[-1].hypothesis == best and parts[-1].finish == best.finish
        assert parts[-1].hypotheses == talker.generate(prompt, **options)
        assert all(part.hypothesis is None and part.finish is None for part in parts[:-1])
        if "token_scores" in options:
            scores = np.concatenate([part.token_scores for part in parts if part.tokens])
            assert scores.tobytes() == best.token_scores.tobytes()
            assert [each for part in parts for each in part.top_scores or []] == best.top_scores
        several += len(parts) > 1
    assert several


def test_a_stream_of_samples_says_which_goes_on(talker):
    options = {"sample": True, "seed": 7, "temperature": 2.0, "nbest": 3, "max_length": 10}
    texts, ended = ["", "", ""], []
    for piece in talker.stream(PROMPTS[0], **options):
        texts[piece.sample] += piece.text
        if piece.finish:
            ended.append(piece.sample)
    expected = talker.generate(PROMPTS[0], **options)
    assert sorted(ended) == [0, 1, 2]
    assert {each.sample: each.text for each in expected} == dict(enumerate(texts))


def test_conversations(talker, talker_path):
    assert talker.chat_templates == ["default"]
    assert talker.chat_prompt(MESSAGES) == PROMPTS[0]
    assert talker.chat(MESSAGES) == talker.generate(PROMPTS[0])
    assert talker.chat([MESSAGES, MESSAGES])[1] == talker.chat(MESSAGES)
    assert talker.chat((message for message in MESSAGES))[0].text == GOLDENS[0]["text"]
    assert "".join(piece.text for piece in talker.stream_chat(MESSAGES)) == GOLDENS[0]["text"]
    turn = [*MESSAGES, {"role": "assistant", "content": GOLDENS[0]["text"]},
            {"role": "user", "content": "What is the capital of Japan?"}]
    line = json.dumps({"messages": turn})
    out = heddle_program("generate", talker_path, "--chat", "--input", "-", "--format", "jsonl",
                         "--max-length", "30", stdin=(line + "\n").encode())
    assert talker.chat(turn, max_length=30)[0].text == json.loads(out)["hypotheses"][0]["text"]
    # The default is that of `heddle chat`: as many tokens as there are positions for.
    out = heddle_program("chat", talker_path, "--json", stdin=(QUESTION + "\n").encode())
    assert talker.chat(MESSAGES)[0].text == json.loads(out)["content"]


def test_templates_get_their_variables(talker):
    tools = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
    with_tools = talker.chat_prompt(MESSAGES, tools=tools)
    assert '"name": "add"' in with_tools and with_tools != talker.chat_prompt(MESSAGES)
    assert talker.chat_prompt(MESSAGES, variables={"tools": tools}) == with_tools
    assert talker.chat(MESSAGES, tools=tools, max_length=5) == talker.generate(with_tools,
                                                                               max_length=5)
    open_end = talker.chat_prompt(MESSAGES, add_generation_prompt=False)
    assert PROMPTS[0].startswith(open_end) and len(open_end) < len(PROMPTS[0])
    assert talker.chat_prompt([{"role": "user", "content": "東京 \u00e9"}]).count("東京 é") == 1


def test_prompts_share_what_they_begin_with(talker_path):
    long = PROMPTS[0] * 3
    apart = heddle.load(talker_path, share_prefixes=False, prompt_tokens=3, prompt_tokens_beside=1)
    model = heddle.load(talker_path, cache_bytes=1 << 22)
    first, second = model.generate(long, max_length=4), model.generate(long, max_length=4)
    assert first == second == apart.generate(long, max_length=4)
    assert first[0].shared_tokens == 0 and second[0].shared_tokens >= 16
    use = model.cache_use()
    assert use.shared_tokens == second[0].shared_tokens
    assert use.limit == 1 << 22 and 0 < use.kept <= use.limit and use.used == 0
    assert apart.cache_use().shared_tokens == 0


def test_scores_of_texts(talker, talker_path, tmp_path):
    texts = [QUESTION, "It is Tokyo.", QUESTION * 30]
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    out = heddle_program("score", talker_path, "--input", tmp_path / "texts.jsonl", "--format",
                         "jsonl").decode().splitlines()
    for score, line in zip(talker.score(texts), map(json.loads, out), strict=True):
        np.testing.assert_allclose(score.scores, line["scores"], atol=1e-6)
        assert abs(score.score - line["score"]) < 1e-4
        assert abs(score.perplexity / line["perplexity"] - 1) < 1e-5
    alone = talker.score(texts[0])
    assert len(alone.scores) == len(talker.tokenize(texts[0])) - 1
    assert asyncio.run(talker.ascore(texts[0])).scores.tobytes() == alone.scores.tobytes()


@pytest.fixture(scope="module")
def gpt_path(tmp_path_factory):
    """A decoder-only model of 64 positions, without a tokenizer."""
    return heddle.compile(ROOT / "tests/oracles/gpt2-tiny", tmp_path_factory.mktemp("gpt") / "g.so")


def test_texts_are_scored_in_windows(gpt_path, tmp_path):
    model = heddle.load(gpt_path)
    texts = [[(7 * i + j) % 107 for i in range(length)] for j, length in enumerate((9, 64, 65, 150))]
    (tmp_path / "ids.txt").write_text(
        "".join(" ".join(map(str, each)) + "\n" for each in texts), encoding="utf-8")
    for stride in (None, 7, 64):
        arguments = [] if stride is None else ["--stride", str(stride)]
        out = heddle_program("score", gpt_path, "--input", tmp_path / "ids.txt", "--tokens", "--format",
                             "jsonl", *arguments).decode().splitlines()
        for score, line in zip(model.score(texts, stride=stride), map(json.loads, out), strict=True):
            np.testing.assert_allclose(score.scores, line["scores"], atol=1e-6)
    assert model.generate(texts[0])[0].text is None
    assert [piece.text for piece in model.stream(texts[0], max_length=3)] == [""] * 3
    for call, kind, message in (
            (lambda: model.score(texts, stride=65), heddle.InvalidArgument, "expected 1 to 64"),
            (lambda: model.generate([[5] * 65]), heddle.OutOfRange, "prompt 1: prefix has 65 tokens"),
            (lambda: model.generate("a"), heddle.NotFound, "no tokenizer"),
            (lambda: model.generate([[5]], stop="a"), heddle.Error, "tokenizer"),
            (lambda: model.chat(MESSAGES), heddle.Unsupported, "the model has no chat template")):
        with pytest.raises(kind, match=message):
            call()
    assert model.decode([5]) is None


def test_scores_of_answers(talker):
    best = talker.generate(PROMPTS[0], token_scores=True)[0]
    score = talker.score(PROMPTS[0], best.tokens)
    np.testing.assert_allclose(score.scores, best.token_scores, atol=2e-5)
    text = talker.score(PROMPTS[0], GOLDENS[0]["text"])
    assert text.scores.tobytes() == score.scores.tobytes()
    open_end = talker.score(PROMPTS[0], best.tokens[:-1], add_end=False)
    assert open_end.scores.tobytes() == score.scores[:-1].tobytes()


def test_decode(talker):
    assert talker.decode(GOLDENS[0]["greedy"]) == GOLDENS[0]["text"]
    assert talker.decode([]) == ""


def test_threads_and_coroutines_have_the_bits_of_one_alone(talker):
    options = [{}, {"beam": 2}, {"sample": True, "seed": 1, "temperature": 1.5, "max_length": 9}]
    expected = [[talker.generate(prompt, **each) for prompt in PROMPTS] for each in options]

    def in_thread(seed):
        for i in range(12):
            which, prompt = (i + seed) % 3, (i * 5 + seed) % 3
            assert talker.generate(PROMPTS[prompt], **options[which]) == expected[which][prompt]
        return True

    async def one(i):
        if i % 2 == 0:
            last = None
            async for piece in talker.astream(PROMPTS[i % 3], **options[i % 3]):
                last = piece
            assert last.hypotheses == expected[i % 3][i % 3]
        else:
            pieces = [piece async for piece in talker.astream_chat(MESSAGES)]
            assert pieces[-1].hypotheses == expected[0][0]
            assert await talker.achat(MESSAGES) == expected[0][0]
        return True

    async def everything():
        return await asyncio.gather(*(one(i) for i in range(10)))

    with ThreadPoolExecutor(3) as threads:
        work = [threads.submit(in_thread, seed) for seed in range(2)]
        work.append(threads.submit(lambda: asyncio.run(everything())))
        assert all(np.all(done.result()) for done in work)


BAD = "a\ud800b"
NESTED = []
NESTED.append(NESTED)
WRONG = [
    (lambda m: m.generate([PROMPTS[0], BAD]), heddle.InvalidArgument, "prompt 2 has a surrogate"),
    (lambda m: m.generate("a", prefix="b"), heddle.InvalidArgument,
     "prompt 1: prefix is given, and the model continues prompts"),
    (lambda m: m.generate("a", truncate=True), heddle.InvalidArgument,
     "truncate is given, and the model continues prompts, which are not cut"),
    (lambda m: m.generate([[5, 330]]), heddle.OutOfRange, "330"),
    (lambda m: m.generate([[]]), heddle.InvalidArgument, "prompt 1: prefix has no tokens"),
    (lambda m: m.generate("a", stop=3), heddle.WrongType, "stop is int, expected str or a list"),
    (lambda m: m.generate("a", stop=["a", 3]), heddle.WrongType, "stop 2 is int, expected str"),
    (lambda m: m.generate("a", stop=BAD), heddle.InvalidArgument, "stop 1 has a surrogate"),
    (lambda m: m.generate("a", stop=""), heddle.InvalidArgument, "stop"),
    (lambda m: m.generate("a", stop="x", beam=2), heddle.InvalidArgument, "stop"),
    (lambda m: m.generate("a", top_scores=101), heddle.InvalidArgument, "101"),
    (lambda m: m.generate("a", top_scores=-1), heddle.OutOfRange, "top_scores is -1"),
    (lambda m: m.generate("a", min_p=0.1), heddle.InvalidArgument,
     "min_p is given without sample=True"),
    (lambda m: m.generate("a", sample=True, min_p=2), heddle.InvalidArgument, "min-p is 2"),
    (lambda m: m.generate("a", coverage_penalty=1), heddle.InvalidArgument, "coverage"),
    (lambda m: m.stream(["a", "b"]), heddle.WrongType, "a stream is one text"),
    (lambda m: m.score(["a", "b"], ["c"]), heddle.InvalidArgument, "targets has 1 elements"),
    (lambda m: m.score("a", stride=0), heddle.OutOfRange, "stride is 0, expected 1 to"),
    (lambda m: m.score("abc", stride=9), heddle.InvalidArgument,
     "text 1: stride is 9, and the model has no limit of positions"),
    (lambda m: m.score("abc", stride="x"), heddle.WrongType, "stride is 'x'"),
    (lambda m: m.score("a", "b", stride=3), heddle.InvalidArgument, "stride and targets are both"),
    (lambda m: m.score("a", truncate=True), heddle.InvalidArgument, "truncate is given without"),
    (lambda m: m.score("a", add_end=False), heddle.InvalidArgument, "add_end is given without"),
    (lambda m: m.score([[5]]), heddle.InvalidArgument, "text 1: text has 1 token, expected at least 2"),
    (lambda m: m.score([""]), heddle.InvalidArgument, "text 1: text has 0 tokens"),
    (lambda m: m.score([BAD]), heddle.InvalidArgument, "text 1 has a surrogate"),
    (lambda m: m.decode([331]), heddle.Error, "331"),
    (lambda m: m.decode("a"), heddle.WrongType, "tokens has elements of"),
    (lambda m: m.chat([]), heddle.InvalidArgument, "conversation 1 has no elements"),
    (lambda m: m.chat("a"), heddle.WrongType, "conversation 1 is str, expected a list of dicts"),
    (lambda m: m.chat(MESSAGES[0]), heddle.WrongType, "conversation 1 is dict"),
    (lambda m: m.chat(3), heddle.WrongType, "conversation 1 is int"),
    (lambda m: m.chat(["a"]), heddle.WrongType, "message 1 of conversation 1 is str"),
    (lambda m: m.chat([MESSAGES, [3]]), heddle.WrongType, "message 1 of conversation 2 is int"),
    (lambda m: m.chat([{"content": "a"}]), heddle.InvalidArgument,
     "conversation 1: chat template \"default\": line"),
    (lambda m: m.chat([{"role": 3, "content": 4}]), heddle.InvalidArgument, "chat template"),
    (lambda m: m.chat([{"role": "user", "content": BAD}]), heddle.InvalidArgument,
     "conversation 1 has a surrogate"),
    (lambda m: m.chat([{"role": "user", "content": b"a"}]), heddle.WrongType, "not JSON serializable"),
    (lambda m: m.chat([{"role": "user", "content": float("nan")}]), heddle.InvalidArgument,
     "expected what JSON has"),
    (lambda m: m.chat([{"role": "user", "content": NESTED}]), heddle.InvalidArgument, "Circular"),
    (lambda m: m.chat([{"role": "user", "content": 10**30}]), heddle.InvalidArgument, "conversation 1"),
    (lambda m: m.chat(MESSAGES, template="none"), heddle.NotFound,
     'no chat template "none", expected one of default'),
    (lambda m: m.chat(MESSAGES, template=3), heddle.WrongType, "template is 3, expected str"),
    (lambda m: m.chat(MESSAGES, tools="x"), heddle.WrongType, "tools is str, expected a list"),
    (lambda m: m.chat(MESSAGES, variables=[1]), heddle.WrongType, "variables is [1]"),
    (lambda m: m.chat(MESSAGES, variables={"messages": []}), heddle.InvalidArgument,
     "variables has 'messages'"),
    (lambda m: m.chat(MESSAGES, prefix="a"), heddle.InvalidArgument, "prefix is given for a conver"),
    (lambda m: m.chat(MESSAGES, nonsense=1), heddle.WrongType, "unknown option 'nonsense'"),
    (lambda m: m.stream_chat([MESSAGES]), heddle.WrongType, "messages is a list of conversations"),
    (lambda m: m.chat_prompt(MESSAGES, add_generation_prompt=1), heddle.WrongType,
     "add_generation_prompt is 1"),
]


@pytest.mark.parametrize("call, kind, message", WRONG, ids=[case[2] for case in WRONG])
def test_wrong_uses(talker, call, kind, message):
    with pytest.raises(kind) as caught:
        call(talker)
    assert message in str(caught.value)


def test_models_without_conversations(dates, encoder):
    with pytest.raises(heddle.Unsupported, match="the model does not continue prompts"):
        dates.chat(MESSAGES)
    with pytest.raises(heddle.Unsupported, match="the model has no chat template"):
        dates.chat_prompt(MESSAGES)
    with pytest.raises(heddle.InvalidArgument, match="the model does not generate"):
        encoder.chat(MESSAGES)
    with pytest.raises(heddle.InvalidArgument, match="texts alone are scored, the model answers"):
        dates.score("a")
    with pytest.raises(heddle.InvalidArgument, match="stop and prefix are both given"):
        dates.stream("a", prefix="1", stop="2")
    assert dates.chat_templates == []


@pytest.mark.parametrize("call", [
    lambda m: m.chat(MESSAGES), lambda m: m.chat_prompt(MESSAGES), lambda m: m.score("abc"),
    lambda m: list(m.stream_chat(MESSAGES)), lambda m: m.chat_templates, lambda m: m.cache_use(),
    lambda m: m.decode([1]), lambda m: asyncio.run(m.achat(MESSAGES))])
def test_use_after_close(talker_path, call):
    model = heddle.load(talker_path)
    model.close()
    with pytest.raises(heddle.InvalidArgument, match="the model is closed"):
        call(model)
