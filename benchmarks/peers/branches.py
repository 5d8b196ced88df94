#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variants of the Transformer as random models of base size, and other engines on their encoders.

    branches.py make WORK_FOLDER --models standard,weighted
    branches.py time WORK_FOLDER --engine openvino --model weighted --shapes 1x128,8x128

`make` writes WORK_FOLDER/NAME: a checkpoint in the project's own format (tests/oracles/reference.py
defines the mathematics, and is what the other engines get), and encoder.onnx for the models whose
encoders are compared. A model that is there already is kept.

`time` prints one JSON line per shape: token ids to the encoder's output on full rows, the median of
at least five runs and two seconds, after three runs to warm up, on the first cores. `heddle bench
--shapes` does the same and prints the same keys.
"""

import argparse
import importlib.util
import json
import os
import statistics
import time
from pathlib import Path

BASE = {"model_type": "transformer", "vocab_size": 32000, "d_model": 512, "encoder_layers": 6,
        "decoder_layers": 6, "heads": 8, "d_ff": 2048, "norm": "post", "layer_norm_eps": 1e-6,
        "positions": "sinusoidal", "max_positions": 512, "tie_embeddings": True,
        "activation": "relu", "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SHARED = {"self_attention_sharing": [1, 5], "cross_attention_sharing": [4, 2]}
AVERAGE = {"decoder_self_attention": "average"}
DEEP = {"decoder_layers": 12}
# What differs from the base size, by name.
MODELS = {
    "standard": {},
    "weighted": {"branches": {"count": 8, "ffn": "per-branch"}},
    "san": SHARED,
    "average": AVERAGE,
    "san-average": {**AVERAGE, "cross_attention_sharing": [4, 2]},
    "deep": DEEP,
    "deep-san": {**DEEP, "self_attention_sharing": [2, 10], "cross_attention_sharing": [8, 4]},
}
# Encoders of other sizes with branches: width, inner width, branches.
for width, inner, count in [(128, 512, 4), (256, 1024, 4), (512, 2048, 2), (512, 2048, 8),
                            (1024, 4096, 16)]:
    MODELS[f"branches-{width}-{inner}-{count}"] = {
        "d_model": width, "d_ff": inner, "heads": count, "encoder_layers": 2, "decoder_layers": 1,
        "vocab_size": 4000, "branches": {"count": count, "ffn": "per-branch"}}
# Decoders all of whose layers have the first one's keys and values of the source, as other weights of
# the same content: nothing in these files says that they may be shared.
EQUAL = {f"equal-{width}-{inner}": {"d_model": width, "d_ff": inner, "encoder_layers": 1,
                                    "vocab_size": 4000}
         for width, inner in [(128, 512), (256, 1024), (512, 2048)]}
MODELS.update(EQUAL)
COMPARED = ["standard", "weighted"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "time"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--models", default=",".join(MODELS), help="make: these")
    parser.add_argument("--engine", default="openvino",
                        choices=["openvino", "onnxruntime", "torch", "torch-compile"])
    parser.add_argument("--model", default="weighted", choices=COMPARED)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shapes", default="1x128,8x128", help="SENTENCESxTOKENS, ...")
    return parser.parse_args()


options = parse()
if options.what == "time":
    # Before any engine is imported: they read these once.
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(options.threads)
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.threads]))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

ORACLE = Path(__file__).resolve().parents[2] / "tests" / "oracles" / "reference.py"
specification = importlib.util.spec_from_file_location("reference", ORACLE)
reference = importlib.util.module_from_spec(specification)
specification.loader.exec_module(reference)


class Encoder(torch.nn.Module):
    """Token ids to the encoder's output."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model.encode(ids)


def write_model(name, folder):
    config = {**BASE, **MODELS[name]}
    torch.manual_seed(0)
    model = reference.Transformer(config).eval()
    for parameter, values in model.named_parameters():
        if parameter.endswith(("kappa", "alpha")):
            values.data = reference.project_simplex(torch.rand(values.shape))
    if name in EQUAL:
        first, *others = (layer.cross_attention for layer in model.decoder.layers)
        for other in others:
            other.key.load_state_dict(first.key.state_dict())
            other.value.load_state_dict(first.value.state_dict())
    # So that logits are of the size that trained models have.
    model.shared.weight.data *= config["d_model"] ** -0.5
    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: value.contiguous() for key, value in model.state_dict().items()},
              folder / "model.safetensors")
    if name in COMPARED:
        ids = torch.randint(4, config["vocab_size"], (2, 128))
        torch.onnx.export(Encoder(model), (ids,), folder / "encoder.onnx", input_names=["ids"],
                          output_names=["h"], dynamic_axes={"ids": {0: "b"}, "h": {0: "b"}},
                          opset_version=18, dynamo=False)
    # Last: a folder with it is whole.
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def torch_engine(folder):
    torch.set_num_threads(options.threads)
    model = reference.Transformer(json.loads((folder / "config.json").read_text())).eval()
    model.load_state_dict(load_file(folder / "model.safetensors"))
    encoder = Encoder(model)
    if options.engine == "torch-compile":
        encoder = torch.compile(encoder, dynamic=False, options={"freezing": True})

    def run(ids):
        with torch.inference_mode():
            return encoder(torch.from_numpy(ids))
    return run


def openvino_engine(folder):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(folder / "encoder.onnx"), "CPU",
        {"INFERENCE_NUM_THREADS": options.threads, "PERFORMANCE_HINT": "LATENCY",
         "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    return lambda ids: request.infer({"ids": ids})


def onnxruntime_engine(folder):
    import onnxruntime
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(folder / "encoder.onnx", session_options,
                                           providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"ids": ids})


def time_shape(run, shape):
    sentences, tokens = map(int, shape.split("x"))
    ids = np.random.default_rng(0).integers(4, BASE["vocab_size"], (sentences, tokens))
    ids = ids.astype(np.int64)
    for _ in range(3):
        run(ids)
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < 2:
        begin = time.perf_counter()
        run(ids)
        times.append(time.perf_counter() - begin)
    seconds = statistics.median(times)
    return {"engine": options.engine, "model": options.model, "threads": options.threads,
            "shape": shape, "tokens": sentences * tokens, "ms": round(seconds * 1e3, 3),
            "tokens_per_s": round(sentences * tokens / seconds, 1)}


def main():
    if options.what == "make":
        for name in options.models.split(","):
            if not (options.work / name / "config.json").exists():
                write_model(name, options.work / name)
        return
    engine = {"openvino": openvino_engine, "onnxruntime": onnxruntime_engine}
    run = engine.get(options.engine, torch_engine)(options.work / options.model)
    for shape in options.shapes.split(","):
        print(json.dumps(time_shape(run, shape)), flush=True)


main()
