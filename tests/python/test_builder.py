# SPDX-License-Identifier: Apache-2.0
"""Models written in Python: what they compute is what numpy computes, and mistakes name their line."""

import inspect
import math
import re

import numpy as np
import heddle
import pytest
from heddle._operation_table import OPERATIONS
from heddle._operations import Operations

WIDTH, HEADS = 24, 4


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


class Variant:
    """A layer that no paper has: attention to three rows whose scores a learned number scales, and
    a gated branch beside the residual."""

    def __init__(self, width=WIDTH, heads=HEADS):
        rng = np.random.default_rng(5)
        self.width, self.heads = width, heads
        shapes = {"query.weight": (width, width), "query.bias": (width,), "key.weight": (width, width),
                  "value.weight": (width, width), "scale": (1,), "gate.weight": (width, width),
                  "gate.bias": (width,), "out.weight": (width, width), "norm.weight": (width,)}
        self.values = {name: rng.normal(0, 0.3, shape).astype(np.float32)
                       for name, shape in shapes.items()}

    def build(self):
        model = heddle.ModelBuilder("variant")
        entry = model.entry("encode")
        x, rows = entry.input("x", self.width), entry.segments()
        with model.scope("layer.0"):
            p = {name: model.parameter(name, values) for name, values in self.values.items()}
            query, key, value = (
                entry.split_heads(entry.linear(x, p[f"{name}.weight"], p.get(f"{name}.bias")),
                                  self.heads) for name in ("query", "key", "value"))
            scores = entry.contract("thd,khd->thk", query, key, segments=[rows, rows]) * p["scale"]
            seen = entry.mask("from i - 2 to i + 1", rows, rows)
            weights = entry.softmax(entry.select(seen, scores, float("-inf")), rows)
            mixed = entry.contract("thk,khd->thd", weights, value, segments=[rows, rows])
            gate = entry.activate("sigmoid", entry.linear(x, p["gate.weight"], p["gate.bias"]))
            branch = gate * entry.linear(entry.merge_heads(mixed), p["out.weight"])
            y = entry.rms_norm(x + branch - x * 0.25, p["norm.weight"], 1e-6)
        entry.output("y", y)
        entry.output("mean", entry.pool("mean", y, rows))
        return model

    def expected(self, x):
        """The same for the rows of one sequence."""
        v = {name: values.astype(np.float64) for name, values in self.values.items()}
        x = x.astype(np.float64)
        split = (len(x), self.heads, self.width // self.heads)
        query = (x @ v["query.weight"].T + v["query.bias"]).reshape(split)
        key, value = ((x @ v[f"{name}.weight"].T).reshape(split) for name in ("key", "value"))
        scores = np.einsum("thd,khd->thk", query, key) * v["scale"]
        i, j = np.arange(len(x))[:, None, None], np.arange(len(x))[None, None, :]
        scores = np.where((j >= i - 2) & (j < i + 1), scores, -np.inf)
        mixed = np.einsum("thk,khd->thd", softmax(scores), value).reshape(len(x), self.width)
        gate = 1 / (1 + np.exp(-(x @ v["gate.weight"].T + v["gate.bias"])))
        y = x + gate * (mixed @ v["out.weight"].T) - 0.25 * x
        return y / np.sqrt((y * y).mean(axis=1, keepdims=True) + 1e-6) * v["norm.weight"]


@pytest.fixture(scope="module")
def variant_path(tmp_path_factory):
    return Variant().build().compile(tmp_path_factory.mktemp("variant") / "variant.so")


def test_a_variant_is_what_numpy_computes(variant_path):
    model, variant = heddle.load(variant_path), Variant()
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(length, WIDTH)).astype(np.float32) for length in (1, 2, 7, 33)]
    found = model.run(x=rows, entry="encode")
    assert model.info.model_type == "variant"
    for one, y, mean in zip(rows, found["y"], found["mean"], strict=True):
        np.testing.assert_allclose(y, variant.expected(one), atol=2e-5)
        np.testing.assert_allclose(mean, variant.expected(one).mean(axis=0), atol=2e-5)


def test_the_compiler_finds_its_attention():
    model = Variant().build()
    fused = model.lowered("fused", target="x86-64-v3")
    assert "transformer.attention" in fused and "from i - 2" in fused
    assert "transformer.softmax" not in fused
    plain = model.lowered("fused", disable_pass="fuse-attention")
    assert "transformer.softmax" in plain
    # In the words of the dialect, and another time the same.
    assert "transformer.linear" in model.lowered("model") and model.text() == Variant().build().text()


