# SPDX-License-Identifier: Apache-2.0
"""Wrong uses are exceptions with a message that says what is wrong; none of them ends the process."""

import asyncio
import subprocess
import sys

import numpy as np
import heddle
import pytest
from heddle import _core, _errors

BAD = "a\ud800b"
IDS = [[2, 5, 3]]

# The model, the call, the class and a part of the message.
WRONG = [
    ("encoder", lambda m: m.encode(3), heddle.WrongType, "sentences is int, expected str or a list"),
    ("encoder", lambda m: m.encode(None), heddle.WrongType, "sentences is NoneType"),
    ("encoder", lambda m: m.encode(b"a"), heddle.WrongType, "sentences is bytes"),
    ("encoder", lambda m: m.encode(["a", 3]), heddle.WrongType, "text 2 is int, expected str"),
    ("encoder", lambda m: m.encode(["a", None]), heddle.WrongType, "text 2 is NoneType"),
    ("encoder", lambda m: m.encode(["a", b"b"]), heddle.WrongType, "text 2 is bytes"),
    ("encoder", lambda m: m.encode(["a", BAD]), heddle.InvalidArgument, "text 2 has a surrogate"),
    ("encoder", lambda m: m.encode("a", batch_size=0), heddle.OutOfRange,
     "batch_size is 0, expected 1 to"),
    ("encoder", lambda m: m.encode("a", batch_size=-1), heddle.OutOfRange, "batch_size is -1"),
    ("encoder", lambda m: m.encode("a", batch_size=2.5), heddle.WrongType,
     "batch_size is 2.5, expected a whole number"),
    ("encoder", lambda m: m.encode("a", batch_size=True), heddle.WrongType, "batch_size is True"),
    ("encoder", lambda m: m.encode("a", normalize_embeddings=1), heddle.WrongType,
     "normalize_embeddings is 1, expected True or False"),
    ("encoder", lambda m: m.encode("a", precision="int8"), heddle.InvalidArgument,
     "precision is 'int8', expected one of float32"),
    ("encoder", lambda m: m.encode("a", output_value="token_embeddings"), heddle.InvalidArgument,
     "output_value is 'token_embeddings'"),
    ("encoder", lambda m: m.encode("a", device="cuda"), heddle.InvalidArgument,
     "device is 'cuda', expected one of cpu"),
    ("encoder", lambda m: m.encode("a", prompt_name="query"), heddle.Unsupported,
     "prompt_name is 'query', expected None"),
    ("encoder", lambda m: m.encode("a", prompt=3), heddle.WrongType, "prompt is 3, expected str"),
    ("encoder", lambda m: asyncio.run(m.aencode(3)), heddle.WrongType, "sentences is int"),
    ("encoder", lambda m: m.tokenize(3), heddle.WrongType, "texts is int"),
    ("encoder", lambda m: m.tokenize([BAD]), heddle.InvalidArgument, "text 1 has a surrogate"),
    ("encoder", lambda m: m.generate("a"), heddle.InvalidArgument, "the model does not generate"),
    ("encoder", lambda m: m.score("a", "b"), heddle.InvalidArgument, "the model does not generate"),
    ("dates", lambda m: m.encode("a"), heddle.NotFound, 'no entry "embed"'),
    # Entries.
    ("encoder", lambda m: m.run(input_ids=IDS, entry="none"), heddle.NotFound,
     "no entry 'none', there are encode, embed"),
    ("encoder", lambda m: m.run(ids=IDS), heddle.NotFound,
     "no input 'ids', there are input_ids, token_type_ids"),
    ("encoder", lambda m: m.run(), heddle.InvalidArgument, "no input is given, expected input_ids"),
    ("encoder", lambda m: m.run(token_type_ids=[[0]]), heddle.InvalidArgument,
     'input "input_ids" is missing'),
    ("encoder", lambda m: m.run(input_ids=IDS, outputs=["x"]), heddle.NotFound,
     "no output 'x', there are last_hidden_state, pooler_output"),
    ("encoder", lambda m: m.run("encode", input_ids=IDS), heddle.WrongType,
     "inputs is str, expected a dict of inputs by name; entry='encode' names an entry"),
    ("encoder", lambda m: m.run([1]), heddle.WrongType, "inputs is list, expected a dict of inputs by name"),
    ("encoder", lambda m: m.run(input_ids=3), heddle.WrongType, "input_ids is int, expected a list"),
    ("encoder", lambda m: m.run(input_ids="a"), heddle.WrongType, "input_ids is str"),
    ("encoder", lambda m: m.run(input_ids=["ab"]), heddle.WrongType, "elements that are no sequences"),
    ("encoder", lambda m: m.run(input_ids=[[1.5]]), heddle.WrongType,
     "input_ids 1 has elements of float64, expected whole numbers"),
    ("encoder", lambda m: m.run(input_ids=[[2, 211]]), heddle.OutOfRange,
     'input "input_ids" has the value 211 at position 2'),
    ("encoder", lambda m: m.run(input_ids=[[2, -1]]), heddle.OutOfRange, "has the token -1"),
    ("encoder", lambda m: m.run(input_ids=[[2, 2**40]]), heddle.OutOfRange, "has the token 1099511"),
    ("encoder", lambda m: m.run(input_ids=[[]]), heddle.InvalidArgument,
     "sequence 1 has 0 tokens, expected at least 1"),
    ("encoder", lambda m: m.run(input_ids=[[2] * 41]), heddle.OutOfRange,
     "sequence 1 has 41 tokens, the model allows at most 40"),
    ("encoder", lambda m: m.run(input_ids=np.zeros((1, 2, 3), int)), heddle.InvalidArgument,
     "input_ids has the shape [1, 2, 3], expected [sequences, tokens]"),
    ("encoder", lambda m: m.run(input_ids=np.zeros(3, int)), heddle.InvalidArgument,
     "or lengths= for [tokens]"),
    ("encoder", lambda m: m.run(input_ids=np.zeros(3, int), lengths=[2]), heddle.InvalidArgument,
     'input "input_ids" has 3 rows, the lengths add up to 2'),
    ("encoder", lambda m: m.run(input_ids=[2, 3], lengths=[2, -1]), heddle.OutOfRange,
     "lengths has the token -1"),
    ("encoder", lambda m: m.run(input_ids=[[2, 3]], token_type_ids=[[0]]), heddle.InvalidArgument,
     "token_type_ids has other lengths"),
    ("encoder", lambda m: m.run(input_ids=np.ones((2, 3), int), attention_mask=np.ones((2, 2))),
     heddle.InvalidArgument, "attention_mask has the shape [2, 2], expected that of the input"),
    ("encoder", lambda m: m.run(input_ids=np.ones((1, 3), int), attention_mask=[[1, 0, 1]]),
     heddle.InvalidArgument, "row 1 of attention_mask has a hole"),
    ("encoder", lambda m: m.run(input_ids=np.ones((1, 3), int), attention_mask=[[0, 0, 0]]),
     heddle.InvalidArgument, "row 1 of attention_mask has no ones"),
    ("encoder", lambda m: m.run(input_ids=np.ones((1, 3), int), attention_mask=[[1, 2, 0]]),
     heddle.InvalidArgument, "attention_mask has other values than 0 and 1"),
    ("encoder", lambda m: m.run(input_ids=[[2, 3], [2]], attention_mask=[[1, 1], [1, 0]]),
     heddle.WrongType, "input_ids is a ragged list, expected [sequences, tokens] for attention_mask"),
    ("encoder", lambda m: m.run(input_ids=np.ones((2, 2), int), attention_mask=[[1, 1], [1]]),
     heddle.WrongType, "attention_mask is a ragged list, expected the shape of the input, [2, 2]"),
    ("encoder", lambda m: m.run(input_ids=[2, 3], attention_mask=[1, 1]), heddle.InvalidArgument,
     "input_ids has the shape [2], expected [sequences, tokens]"),
    ("encoder", lambda m: m.run(input_ids=np.ones((1, 2), int), token_type_ids=[[0, 0], [0]],
                                attention_mask=[[1, 1]]), heddle.WrongType,
     "token_type_ids is a ragged list, expected the shape of the first input, [1, 2]"),
    ("dates", lambda m: m.run(source=IDS), heddle.InvalidArgument,
     "inputs are source, expected source and target"),
    ("dates", lambda m: m.run(source=IDS, target=IDS * 2), heddle.InvalidArgument,
     "1 sources and 2 targets"),
    ("dates", lambda m: m.run(source=[[]], target=IDS), heddle.InvalidArgument,
     "source 1 has no tokens"),
    ("dates", lambda m: m.run(source=IDS, entry="decode"), heddle.NotFound, "no input 'source'"),
    # Generation.
    ("dates", lambda m: m.generate(3), heddle.WrongType, "sources is int"),
    ("dates", lambda m: m.generate([3.5]), heddle.WrongType, "source 1 is float"),
    ("dates", lambda m: m.generate([None]), heddle.WrongType, "source 1 is NoneType"),
    ("dates", lambda m: m.generate(BAD), heddle.InvalidArgument, "source 1 has a surrogate"),
    ("dates", lambda m: m.generate([[1, 2], [1, 448]]), heddle.OutOfRange,
     "source 2: source: token 2 is 448, expected 0 to 447"),
    ("dates", lambda m: m.generate([[1] * 300]), heddle.OutOfRange,
     "source 1: source has 300 tokens, expected at most 256"),
    ("dates", lambda m: m.generate([[]]), heddle.InvalidArgument, "source 1"),
    ("dates", lambda m: m.generate(np.ones((2, 3), np.float32)), heddle.InvalidArgument,
     "source has 6 floats, expected tokens"),
    ("dates", lambda m: m.generate("a", beam=0), heddle.InvalidArgument, "beam is 0, expected 1 to"),
    ("dates", lambda m: m.generate("a", sample=True, temperature=10**400), heddle.OutOfRange,
     "temperature is larger than any float"),
    ("dates", lambda m: m.generate("a", sample=True, temperature=1e300), heddle.OutOfRange,
     "temperature is 1e+300, expected one that a float of 32 bits has"),
    ("dates", lambda m: m.generate("a", sample=True, temperature=1e-320), heddle.OutOfRange,
     "temperature is 1e-320, expected one that a float of 32 bits has"),
    ("dates", lambda m: m.generate("a", beam="4"), heddle.WrongType, "beam is '4'"),
    ("dates", lambda m: m.generate("a", nbest=2), heddle.InvalidArgument,
     "nbest is 2, expected at most the beam"),
    ("dates", lambda m: m.generate("a", sample=True, beam=2), heddle.InvalidArgument,
     "beam is 2 with sampling"),
    ("dates", lambda m: m.generate("a", temperature=0.5), heddle.InvalidArgument,
     "temperature is given without sample=True"),
    ("dates", lambda m: m.generate("a", sample=True, temperature=0), heddle.InvalidArgument,
     "temperature is 0, expected a finite number above 0"),
    ("dates", lambda m: m.generate("a", sample=True, temperature=float("nan")),
     heddle.InvalidArgument, "temperature is nan"),
    ("dates", lambda m: m.generate("a", sample=True, top_p=2), heddle.InvalidArgument, "top-p is 2"),
    ("dates", lambda m: m.generate("a", sample=True, seed=-1), heddle.OutOfRange, "seed is -1"),
    ("dates", lambda m: m.generate("a", length_penalty="x"), heddle.WrongType, "length_penalty is 'x'"),
    ("dates", lambda m: m.generate("a", rules="mine"), heddle.InvalidArgument,
     "rules is 'mine', expected one of paper, transformers, ctranslate2"),
    ("dates", lambda m: m.generate("a", early_stopping="yes"), heddle.WrongType,
     "early_stopping is 'yes', expected True, False or 'never'"),
    ("dates", lambda m: m.generate("a", max_length=10**6), heddle.OutOfRange, "maximum length is"),
    ("dates", lambda m: m.generate("a", command=1), heddle.InvalidArgument,
     "command is 1, expected none"),
    ("dates", lambda m: m.generate("a", suppressed=[9999]), heddle.OutOfRange, "9999"),
    ("dates", lambda m: m.generate(["a", "b"], prefix=["1"]), heddle.InvalidArgument,
     "prefix has 1 elements, expected 2"),
    ("dates", lambda m: m.generate(["a"], prefix="1"), heddle.WrongType, "prefix is str"),
    ("dates", lambda m: m.generate("a", prefix=3), heddle.WrongType, "prefix 1 is int"),
    ("dates", lambda m: m.generate("a", shortlist=[9999]), heddle.OutOfRange, "9999"),
    ("dates", lambda m: m.generate("a", wrong=1), TypeError, "unexpected keyword argument 'wrong'"),
    ("dates", lambda m: asyncio.run(m.agenerate("a", wrong=1)), heddle.WrongType,
     "unknown option 'wrong', expected one of alternatives"),
    ("dates", lambda m: m.stream(["a"]), heddle.WrongType, "source is list, expected one text"),
    ("dates", lambda m: m.score(["a"], ["b", "c"]), heddle.InvalidArgument,
     "targets has 2 elements, expected 1"),
    ("dates", lambda m: m.score(["a"], [[9999]]), heddle.OutOfRange, "9999"),
]


