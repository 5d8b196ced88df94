# SPDX-License-Identifier: Apache-2.0
"""The compiler of Heddle, heddlec, for ``heddle.compile`` and as a program on PATH."""

import os
import sys
from importlib.metadata import version

__version__ = version("heddle-compiler")


def program() -> str:
    """The path of heddlec."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "heddlec")


def main() -> None:
    """Becomes heddlec, with the arguments of this process."""
    os.execv(program(), ["heddlec", *sys.argv[1:]])
