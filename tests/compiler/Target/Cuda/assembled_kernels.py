#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CUDA's assembler says of every kernel of the oracles and of models of base size.

    assembled_kernels.py BUILD_FOLDER [--ptxas PATH] [--keep FOLDER] [-k PART_OF_A_NAME]

Skipped unless HEDDLE_PTXAS or --ptxas names ptxas. Each model is compiled for both targets, in the precisions
that `cases` lists. A kernel that several models have is assembled once. These are errors:

  * registers in memory (spills) and stack frames, except those of ALLOWED, which must all be needed;
  * any warning, above all that products of warpgroups wait for each other (C7510 to C7520);
  * blocks that a multiprocessor cannot have: of their registers, or of their shared memory.

--keep keeps compiled functions and the assembler's words for the next run.
"""

import argparse
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import base_models

ROOT = Path(__file__).resolve().parents[4]
ORACLES = ROOT / "tests" / "oracles"
INPUTS = Path(__file__).parent / "Inputs"
SKIPPED = 77
TARGETS = ("sm_80", "sm_90a")
# Of a multiprocessor and of one thread; registers are given to warps in units of 256.
REGISTERS, REGISTERS_OF_THREAD, REGISTER_UNIT, WARP = 65536, 255, 256, 32
# Bytes of shared memory that a block may have, and that it may have without asking for them.
SHARED = {"sm_80": 163 * 1024, "sm_90a": 227 * 1024}
STATIC_SHARED = 48 * 1024
EVERY = ["f32", "tf32", "tf32x3", "bf16-weights", "int8-weights", "bf16", "int8", "int8-g128", "int4"]
CACHES = ["bf16", "int8"]
# Models that are compiled in every precision, and with every kind of cache: those of base size, and oracles.
THOROUGH_BASE = {"bert", "llama", "mixtral", "weighted", "translator"}
THOROUGH = {"bert-tiny", "weighted", "t5-tiny", "llama-tiny", "mixtral-tiny", "lstm-general"}
# Programs of kernels, for sizes and features that no model here has.
PROGRAMS = ["attention-sizes", "attention-warpgroups", "integer-products", "unaligned-product", "wide-product"]
# Graphs whose exporter made a constant of the length of sequences.
STATIC = {"torch-encoder/ts-torch-op17"}

# Kernels that may have registers in memory: the target, their names, an instruction that they have, the most
# bytes of the stack frame, of stores and of loads, and the decision that says why.
Allowance = namedtuple("Allowance", "target name instruction stack stores loads decision")
ALLOWED = [
    # Variables of the launch, which no loop over slabs uses.
    Allowance("sm_80", r"contract_40x40_add_tanh_multiply_multiply_add", "fma.rn.f32", 8, 4, 4, "0080"),
    Allowance("sm_80", r"contract_\w+_integers(_\w+)?|int4", "mma.sync", 16, 16, 16, "0072"),
    Allowance("sm_90a", r"int4_g128", "mma.sync", 8, 8, 8, "0072"),
    # Heads of more than 256 elements and states of all steps are computed thread by thread, with the context of the
    # call in memory.
    *(Allowance(target, r"attention_\w*1x512_cached|collect_\w+_of_steps_keys", ".local", 24, 0, 0, "0038")
      for target in TARGETS),
]

# A source of kernels with the options of heddlec.
Case = namedtuple("Case", "name source options")


def cases(work):
    """Everything that is compiled."""
    found = []

    def add(name, source, precisions, *more):
        found.extend(Case(f"{name} {' '.join((precision, *more))}", source, [f"--precision={precision}", *more])
                     for precision in precisions)

    def add_all(name, source, thoroughly):
        add(name, source, EVERY if thoroughly else ["f32", "bf16"])
        for cache in CACHES if thoroughly else []:
            add(name, source, ["f32", "bf16"], f"--cache={cache}")

    for name in base_models.MODELS:
        folder = base_models.write_model(ORACLES, name, work / name)
        add_all(f"base {name}", folder, name in THOROUGH_BASE)
    for config in sorted(ORACLES.glob("**/config.json")):
        folder = config.parent
        # Modules of a sentence-transformer, configurations for the weights of another model.
        if not any(folder.glob("model*.safetensors")) and not (folder / "modules.json").exists():
            continue
        if folder.parent.name.startswith("sentence-"):
            continue
        add_all(folder.name, folder, folder.name in THOROUGH)
    for graph in sorted((ORACLES / "onnx").glob("*/*.onnx")):
        name = f"{graph.parent.name}/{graph.stem}"
        if graph.parent.name != "bad":
            add(name, graph, ["f32", "bf16"], *(["--static"] if name in STATIC else []))
    for program in PROGRAMS:
        found.append(Case(program, INPUTS / f"{program}.mlir", ["--start-at=kernels"]))
    return found


# --- kernels -----------------------------------------------------------------------------------

# The text of a kernel with its functions, and how the manifest launches it: threads and shared memory, or None.
Kernel = namedtuple("Kernel", "target name text launch")
ENTRY = re.compile(r"^\.visible \.entry ([\w$]+)\(", re.M)
DEFINED = re.compile(r"^\.(?:visible |weak )?\.?(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)", re.M)
# Beside the kernels of the manifest. They are launched with at most 16 KB of shared memory
# (heddle/HypothesisOrder.h, heddle/RoofKernels.def, CudaProgram.cpp).
COMPANION = re.compile(r".*\$\$(finish|merge|round)|(roof|hypotheses|logits)\$.*")


def owner_of(function, names):
    """The kernel to which a function or kernel belongs: functions have its name and more after a `$`."""
    return max((name for name in names if f"{function}$".startswith(f"{name}$")), key=len, default=None)


def head_of(text):
    """Version, target and size of addresses."""
    return text[:text.index("\n", text.index(".address_size")) + 1]


def kernels_of(target, text, launches):
    """Splits PTX into its kernels."""
    head, names = head_of(text), ENTRY.findall(text)
    parts = {name: [] for name in names}
    # Inline assembly has braces at the beginnings of lines as well, but no empty line before.
    for part in re.split(r"(?<=\n\n}\n)\n", text[len(head):]):
        defined = DEFINED.search(part)
        if defined:
            parts[owner_of(defined.group(1), names)].append(part)
    return [Kernel(target, name, head + "\n".join(parts[name]) + "\n", launches.get(name)) for name in names]


def sections_of(path):
    """The bytes of the sections of an ELF file by name."""
    data = path.read_bytes()
    offset, = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<HH", data, 0x3C)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + 64 * index) for index in range(count)]
    begin = headers[names][4]
    return {data[begin + header[0]:data.index(b"\0", begin + header[0])].decode():
            data[header[4]:header[4] + header[5]] for header in headers[1:]}


class Failed(Exception):
    """A program failed."""


def run(*command):
    done = subprocess.run(command, text=True, capture_output=True, errors="replace")
    if done.returncode != 0:
        raise Failed(f"{Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    return done


class Assembler:
    """Compiles cases, and assembles each kernel once."""

    def __init__(self, options, folder):
        self.heddlec, self.ptxas, self.folder = options.heddlec, options.ptxas, folder
        self.code, self.said = folder / "code", folder / "said"
        self.said.mkdir(parents=True, exist_ok=True)
        self.version = run(self.ptxas, "--version").stdout
        # The cases that have a kernel first, by the hash of its text.
        self.first, self.lock = {}, threading.Lock()

    def compile(self, case, work):
        """The kernels of a case for all targets."""
        if "--start-at=kernels" in case.options:
            # A program of kernels has no entries: it becomes no binary, and nothing is launched.
            return [kernel for target in TARGETS for kernel in kernels_of(target, run(
                self.heddlec, case.source, f"--target={target}", "--emit=asm", *case.options).stdout, {})]
        binary = work / "model.so"
        run(self.heddlec, case.source, f"--target={','.join(TARGETS)}", "--code-cache", self.code, "-o", binary,
            *case.options)
        sections = sections_of(binary)
        (work / "manifest.bin").write_bytes(sections[".heddle.manifest"])
        run("flatc", "--json", "--strict-json", "--raw-binary", "--defaults-json", "-o", work,
            ROOT / "formats" / "Binary" / "Manifest.fbs", "--", work / "manifest.bin")
        manifest = json.loads((work / "manifest.json").read_text())
        found = []
        for image in manifest["images"]:
            index, end = image["target"], image["offset"] + image["size"] - 1
            launches = {kernel["symbols"][index]: (kernel["launches"][index]["threads"],
                                                   kernel["launches"][index]["shared"])
                        for kernel in manifest["kernels"]}
            found += kernels_of(manifest["targets"][index],
                                sections[".heddle.device"][image["offset"]:end].decode(), launches)
        for kernel in found:
            if not kernel.launch and not COMPANION.fullmatch(kernel.name):
                raise Failed(f"the manifest does not launch '{kernel.name}'")
        return found

    def assemble(self, case):
        """The kernels of a case that none before it had, with what ptxas says of each."""
        with tempfile.TemporaryDirectory(dir=self.folder) as work:
            new = []
            for kernel in self.compile(case, Path(work)):
                key = hashlib.sha256((self.version + kernel.text).encode()).hexdigest()
                with self.lock:
                    is_first = self.first.setdefault(key, case) is case
                if is_first:
                    new.append((kernel, self.said / key))
            for target in TARGETS:
                self.assemble_all([pair for pair in new if pair[0].target == target and not pair[1].exists()],
                                  Path(work))
            return [(kernel, path.read_text()) for kernel, path in new]

    def assemble_all(self, pairs, work):
        """Assembles kernels of a target together, because ptxas takes a while to start. Each file gets the lines
        about its kernel, and those that name none."""
        if not pairs:
            return
        kernels = [kernel for kernel, _ in pairs]
        head = head_of(kernels[0].text)
        (work / "kernels.ptx").write_text(head + "\n".join(kernel.text[len(head):] for kernel in kernels))
        said = said_of([kernel.name for kernel in kernels],
                       run(self.ptxas, "-v", f"-arch={kernels[0].target}", work / "kernels.ptx", "-o",
                           work / "kernels.cubin").stderr)
        for kernel, path in pairs:
            own = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            own.write_text(said[kernel.name])
            own.replace(path)


def said_of(names, text):
    """What ptxas says of each kernel."""
    said, owner = {name: "" for name in names}, None
    for line in text.splitlines():
        named = re.search(r"(?:properties for|entry function|in (?:the )?function) '?([\w$]+)", line)
        owner = owner_of(named.group(1), names) if named else owner
        for name in [owner] if owner else names:
            said[name] += line + "\n"
    return said


# --- what is wrong -----------------------------------------------------------------------------

EXPECTED = re.compile(r"ptxas info +: (Compiling entry function|Function properties for|Used |Compile time)"
                      r"|^ +\d+ bytes stack frame|ptxas info +: \d+ bytes gmem")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*? (\d+) bytes smem)?")


def registers_of_block(registers, threads):
    warp = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
    return warp * -(-threads // WARP)


def directive(text, name):
    found = re.search(rf"^\.{name} (\d+)", text, re.M)
    return int(found.group(1)) if found else None


def frame_of(said):
    """Bytes of the stack frame, stored and loaded: the most that the kernel and its functions have."""
    found = [tuple(map(int, match.groups())) for match in FRAME.finditer(said)]
    return tuple(map(max, zip(*found))) if found else None


def problems(kernel, said, needed):
    """What is wrong with a kernel; `needed` gets the allowances that it needs."""
    found = [f"ptxas says: {line.strip()}" for line in said.splitlines() if not EXPECTED.search(line)]
    frame, used = frame_of(said), USED.search(said)
    if not frame or not used:
        return [*found, "ptxas says nothing of its registers"]
    if any(frame):
        allowed = next((each for each in ALLOWED if each.target == kernel.target
                        and re.fullmatch(each.name, kernel.name) and each.instruction in kernel.text), None)
        most = (allowed.stack, allowed.stores, allowed.loads) if allowed else (0, 0, 0)
        if allowed:
            needed.add(allowed)
        if any(found_bytes > allowed_bytes for found_bytes, allowed_bytes in zip(frame, most)):
            found.append("{} bytes of stack, {} stored, {} loaded".format(*frame))
    registers, static = int(used.group(1)), int(used.group(2) or 0)
    threads, blocks = directive(kernel.text, "reqntid"), directive(kernel.text, "minnctapersm") or 1
    if not threads:
        return [*found, "has no .reqntid"]
    if registers > REGISTERS_OF_THREAD or registers_of_block(registers, threads) * blocks > REGISTERS:
        found.append(f"{registers} registers of {threads} threads in {blocks} blocks")
    if static > STATIC_SHARED:
        found.append(f"{static} bytes of static shared memory")
    if kernel.launch:
        if kernel.launch[0] != threads:
            found.append(f"is launched with {kernel.launch[0]} threads, and wants {threads}")
        if static + kernel.launch[1] > SHARED[kernel.target]:
            found.append(f"{static} + {kernel.launch[1]} bytes of shared memory")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--heddlec", type=Path, help="another than that of the build folder")
    parser.add_argument("--ptxas", default=os.environ.get("HEDDLE_PTXAS"))
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("-k", default="", metavar="PART", help="only cases with this in their names")
    options = parser.parse_args()
    options.heddlec = options.heddlec or options.build / "bin" / "heddlec"
    if not options.ptxas:
        print("HEDDLE_PTXAS does not name ptxas")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as own:
        folder = options.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(check(options, folder))


def check(options, folder):
    begin, wrong, needed, counted, most = time.monotonic(), [], set(), 0, {target: 0 for target in TARGETS}
    assembler = Assembler(options, folder)
    chosen = [case for case in cases(folder / "models") if options.k in case.name]

    def attempt(case):
        try:
            return assembler.assemble(case)
        except Failed as failed:
            return failed

    with ThreadPoolExecutor(2) as pool:
        for number, (case, result) in enumerate(zip(chosen, pool.map(attempt, chosen)), 1):
            if isinstance(result, Failed):
                wrong.append(f"{case.name}: {result}")
                print(wrong[-1], flush=True)
                continue
            counted += len(result)
            for kernel, said in result:
                most[kernel.target] = max(most[kernel.target], kernel.launch[1] if kernel.launch else 0)
                for problem in problems(kernel, said, needed):
                    wrong.append(f"{case.name}: {kernel.target}: {kernel.name}: {problem}")
                    print(wrong[-1], flush=True)
            if number % 10 == 0 or number == len(chosen):
                print(f"{number} of {len(chosen)}, {counted} kernels, {time.monotonic() - begin:.0f} s", flush=True)
    if not options.k:
        for each in ALLOWED:
            if each not in needed:
                wrong.append(f"no kernel needs {each}")
                print(wrong[-1])
    print(f"{len(chosen)} compilations, {counted} different kernels, shared memory up to {most}, "
          f"{time.monotonic() - begin:.0f} s: {len(wrong)} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
