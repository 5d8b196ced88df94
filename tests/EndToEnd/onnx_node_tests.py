#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the onnx package: the list says which, and what becomes of each. Skipped where the
package is not installed; HEDDLE_ONNX_PYTHON names a python that has it, and --install takes it from
PyPI into an environment in the build folder.

    onnx_node_tests.py BUILD_FOLDER onnx-node-tests.txt [--install] [--write] [-k PART_OF_A_NAME]

A line of the list is one of

    run NAME ...: compiled, and run by `heddle run` on its floats. Integers and truth values (axes,
        sizes, masks, positions) are constants. Names after the first are graphs of primitive
        operators for the same mathematics: they run as well, and those of attention end in the same
        operations.
    run NAME with INPUT ...: these floats are constants as well, as weights and tables are.
    fold NAME: all inputs are constants, and the compiler comes to the outputs without running anything.
    refused NAME with INPUT ...: MESSAGE: it is refused, with this message.

What passes although the list says that it is refused is an error, too. --write brings messages up to
date. Nothing of the package is copied.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

VERSION = "1.23.2"
SKIPPED = 77
# What two graphs for the same mathematics must have in common.
NAMED = re.compile(r"transformer\.(attention|attend|layer_norm|rms_norm|row_softmax|softmax|rotate)\b")
TYPES = {"float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "bool": "BOOL"}


def write_tensors(path, tensors):
    """A safetensors file."""
    header, parts, end = {}, [], 0
    for name, values in tensors.items():
        data = values.tobytes()
        header[name] = {"dtype": TYPES[str(values.dtype)], "shape": list(values.shape),
                        "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def read_tensors(np, path):
    """All tensors of such a file, which are f32."""
    data = path.read_bytes()
    count = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + count]).items():
        begin, end = entry["data_offsets"] if name != "__metadata__" else (0, 0)
        if name != "__metadata__":
            found[name] = np.frombuffer(data[8 + count + begin:8 + count + end], np.float32)
    return found


