# SPDX-License-Identifier: Apache-2.0
"""heddle.torch.save: a folder that compiles to what the tensors came from. The tensors are numpy's and
such as PyTorch has; the package is not installed here."""

import json
import struct

import numpy as np
import heddle
import heddle.torch
import pytest
from conftest import ROOT

MODEL = ROOT / "examples/dates/model"


def tensors_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    types = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8"}
    return {name: (each["dtype"], np.frombuffer(
        data, types[each["dtype"]], offset=8 + size + each["data_offsets"][0],
        count=int(np.prod(each["shape"]))).reshape(each["shape"])) for name, each in header.items()}


class TensorLike:
    """The calls that a tensor of PyTorch gets."""

    def __init__(self, values):
        self.values, self.dtype = values, f"torch.{values.dtype}"

    def detach(self):
        return self

    cpu = contiguous = detach

    def numpy(self):
        return self.values


def test_a_saved_model_is_the_same(dates, tmp_path):
    read = tensors_of(MODEL / "model.safetensors")
    config = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
    folder = heddle.torch.save({name: TensorLike(values) for name, (_, values) in read.items()}, config,
                               tmp_path / "deep" / "saved", tokenizer=MODEL / "tokenizer.json")
    again = tensors_of(tmp_path / "deep" / "saved" / "model.safetensors")
    assert {name: element for name, (element, _) in again.items()} == {
        name: element for name, (element, _) in read.items()}
    model = heddle.load(heddle.compile(folder, tmp_path / "saved.so"))
    assert model.generate(["3. Mai 1984"], beam=2) == dates.generate(["3. Mai 1984"], beam=2)
    assert sorted(path.name for path in (tmp_path / "deep" / "saved").iterdir()) == [
        "config.json", "model.safetensors", "tokenizer.json"]


def test_elements(tmp_path):
    given = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.float16([1.5]), "c": np.array([7, 8]),
             "d": np.arange(3, dtype=">f4")}
    heddle.torch.save(given, {"model_type": "x"}, tmp_path)
    found = tensors_of(tmp_path / "model.safetensors")
    assert [found[name][0] for name in "abcd"] == ["F32", "F16", "I64", "F32"]
    for name, values in given.items():
        assert np.array_equal(found[name][1], values)


@pytest.mark.parametrize("call, kind, message", [
    (lambda p: heddle.torch.save([1], {"model_type": "x"}, p), heddle.WrongType, "state_dict is list"),
    (lambda p: heddle.torch.save({3: 1}, {"model_type": "x"}, p), heddle.WrongType, "tensors by name"),
    (lambda p: heddle.torch.save({}, {"model_type": "x"}, p), heddle.InvalidArgument, "has no tensors"),
    (lambda p: heddle.torch.save({"a": "b"}, {"model_type": "x"}, p), heddle.WrongType,
     "'a' has elements of <U1"),
    (lambda p: heddle.torch.save({"a": np.ones(1)}, {}, p), heddle.InvalidArgument, "model_type None"),
    (lambda p: heddle.torch.save({"a": np.ones(1)}, "x", p), heddle.WrongType, "config is str"),
    (lambda p: heddle.torch.save({"a": np.ones(1)}, {"model_type": "x", "y": {1, 2}}, p),
     heddle.InvalidArgument, "expected what JSON has"),
    (lambda p: heddle.torch.save({"a": np.ones(1)}, {"model_type": "x"}, p, tokenizer="none.json"),
     heddle.InvalidArgument, "tokenizer is 'none.json', expected a file"),
])
def test_wrong_uses(tmp_path, call, kind, message):
    with pytest.raises(kind) as caught:
        call(tmp_path / "m")
    assert message in str(caught.value)
    assert not (tmp_path / "m" / "model.safetensors").exists()