def test_report():
    report = Variant().build().report(target="x86-64-v3")
    assert isinstance(report, heddle.Report)
    assert "fuse-attention" in {each["pass"] for each in report.taken}


def cell(entry, model, x):
    """h_t = tanh(W x_t + b + U h_(t-1)), of weights that stay."""
    width, rng = 5, np.random.default_rng(3)
    values = {"input": rng.normal(size=(width, x.shape[1])), "hidden": rng.normal(size=(width, width))}
    weights = {name: model.parameter(f"{name}.weight", each) for name, each in values.items()}

    def step(now, before):
        new = entry.activate("tanh", entry.linear(now[0], weights["input"])
                             + entry.linear(before[0], weights["hidden"]))
        return [new], [new]

    return entry.recurrence([x], [width], step), values


def test_images_of_any_width():
    """Zero pixels across: the IR's question mark, of rows and of the window over them."""
    model = heddle.ModelBuilder("photos")
    entry = model.entry("encode")
    pixels = entry.input("pixels", 3)
    every = entry.strided(entry.segments(), across=0)
    half = entry.strided(entry.segments(), 2, 2, across=0)
    window = {"height": 3, "width": 3, "strideDown": 2, "strideRight": 2, "across": 0}
    entry.output("y", entry.pool("mean", entry.slide("max", pixels, every, window, to=half), half))
    program = model.lowered("model")
    assert "down 2 right 2 across ?" in program
    assert "window<height = 3, width = 3, strideDown = 2, strideRight = 2, across = ?>" in program


ROW = np.arange(1, 7, dtype=np.float32)


def numbers(entry, x, row):
    """Numbers and parameters beside tensors, on either side of each operator."""
    positive = entry.activate("exp", x)
    entry.output("less", x - 1 - np.float32(0.5))
    entry.output("from", 1 - x)
    entry.output("from row", row - x)
    entry.output("left", np.float32(2) * x + np.float64(1))
    entry.output("inverse", 1 / positive)
    entry.output("quotients", 3 / positive + row / positive)
    entry.output("powers", x ** 2 + x ** 3)
    entry.output("roots", positive ** -1 + positive ** 0.5 + positive ** np.float32(-0.5))


def numbers_expected(x, row):
    positive = np.exp(x)
    return {"less": x - 1.5, "from": 1 - x, "from row": row - x, "left": 2 * x + 1,
            "inverse": 1 / positive, "quotients": (3 + row) / positive, "powers": x ** 2 + x ** 3,
            "roots": 1 / positive + np.sqrt(positive) + 1 / np.sqrt(positive)}


