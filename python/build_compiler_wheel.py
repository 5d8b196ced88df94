#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of the compiler and checks it: a part of what `./dev wheel` does.

  python/build_compiler_wheel.py BUILD    the wheel is in BUILD/python/compiler/dist

BUILD has the program heddlec, compiled by Ninja. It is linked once more, with the archives of LLVM in the
place of its shared libraries, so that the wheel carries what heddlec uses and no more (decision
docs/decisions/0053-a-wheel-of-the-compiler.md). While nothing has changed, the wheel that is there stays.
"""

import base64
import hashlib
import re
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

import build_wheel
from build_wheel import ROOT, fail, run

PACKAGE = ROOT / "python" / "compiler"
LARGEST = 48 << 20
# Shared libraries of LLVM, and the archives that replace them.
SHARED = re.compile(r"lib(MLIR|LLVM)(-\d+)?\.so[\d.]*$")
# Optimisation at link time, which lld has and heddlec never asks for, would call Polly, and distributions
# have no archive of that.
POLLY = "void getPollyPluginInfo() { __builtin_trap(); }\n"
METADATA = """Metadata-Version: 2.1
Name: heddle-compiler
Version: {version}
Summary: Compiles Transformer models for Heddle
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: heddle=={version}
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """Wheel-Version: 1.0
Generator: heddle
Root-Is-Purelib: false
Tag: py3-none-linux_x86_64
"""
ENTRY_POINTS = """[console_scripts]
heddlec = heddle_compiler:main
"""


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(heddle VERSION ([\d.]+)", text)[1]


def link_command(build):
    """The words of the command that links heddlec, as Ninja runs it."""
    lines = run("asking ninja how heddlec is linked", "ninja", "-C", build, "-t", "commands",
                "bin/heddlec").splitlines()
    words = shlex.split(lines[-1])
    if words[:2] != [":", "&&"] or words[-2:] != ["&&", ":"]:
        fail(f"ninja links heddlec by {lines[-1]!r}, expected one command")
    return words[2:-2]


def archives(library, build):
    """The archives that make up a shared library: they lie beside it."""
    kind = SHARED.search(library)[1]
    found = sorted((build / library).parent.glob(f"lib{kind}*.a"))
    if not found:
        fail(f"{library} has no archives lib{kind}*.a beside it, expected those of the packages "
             "llvm-22-dev and libmlir-22-dev")
    return [str(each) for each in found]


def link(build, output):
    """Links heddlec into `output`, with those parts of LLVM that it uses. lld finds a symbol in any
    archive, whatever their order."""
    words = []
    for word in link_command(build):
        if word.startswith("-Wl,-rpath,"):
            continue
        words += archives(word, build) if SHARED.search(word) else [word]
    words[words.index("-o") + 1] = str(output)
    lld = next((each for each in ("/usr/lib/llvm-22/bin/ld.lld", shutil.which("ld.lld"))
                if each and Path(each).exists()), None)
    if lld is None:
        fail("there is no ld.lld, expected that of the package lld-22")
    arguments = output.with_suffix(".rsp")
    arguments.write_text("\n".join(shlex.quote(word) for word in words[1:]), encoding="utf-8")
    polly = output.with_name("polly.cpp")
    polly.write_text(POLLY, encoding="utf-8")
    run("linking heddlec", words[0], f"@{arguments}", polly, f"--ld-path={lld}", "-Wl,--gc-sections", "-Wl,-s",
        cwd=build)


def raw_wheel(program, folder):
    """The package as a wheel for this machine."""
    name = f"heddle_compiler-{version()}"
    info = f"{name}.dist-info"
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    files = {f"heddle_compiler/{each.name}": each.read_bytes()
             for each in sorted((PACKAGE / "heddle_compiler").iterdir()) if each.is_file()}
    files["heddle_compiler/heddlec"] = program.read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=version(), readme=readme).encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/licenses/LLVM.txt"] = terms_of_llvm()
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = folder / f"{name}-py3-none-linux_x86_64.whl"
    # Not compressed: auditwheel writes it again.
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if path.endswith("/heddlec") else 0o100644) << 16
            archive.writestr(entry, data)
    return wheel


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def terms_of_llvm():
    """The terms of LLVM, which is in the program."""
    package = build_wheel.package_of("libLLVM.so.22.1")
    terms = Path("/usr/share/doc", package, "copyright")
    if not terms.is_file():
        fail(f"{terms} is missing, expected the terms of LLVM")
    return terms.read_bytes()


def stamp(build):
    """What the wheel is made of."""
    parts = [build / "bin" / "heddlec", Path(__file__), Path(build_wheel.__file__), PACKAGE / "README.md",
             *sorted((PACKAGE / "heddle_compiler").glob("*.*"))]
    return "\n".join(hashlib.sha256(each.read_bytes()).hexdigest() for each in parts) + version()


def build(folder, programs):
    """The wheel, in `folder`, of the heddlec in the build folder `programs`."""
    raw, ready, made = folder / "raw", folder / "dist", folder / "stamp.txt"
    if not (programs / "bin" / "heddlec").is_file():
        fail(f"{programs}/bin/heddlec is missing, expected it from ./dev build")
    current = stamp(programs)
    if made.is_file() and made.read_text(encoding="utf-8") == current:
        return build_wheel.only_wheel(ready)
    for each in (raw, ready):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir(parents=True)
    program = folder / "heddlec"
    link(programs, program)
    build_wheel.repair(raw_wheel(program, raw), folder.parent / "tools", ready)
    made.write_text(current, encoding="utf-8")
    return build_wheel.only_wheel(ready)


def check(wheel, runtime):
    """Size, name and contents; and that it belongs to the wheel of the runtime."""
    size = wheel.stat().st_size
    if size > LARGEST:
        fail(f"{wheel.name} has {size} bytes, expected at most {LARGEST}")
    if "manylinux" not in wheel.name:
        fail(f"{wheel.name} runs on this machine only, expected manylinux in its name")
    if wheel.name.split("-")[1] != runtime.name.split("-")[1]:
        fail(f"{wheel.name} and {runtime.name} have different versions, expected the same")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        mode = archive.getinfo("heddle_compiler/heddlec").external_attr >> 16
    if not mode & 0o111:
        fail(f"{wheel.name} has a heddlec with the mode {mode:o}, expected a program")
    build_wheel.check_terms(wheel)
    if foreign := [name for name in names if SHARED.search(name)]:
        fail(f"{wheel.name} has {foreign[0]}, expected LLVM in the program")


def main():
    if len(sys.argv) != 2:
        fail("one argument is expected, the build folder")
    programs = Path(sys.argv[1]).resolve()
    folder = programs / "python" / "compiler"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build(folder, programs)
    check(wheel, build_wheel.only_wheel(programs / "python" / "dist"))
    print(f"wheel: {wheel}, {wheel.stat().st_size} bytes")


if __name__ == "__main__":
    main()