@pytest.mark.parametrize("model, call, kind, message", WRONG, ids=[case[3] for case in WRONG])
def test_wrong_uses(request, model, call, kind, message):
    with pytest.raises(kind) as caught:
        call(request.getfixturevalue(model))
    assert message in str(caught.value)


@pytest.mark.parametrize("call, kind, message", [
    (lambda p: heddle.load(p.parent / "none.so"), heddle.Error, "none.so"),
    (lambda p: heddle.load(3), heddle.WrongType, "path is int"),
    (lambda p: heddle.load("a\0b"), heddle.InvalidArgument, "without a zero byte"),
    (lambda p: heddle.load(p, threads=0), heddle.OutOfRange, "threads is 0, expected 1 to"),
    (lambda p: heddle.load(p, threads="2"), heddle.WrongType, "threads is '2'"),
    (lambda p: heddle.load(p, device="gpu"), heddle.InvalidArgument,
     'device "gpu", expected cpu, cuda, cuda:N or auto'),
    (lambda p: heddle.load(p, device="cuda:9"), heddle.NotFound, 'device "cuda:9"'),
    (lambda p: heddle.load(p, device=0), heddle.WrongType, "device is 0, expected str"),
    (lambda p: heddle.load(p, isa="arm"), heddle.Error, "arm"),
    (lambda p: heddle.load(p, cache_bytes=0), heddle.OutOfRange, "cache_bytes is 0"),
    (lambda p: heddle.load(p, batch_tokens=0), heddle.OutOfRange, "batch_tokens is 0"),
    (lambda p: heddle.load(__file__), heddle.InvalidArgument, "not an ELF file"),
    (lambda p: heddle.info(__file__), heddle.InvalidArgument, "not an ELF file"),
    (lambda p: heddle.info(None), heddle.WrongType, "path is NoneType"),
])
def test_wrong_loads(encoder_path, call, kind, message):
    from pathlib import Path
    with pytest.raises(kind) as caught:
        call(Path(encoder_path))
    assert message in str(caught.value)