def test_many_operations(tmp_path):
    """Operations of every kind of argument, against numpy."""
    model = heddle.ModelBuilder("many")
    entry = model.entry("encode")
    ids, x, rows = entry.input("ids"), entry.input("x", 6, optional=True), entry.segments()
    rng = np.random.default_rng(2)
    table = rng.normal(size=(11, 6)).astype(np.float32)
    embedded = entry.gather(model.parameter("table", table), ids) + x
    (last, gave), values = cell(entry, model, embedded)
    two = entry.choices(rows, 2)
    column, best = entry.top_k(embedded, two)
    pairs = entry.blocks(rows, 2)
    angles = entry.angles(rows, [1.0, 0.5])
    entry.output("last", last[0])
    entry.output("gave", gave[0])
    entry.output("placed", entry.place_columns(best, column, 6))
    entry.output("pairs", entry.pool("max", embedded, rows, blocks=pairs))
    entry.output("swapped", entry.concat([entry.columns(embedded, 3, 3), entry.columns(embedded, 0, 3)]))
    entry.output("angles", entry.activate("cos", angles))
    entry.output("patches", entry.slide("patches", embedded, rows, {"height": 2, "causal": True}))
    entry.output("unit", entry.normalize(entry.row_softmax(embedded), 1e-9))
    centred = embedded - entry.reduce("mean", embedded)
    root = entry.activate("sqrt", entry.reduce("mean", centred * centred) + 1e-5)
    entry.output("standard", centred / root)
    entry.output("bounded", 0.25 + entry.clamp(embedded / 2, -0.5, math.inf))
    entry.output("joined", entry.join_rows(entry.split_rows(embedded, two), two))
    numbers(entry, x, model.parameter("row", ROW))
    compiled = heddle.load(model.compile(tmp_path / "many.so"))
    batch = [[1, 5, 3], [10], [2, 2, 7, 0, 9]]
    given = [rng.normal(size=(len(each), 6)).astype(np.float32) for each in batch]
    found = compiled.run(ids=batch, x=given, entry="encode")
    for n, (each, rest) in enumerate(zip(batch, given)):
        rows_ = (table[each] + rest).astype(np.float64)
        h, all_h = np.zeros(5), []
        for row in rows_:
            h = np.tanh(values["input"] @ row + values["hidden"] @ h)
            all_h.append(h)
        two_best = np.sort(rows_, axis=1)[:, -2:-1]
        powers = softmax(rows_)
        expected = {
            "last": h, "gave": all_h, "placed": np.where(rows_ >= two_best, rows_, 0),
            "swapped": np.roll(rows_, 3, axis=1), "joined": rows_,
            "angles": np.cos(np.arange(len(each))[:, None] * [1.0, 0.5]),
            "patches": np.hstack([np.vstack([np.zeros(6), rows_[:-1]]), rows_]),
            "standard": (rows_ - rows_.mean(axis=1, keepdims=True))
            / np.sqrt(rows_.var(axis=1, keepdims=True) + 1e-5),
            "bounded": 0.25 + np.maximum(rows_ / 2, -0.5),
            "unit": powers / np.linalg.norm(powers, axis=1, keepdims=True)}
        expected.update(numbers_expected(rest.astype(np.float64), ROW))
        for name, wanted in expected.items():
            np.testing.assert_allclose(found[name][n], wanted, atol=3e-5, err_msg=name)
    blocks = [rows_[i:i + 2].max(axis=0) for each, rest in zip(batch, given)
              for rows_ in [table[each] + rest] for i in range(0, len(each), 2)]
    np.testing.assert_allclose(found["pairs"], blocks, atol=1e-5)
    assert heddle.load(compiled.path).run(ids=[[1]], entry="encode")["joined"][0].shape == (1, 6)


def test_a_decoder_generates(tmp_path):
    """The next token is the one after the mean of all so far: a cache, a mask, and settings."""
    size = 9
    model = heddle.ModelBuilder("counter")
    model.generation(end=[0], max_length=6)
    entry = model.entry("decode")
    ids, rows = entry.input("input_ids"), entry.segments()
    now = entry.gather(model.parameter("table.weight", np.eye(size) * 4), ids)
    keys = entry.append(entry.cache("key", size), now, rows)
    history = entry.history(rows)
    key = entry.split_heads(entry.cached(keys, history), 1)
    scores = entry.contract("thd,khd->thk", entry.split_heads(now, 1), key, segments=[rows, history])
    seen = entry.select(entry.mask("causal", rows, history), scores, float("-inf"))
    mixed = entry.contract("thk,khd->thd", entry.softmax(seen, history), key, segments=[rows, history])
    follows = model.parameter("follows.weight", np.roll(np.eye(size), 1, axis=0))
    entry.output("logits", entry.linear(entry.merge_heads(mixed), follows))
    compiled = heddle.load(model.compile(tmp_path / "counter.so"))
    best = compiled.generate([[5]])[0][0]
    assert (best.tokens, best.finish) == ([6, 7, 8, 0], "end")
    assert compiled.generate([[1]])[0][0].finish == "length"
    assert "cache" in model.text()


def test_every_operation_is_there():
    for name, (arguments, _, changed, _) in OPERATIONS.items():
        method = getattr(heddle.EntryBuilder, name)
        assert inspect.getdoc(method) and getattr(Operations, name) is method
        parameters = inspect.signature(method).parameters
        assert {each for each, _ in arguments} <= set(parameters)
        assert changed is None or changed in parameters
    assert {"attention", "embed", "rotate"}.isdisjoint(OPERATIONS)


def test_mistakes_that_only_the_compiler_finds_name_their_line(tmp_path):
    model = heddle.ModelBuilder("wrong")
    entry = model.entry("encode")
    x, rows = entry.input("x", 8), entry.segments()
    with model.scope("layer.3"):
        y = entry.mask("from i + 5 to i + 9", rows, rows); line = inspect.currentframe().f_lineno
        entry.output("y", entry.select(y, entry.contract(
            "thd,khd->thk", entry.split_heads(x, 2), entry.split_heads(x, 2), segments=[rows, rows]),
            float("-inf")))
    with pytest.raises(heddle.CompileError):
        model.compile(tmp_path / "wrong.so")
    assert not (tmp_path / "wrong.so").exists()
    model = heddle.ModelBuilder("wrong")
    entry = model.entry("encode")
    x, rows = entry.input("x", 8), entry.segments()
    with model.scope("layer.3"):
        y = entry.scale(x, float("inf")); line = inspect.currentframe().f_lineno
    entry.output("y", y)
    with pytest.raises(heddle.CompileError) as caught:
        model.compile(tmp_path / "wrong.so")
    assert re.search(rf'"layer\.3" \(.*test_builder\.py:{line}\): .*finite', str(caught.value))


