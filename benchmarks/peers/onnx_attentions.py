#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many attentions other engines fuse in ONNX files, one JSON line per file.

    onnx_attentions.py MODELS_JSON

MODELS_JSON is tests/oracles/onnx/models.json; files that are not beside it are left out. Counted are
nodes that are a whole attention: in what ONNX Runtime makes of the graph when it loads it, in what
its tool for Transformers makes of it, and in what OpenVINO runs. Those that the file had as such
count too.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import onnx
import onnxruntime
import openvino
from onnxruntime.transformers import optimizer

FUSED = {"Attention", "MultiHeadAttention", "PackedAttention", "PackedMultiHeadAttention",
         "GroupQueryAttention", "DecoderMaskedMultiHeadAttention"}


def text(value):
    return value.astype(str) if hasattr(value, "astype") else str(value)


def nodes(graph):
    return sum(node.op_type in FUSED for node in graph.node)


def when_loaded(file):
    with tempfile.TemporaryDirectory() as folder:
        settings = onnxruntime.SessionOptions()
        settings.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        settings.log_severity_level = 4
        onnxruntime.InferenceSession(str(file), settings, providers=["CPUExecutionProvider"])
        return nodes(onnx.load(settings.optimized_model_filepath).graph)


def by_the_tool(file, kind, heads, width):
    return nodes(optimizer.optimize_model(str(file), kind, num_heads=heads,
                                          hidden_size=width).model.graph)


def as_run(file):
    compiled = openvino.Core().compile_model(str(file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    about = [each.get_rt_info() for each in compiled.get_runtime_model().get_ops()]
    kinds = [text(each["layerType"]) for each in about]
    # A softmax that became part of something larger: it is a subgraph from product to product.
    inside = [text(each["originalLayersNames"]).lower() for each, kind in zip(about, kinds)
              if kind in ("Subgraph", "ScaledDotProductAttention")]
    return sum("softmax" in names or "scaleddotproductattention" in names for names in inside)


def count(way, *arguments):
    """None where an engine does not take the file."""
    try:
        return way(*arguments)
    except Exception as error:  # Each engine has errors of its own.
        print(f"{arguments[0]}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None


def main():
    models = Path(sys.argv[1])
    for model in json.loads(models.read_text())["models"]:
        file = models.parent / model["file"]
        if file.exists():
            print(json.dumps({"file": model["file"], "attentions": model["attentions"],
                              "onnxruntime": count(when_loaded, file),
                              "optimizer": count(by_the_tool, file, *model["optimizer"]),
                              "openvino": count(as_run, file)}), flush=True)


main()
