# SPDX-License-Identifier: Apache-2.0
"""Profiles and analyses as objects: the numbers are those of the program, as far as they repeat."""

import json
import signal
import threading

import numpy as np
import heddle
import pytest
from conftest import heddle_program, sources

LINES = sources()[:12]
# Columns of a row of a profile.
COLUMNS = {"work", "entry", "name", "kernel", "kernels", "calls", "ms", "share", "flops", "weight_bytes",
           "cache_bytes", "gflops", "gb_per_s", "fraction_of_roof", "bound"}


def counted(rows):
    """What does not depend on time."""
    return sorted((row["entry"], row["name"], row["calls"], row["flops"], row["weight_bytes"],
                   row["cache_bytes"]) for row in rows)


def test_profiles_count_what_the_program_counts(dates, dates_path, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    out = json.loads(heddle_program("profile", dates_path, "--cases", "2x2", "--source-length", "9",
                                    "--target-length", "7", "--input", tmp_path / "lines.txt", "--beam", "2",
                                    "--by", "layer", "--runs", "1", "--threads", "2", "--json"))
    profile = dates.profile(LINES, cases=[(2, 2)], source_length=9, target_length=7, beam=2, by="layer",
                            runs=2)
    assert [work.work for work in profile.works] == [out["works"][0]["work"], "12 texts"]
    for work, wanted in zip(profile.works, out["works"], strict=True):
        assert counted(work.dispatches) == counted(wanted["rows"])
        assert work.tokens == wanted["tokens"] and work.runs == 2
        assert 0 < work.least_ms <= work.ms <= work.most_ms
    assert (profile.threads, profile.isa) == (2, dates.isa)
    assert profile.peak_gflops > 0 and profile.bandwidth_gb_per_s > 0
    rows = profile.rows()
    assert len(rows) == sum(len(work.dispatches) for work in profile.works)
    assert all(COLUMNS <= set(row) for row in rows)
    html = profile._repr_html_()
    assert "12 texts" in html and rows[0]["name"] in html


def test_profiles_of_an_encoder(encoder):
    profile = encoder.profile(shapes=[(2, 5), (1, 8)], by="dispatch", runs=1)
    assert [work.work for work in profile.works] == ["2x5", "1x8"]
    assert [work.tokens for work in profile.works] == [10, 8]
    one = encoder.profile("hello world", entry="embed", runs=1)
    assert one.works[0].work == "1 text"
    assert one.works[0].tokens == len(encoder.tokenize("hello world"))


def test_analyses_are_those_of_the_program(dates, dates_path, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    out = heddle_program("analyze", dates_path, "--input", tmp_path / "lines.txt", "--theta", "0.4",
                         "--blocks", "extend", "--beam", "2", "--svg", tmp_path / "map.svg")
    wanted = json.loads(out)
    analysis = dates.analyze(LINES, theta=0.4, blocks="extend", beam=2)
    assert (analysis.sentences, analysis.positions) == (wanted["sentences"], wanted["positions"])
    assert (analysis.theta, analysis.share_attention) == (0.4, wanted["share_attention"])
    for kind, other in zip(analysis.kinds, wanted["kinds"], strict=True):
        assert (kind.kind, list(kind.layers), list(kind.policy)) == (
            other["kind"], other["layers"], other["policy"])
        np.testing.assert_array_equal(kind.similarity, np.array(other["similarity"]))
    rows = analysis.rows()
    assert set(rows[0]) == {"kind", "layer", "other", "similarity"}
    assert len(rows) == sum(len(kind.layers) * (len(kind.layers) - 1) // 2 for kind in analysis.kinds)
    assert analysis._repr_html_() == (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert dates.analyze([dates.tokenize(line) for line in LINES]).kinds[0].policy is None


def test_an_analysis_is_shown_by_a_report(encoder, encoder_path, tmp_path):
    analysis = encoder.analyze("hello world")
    assert [kind.kind for kind in analysis.kinds] == ["encoder"]
    path = analysis.save(tmp_path / "analysis.json")
    page = tmp_path / "page.html"
    heddle.compile(encoder_path.rsplit("/", 1)[0], tmp_path / "m.so", target="x86-64-v3", report=page,
                   analysis=path)
    assert analysis.kinds[0].layers[0] in page.read_text(encoding="utf-8")


def test_alignments(dates):
    maps = dates.alignments(LINES[0], beam=2)
    best = dates.generate(LINES[0], beam=2)[0]
    cross = maps[-1]
    assert len(cross.rows) == len(best.tokens) and len(cross.columns) == len(dates.tokenize(LINES[0]))
    for each in maps:
        assert each.weights.shape == (len(each.rows), len(each.columns))
        assert each.weights.dtype == np.float32
        assert each._repr_html_().startswith("<svg")
    np.testing.assert_allclose(cross.weights.sum(axis=1), 1, atol=1e-5)


def test_rows_of_a_description(dates):
    rows = dates.info.rows()
    assert [row["name"] for row in rows] == list(dates.info.entries)
    assert all(row["flops_per_token"] > 0 and row["inputs"] for row in rows)


def test_ctrl_c_ends_a_profile(encoder):
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            encoder.profile(shapes=[(8, 16)], runs=1_000_000)
    finally:
        signal.signal(signal.SIGINT, before)
        timer.cancel()
    assert encoder.encode("a").shape == (72,)


WRONG = [
    (lambda e, d: e.profile(), heddle.InvalidArgument, "nothing to run is given"),
    (lambda e, d: e.profile([""] * 0), heddle.InvalidArgument, "nothing to run is given"),
    (lambda e, d: e.profile(shapes=[3]), heddle.WrongType, "shapes 1 is 3, expected (sentences, tokens)"),
    (lambda e, d: e.profile(shapes=[(1, 0)]), heddle.OutOfRange, "shapes 1 is 0"),
    (lambda e, d: e.profile(shapes=[(2**20, 2**20)]), heddle.InvalidArgument, "expected at most 67108864"),
    (lambda e, d: e.profile(shapes=[(1, 99999)]), heddle.Error, "99999"),
    (lambda e, d: e.profile(cases=[(1, 1)]), heddle.InvalidArgument, "cases"),
    (lambda e, d: e.profile("a", beam=2), heddle.InvalidArgument,
     "beam is given, and nothing is generated"),
    (lambda e, d: e.profile(shapes=[(1, 1)], beam=2), heddle.InvalidArgument, "beam is given without texts"),
    (lambda e, d: e.profile("a", entry="x"), heddle.Error, "x"),
    (lambda e, d: e.profile("a", entry=3), heddle.WrongType, "entry is 3"),
    (lambda e, d: e.profile("a", by="word"), heddle.InvalidArgument, "by is 'word', expected one of name"),
    (lambda e, d: e.profile("a", runs=0), heddle.OutOfRange, "runs is 0"),
    (lambda e, d: e.profile(["a", 3]), heddle.WrongType, "text 2 is int, expected str"),
    (lambda e, d: e.profile(["a", "b\ud800"]), heddle.InvalidArgument, "text 2 has a surrogate"),
    (lambda e, d: e.analyze([]), heddle.InvalidArgument, "texts has no elements"),
    (lambda e, d: e.analyze("a", beam=2), heddle.InvalidArgument, "the model does not generate"),
    (lambda e, d: e.analyze("a", theta=2), heddle.InvalidArgument, "theta is 2, expected 0 to 1"),
    (lambda e, d: e.analyze("a", theta="x"), heddle.WrongType, "theta is 'x'"),
    (lambda e, d: e.analyze("a", blocks="x"), heddle.InvalidArgument, "blocks is 'x'"),
    (lambda e, d: e.analyze(["a", [999999]]), heddle.OutOfRange, "text 2"),
    (lambda e, d: d.analyze(["3. Mai", [999999]]), heddle.OutOfRange, "text 2"),
    (lambda e, d: d.alignments(["a", "b"]), heddle.WrongType, "text is list, expected one text"),
]


@pytest.mark.parametrize("call, kind, message", WRONG, ids=[case[2] for case in WRONG])
def test_wrong_uses(encoder, dates, call, kind, message):
    with pytest.raises(kind) as caught:
        call(encoder, dates)
    assert message in str(caught.value)


@pytest.mark.parametrize("call", [lambda m: m.profile("a"), lambda m: m.analyze("a"),
                                  lambda m: m.alignments("a")])
def test_use_after_close(encoder_path, call):
    model = heddle.load(encoder_path)
    model.close()
    with pytest.raises(heddle.InvalidArgument, match="the model is closed"):
        call(model)