@pytest.mark.parametrize("path, call", [
    ("encoder", lambda m: m.encode("a")), ("encoder", lambda m: asyncio.run(m.aencode("a"))),
    ("encoder", lambda m: m.run(input_ids=IDS)), ("encoder", lambda m: m.tokenize("a")),
    ("encoder", lambda m: m.get_sentence_embedding_dimension()), ("encoder", lambda m: m.isa),
    ("encoder", lambda m: m.device), ("encoder", lambda m: m.profile(shapes=[(1, 4)], runs=1)),
    ("encoder", lambda m: m.analyze(["a b"])), ("encoder", lambda m: m.alignments("a b")),
    ("dates", lambda m: m.generate("a")), ("dates", lambda m: m.translate("a")),
    ("dates", lambda m: list(m.stream("a"))), ("dates", lambda m: m.score("a", "b")),
    ("dates", lambda m: asyncio.run(m.agenerate("a"))), ("dates", lambda m: m.decode([5])),
    ("dates", lambda m: m.run(source=IDS, target=IDS)), ("dates", lambda m: m.cache_use()),
    ("talker", lambda m: m.chat([{"role": "user", "content": "a"}])),
    ("talker", lambda m: m.chat_prompt([{"role": "user", "content": "a"}])),
    ("talker", lambda m: list(m.stream_chat([{"role": "user", "content": "a"}]))),
    ("ranker", lambda m: m.classify("a")), ("ranker", lambda m: m.rerank("a", ["b"])),
])
def test_use_after_close(request, path, call):
    model = heddle.load(request.getfixturevalue(f"{path}_path"))
    model.close()
    model.close()
    with pytest.raises(heddle.InvalidArgument, match="the model is closed"):
        call(model)


