# SPDX-License-Identifier: Apache-2.0
"""What answers must be: in a language, and JSON that follows a schema. Texts are those of transformers, or
of the program."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import heddle
import pytest
from conftest import ROOT, heddle_program

NLLB = [json.loads(line) for line in
        (ROOT / "tests/oracles/nllb-tiny/texts.jsonl").read_text(encoding="utf-8").splitlines()]
TEXTS = [each["text"] for each in NLLB]
FROM = [each["source_language"] for each in NLLB]
TO = [each["target_language"] for each in NLLB]
SEARCH = {"rules": "transformers", "max_length": 14}
PERSON = {"type": "object",
          "properties": {"name": {"type": "string", "maxLength": 6},
                         "age": {"type": "integer", "minimum": 0, "maximum": 130},
                         "tags": {"type": "array", "items": {"enum": ["a", "bä", None]}, "maxItems": 2}},
          "required": ["name", "age"], "additionalProperties": False}
PROMPTS = ["Who?", "And what is it?", "abc"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = ROOT / "tests/oracles/nllb-tiny"
    return heddle.load(heddle.compile(folder, tmp_path_factory.mktemp("nllb") / "n.so"), threads=2)


@pytest.mark.parametrize("beam, golden", [(1, "greedy_text"), (4, "beam4_text")])
def test_translations_are_those_of_transformers(translator, beam, golden):
    expected = [each[golden] for each in NLLB]
    assert len(set(FROM)) > 1 and len(set(TO)) > 1
    # Sources of several languages to several languages are one batch.
    results = translator.translate(TEXTS, source_language=FROM, target_language=TO, beam=beam, **SEARCH)
    assert [best.text for best, *_ in results] == expected
    for text, source, target, wanted in zip(TEXTS, FROM, TO, results, strict=True):
        spoken = {"source_language": source, "target_language": target}
        assert translator.generate(text, beam=beam, **spoken, **SEARCH) == wanted
        pieces = list(translator.stream(text, beam=beam, **spoken, **SEARCH))
        assert "".join(piece.text for piece in pieces) == wanted[0].text


def test_one_language_for_all_sources(translator):
    same = [text for text, *pair in zip(TEXTS, FROM, TO) if pair == [FROM[0], TO[0]]]
    one = translator.generate(same, source_language=FROM[0], target_language=TO[0], **SEARCH)
    each = translator.generate(same, source_language=[FROM[0]] * len(same),
                               target_language=[TO[0]] * len(same), **SEARCH)
    assert one == each
    # The source's language has a default, which is this one.
    assert translator.info.languages.source == FROM[0]
    assert translator.generate(same, target_language=TO[0], **SEARCH) == one
    again = asyncio.run(translator.agenerate(same[0], target_language=TO[0], **SEARCH))
    assert again == one[0]


def test_languages_are_known(translator, dates):
    languages = translator.info.languages
    assert isinstance(languages, heddle.Languages) and "fra_Latn" in languages.names
    assert languages.target is None and languages.names == tuple(sorted(languages.names))
    assert dates.info.languages is None


def test_scores_know_languages(translator):
    best = translator.generate(TEXTS[0], source_language=FROM[0], target_language=TO[0], **SEARCH)[0]
    score = translator.score(TEXTS[0], best.tokens[1:], source_language=FROM[0],
                             target_language=TO[0], add_end=False)
    # The token of the language begins the answer. It is scored where the target has it, and nowhere else.
    whole = translator.score(TEXTS[0], best.tokens, source_language=FROM[0], target_language=TO[0],
                             add_end=False)
    assert score.scores.tobytes() == whole.scores[1:].tobytes()
    other = translator.score(TEXTS[0], best.tokens[1:], source_language=FROM[0],
                             target_language="ace_Latn", add_end=False)
    assert not np.array_equal(score.scores, other.scores)
    several = translator.score(TEXTS[:4], [best.tokens[1:]] * 4, source_language=FROM[:4],
                               target_language=TO[:4], add_end=False)
    assert several[0].scores.tobytes() == score.scores.tobytes()


def answers(model, **options):
    return [[json.loads(each.text) for each in result]
            for result in model.generate(PROMPTS, json_schema=PERSON, max_length=90, **options)]


@pytest.mark.parametrize("options", [{}, {"beam": 3, "nbest": 3},
                                     {"sample": True, "seed": 4, "nbest": 5}])
def test_answers_follow_the_schema(talker, options):
    for result in answers(talker, **options):
        for person in result:
            assert {"name", "age"} <= set(person) <= {"name", "age", "tags"}
            assert 0 <= person["age"] <= 130 and len(person["name"]) <= 6
            assert all(tag in ("a", "bä", None) for tag in person.get("tags", []))
    free = talker.generate(PROMPTS, max_length=90, **options)
    assert free != talker.generate(PROMPTS, json_schema=PERSON, max_length=90, **options)


def test_schemas_are_those_of_the_program(talker, talker_path, tmp_path):
    (tmp_path / "person.json").write_text(json.dumps(PERSON), encoding="utf-8")
    lines = "".join(json.dumps({"text": prompt}) + "\n" for prompt in PROMPTS)
    (tmp_path / "prompts.jsonl").write_text(lines, encoding="utf-8")
    out = heddle_program("generate", talker_path, "--input", tmp_path / "prompts.jsonl", "--json-schema",
                         tmp_path / "person.json", "--max-length", "90", "--format", "jsonl").decode()
    texts = [json.loads(line)["hypotheses"][0]["text"] for line in out.splitlines()]
    options = {"max_length": 90}
    for schema in (PERSON, json.dumps(PERSON), json.dumps(PERSON, ensure_ascii=False)):
        found = talker.generate(PROMPTS, json_schema=schema, **options)
        assert [best.text for best, *_ in found] == texts
    pieces = list(talker.stream(PROMPTS[0], json_schema=PERSON, **options))
    assert "".join(piece.text for piece in pieces) == texts[0]
    chat = talker.chat([{"role": "user", "content": "Who?"}], json_schema=PERSON, **options)
    assert json.loads(chat[0].text)["age"] >= 0
    assert talker.generate(PROMPTS[0], json_schema=PERSON, max_length=4)[0].finish == "length"


def test_threads_have_schemas_of_their_own(talker):
    """More schemas than are kept, and the same one in several threads: a request is checked, which reads
    its schema, while another thread takes the steps that look at theirs."""
    schemas = [{"type": "string", "minLength": 1, "maxLength": 1 + i} for i in range(11)] + [PERSON]
    options = {"max_length": 40}
    expected = [talker.generate(PROMPTS[i % 3], json_schema=schema, **options)
                for i, schema in enumerate(schemas)]

    def in_thread(seed):
        for step in range(24):
            i = (step * 5 + seed) % len(schemas)
            found = talker.generate(PROMPTS[i % 3], json_schema=schemas[i], **options)
            assert found == expected[i]
        return True

    async def one(i):
        found = await talker.agenerate(PROMPTS[i % 3], json_schema=schemas[i], **options)
        return found == expected[i]

    async def everything():
        return await asyncio.gather(*(one(i % len(schemas)) for i in range(36)))

    with ThreadPoolExecutor(8) as threads:
        work = [threads.submit(in_thread, seed) for seed in range(7)]
        work.append(threads.submit(lambda: asyncio.run(everything())))
        assert all(np.all(done.result()) for done in work)


BAD = "a\ud800b"
NESTED = {}
NESTED["properties"] = NESTED
LANGUAGES = {"source_language": FROM[0], "target_language": TO[0]}
WRONG = [
    ("talker", lambda m: m.generate("a", json_schema=3), heddle.WrongType,
     "json_schema is int, expected a dict, a bool or the text of a JSON schema"),
    ("talker", lambda m: m.generate("a", json_schema=[PERSON]), heddle.WrongType, "json_schema is list"),
    ("talker", lambda m: m.generate("a", json_schema=""), heddle.InvalidArgument,
     "json_schema has no text"),
    ("talker", lambda m: m.generate("a", json_schema="{"), heddle.InvalidArgument, "prompt 1: schema"),
    ("talker", lambda m: m.generate("a", json_schema=False), heddle.InvalidArgument, "no text"),
    ("talker", lambda m: m.generate("a", json_schema={"items": {"pattern": "x"}}), heddle.Unsupported,
     "schema: #/items/pattern: \"pattern\" is not supported"),
    ("talker", lambda m: m.generate("a", json_schema={"const": BAD}), heddle.InvalidArgument,
     "json_schema has a surrogate"),
    ("talker", lambda m: m.generate("a", json_schema=BAD), heddle.InvalidArgument,
     "json_schema has a surrogate"),
    ("talker", lambda m: m.generate("a", json_schema={"const": {1, 2}}), heddle.WrongType,
     "expected what JSON has"),
    ("talker", lambda m: m.generate("a", json_schema={"const": float("nan")}), heddle.InvalidArgument,
     "expected what JSON has"),
    ("talker", lambda m: m.generate("a", json_schema=NESTED), heddle.InvalidArgument, "Circular"),
    ("talker", lambda m: m.generate("a", target_language="fra_Latn"), heddle.InvalidArgument,
     "the model has no tokens of languages"),
    ("dates", lambda m: m.score("a", "b", source_language="fra_Latn"), heddle.InvalidArgument,
     "source 1: source language is \"fra_Latn\", expected none"),
    ("talker", lambda m: m.score("abc", source_language="fra_Latn"), heddle.InvalidArgument,
     "source_language is given without targets"),
    ("translator", lambda m: m.generate("a"), heddle.InvalidArgument,
     "source 1: target_language is missing: the model has 6 languages and no default"),
    ("translator", lambda m: m.score("a", "b"), heddle.InvalidArgument,
     "source 1: target_language is missing"),
    ("translator", lambda m: m.generate("a", target_language="fra"), heddle.InvalidArgument,
     "target language is \"fra\", expected one of the model's 6"),
    ("translator", lambda m: m.generate(["a", "b"], target_language=["fra_Latn"]),
     heddle.InvalidArgument, "target_language has 1 elements, expected 2"),
    ("translator", lambda m: m.generate("a", target_language=3), heddle.WrongType,
     "target_language is int, expected a list"),
    ("translator", lambda m: m.generate(["a"], target_language=[3]), heddle.WrongType,
     "target_language 1 is int, expected str"),
    ("translator", lambda m: m.generate("a", target_language=""), heddle.InvalidArgument,
     "target_language is ''"),
    ("translator", lambda m: m.generate("a", target_language=BAD), heddle.InvalidArgument,
     "target_language has a surrogate"),
    ("translator", lambda m: m.generate([[5, 6]], **LANGUAGES), heddle.InvalidArgument,
     "source begins with token 5, expected the token of a language"),
]


@pytest.mark.parametrize("which, call, kind, message", WRONG, ids=[case[3] for case in WRONG])
def test_wrong_uses(request, which, call, kind, message):
    with pytest.raises(kind) as caught:
        call(request.getfixturevalue(which))
    assert message in str(caught.value)