def wrong(call):
    model = heddle.ModelBuilder("m")
    entry = model.entry("e")
    return call(model, entry, entry.input("x", 6), entry.segments())


OTHER = heddle.ModelBuilder("other")
OTHER_ENTRY = OTHER.entry("o")
WRONG = [
    (lambda m, e, x, r: heddle.ModelBuilder(3), heddle.WrongType, "model_type is 3"),
    (lambda m, e, x, r: heddle.ModelBuilder(""), heddle.InvalidArgument, "model_type is ''"),
    (lambda m, e, x, r: heddle.ModelBuilder("a\ud800"), heddle.InvalidArgument, "has a surrogate"),
    (lambda m, e, x, r: m.parameter("w"), heddle.InvalidArgument, "values and shape are both missing"),
    (lambda m, e, x, r: m.parameter("w", (16, 16)), heddle.InvalidArgument,
     "'w': values is the tuple (16, 16), expected shape=(16, 16) for its sizes, or the list [16, 16]"),
    (lambda m, e, x, r: m.parameter("w", "abc"), heddle.WrongType, "'w' has elements of <U3"),
    (lambda m, e, x, r: m.parameter("w", 3.0), heddle.InvalidArgument, "'w' has the shape []"),
    (lambda m, e, x, r: m.parameter("w", shape=(0, 3)), heddle.OutOfRange, "a size of 'w' is 0"),
    (lambda m, e, x, r: m.parameter("w", shape="ab"), heddle.WrongType, "the shape of 'w' is 'ab'"),
    (lambda m, e, x, r: (m.parameter("w", [1.0]), m.parameter("w", [1.0])), heddle.InvalidArgument,
     "'w' is a parameter of shape [1] already"),
    (lambda m, e, x, r: m.entry("e"), heddle.InvalidArgument, "entry 'e' appears twice"),
    (lambda m, e, x, r: e.input("x", 3), heddle.InvalidArgument, "input 'x' of entry 'e' appears twice"),
    (lambda m, e, x, r: e.input("y", 0), heddle.OutOfRange, "width is 0"),
    (lambda m, e, x, r: e.output("y", r), heddle.WrongType, "output 'y' is Segments"),
    (lambda m, e, x, r: e.output("y", OTHER_ENTRY.input("q", 2)), heddle.InvalidArgument,
     "output 'y' is not a value of entry 'e'"),
    (lambda m, e, x, r: m.text(), heddle.InvalidArgument, "entry 'e' has no output"),
    (lambda m, e, x, r: heddle.ModelBuilder("m").text(), heddle.InvalidArgument, "has no entry"),
    (lambda m, e, x, r: e.linear(x, m.parameter("w", np.ones((3, 5)))), heddle.InvalidArgument,
     "transformer.linear: input has the shape [?, 6], expected [?, 5] for the weight 'w', [3, 5]"),
    (lambda m, e, x, r: e.linear(x, m.parameter("w", np.ones(5))), heddle.InvalidArgument,
     "transformer.linear: weight has the shape [5], expected 2 sizes"),
    (lambda m, e, x, r: e.linear(x, np.ones((3, 6))), heddle.WrongType,
     "transformer.linear: weight is ndarray, expected Parameter"),
    (lambda m, e, x, r: e.linear(x, OTHER.parameter("w", np.ones((3, 6)))), heddle.InvalidArgument,
     "transformer.linear: weight belongs to another model"),
    (lambda m, e, x, r: e.linear(3, m.parameter("w", np.ones((3, 6)))), heddle.WrongType,
     "transformer.linear: input is int, expected Tensor"),
    (lambda m, e, x, r: e.split_heads(x, 4), heddle.InvalidArgument, "heads is 4, expected a number"),
    (lambda m, e, x, r: e.merge_heads(x), heddle.InvalidArgument,
     "input has the shape [?, 6], expected heads [?, heads, head size]"),
    (lambda m, e, x, r: e.activate("gelu2", x), heddle.InvalidArgument, "function is 'gelu2', expected"),
    (lambda m, e, x, r: e.scale(x, "2"), heddle.WrongType, "transformer.scale: factor is '2'"),
    (lambda m, e, x, r: x * "2", heddle.WrongType,
     "* with a Tensor and str, expected a Tensor, a Parameter or a number"),
    (lambda m, e, x, r: r + x, heddle.WrongType, "+ with a Tensor and Segments, expected"),
    (lambda m, e, x, r: np.ones(6) - x, heddle.WrongType, "- with a Tensor and ndarray, expected"),
    (lambda m, e, x, r: x - None, heddle.WrongType, "- with a Tensor and NoneType, expected"),
    (lambda m, e, x, r: [1] / x, heddle.WrongType, "/ with a Tensor and list, expected"),
    (lambda m, e, x, r: x / "2", heddle.WrongType, "/ with a Tensor and str, expected"),
    (lambda m, e, x, r: x + True, heddle.WrongType, "+ with a Tensor and bool, expected"),
    (lambda m, e, x, r: x / 0, heddle.InvalidArgument, "a Tensor / 0, expected another divisor"),
    (lambda m, e, x, r: x ** 4, heddle.InvalidArgument,
     "a Tensor ** 4, expected the exponent -1, -0.5, 0.5, 2 or 3"),
    (lambda m, e, x, r: x ** x, heddle.InvalidArgument, "a Tensor ** Tensor, expected the exponent"),
    (lambda m, e, x, r: 1 if x else 2, heddle.WrongType,
     "a Tensor has no values while the model is built"),
    (lambda m, e, x, r: e.contract("td->t", x, x), heddle.InvalidArgument, "axes are 'td->t'"),
    (lambda m, e, x, r: e.contract("td,td->tz", x, x), heddle.InvalidArgument, "is on neither operand"),
    (lambda m, e, x, r: e.contract("td,td->t", x, x, segments=r), heddle.WrongType, "segments is Segm"),
    (lambda m, e, x, r: e.transpose(x, [0, 0]), heddle.InvalidArgument, "permutation is [0, 0]"),
    (lambda m, e, x, r: e.columns(x, 4, 3), heddle.InvalidArgument, "expected columns of rows of width 6"),
    (lambda m, e, x, r: e.top_k(x, r), heddle.InvalidArgument, "expected those that choices() gives"),
    (lambda m, e, x, r: e.mask("causal>", r, r), heddle.InvalidArgument, "expected bounds such as"),
    (lambda m, e, x, r: e.slide("max", x, r, {"high": 3}), heddle.InvalidArgument, "window has 'high'"),
    (lambda m, e, x, r: e.slide("max", x, r, 3), heddle.WrongType, "window is int, expected a dict"),
    (lambda m, e, x, r: e.slide("max", x, r, {"height": 0}), heddle.OutOfRange, "window height is 0, expected 1 to"),
    (lambda m, e, x, r: e.slide("max", x, r, {"height": 3, "across": -1}), heddle.OutOfRange,
     "window across is -1, expected 0 to"),
    (lambda m, e, x, r: e.state("s", 0), heddle.OutOfRange, "width is 0"),
    (lambda m, e, x, r: (e.cache("c", 6), e.state("c", 6)), heddle.InvalidArgument, "'c' of entry 'e'"),
    (lambda m, e, x, r: [e.append(c, x, r) for c in [e.cache("c", 6)] * 2], heddle.InvalidArgument,
     "'c' was changed before"),
    (lambda m, e, x, r: e.recurrence([x], [3], lambda now, before: ([x], [])), heddle.InvalidArgument,
     "the step carries [?, 6], expected [?, 3]"),
    (lambda m, e, x, r: m.generation(rules="mine"), heddle.InvalidArgument, "rules is 'mine'"),
    (lambda m, e, x, r: m.generation(num_beams=0), heddle.OutOfRange, "num_beams is 0"),
    (lambda m, e, x, r: (e.output("y", e.linear(x, m.parameter("w", shape=(3, 6)))), m.compile("a.so")),
     heddle.InvalidArgument, "parameter 'w' has no values"),
]


@pytest.mark.parametrize("call, kind, message", WRONG, ids=[case[2] for case in WRONG])
def test_wrong_uses(call, kind, message):
    with pytest.raises(kind) as caught:
        wrong(call)
    assert message in str(caught.value)
