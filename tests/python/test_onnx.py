# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX graphs take rectangles with padding anywhere, as their graphs do."""

import json
import struct

import heddle
import numpy as np
import pytest
from conftest import ROOT
from heddle.integrations.onnxruntime import InferenceSession

FOLDER = ROOT / "tests/oracles/onnx/bert"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    file = FOLDER / "dynamo-eager-op18.onnx"
    return heddle.load(heddle.compile(file, tmp_path_factory.mktemp("onnx") / "model.so"))


def tensors(name, folder=FOLDER):
    """The arrays of a safetensors file."""
    data = (folder / f"{name}.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    types = {"I32": np.int32, "I64": np.int64, "F32": np.float32}
    found = {}
    for key, about in json.loads(data[8:8 + size]).items():
        if key != "__metadata__":
            begin, end = about["data_offsets"]
            flat = np.frombuffer(data[8 + size + begin:8 + size + end], types[about["dtype"]])
            found[key] = flat.reshape(about["shape"])
    return found


@pytest.mark.parametrize("case", ["padded", "full", "holes"])
def test_rectangles(model, case):
    given, expected = tensors(f"{case}.inputs"), tensors(f"{case}.outputs")
    visible = given["attention_mask"] == 1
    results = model.run(given)
    rows = results["last_hidden_state"]
    assert np.abs(rows[visible] - expected["last_hidden_state"][visible]).max() < 1e-4
    assert not rows[~visible].any()
    # The summary of a sequence is that of its first column, which may be padding.
    pooled = results["pooler_output"]
    assert np.abs(pooled - expected["pooler_output"])[visible[:, 0]].max() < 1e-4
    assert not pooled[~visible[:, 0]].any()


def test_the_mask_is_a_keyword_too(model):
    given = tensors("holes.inputs")
    mask = given.pop("attention_mask")
    by_keyword = model.run(given, attention_mask=mask)["last_hidden_state"]
    assert (by_keyword == model.run(tensors("holes.inputs"))["last_hidden_state"]).all()


def test_numbers_of_tokens_instead_of_a_mask(tmp_path):
    folder = FOLDER.parent / "attention-lengths"
    model = heddle.load(heddle.compile(folder / "hand-op17.onnx", tmp_path / "model.so"))
    given, expected = tensors("padded.inputs", folder), tensors("padded.outputs", folder)
    visible = np.arange(given["x"].shape[1]) < given["lengths"][:, np.newaxis]
    rows = model.run(given)["y"]
    assert np.abs(rows[visible] - expected["y"][visible]).max() < 1e-4
    assert not rows[~visible].any()
    with pytest.raises(heddle.InvalidArgument, match="lengths has other numbers of columns"):
        model.run({**given, "lengths": np.full_like(given["lengths"], 99)})


def test_padding_between_tokens_that_know_their_distances(tmp_path):
    folder = FOLDER.parent / "t5-encoder"
    model = heddle.load(heddle.compile(folder / "dynamo-eager-op18.onnx", tmp_path / "model.so"))
    given, expected = tensors("holes.inputs", folder), tensors("holes.outputs", folder)
    visible = given["attention_mask"] == 1
    rows = model.run(given)["last_hidden_state"]
    assert np.abs(rows[visible] - expected["last_hidden_state"][visible]).max() < 1e-4


def test_a_mask_for_a_model_that_finds_padding_by_ids(tmp_path):
    program = tmp_path / "program.mlir"
    program.write_text('''
        transformer.parameter @table : tensor<3x8xf32> from "table"
        func.func @run(%ids: tensor<?xi32> {transformer.name = "input_ids", transformer.pad = 0 : i32},
                       %rows: !transformer.segments) -> (tensor<?x8xf32> {transformer.name = "y"}) {
          %x = transformer.gather @table[%ids] : tensor<?x8xf32>
          return %x : tensor<?x8xf32>
        }''')
    weights = ROOT / "tests/EndToEnd/RandomPrograms/kept/columns-of-joined-heads.safetensors"
    model = heddle.load(heddle.compile(program, tmp_path / "model.so", weights=weights))
    assert not model.run({"input_ids": np.array([[2, 1, 0]])})["y"][0, 2].any()
    with pytest.raises(heddle.InvalidArgument, match="finds padding by its ids, expected None"):
        model.run({"input_ids": np.array([[2, 1, 0]])}, attention_mask=[[1, 1, 0]])


def test_sessions_list_inputs_once(model):
    names = [each.name for each in InferenceSession(model).get_inputs()]
    assert sorted(names) == sorted(set(names)) and "attention_mask" in names


def test_padding_between_tokens_that_are_counted(tmp_path):
    model = heddle.load(heddle.compile(FOLDER / "ort-eager-op17.onnx", tmp_path / "model.so"))
    with pytest.raises(heddle.InvalidArgument, match="has padding before its last token"):
        model.run(tensors("holes.inputs"))


def test_what_no_mask_is(model, tmp_path):
    # This one sums the numbers of its mask; others ask whether they are 0.
    summing = heddle.load(heddle.compile(FOLDER / "ort-eager-op17.onnx", tmp_path / "model.so"))
    given = dict(tensors("full.inputs"))
    given["attention_mask"] = given["attention_mask"] * 2
    with pytest.raises(heddle.InvalidArgument, match="expected ones and zeros"):
        summing.run(given)
    port = {each.name: each for each in model.info.entries["run"].inputs}["attention_mask"]
    assert (port.optional, port.pad) == (True, 0)


def test_images_of_one_size(tmp_path):
    """Images come as the graph has them; each is a row of the program."""
    folder = ROOT / "tests/oracles/onnx/vit"
    images = heddle.load(heddle.compile(folder / "dynamo-sdpa-op18.onnx", tmp_path / "vit.so"))
    given = tensors("padded.inputs", folder)["pixel_values"]
    expected = tensors("padded.outputs", folder)["last_hidden_state"]
    states = images.run({"pixel_values": given})["last_hidden_state"]
    assert states.shape == expected.shape == (3, 17, 24)
    np.testing.assert_allclose(states, expected, atol=1e-5)
    flat = images.run({"pixel_values": given.reshape(3, -1)})["last_hidden_state"]
    np.testing.assert_array_equal(flat, states)
    with pytest.raises(heddle.InvalidArgument, match=r"pixel_values has the shape \[3, 3, 20, 19\]"):
        images.run({"pixel_values": given[..., :19]})
