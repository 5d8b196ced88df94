# SPDX-License-Identifier: Apache-2.0
"""Embeddings and entries: the bits of `heddle embed`, in any form of batch."""

import numpy as np
import heddle
from conftest import TEXTS, heddle_program


def embedded(path, texts, folder):
    lines = folder / "lines.txt"
    lines.write_text("\n".join(texts) + "\n", encoding="utf-8")
    heddle_program("embed", path, "--input", lines, "--output", folder / "rows.npy")
    return np.load(folder / "rows.npy")


def test_devices(encoder_path):
    # A model that has code for processors alone runs on one, whatever else there is.
    with heddle.load(encoder_path, device="auto") as model:
        assert model.device == "cpu"
        assert np.array_equal(model.encode("a", device="cpu"), heddle.load(encoder_path).encode("a"))


def test_bits_are_those_of_the_program(encoder, encoder_path, tmp_path):
    expected = embedded(encoder_path, TEXTS, tmp_path)
    for size in (1, 5, 32, 1000):
        rows = encoder.encode(TEXTS, batch_size=size)
        assert rows.dtype == np.float32 and rows.flags.c_contiguous
        assert rows.tobytes() == expected.tobytes()


def test_shapes(encoder):
    width = encoder.get_sentence_embedding_dimension()
    assert width == 72
    assert encoder.encode("hello").shape == (width,)
    assert encoder.encode(["hello"]).shape == (1, width)
    assert encoder.encode([]).shape == (0, width)
    assert encoder.encode(("a", "b")).shape == (2, width)
    assert encoder.encode(text for text in "ab").shape == (2, width)
    listed = encoder.encode(["a", "b"], convert_to_numpy=False)
    assert isinstance(listed, list) and listed[0].shape == (width,)


def test_normalize(encoder):
    rows = encoder.encode(TEXTS, normalize_embeddings=True)
    plain = encoder.encode(TEXTS)
    norms = np.linalg.norm(plain.astype(np.float64), axis=1, keepdims=True)
    np.testing.assert_allclose(rows, plain / norms, rtol=1e-6)


def test_prompt(encoder):
    assert np.array_equal(encoder.encode(["cat"], prompt="a "), encoder.encode(["a cat"]))


def test_progress(encoder, capfd):
    encoder.encode(["a"] * 3, batch_size=2, show_progress_bar=True)
    assert capfd.readouterr().err == "\rheddle: 2 of 3 texts\rheddle: 3 of 3 texts\n"


def test_tokenize(encoder):
    assert encoder.tokenize("ab") == [2, 4, 31, 3]
    assert encoder.tokenize(["a", "ab"]) == [[2, 4, 3], [2, 4, 31, 3]]


IDS = [[2, 5, 6, 3], [2, 7, 3], [2, 8, 9, 10, 11, 3]]


def test_forms_of_a_batch_give_the_same_bits(encoder):
    ragged = encoder.run(input_ids=IDS, entry="encode")
    assert [each.shape for each in ragged["last_hidden_state"]] == [(4, 72), (3, 72), (6, 72)]
    flat = encoder.run({"input_ids": np.concatenate(IDS)}, entry="encode", lengths=[4, 3, 6])
    joined = np.concatenate(ragged["last_hidden_state"])
    assert flat["last_hidden_state"].tobytes() == joined.tobytes()
    padded = np.zeros((3, 6), np.int64)
    mask = np.zeros((3, 6), bool)
    for i, ids in enumerate(IDS):
        padded[i, :len(ids)], mask[i, :len(ids)] = ids, True
    wide = encoder.run(input_ids=padded, attention_mask=mask, entry="encode")
    assert wide["last_hidden_state"].shape == (3, 6, 72)
    assert np.array_equal(wide["last_hidden_state"][mask], joined)
    assert not wide["last_hidden_state"][~mask].any()
    assert np.array_equal(wide["pooler_output"], ragged["pooler_output"])
    alone = encoder.run(input_ids=np.array([IDS[0]]), entry="encode", outputs=["pooler_output"])
    assert list(alone) == ["pooler_output"]
    assert np.array_equal(alone["pooler_output"][0], ragged["pooler_output"][0])


def test_large_batches_run_in_parts(encoder):
    many = [ids for _ in range(3000) for ids in IDS]
    rows = encoder.run(input_ids=many, entry="embed")["embedding"]
    assert np.array_equal(rows, np.tile(encoder.run(input_ids=IDS, entry="embed")["embedding"],
                                        (3000, 1)))


def test_info(encoder, encoder_path):
    about = heddle.info(encoder_path)
    assert about == encoder.info
    assert (about.model_type, about.precision, about.generates) == ("bert", "f32", False)
    assert list(about.entries) == ["encode", "embed"]
    port = about.entries["encode"].inputs[0]
    assert (port.name, port.element, port.shape, port.limit) == ("input_ids", "i32", ("tokens",), 211)
    assert about.entries["encode"].inputs[1].optional
    assert about.details["entries"][0]["name"] == "encode"
    assert encoder.isa in about.targets
