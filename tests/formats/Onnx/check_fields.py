# SPDX-License-Identifier: Apache-2.0
"""Compares the field numbers that are read with onnx.proto of the onnx package, if it is there.

    python3 check_fields.py OnnxFields.h [onnx.proto]
"""
import pathlib
import re
import sys


def read_ours(text):
    """Fields by message: {"TensorProto": {"dims": 1, ...}}."""
    found = {}
    for message, body in re.findall(r"enum class (\w+) : uint32_t \{(.*?)\}", text, re.S):
        found[message] = {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", body)}
    return found


def read_proto(text):
    """The same of a .proto file; nested messages are called OUTER_INNER."""
    found, stack = {}, []
    for line in re.sub(r"//[^\n]*", "", text).split("\n"):
        if opened := re.match(r"\s*(message|enum|oneof) (\w+)", line):
            kind, name = opened.groups()
            stack.append((kind, name))
            if kind == "message":
                found["_".join(each for of, each in stack if of == "message")] = {}
        elif field := re.match(r"\s*(?:optional |repeated |required )?[\w.]+ (\w+) = (\d+)", line):
            if all(kind != "enum" for kind, _ in stack) and stack:
                message = "_".join(each for of, each in stack if of == "message")
                found[message][field[1]] = int(field[2])
        if "}" in line and "{" not in line and stack:
            stack.pop()
    return found


def main():
    if len(sys.argv) > 2:
        proto = pathlib.Path(sys.argv[2])
    else:
        try:
            import onnx
        except ImportError:
            print("no onnx package: skipped")
            return 77
        proto = pathlib.Path(onnx.__file__).parent / "onnx.proto"
    ours = read_ours(pathlib.Path(sys.argv[1]).read_text())
    theirs = read_proto(proto.read_text())
    wrong = [f"{message}.{name} is {number}, in {proto} {theirs.get(message, {}).get(name)}"
             for message, fields in ours.items() for name, number in fields.items()
             if theirs.get(message, {}).get(name) != number]
    print("\n".join(wrong) or f"{sum(map(len, ours.values()))} fields agree")
    return 1 if wrong or not ours else 0


sys.exit(main())
