# SPDX-License-Identifier: Apache-2.0
"""The files of the project, for the checks beside this file.

A check is a program check_*.py without arguments: it prints one line for each finding,
`path:line: what was seen, what was expected`, and ends with 1 if there was any.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = {".cpp", ".h", ".c", ".td", ".mlir", ".def", ".fbs", ".py", ".cmake", ".sh",
        ".js", ".css", ".html"}


def files():
    """Paths relative to ROOT of what git tracks or would track; without git, of what is there."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "--cached", "--others",
                             "--exclude-standard", "-z"], stdout=subprocess.PIPE, check=False)
    if listed.returncode == 0:
        paths = [Path(name) for name in listed.stdout.decode().split("\0") if name]
    else:
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*")
                 if not any(part.startswith((".", "build")) and part != ".ci"
                            for part in path.relative_to(ROOT).parts)]
    return sorted(path for path in set(paths) if (ROOT / path).is_file())


def code_files():
    """Source in any language; scripts without an ending count by their first line."""
    for path in files():
        if path.suffix in CODE or path.name == "CMakeLists.txt":
            yield path
        elif not path.suffix and (ROOT / path).read_bytes()[:2] == b"#!":
            yield path


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def finish(findings):
    """Prints the findings and ends the program."""
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
