#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of other engines on a sentence encoder, one JSON line per shape.

    encode.py MODEL_FOLDER WORK_FOLDER --engine openvino --threads 1 --shapes 1x16,32x128

Times token ids to the last hidden state (pooling costs next to nothing): the median of at least
five runs and two seconds, after three runs to warm up, on the first cores. `heddle bench` does the
same and prints the same keys.

--lengths FILE, one sentence length a line: encoded as one padded batch and again one sentence at a
time; the better of the two is what a user gets on ragged text.

--goldens FILE, a line of JSON for each text with its "ids" and its "embedding": one more line says
how near the engine's embeddings are, the least and the mean cosine. Every text runs alone, which is
the kindest to engines that share one scale of activations in a batch.
"""

import argparse
import json
import os
import statistics
import time

ENGINES = ["openvino", "openvino-bf16", "openvino-int8", "openvino-int4", "onnxruntime",
           "onnxruntime-int8", "onnxruntime-int4", "ctranslate2", "ctranslate2-int8", "torch", "torch-bf16", "torch-compile"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of the model")
    parser.add_argument("work", help="folder for the model in the engines' formats")
    parser.add_argument("--engine", required=True, choices=ENGINES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shapes", default="1x16,1x128,1x512,8x128,32x128")
    parser.add_argument("--lengths")
    parser.add_argument("--goldens")
    parser.add_argument("--exporter", default="torchscript", choices=["torchscript", "dynamo"],
                        help="which of PyTorch's exporters writes the ONNX file")
    return parser.parse_args()


options = parse()
# Before any engine is imported: they read these once.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(options.threads)
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.threads]))
os.makedirs(options.work, exist_ok=True)

import numpy as np  # noqa: E402
from transformers import AutoConfig  # noqa: E402

config = AutoConfig.from_pretrained(options.model)
# How many elements of a row share a scale in OpenVINO's products of 8 bits. Its own 32 takes a sixth
# longer at 1x16 and 1x128; 128 is also what int8-g128 has.
GROUP = 128
# And where weights have 4 bits, of both engines.
SMALL_GROUP = 32


def export_onnx():
    is_new = options.exporter == "dynamo"
    path = os.path.join(options.work, "model-dynamo.onnx" if is_new else "model.onnx")
    if os.path.exists(path):
        return path
    import torch
    from transformers import AutoModel

    class Body(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(options.model,
                                                  attn_implementation="sdpa" if is_new else "eager")
            self.model.eval()

        def forward(self, ids, mask):
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    ids = torch.randint(1, config.vocab_size, (2, 128))
    axes = {0: "b", 1: "s"}
    if is_new:
        # One file: weights beside it would have its name.
        sizes = {name: {0: torch.export.Dim("b"), 1: torch.export.Dim("s", max=512)}
                 for name in ("ids", "mask")}
        torch.onnx.export(Body(), (ids, torch.ones_like(ids)), input_names=["ids", "mask"],
                          output_names=["h"], dynamic_shapes=sizes, opset_version=18,
                          dynamo=True).save(path + ".part", external_data=False)
    else:
        torch.onnx.export(Body(), (ids, torch.ones_like(ids)), path + ".part",
                          input_names=["ids", "mask"], output_names=["h"],
                          dynamic_axes={"ids": axes, "mask": axes, "h": axes},
                          opset_version=18, dynamo=False)
    os.rename(path + ".part", path)
    return path


def torch_engine():
    import torch
    from transformers import AutoModel
    torch.set_num_threads(options.threads)
    model = AutoModel.from_pretrained(options.model, attn_implementation="sdpa").eval()
    if options.engine == "torch-bf16":
        model = model.to(torch.bfloat16)
    if options.engine == "torch-compile":
        model = torch.compile(model, dynamic=False, options={"freezing": True})

    def run(ids, mask):
        with torch.inference_mode():
            return model(input_ids=torch.from_numpy(ids),
                         attention_mask=torch.from_numpy(mask)).last_hidden_state
    return run


def onnxruntime_int8():
    """The model with products of 8 bits: a scale for each column of weights, one for all of the
    activations of a product."""
    path = os.path.join(options.work, "model-onnxruntime-int8.onnx")
    if os.path.exists(path):
        return path
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer
    # Attention becomes one operation, which has a quantised twin.
    fused = optimizer.optimize_model(export_onnx(), "bert", num_heads=config.num_attention_heads,
                                     hidden_size=config.hidden_size)
    fused.save_model_to_file(path + ".fused")
    # The types of results of fused operations are not known to it.
    quantize_dynamic(path + ".fused", path + ".part", per_channel=True,
                     weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    os.remove(path + ".fused")
    os.rename(path + ".part", path)
    return path


def onnxruntime_int4():
    """The model with weights of 4 bits, a scale and a zero for every 32 of a column; products
    quantise their rows in the same groups (accuracy level 4)."""
    path = os.path.join(options.work, "model-onnxruntime-int4.onnx")
    if os.path.exists(path):
        return path
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    # Fused attention has no twin of 4 bits: its products stay nodes of their own.
    quantizer = MatMulNBitsQuantizer(onnx.load(export_onnx()), block_size=SMALL_GROUP,
                                     is_symmetric=False, accuracy_level=4)
    quantizer.process()
    quantizer.model.save_model_to_file(path + ".part")
    os.rename(path + ".part", path)
    return path


def onnxruntime_engine():
    import onnxruntime
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    make = {"onnxruntime-int8": onnxruntime_int8, "onnxruntime-int4": onnxruntime_int4}
    path = make.get(options.engine, export_onnx)()
    session = onnxruntime.InferenceSession(path, session_options,
                                           providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"ids": ids, "mask": mask})[0]


def openvino_quantized():
    """The model with weights of 8 bits, a scale and a zero point for each column, or of 4 bits with
    them for every 32 elements, where tables and the like have 8 bits."""
    path = os.path.join(options.work, f"model-{options.engine}.xml")
    if os.path.exists(path):
        return path
    import nncf
    import openvino
    groups = {"mode": nncf.CompressWeightsMode.INT8_ASYM}
    if options.engine.endswith("int4"):
        groups = {"mode": nncf.CompressWeightsMode.INT4_ASYM, "group_size": SMALL_GROUP,
                  "ratio": 1.0}
    model = nncf.compress_weights(openvino.Core().read_model(export_onnx()), **groups)
    openvino.save_model(model, path, compress_to_fp16=False)
    return path


def openvino_engine():
    import openvino
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": options.threads, "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": "f32"}
    path = None
    if options.engine.endswith("bf16"):
        settings["INFERENCE_PRECISION_HINT"] = "bf16"
    if options.engine.endswith(("int8", "int4")):
        # Rows are quantised only where they are f32; in bf16 weights would be widened instead.
        is_small = options.engine.endswith("int4")
        settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = SMALL_GROUP if is_small else GROUP
        path = openvino_quantized()
    compiled = core.compile_model(core.read_model(path or export_onnx()), "CPU", settings)
    request = compiled.create_infer_request()
    return lambda ids, mask: request.infer({"ids": ids, "mask": mask})[0]


def ctranslate2_engine():
    import ctranslate2
    path = os.path.join(options.work, "ctranslate2")
    if not os.path.exists(path):
        ctranslate2.converters.TransformersConverter(options.model).convert(path)
    precision = "int8" if options.engine.endswith("int8") else "float32"
    encoder = ctranslate2.Encoder(path, device="cpu", compute_type=precision,
                                  intra_threads=options.threads)

    def run(ids, mask):
        texts = [row[:int(seen.sum())].tolist() for row, seen in zip(ids, mask)]
        return np.array(encoder.forward_batch(texts).last_hidden_state)
    return run


def timed(run, random, name, batches):
    """batches: lists of lengths, run one after the other as one piece of work."""
    made = []
    for lengths in batches:
        longest = max(lengths)
        ids = random.integers(1000, config.vocab_size, (len(lengths), longest)).astype(np.int64)
        mask = np.arange(longest)[None] < np.array(lengths)[:, None]
        made.append((ids, mask.astype(np.int64)))

    def work():
        for ids, mask in made:
            run(ids, mask)

    for _ in range(3):
        work()
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < 2:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    median, tokens = statistics.median(times), sum(map(sum, batches))
    print(json.dumps({"engine": options.engine, "threads": options.threads, "shape": name,
                      "tokens": tokens, "ms": round(median * 1e3, 4),
                      "exporter": options.exporter,
                      "tokens_per_s": round(tokens / median, 1)}), flush=True)


def compare(run, path):
    """Cosines of means over tokens with the embeddings of the goldens."""
    cosines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            golden = json.loads(line)
            ids = np.array([golden["ids"]], np.int64)
            states = run(ids, np.ones_like(ids))
            # PyTorch's tensors of bf16 have no twin in numpy.
            if hasattr(states, "float"):
                states = states.float().numpy()
            mean, wanted = np.mean(states[0], axis=0, dtype=np.float64), golden["embedding"]
            cosines.append(mean @ wanted / np.linalg.norm(mean) / np.linalg.norm(wanted))
    print(json.dumps({"engine": options.engine, "least_cosine": round(min(cosines), 6),
                      "mean_cosine": round(statistics.mean(cosines), 6)}), flush=True)


def main():
    engines = {"torch": torch_engine, "onnxruntime": onnxruntime_engine,
               "openvino": openvino_engine, "ctranslate2": ctranslate2_engine}
    run = engines[options.engine.split("-")[0]]()
    if options.goldens:
        compare(run, options.goldens)
    random = np.random.default_rng(0)
    for shape in filter(None, options.shapes.split(",")):
        sentences, tokens = map(int, shape.split("x"))
        timed(run, random, shape, [[tokens] * sentences])
    if options.lengths:
        with open(options.lengths, encoding="utf-8") as file:
            lengths = [int(line) for line in file]
        timed(run, random, "lengths-padded", [lengths])
        timed(run, random, "lengths-one-by-one", [[length] for length in lengths])


main()
