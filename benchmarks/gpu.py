#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that wants a GPU, in one run: is it right, are its bits the same, how fast is it.

    gpu.py make FOLDER --heddlec PATH --heddle PATH [--model FOLDER]   compiles models, copies what running them takes
    gpu.py run FOLDER [--write]                                        checks and measures on this machine's GPU

`./dev gpu` does both. The folder may be carried to a machine that has a GPU and no compiler: `run`
needs Python and the driver. First comes what kernels rest on: that tensor cores give an element the
same bits wherever it is (wgmma.py). Every model of tests/oracles runs on the CPU and on the GPU; the
largest difference is printed, and each sentence must have the same bits alone as in its batch. Some
models also run with the code for older GPUs, and are compared with what the emulated GPU of the tests
computes: in f32 the bits must be equal. Then come the times, beside PyTorch where it is installed, the
goals (gpu_goals.py), and a run under compute-sanitizer where that is.
"""

import argparse
import itertools
import json
import math
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from array import array
from datetime import date
from pathlib import Path

import gpu_goals
import wgmma

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance-gpu.md"
BEGIN, END = "<!-- gpu: begin -->", "<!-- gpu: end -->"
TARGETS = "x86-64-v3,sm_80,sm_90a"
# Products and attention of bf16 have other kernels for Hopper: there, both are checked.
OLDER = "sm_80"
# Precisions whose sums the emulated GPU rounds as a real one does.
EXACT = {None, "int8", "int4", "int8-weights"}
# Sums of f32 in another order: what the models of tests/oracles may differ by, relative to the
# largest number of an output.
BOUND = 1e-4
# Models that are checked in other precisions as well: sums in another order may round a number of
# the next product to another one. Their batch is repeated so often, for tiles of many rows to be
# full; bits then tell whether those of tensor cores depend on the place in a tile, which no manual
# says.
NARROW = {"bert-tiny": ["bf16", "tf32", "tf32x3", "int4", "int8-weights"], "mixtral-tiny": ["int4"],
          "t5-tiny": ["bf16", "int8", "tf32"]}
# What each may differ by from the CPU, which computes in f32 where a GPU multiplies tf32.
NARROW_BOUNDS = {"bf16": 2e-2, "int8": 2e-2, "int4": 5e-2, "tf32": 5e-3, "tf32x3": BOUND,
                 "int8-weights": BOUND}
REPEATED = 8
# Names of ids in files of Hugging Face, and in programs.
PORTS = {"input_ids": "source", "decoder_input_ids": "target"}
INPUTS = {"source", "target", "command", "attention_mask", "token_type_ids", "image", "audio", *PORTS}
SHAPES = "1x16,1x128,32x128"
CASES = "1x1,32x1,32x4"
SECONDS = 300


def fail(text):
    sys.exit(f"gpu: {text}")


def say(text):
    print(f"gpu: {text}", file=sys.stderr)


# --- tensors ---------------------------------------------------------------------------------


def read_tensors(path):
    """Name to (type, shape, bytes) of a safetensors file."""
    data = Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"],
                   data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def write_tensors(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def row(tensor, index):
    """One sentence of a batch, as a batch of its own."""
    dtype, shape, data = tensor
    size = len(data) // shape[0]
    return dtype, [1, *shape[1:]], data[index * size:(index + 1) * size]


def repeat(tensor, times):
    """A batch with all its sentences so often."""
    dtype, shape, data = tensor
    return dtype, [times * shape[0], *shape[1:]], times * data


def difference(ours, theirs):
    """The largest difference of two f32 tensors over the largest finite number of the second."""
    a, b = (array("f", tensor[2]) for tensor in (ours, theirs))
    if len(a) != len(b):
        return math.inf
    largest = max((abs(value) for value in b if math.isfinite(value)), default=0) or 1
    # Equal infinities, and NaN on both sides, are no difference.
    apart = (abs(x - y) for x, y in zip(a, b) if x != y and (x == x or y == y))
    return max((math.inf if math.isnan(each) else each for each in apart), default=0) / largest


# --- making the folder -----------------------------------------------------------------------


def copy_libraries(program, folder):
    """What the program loads, but for the C library, which belongs to a machine."""
    text = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    system = ("libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux")
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" => ")
        path = rest.split(" (")[0]
        if path.startswith("/") and not name.startswith(system):
            shutil.copy(path, folder / name)


def model_folders(names):
    """The models that are checked: a name, its folder and the file with its inputs."""
    paths = sorted((ROOT / "tests" / "oracles").glob("**/config.json"))
    models = [(path.parent.name, path.parent) for path in paths
              if (path.parent / "expected.safetensors").exists()]
    known = dict(models)
    for name in names:
        if name not in known:
            fail(f"no model '{name}' in tests/oracles, expected one of {', '.join(sorted(known))}")
    return [(name, known[name]) for name in names] if names else models


def inputs_of(folder):
    """Under both names, since what an entry does not have is ignored."""
    tensors = read_tensors(folder / "expected.safetensors")
    # "image.length" and "image.width" belong to "image".
    found = {name: tensor for name, tensor in tensors.items() if name.split(".")[0] in INPUTS}
    return found | {PORTS[name]: tensor for name, tensor in found.items() if name in PORTS}


def make(options):
    # Models have kernels in common: at least those that measure a GPU.
    with tempfile.TemporaryDirectory() as own:
        make_folder(options, ["--code-cache", options.code_cache or own])


def make_folder(options, caching):
    folder = options.folder
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "lib").mkdir(parents=True)
    shutil.copy(options.heddle, folder / "heddle")
    shutil.copy(Path(__file__), folder / "gpu.py")
    for module in (wgmma, gpu_goals):
        shutil.copy(Path(module.__file__), folder / Path(module.__file__).name)
    copy_libraries(options.heddle, folder / "lib")
    extra = [*caching, *([f"--ptxas={options.ptxas}"] if options.ptxas else [])]

    def build(source, binary, *more):
        subprocess.run([options.heddlec, source, "-o", folder / binary, f"--target={TARGETS}",
                        *extra, *more], check=True)

    models = model_folders(options.models)
    for index, (name, source) in enumerate(models, 1):
        say(f"compiling {name}, {index} of {len(models)}")
        build(source, f"{name}.so")
        write_tensors(folder / f"{name}.safetensors", inputs_of(source))
        for precision in NARROW.get(name, []):
            build(source, f"{name}-{precision}.so", f"--precision={precision}")
            repeated = {key: repeat(value, REPEATED) for key, value in inputs_of(source).items()}
            write_tensors(folder / f"{name}-{precision}.safetensors", repeated)
    if options.model:
        build(options.model, "encoder.so", "--precision", options.precision)
        shutil.copy(Path(options.model) / "config.json", folder / "encoder.json")
    if not options.models:
        build(ROOT / "examples" / "dates" / "model", "dates.so")
        shutil.copy(ROOT / "examples" / "dates" / "page.txt", folder / "dates.txt")
    if options.emulated:
        emulate(options, folder, [name for name, _ in models if name in NARROW], caching)
    if not options.no_goals:
        gpu_goals.make(folder, build, options)


def emulate(options, folder, names, caching):
    """What the emulated GPU of the tests computes of some models, in all their precisions."""
    results = folder / "emulated"
    results.mkdir()
    paths = dict(model_folders(names))
    environment = dict(os.environ, LD_LIBRARY_PATH=str(options.emulator))
    for name in names:
        for precision in [None, *NARROW[name]]:
            own = named(name, precision)
            say(f"computing {own} on the emulated GPU")
            with tempfile.TemporaryDirectory() as work:
                # The tests make the folder for the emulated GPU already.
                is_made = options.emulated == options.heddlec
                binary = folder / f"{own}.so" if is_made else Path(work) / "model.so"
                narrow = [f"--precision={precision}"] if precision else []
                if not is_made:
                    subprocess.run([options.emulated, paths[name], "-o", binary, f"--target={TARGETS}",
                                    *caching, *narrow], check=True)
                for target in ("sm_90a", OLDER):
                    subprocess.run([options.heddle, "run", binary, "--inputs", folder / f"{own}.safetensors",
                                    "--outputs", results / f"{own}.{target}.safetensors", "--device", "cuda",
                                    "--isa", target], check=True, env=environment)


# --- running on the GPU ----------------------------------------------------------------------


class Folder:
    """A folder made by `make`, and its program."""

    def __init__(self, path, work):
        self.path, self.work = path, work
        # Whoever puts another driver first, as the tests do, has it.
        first = os.environ.get("LD_LIBRARY_PATH")
        libraries = [part for part in (first, str(path / "lib")) if part]
        self.environment = dict(os.environ, LD_LIBRARY_PATH=":".join(libraries))

    def heddle(self, *arguments, under=()):
        done = subprocess.run([*under, self.path / "heddle", *map(str, arguments)], text=True,
                              capture_output=True, env=self.environment, timeout=SECONDS)
        if done.returncode != 0:
            raise OSError(f"heddle {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def outputs(self, name, tensors, device, *more):
        given, found = self.work / "inputs.safetensors", self.work / "outputs.safetensors"
        write_tensors(given, tensors)
        self.heddle("run", self.path / f"{name}.so", "--inputs", given, "--outputs", found,
                    "--device", device, *more)
        return read_tensors(found)


def named(model, precision):
    return f"{model}-{precision}" if precision else model


def targets_of(name, best):
    """The targets with which a model is checked on a GPU, the best first."""
    return [best, OLDER] if narrow_precision(name) == "bf16" and best != OLDER else [best]


def beside_emulated(folder, name, target, ours):
    """How results differ from those of the emulated GPU, and what is wrong; empty texts without these."""
    path = folder.path / "emulated" / f"{name}.{target}.safetensors"
    if not path.exists():
        return "", ""
    theirs = read_tensors(path)
    if all(ours[output][2] == tensor[2] for output, tensor in theirs.items()):
        return "same bits", ""
    worst = max(difference(ours[output], tensor) for output, tensor in theirs.items())
    precision = narrow_precision(name)
    if precision in EXACT:
        return f"{worst:.1e}", "has other bits than on the emulated GPU"
    bound = NARROW_BOUNDS[precision]
    return f"{worst:.1e}", "" if worst <= bound else f"differs by {worst:.1e} from the emulated GPU"


def narrow_precision(name):
    """The precision that a name ends with, of a model that is checked in it as well; else None."""
    return next((precision for model, precisions in NARROW.items() for precision in precisions
                 if name == named(model, precision)), None)


def check_model(folder, name, target):
    """The largest difference to the CPU, how many sentences have other bits alone, and how results
    differ from those of the emulated GPU."""
    tensors = read_tensors(folder.path / f"{name}.safetensors")
    ours, theirs = folder.outputs(name, tensors, "cuda", "--isa", target), folder.outputs(name, tensors, "cpu")
    worst = max(difference(ours[output], theirs[output]) for output in theirs)
    sentences = next(iter(tensors.values()))[1][0]
    different = sentences // REPEATED if narrow_precision(name) else sentences
    changed = 0
    for index in range(different):
        alone = folder.outputs(name, {key: row(value, index) for key, value in tensors.items()},
                               "cuda", "--isa", target)
        changed += sum(any(cropped(row(ours[output], place), value[1]) != value[2]
                           for output, value in alone.items() if value[1][0] == 1)
                       for place in range(index, sentences, different))
    return worst, sentences, changed, *beside_emulated(folder, name, target, ours)


def cropped(tensor, shape):
    """The bytes of its beginning along every axis: a batch is padded to its longest sentence."""
    _, own, data = tensor
    if len(shape) == 1:
        return data[:4 * shape[0]]
    size = len(data) // own[0]
    return b"".join(cropped(("", own[1:], data[index * size:(index + 1) * size]), shape[1:])
                    for index in range(shape[0]))


def check(folder, best):
    """Rows of a table, and what went wrong. `best` is the target that the GPU runs."""
    head = ["model", "largest difference to the CPU", "same bits alone", "beside the emulated GPU"]
    rows, wrong = [head, ["---"] * len(head)], []
    checks = [(inputs.stem, target) for inputs in sorted(folder.path.glob("*.safetensors"))
              for target in targets_of(inputs.stem, best)]
    for name, target in checks:
        own = name if target == best else f"{name}, {target}"
        try:
            worst, sentences, changed, emulated, problem = check_model(folder, name, target)
        except (OSError, subprocess.TimeoutExpired) as error:
            rows.append([own, "failed", "", ""])
            wrong.append(f"{own}: {error}")
            continue
        bound = NARROW_BOUNDS.get(narrow_precision(name), BOUND)
        if not worst <= bound:
            wrong.append(f"{own}: differs by {worst:.1e} from the CPU, expected at most {bound}")
        if changed:
            wrong.append(f"{own}: {changed} of {sentences} sentences have other bits alone")
        if problem:
            wrong.append(f"{own}: {problem}")
        rows.append([own, f"{worst:.1e}", f"{sentences - changed} of {sentences}", emulated])
    if (folder.path / "dates.so").exists():
        def answers(*options):
            return folder.heddle("generate", folder.path / "dates.so", "--input",
                                 folder.path / "dates.txt", *options)
        # What the GPU decides before the host does, the host decides too, with the same bits.
        for what, ours, theirs, whose in (
                ("greedy", ["cuda"], ["cpu"], "the CPU's"),
                ("4 beams", ["cuda", "--beam", 4], ["cuda", "--beam", 4, "--no-run-ahead"],
                 "the host's")):
            same = answers("--device", *ours) == answers("--device", *theirs)
            rows.append([f"dates, {what}", "", f"{whose} answers" if same else "other answers", ""])
            if not same:
                wrong.append(f"dates, {what}: other answers than {whose}")
    return rows, wrong


# --- speed -----------------------------------------------------------------------------------


def torch_times(config):
    """Milliseconds by shape of PyTorch's encoder of these sizes, eager; None without PyTorch."""
    try:
        import torch
        from transformers import AutoConfig, AutoModel
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(config, Path(work) / "config.json")
        model = AutoModel.from_config(AutoConfig.from_pretrained(work)).cuda().eval()
    times = {}
    with torch.inference_mode():
        for shape in SHAPES.split(","):
            batch, tokens = map(int, shape.split("x"))
            ids = torch.randint(1000, 2000, (batch, tokens), device="cuda")
            for _ in range(3):
                model(input_ids=ids)
            taken, begin = [], time.time()
            while len(taken) < 5 or time.time() - begin < 2:
                torch.cuda.synchronize()
                start = time.perf_counter()
                model(input_ids=ids)
                torch.cuda.synchronize()
                taken.append(time.perf_counter() - start)
            times[shape] = statistics.median(taken) * 1e3
    return times


