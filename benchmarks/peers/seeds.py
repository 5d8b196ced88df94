#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recurrent, MultiModel and windowed models of realistic size, and other engines on them.

    seeds.py make WORK_FOLDER --models bilstm,window
    seeds.py check WORK_FOLDER --models bilstm,window
    seeds.py time WORK_FOLDER --engine openvino

`make` writes WORK_FOLDER/NAME: a checkpoint with random weights in the project's own format, and
ONNX files of the same weights. A model that is there already is kept. `check` compares every engine
with the definitions, tests/oracles/{recurrent,multimodel,local}/reference.py, on small inputs.

`time` reads a JSON object a line, {"model": "bilstm", "case": "1x64", "form": null, "runs": 0,
"seconds": 2}, and answers each with another: the median of so many runs after one to warm up, or of
at least three runs and so many seconds. The program stays between lines, so that engines take turns
without loading their models again. {"model": ..., "case": ..., "forms": true} asks for the ways in
which the engine does a case. What an engine cannot do is answered with {"error": ...}.

  bilstm, bigru      ids to the states of the second of two bidirectional layers of 512; the GRU's
                     reset gate comes after the product. BATCHxLENGTH, or ragged: the 16 lengths of
                     benchmarks/ragged.txt
  rnnsearch          24 tokens in, exactly 24 out: the sentence's encoder, then additive attention,
                     GRU, maxout and 30,000 words a step. BATCHxBEAM
  multimodel         ids to the encoder's output: six blocks of separable convolutions, 16 experts
                     of which a row takes two in the middle. BATCHxLENGTH
  multimodel-image   images of 64x64x3 to the encoder's output: stem, three residual blocks, one
                     unit. IMAGES
  window             ids to the output of one encoder layer with a window of 256. BATCHxLENGTH
  window-full        the same with all keys
  recurrence         one layer of bilstm with inputs of 16 numbers, for Heddle alone
