# SPDX-License-Identifier: Apache-2.0
"""Writes files of tensors. (The package safetensors is not needed to make one.)"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import WrongType

#: What the elements of arrays are called in files.
_ELEMENTS = {"float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "uint8": "U8",
             "int8": "I8"}


def stored(name: str, tensor: Any) -> tuple:
    """A tensor of numpy or PyTorch as (what its elements are called, an array with its bytes)."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().contiguous()
        if str(tensor.dtype) == "torch.bfloat16":
            # numpy has no such numbers: their bytes do.
            return "BF16", tensor.view(_like(tensor, "int16")).numpy()
        tensor = tensor.numpy()
    array = np.asarray(tensor)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    if array.dtype.name not in _ELEMENTS:
        raise WrongType(f"{name!r} has elements of {array.dtype}, expected floats or integers that "
                        "files of tensors have")
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return _ELEMENTS[array.dtype.name], little.reshape(array.shape)


def _like(tensor: Any, name: str) -> Any:
    """A type of elements of the package that a tensor is from, which is not imported here."""
    import sys
    return getattr(sys.modules[type(tensor).__module__.partition(".")[0]], name)


def write(path: Any, tensors: Mapping[str, Any]) -> None:
    """Writes tensors; the file appears under its name once it is complete."""
    header, offset, parts = {}, 0, []
    for name, tensor in tensors.items():
        element, values = stored(name, tensor)
        header[name] = {"dtype": element, "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
        parts.append(values)
    text = json.dumps(header).encode()
    # Tensors begin at a multiple of eight bytes.
    text += b" " * (-len(text) % 8)

    def fill(file: Any) -> None:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in parts:
            file.write(values.tobytes())

    whole_file(path, fill)


def whole_file(path: Any, fill: Any) -> None:
    """Writes a file that appears under its name once it is complete, or not at all."""
    folder = os.path.dirname(os.path.abspath(path))
    import tempfile
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".heddle-")
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