def speed(folder):
    """Rows of a table. Where steps run ahead of the host, they are also measured waiting for it."""
    rows = [["work", "Heddle ms, GPU", "no step ahead", "Heddle ms, CPU, 1 thread",
             "PyTorch f32 ms, GPU"], ["---"] * 5]
    works = [("encoder", "--shapes", SHAPES, "shape"), ("dates", "--cases", CASES, None)]
    for name, option, work, key in works:
        binary = folder.path / f"{name}.so"
        if not binary.exists():
            continue

        def lines(device, *more):
            return gpu_goals.json_lines(folder.heddle("bench", binary, option, work, "--device",
                                                      device, "--json", *more))
        waiting = lines("cuda", "--no-run-ahead") if option == "--cases" else None
        theirs = torch_times(folder.path / "encoder.json") if key else None
        for index, (ours, cpu) in enumerate(zip(lines("cuda"), lines("cpu"))):
            case = ours[key] if key else f"{ours['batch']}x{ours['beam']}"
            ahead = ours.get("steps_ahead", 0) > 0
            rows.append([f"{name} {case}", f"{ours['ms']:.3g}",
                         f"{waiting[index]['ms']:.3g}" if ahead else "", f"{cpu['ms']:.3g}",
                         f"{theirs[case]:.3g}" if theirs else "not measured"])
    return rows