"""

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

ENGINES = ["openvino", "onnxruntime", "torch", "torch-compile"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "check", "time"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--models", default="", help="make, check: these, all without it")
    parser.add_argument("--engine", default="openvino", choices=ENGINES)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


options = parse()
if options.what == "time":
    # Before any engine is imported: they read these once.
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(options.threads)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.threads]))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from seed_models import (BOS, LENGTH, MODELS, RAGGED, Begin, Body, Layer,  # noqa: E402
                         Recurrent, Step, inputs, local, recurrent, randomise, search)

torch.set_num_threads(options.threads)


def load(name):
    """The definition with the weights of the folder."""
    folder = options.work / name
    model = MODELS[name][0](json.loads((folder / "config.json").read_text())).eval()
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return model


# --- make ------------------------------------------------------------------------------------


def export(module, given, path, names, results, is_fixed=False):
    axes = {name: {0: "b", 1: "n"} if name == "ids" else {0: "b"} for name in names + results}
    with warnings.catch_warnings():
        # About sizes that are numbers from here on, which they are meant to be.
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), tuple(given), path, input_names=names,
                          output_names=results, dynamic_axes={} if is_fixed else axes,
                          opset_version=18, dynamo=False)


def export_rnnsearch(model, given, folder):
    begin = Begin(model)
    memory, keys, state = begin(*given)
    export(begin, given, folder / "begin.onnx", ["ids"], ["memory", "keys", "state"])
    for beams in (1, 4):
        step = (torch.full((2, beams), BOS), torch.zeros(2, beams),
                state[:, None].repeat(1, beams, 1), memory, keys)
        export(Step(model), step, folder / f"step{beams}.onnx",
               ["token", "score", "state", "memory", "keys"], ["next", "total", "new", "row"])


def export_model(name, folder):
    model = load(name)
    given = [torch.from_numpy(array) for array in inputs(name, MODELS[name][2][0])]
    path = folder / "encoder.onnx"
    if name == "rnnsearch":
        export_rnnsearch(model, given, folder)
    elif name.startswith("bi"):
        export(Recurrent(model), given, path, ["ids"], ["h"])
        # Of a fixed shape: where batch and length vary, OpenVINO 2026.4 gives wrong states.
        ragged = [torch.from_numpy(array) for array in inputs(name, "ragged")]
        export(Recurrent(model), ragged, folder / "ragged.onnx", ["ids", "lengths"], ["h"], True)
    elif name.startswith("multimodel"):
        export(Body(model), given, path, ["images" if name.endswith("image") else "ids"], ["h"])
    else:
        export(Layer(model, "chunks" if name == "window" else "full"), given, path, ["ids"], ["h"])


def make(name):
    """A folder with the file `made` is whole."""
    folder = options.work / name
    if (folder / "made").exists():
        return
    family, config, _ = MODELS[name]
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model = family(config).eval()
    randomise(model)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file({key: values.contiguous() for key, values in model.state_dict().items()},
              folder / "model.safetensors")
    if MODELS[name][2]:
        with torch.no_grad():
            export_model(name, folder)
    (folder / "made").touch()


# --- engines ---------------------------------------------------------------------------------


def openvino_session(path):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(path), "CPU",
        {"INFERENCE_NUM_THREADS": options.threads, "PERFORMANCE_HINT": "LATENCY",
         "INFERENCE_PRECISION_HINT": "f32"})
    request, names = compiled.create_infer_request(), [port.any_name for port in compiled.inputs]

    def run(*given):
        found = request.infer(dict(zip(names, given)), share_inputs=True)
        return [found[port] for port in compiled.outputs]
    return run


def onnxruntime_session(path):
    import onnxruntime
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    session_options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, session_options,
                                           providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]
    return lambda *given: session.run(None, dict(zip(names, given)))


def one_by_one(encode):
    """Sequences alone at their own lengths, then together."""
    def run(ids, lengths):
        rows = [encode(row[:length][None])[0] for row, length in zip(ids, lengths)]
        return recurrent.stack([torch.as_tensor(row) for row in rows])
    return run


def torch_function(engine, name, case, form):
    model = load(name)

    def ready(module):
        if engine == "torch-compile":
            return torch.compile(module.eval(), dynamic=False, options={"freezing": True})
        return module.eval()

    if name == "rnnsearch":
        begin, step, beams = ready(Begin(model)), ready(Step(model)), int(case.split("x")[1])
        return lambda ids: search(begin, step, ids, beams)
    if name.startswith("bi"):
        return one_by_one(Recurrent(model)) if form == "one-by-one" else ready(Recurrent(model))
    if name.startswith("multimodel"):
        return ready(Body(model))
    layer = Layer(model, form or "full")
    layer.mask(int(case.split("x")[1]))
    return ready(layer)


def function_of(engine, name, case, form):
    """What does the work of a case: arrays to an array or a tensor."""
    if engine.startswith("torch"):
        compute = torch_function(engine, name, case, form)

        def run(*given):
            with torch.inference_mode():
                return compute(*map(torch.from_numpy, given))
        return run
    session = openvino_session if engine == "openvino" else onnxruntime_session
    folder = options.work / name
    if name == "rnnsearch":
        beams = int(case.split("x")[1])
        begin, step = session(folder / "begin.onnx"), session(folder / f"step{beams}.onnx")
        return lambda ids: search(begin, step, ids, beams)
    encode = session(folder / ("ragged.onnx" if form == "packed" else "encoder.onnx"))
    if form == "one-by-one":
        return one_by_one(lambda row: encode(row)[0])
    return lambda *given: encode(*given)[0]


def forms(engine, name, case):
    """The ways to do a case; None where there is one. One by one, torch-compile would compile for
    each length. What is exported has chunks alone."""
    if case == "ragged":
        return ["packed"] if engine == "torch-compile" else ["packed", "one-by-one"]
    if name == "window":
        return {"torch": ["chunks", "mask"],
                "torch-compile": ["chunks", "flex", "mask"]}.get(engine, ["chunks"])
    return [None]


# --- check -----------------------------------------------------------------------------------


@torch.inference_mode()
def expected(name, case, given):
    model, x = load(name), torch.from_numpy(given[0])
    if name == "rnnsearch":
        beams, found = int(case.split("x")[1]), []
        for row in x:
            encoded = model.encode(row[None])
            best, _ = (recurrent.greedy_search(model, encoded, LENGTH) if beams == 1 else
                       recurrent.beam_search(model, encoded, LENGTH, beams, 0.6))
            found.append([tokens for _, tokens in best])
        return torch.tensor(found)
    if case == "ragged":
        return recurrent.stack([model.encode(row[:length][None])[0][0]
                                for row, length in zip(x, RAGGED)])
    found = model.encode(x)
    found = found[0] if isinstance(found, tuple) else found
    return found[:, :, 0] if name.startswith("multimodel") else found


def check(name):
    """Whether all engines give what the definition gives, to within 1e-4."""
    is_right = True
    for case in MODELS[name][2]:
        given = inputs(name, case)
        want = expected(name, case, given)
        # torch-compile has what torch has, but for one form of window.
        engines = ENGINES if name == "window" else ENGINES[:-1]
        for engine in engines:
            for form in forms(engine, name, case):
                found = function_of(engine, name, case, form)(*given)
                error = float((torch.as_tensor(np.asarray(found)) - want).abs().max())
                print(json.dumps({"model": name, "case": case, "engine": engine, "form": form,
                                  "difference": error}), flush=True)
                is_right = is_right and error < 1e-4
    return is_right


# --- time ------------------------------------------------------------------------------------


def median_seconds(run, runs, seconds):
    run()
    times, start = [], time.perf_counter()
    while len(times) < (runs or 3) or (not runs and time.perf_counter() - start < seconds):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def answer(request, kept):
    """The answer to a line; `kept` has what was made for the same model before."""
    name, case, form = request["model"], request["case"], request.get("form")
    if request.get("forms"):
        return {"forms": forms(options.engine, name, case)}
    if kept.get("model") != name:
        kept.clear()
        kept["model"] = name
        if options.engine == "torch-compile":
            torch._dynamo.reset()
    if (case, form) not in kept:
        kept[case, form] = (function_of(options.engine, name, case, form), inputs(name, case))
    compute, given = kept[case, form]
    seconds = median_seconds(lambda: compute(*given), request.get("runs", 0),
                             request.get("seconds", 2))
    return {"engine": options.engine, "model": name, "case": case, "form": form,
            "threads": options.threads, "ms": round(seconds * 1e3, 3)}


def serve():
    kept = {}
    for line in sys.stdin:
        try:
            found = answer(json.loads(line), kept)
        except Exception as error:  # An engine that cannot do a case must not end the comparison.
            found = {"error": (str(error).strip() or repr(error)).splitlines()[0][:300]}
        print(json.dumps(found), flush=True)


def main():
    names = [name for name in options.models.split(",") if name] or list(MODELS)
    for name in names:
        if name not in MODELS:
            sys.exit(f"seeds.py: unknown model '{name}', expected one of {', '.join(MODELS)}")
    if options.what == "make":
        for name in names:
            make(name)
    elif options.what == "check":
        if not all([check(name) for name in names]):
            sys.exit("seeds.py: an engine differs from the definition, see above")
    else:
        serve()


main()
