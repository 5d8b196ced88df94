# SPDX-License-Identifier: Apache-2.0
"""From a PyTorch training run to a folder that the compiler reads. PyTorch itself is not needed: the
tensors say what they are."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _safetensors
from ._compile import Path
from ._errors import InvalidArgument, WrongType


def save(state_dict: Mapping[str, Any], config: Mapping[str, Any], folder: Path, *,
         tokenizer: Union[Path, Sequence[Path], None] = None) -> str:
    """Writes a model's folder: config.json, model.safetensors and the files of its tokenizer.

    The names of tensors and the keys of the configuration are those of the format that "model_type"
    names: "transformer" is the project's own, docs/model-format.md; a folder of another family has
    the names of its own. What does not fit, ``heddle.compile`` says.

    Args:
        state_dict: what ``module.state_dict()`` gives, or numpy arrays by name. float32, float16 and
            bfloat16 stay what they are, float64 becomes float32.
        config: the configuration, with "model_type".
        folder: where to; it is made if it is missing.
        tokenizer: files to put beside them, such as a tokenizer.json.

    Returns:
        The folder, for ``heddle.compile``.
    """
    if not isinstance(state_dict, Mapping) or not all(isinstance(each, str) for each in state_dict):
        raise WrongType(f"state_dict is {type(state_dict).__name__}, expected tensors by name")
    if not state_dict:
        raise InvalidArgument("state_dict has no tensors, expected those of a model")
    if not isinstance(config, Mapping):
        raise WrongType(f"config is {type(config).__name__}, expected a dict")
    if not isinstance(config.get("model_type"), str):
        raise InvalidArgument(f"config has the model_type {config.get('model_type')!r}, expected a name "
                              "such as \"transformer\"")
    try:
        text = json.dumps(dict(config), indent=2, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidArgument(f"config: {problem}, expected what JSON has") from None
    files = [] if tokenizer is None else [tokenizer] if isinstance(tokenizer, (str, os.PathLike)) \
        else list(tokenizer)
    for file in files:
        if not os.path.isfile(file):
            raise InvalidArgument(f"tokenizer is {os.fspath(file)!r}, expected a file")
    path = os.fspath(folder)
    os.makedirs(path, exist_ok=True)
    _safetensors.write(os.path.join(path, "model.safetensors"), state_dict)
    _safetensors.whole_file(os.path.join(path, "config.json"), lambda file: file.write(text + b"\n"))
    for file in files:
        shutil.copy(file, path)
    return path


__all__ = ["save"]