# Models that compute-sanitizer watches: one for each kind of units, and experts.
SANITIZED = ["bert-tiny", "bert-tiny-bf16", "bert-tiny-tf32", "bert-tiny-int4", "mixtral-tiny"]


def sanitizer(folder):
    """A line for each model and tool of compute-sanitizer."""
    tool = shutil.which("compute-sanitizer")
    models = [name for name in SANITIZED if (folder.path / f"{name}.safetensors").exists()]
    if not tool or not models:
        return ["compute-sanitizer: not there, not run"], []
    lines, wrong = [], []
    for name, kind in itertools.product(models, ("memcheck", "racecheck", "synccheck")):
        try:
            folder.heddle("run", folder.path / f"{name}.so", "--inputs", folder.path / f"{name}.safetensors",
                          "--outputs", folder.work / "outputs.safetensors", "--device", "cuda",
                          under=(tool, "--tool", kind, "--error-exitcode", "9"))
            lines.append(f"compute-sanitizer {kind}, {name}: nothing found")
        except (OSError, subprocess.TimeoutExpired) as error:
            lines.append(f"compute-sanitizer {kind}, {name}: failed")
            wrong.append(f"compute-sanitizer {kind}, {name}: {error}")
    return lines, wrong


def markdown(rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def device_line(folder):
    """What `heddle info` says of the GPU, and the target that it runs."""
    binary = next(iter(sorted(folder.path.glob("*.so"))), None)
    if binary is None:
        fail(f"'{folder.path}' has no models")
    info = json.loads(folder.heddle("info", binary, "--json"))
    for device in info["devices"]:
        if device["device"].startswith("cuda"):
            return f"{device['description']}, target {device['target']}", device["target"]
    fail(f"no GPU: {info.get('no_gpu', 'heddle info names none')}")


def roofs_line(folder):
    """What the GPU can do at best, as `heddle profile` measures it with the images of some models."""
    found = {}
    for name in ("bert-tiny", "bert-tiny-bf16", "bert-tiny-tf32", "bert-tiny-int4"):
        binary = folder.path / f"{name}.so"
        if not binary.exists():
            continue
        profile = json.loads(folder.heddle("profile", binary, "--shapes", "1x16", "--runs", "1", "--device",
                                           "cuda", "--json"))
        found.setdefault("f32", profile["peak_gflops"])
        found.setdefault("memory", profile["bandwidth_gb_per_s"])
        found.update(profile["works"][0]["narrow_peaks_gflops"])
    known = [f"{kind} {rate / 1e3:.3g} {'TB/s' if kind == 'memory' else 'TFLOP/s'}"
             for kind, rate in found.items() if rate is not None]
    return f"At best, measured: {', '.join(known) or 'nothing'}."


def write_page(text):
    page = PAGE.read_text()
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def run(options):
    if not (options.folder / "heddle").exists():
        fail(f"'{options.folder}' has no program heddle, expected a folder that 'make' made")
    with tempfile.TemporaryDirectory() as work:
        folder = Folder(options.folder.resolve(), Path(work))
        device, target = device_line(folder)
        roofs = roofs_line(folder)
        say(roofs)
        places, is_wrong = wgmma.line()
        say(places)
        checked, wrong = check(folder, target)
        if is_wrong:
            wrong.append(places)
        say(f"checked\n{markdown(checked)}")
        sanitized, more = sanitizer(folder)
        parts = [f"{date.today()}: {device}; {platform.machine()}, {os.cpu_count()} cores. {roofs}",
                 markdown(checked), "\n".join(f"* {line}" for line in [places, *sanitized])]
        if not options.no_speed:
            parts.append(markdown(speed(folder)))
        if not options.no_goals:
            goals, failed = gpu_goals.table(folder, options.small)
            parts.append(markdown(goals))
            more += failed
        text = "\n\n".join(part for part in parts if part)
        print(text)
        for line in wrong + more:
            say(line)
        if options.write:
            write_page(text)
        return 1 if wrong or more else 0


def main():
    parser = argparse.ArgumentParser(prog="./dev gpu", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--heddlec", help="the compiler, to make")
    parser.add_argument("--heddle", help="the program, to make")
    parser.add_argument("--models", default="", help="only these of tests/oracles (all)")
    parser.add_argument("--model", help="a sentence encoder whose speed is measured")
    parser.add_argument("--precision", default="f32", help="of that encoder (f32)")
    parser.add_argument("--code-cache", help="where heddlec keeps code (a temporary folder)")
    parser.add_argument("--ptxas", help="CUDA's assembler, for machine code beside PTX")
    parser.add_argument("--emulated", help="heddlec for the emulated GPU, whose results are compared")
    parser.add_argument("--emulator", type=Path, help="the folder of the emulated GPU's driver")
    parser.add_argument("--no-speed", action="store_true", help="measure no models")
    parser.add_argument("--no-goals", action="store_true", help="make and measure nothing for the goals")
    parser.add_argument("--small", action="store_true", help="goals of sizes for tests")
    parser.add_argument("--write", action="store_true",
                        help="put the result into docs/performance-gpu.md")
    options = parser.parse_args()
    options.models = [name for name in options.models.split(",") if name]
    if options.what == "run":
        return run(options)
    if not options.heddlec or not options.heddle:
        parser.error("make needs --heddlec and --heddle")
    if bool(options.emulated) != bool(options.emulator):
        parser.error("--emulated needs --emulator")
    try:
        make(options)
    except subprocess.CalledProcessError as error:
        fail(f"'{error.cmd[0]}' ended with exit code {error.returncode}, expected 0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