@pytest.mark.parametrize("last, kind, message", [
    (None, heddle.WrongType, "text 1000000 is NoneType, expected str"),
    (BAD, heddle.InvalidArgument, "text 1000000 has a surrogate"),
])
def test_the_last_of_a_million_texts_is_wrong(encoder, last, kind, message):
    """Nothing is computed before all of them are known to be texts."""
    done = []
    with pytest.raises(kind, match=message):
        encoder._core.embed(["a"] * 999_999 + [last], np.empty((10**6, 72), np.float32), 32, False, done.append)
    assert not done


def test_a_million_texts(encoder):
    """All are read; a tenth of them is computed, which takes seconds."""
    texts = ["a", "b"] * 500_000
    ids = encoder.tokenize(texts)
    assert len(ids) == 10**6 and ids[::2] == [[2, 4, 3]] * 500_000
    rows = encoder.encode(texts[:100_000], batch_size=1024)
    assert np.array_equal(rows, np.tile(encoder.encode(["a", "b"]), (50_000, 1)))


def closed_stream(model):
    stream = model.stream("3. Mai 1984")
    next(stream)
    stream.close()
    return next(stream)


def emptied_stream(model):
    stream = model.stream("3. Mai 1984")
    list(stream)
    return next(stream)


async def awaited_twice(model):
    answer = model.agenerate("3. Mai 1984")
    await answer
    return await answer