class Bench:
    """Compiles and runs cases in a folder of its own."""

    def __init__(self, build, folder):
        import numpy as np
        import onnx
        self.np, self.onnx = np, onnx
        self.heddlec, self.heddle = build / "bin" / "heddlec", build / "bin" / "heddle"
        self.folder = Path(folder)
        self.fold_onnx = build / "bin" / "fold-onnx"

    def write(self, case, constants):
        """The model of a case with some inputs as initializers; the other inputs."""
        model = self.onnx.ModelProto()
        model.CopyFrom(case.model)
        given = {}
        del model.graph.input[:]
        for port, value in zip(case.model.graph.input, case.data_sets[0][0]):
            value = self.np.asarray(value)
            if value.dtype.kind != "f" or port.name in constants:
                model.graph.initializer.append(
                    self.onnx.numpy_helper.from_array(value, port.name))
            else:
                model.graph.input.append(port)
                given[port.name] = value
        self.onnx.save(model, self.folder / "model.onnx")
        return given

    def refuse(self, done):
        """What a program said, without the name of the file."""
        return done.stderr.strip().splitlines()[-1].split("model.onnx: ", 1)[-1]

    def fused(self):
        """The named operations that the written model ends in."""
        text = subprocess.run([self.heddlec, "model.onnx", "--emit=fused"], cwd=self.folder,
                              capture_output=True, text=True).stdout
        return sorted(set(NAMED.findall(text)))

    def run(self, case, constants=()):
        """Why a case does not pass; empty if it does."""
        given = self.write(case, constants)
        done = subprocess.run([self.heddlec, "model.onnx", "-o", "model.so",
                               "--target=x86-64-v3"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            return self.refuse(done)
        write_tensors(self.folder / "in.safetensors", given)
        done = subprocess.run([self.heddle, "run", "model.so", "--inputs", "in.safetensors",
                               "--outputs", "out.safetensors"], cwd=self.folder,
                              capture_output=True, text=True)
        if done.returncode != 0:
            return self.refuse(done)
        found = read_tensors(self.np, self.folder / "out.safetensors")
        return self.compare(case, lambda name: found.get(name))

    def fold(self, case):
        """The same of a case whose inputs are all constants."""
        names = [port.name for port in case.model.graph.input]
        self.write(case, names)
        done = subprocess.run([self.fold_onnx, "model.onnx"], cwd=self.folder, capture_output=True,
                              text=True)
        found = {}
        for line in done.stdout.splitlines():
            _, name, rest = line.split("\t", 2)
            if name == "refused":
                return rest.split("model.onnx: ", 1)[-1]
            shape, values = rest.split("\t")
            found[name] = ([int(size) for size in shape.split()],
                           self.np.array([float(value) for value in values.split()]))
        if done.returncode:
            return f"fold-onnx ended with {done.returncode}: {done.stderr[-200:]}"
        for port, wanted in zip(case.model.graph.output, case.data_sets[0][1]):
            if found[port.name][0] != list(self.np.asarray(wanted).shape):
                return f"output {port.name} has shape {found[port.name][0]}"
        return self.compare(case, lambda name: found[name][1])

    def compare(self, case, result):
        for port, wanted in zip(case.model.graph.output, case.data_sets[0][1]):
            wanted = self.np.asarray(wanted).astype(self.np.float64)
            values = result(port.name)
            if values is None or values.size != wanted.size:
                return f"output {port.name} has other elements"
            # Graphs are computed in f32.
            if not self.np.allclose(values.reshape(wanted.shape), wanted,
                                    max(case.rtol, 1e-4), max(case.atol, 1e-6), equal_nan=True):
                return f"output {port.name} has other values"
        return ""


def check(bench, cases, line):
    """What is wrong with a line of the list, and the line as it should be."""
    kind, rest = line.split(" ", 1)
    if kind == "refused":
        names, message = rest.split(": ", 1)
        name, _, constants = names.partition(" with ")
        said = bench.run(cases[name], constants.split())
        if not said:
            return f"{name} passes, expected that it is refused", f"run {names}"
        if said != message:
            return f"{name}: {said}, expected {message}", f"refused {names}: {said}"
        return "", line
    names, _, constants = rest.partition(" with ")
    first, *twins = names.split()
    said = bench.fold(cases[first]) if kind == "fold" else bench.run(cases[first],
                                                                      constants.split())
    if said:
        return f"{first}: {said}, expected that it passes", \
            line if twins else f"refused {rest}: {said}"
    is_attention = twins and first.startswith("test_attention")
    operations = bench.fused() if is_attention else []
    for twin in twins:
        said = bench.run(cases[twin], constants.split())
        if said:
            return f"{twin}: {said}, expected that it passes", line
        if is_attention and bench.fused() != operations:
            return (f"{first} ends in {operations} and {twin} in {bench.fused()}, expected the "
                    "same"), line
    return "", line


def install(folder):
    """The python of an environment with the package."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"onnx=={VERSION}"], check=True)
    return str(folder / "bin" / "python")


def main():
    python = os.environ.pop("HEDDLE_ONNX_PYTHON", None)
    if "--install" in sys.argv:
        sys.argv.remove("--install")
        python = python or install(Path(sys.argv[1]) / "onnx-environment")
    if python:
        os.execv(python, [python, "-B", *sys.argv])
    try:
        import onnx
        from onnx.backend.test.case.node import collect_testcases
    except ImportError:
        print("no onnx package: skipped")
        return SKIPPED
    if onnx.__version__ != VERSION:
        print(f"onnx {onnx.__version__}, expected {VERSION}: skipped")
        return SKIPPED
    warnings.filterwarnings("ignore")
    cases = {case.name: case for case in collect_testcases(None)}
    path = Path(sys.argv[2])
    part = sys.argv[sys.argv.index("-k") + 1] if "-k" in sys.argv else ""
    lines, wrong, passed = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(sys.argv[1]).resolve(), folder)
        for line in path.read_text().splitlines():
            if not line or line.startswith("#") or part not in line:
                lines.append(line)
                continue
            problem, right = check(bench, cases, line)
            lines.append(right)
            wrong += [problem] if problem else []
            passed += len(line.split(" with ")[0].split()) - 1 if not problem and \
                not line.startswith("refused") else 0
    if "--write" in sys.argv:
        path.write_text("\n".join(lines) + "\n")
    print("\n".join([*wrong, f"{passed} pass as the list says, {len(wrong)} lines are wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
