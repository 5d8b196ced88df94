# SPDX-License-Identifier: Apache-2.0
"""Generation: what `heddle generate` and `heddle score` print, streams, and options."""

import json
import math

import numpy as np
import heddle
import pytest
from conftest import heddle_program, sources

LINES = sources()[:24]


def generated(path, lines, *options):
    """What the program answers, as hypotheses."""
    out = heddle_program("generate", path, "--input", "-", "--format", "jsonl", *options,
                         stdin=("\n".join(lines) + "\n").encode())
    return [[(each["text"], each["tokens"], each["score"]) for each in json.loads(line)["hypotheses"]]
            for line in out.decode().splitlines()]


def plain(results):
    return [[(each.text, each.tokens, printed(each.score)) for each in result] for result in results]


def printed(score):
    """A score with the seven digits after the point that the program prints."""
    return math.copysign(math.floor(abs(score) * 1e7 + 0.5) / 1e7, score)


@pytest.mark.parametrize("options, arguments", [
    ({}, []),
    ({"beam": 4, "nbest": 3}, ["--beam", "4", "--nbest", "3"]),
    ({"beam": 4, "rules": "transformers", "length_penalty": 0.5, "early_stopping": True},
     ["--beam", "4", "--rules", "transformers", "--length-penalty", "0.5", "--early-stopping"]),
    ({"sample": True, "seed": 5, "temperature": 1.5, "top_k": 20, "top_p": 0.9, "nbest": 2},
     ["--sample", "--seed", "5", "--temperature", "1.5", "--top-k", "20", "--top-p", "0.9",
      "--nbest", "2"]),
    ({"beam": 3, "nbest": 2, "alternatives": True}, ["--beam", "3", "--nbest", "2", "--alternatives"]),
    ({"no_repeat_ngram": 2, "repetition_penalty": 1.2, "min_length": 3, "max_length": 9,
      "coverage_penalty": 0.25, "beam": 2},
     ["--no-repeat-ngram", "2", "--repetition-penalty", "1.2", "--min-length", "3", "--max-length",
      "9", "--coverage-penalty", "0.25", "--beam", "2"]),
])
def test_is_what_the_program_prints(dates, dates_path, options, arguments):
    expected = generated(dates_path, LINES, *arguments)
    assert plain(dates.generate(LINES, **options)) == expected
    assert plain(dates.translate(LINES, **options)) == expected
    # One by one, the same bits.
    assert [dates.generate(line, **options) for line in LINES[:4]] == dates.generate(
        LINES, **options)[:4]


def test_forms_of_sources(dates):
    text = dates.generate("3. Mai 1984")
    assert isinstance(text, list) and isinstance(text[0], heddle.Hypothesis)
    assert dates.generate(["3. Mai 1984"]) == [text]
    ids = dates.tokenize("3. Mai 1984")
    assert dates.generate(ids) == text
    assert dates.generate(np.array(ids)) == text
    assert dates.generate([ids, np.array(ids, np.int32), "3. Mai 1984"]) == [text] * 3
    assert dates.generate([]) == []
    assert dates.generate(["", "3. Mai 1984", "  "]) == [[], text, []]


def test_prefix_and_shortlist(dates):
    best = dates.generate("3. Mai 1984")[0]
    begun = dates.generate("3. Mai 1984", prefix="2")[0]
    assert begun.text.startswith("2")
    assert dates.generate("3. Mai 1984", prefix=best.tokens[:2])[0].tokens == best.tokens
    allowed = sorted(set(best.tokens))
    assert dates.generate(["3. Mai 1984"], shortlist=[allowed])[0][0].tokens == best.tokens


def test_token_scores_and_attention(dates):
    best = dates.generate("3. Mai 1984", token_scores=True, attention=True, length_penalty=0)[0]
    count = len(best.tokens)
    assert best.token_scores.shape == (count,) and best.token_scores.dtype == np.float32
    assert best.attention.shape == (count, len(dates.tokenize("3. Mai 1984")))
    np.testing.assert_allclose(best.attention.sum(axis=1), 1, rtol=1e-4)
    assert abs(float(best.token_scores.sum()) - best.score) < 1e-4
    assert dates.generate("3. Mai 1984")[0].token_scores is None
    begun = dates.generate("3. Mai 1984", prefix="19", attention=True)[0]
    prefix = len(begun.tokens) - len(begun.token_scores)
    assert prefix > 0 and len(begun.attention) == len(begun.token_scores)


def test_score_is_what_the_program_prints(dates, dates_path, tmp_path):
    targets = [each[0].text for each in dates.generate(LINES)]
    for name, lines in (("source.txt", LINES), ("target.txt", targets)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = heddle_program("score", dates_path, "--source", tmp_path / "source.txt", "--target",
                         tmp_path / "target.txt", "--format", "jsonl").decode().splitlines()
    for score, line in zip(dates.score(LINES, targets), map(json.loads, out), strict=True):
        assert printed(score.score) == line["score"]
        assert [printed(each) for each in score.scores.tolist()] == line["scores"]
    assert dates.score(LINES[0], targets[0]).score == dates.score(LINES, targets)[0].score


@pytest.mark.parametrize("options", [{}, {"beam": 4}, {"beam": 4, "nbest": 2}, {"prefix": "1"},
                                     {"sample": True, "seed": 3, "temperature": 2.0}])
def test_pieces_joined_are_the_text(dates, options):
    several = 0
    for line in LINES[:12]:
        best = dates.generate(line, **options)[0]
        parts = list(dates.stream(line, **options))
        assert "".join(part.text for part in parts) == best.text
        assert [token for part in parts for token in part.tokens] == best.tokens
        assert parts[-1].hypothesis == best
        assert all(part.hypothesis is None for part in parts[:-1])
        several += len(parts) > 2
    assert several > 6


def test_leaving_a_stream_ends_it(dates):
    for _ in range(50):
        for piece in dates.stream(LINES[0], min_length=30, max_length=40):
            assert piece.text is not None
            break
    assert dates.generate(LINES[0]) == dates.generate([LINES[0]])[0]


def test_run_of_both_entries(dates):
    best = dates.generate("3. Mai 1984", length_penalty=0)[0]
    source, fed = dates.tokenize("3. Mai 1984"), [1, *best.tokens[:-1]]
    outputs = dates.run(source=[source, source[:4]], target=[fed, fed[:3]])
    logits = outputs["decode.logits"]
    assert [each.shape for each in logits] == [(len(fed), 448), (3, 448)]
    assert logits[0].argmax(axis=1).tolist() == best.tokens
    assert [each.shape for each in outputs["encode.encoder"]] == [(len(source), 128), (4, 128)]
    alone = dates.run(source=[source], target=[fed])
    assert np.array_equal(alone["decode.logits"][0], logits[0])


def test_info(dates):
    assert dates.info.generates and dates.info.has_tokenizer
    assert dates.info.details["generation"]["rules"] == "paper"