@pytest.mark.parametrize("call, kind", [
    (closed_stream, StopIteration), (emptied_stream, StopIteration),
    (lambda m: asyncio.run(awaited_twice(m)), RuntimeError),
])
def test_calls_in_the_wrong_order(dates, call, kind):
    with pytest.raises(kind):
        call(dates)
    assert dates.generate("3. Mai 1984")


@pytest.mark.parametrize("arrange", [
    np.asfortranarray, lambda a: a[::-1].copy()[::-1], lambda a: a.astype(">i8"), lambda a: a.astype(np.uint8),
    lambda a: np.repeat(a, 2, axis=1)[:, ::2], lambda a: a.T.copy().T,
], ids=["columns", "backwards", "big endian", "one byte", "every second", "transposed"])
def test_arrays_in_another_order_of_memory(encoder, arrange):
    ids = np.array([[2, 5, 6, 3], [2, 9, 10, 3]])
    rows = encoder.run(input_ids=ids, entry="embed")["embedding"]
    assert np.array_equal(encoder.run(input_ids=arrange(ids), entry="embed")["embedding"], rows)


def test_a_list_that_shrinks_while_it_is_read(encoder):
    texts = ["a"] * 10
    with pytest.raises(heddle.InvalidArgument, match="has become shorter"):
        encoder._core.embed(texts, np.empty((10, 72), np.float32), 2, False,
                            lambda done: texts.clear())


def test_an_exception_of_the_progress_goes_through(encoder):
    def stop(done):
        raise KeyError(done)
    with pytest.raises(KeyError):
        encoder._core.embed(["a"] * 4, np.empty((4, 72), np.float32), 2, False, stop)


def test_every_kind_of_failure_has_a_class():
    assert {number for number in _core.status_codes().values() if number} == set(_errors.CLASSES) - {-1}
    assert all(issubclass(each, heddle.Error) for each in _errors.CLASSES.values())


def test_the_classes_are_those_of_python():
    for kind, python in [(heddle.InvalidArgument, ValueError), (heddle.WrongType, TypeError),
                         (heddle.NotFound, LookupError), (heddle.ResourceExhausted, MemoryError),
                         (heddle.InputOutput, OSError), (heddle.Unsupported, NotImplementedError)]:
        assert issubclass(kind, python) and issubclass(kind, heddle.Error)


def test_a_sentence_that_does_not_fit(dates_path):
    model = heddle.load(dates_path, cache_bytes=4096)
    with pytest.raises(heddle.ResourceExhausted, match="source 1: the sentence does not fit"):
        model.generate(["3. Mai 1984"] * 3)


def test_importing_takes_little():
    """Modules of Python that take long to import come with the calls that need them."""
    late = ["asyncio", "subprocess", "tempfile", "importlib.metadata", "torch"]
    code = f"import numpy, sys; before = set(sys.modules); import heddle; print([m for m in {late} " \
           "if m in sys.modules and m not in before])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_rows_that_are_no_floats_of_32_bits():
    """What reads rows checks them alike, whatever the model."""
    from heddle import _arguments as arguments
    with pytest.raises(heddle.WrongType, match="x is a ragged list, expected floats"):
        arguments.rows("x", [[1.0] * 16, [2.0]])
    with pytest.raises(heddle.OutOfRange, match=r"x has the number 1e\+300"):
        arguments.rows("x", np.full((1, 2), 1e300))
    assert np.isinf(arguments.rows("x", np.full((1, 2), np.inf))).all()
    assert arguments.rows("x", [[1, 2.5]]).tolist() == [[1, 2.5]]
