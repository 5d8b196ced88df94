#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/heddle/_operations.py and _operation_table.py from the definitions of the dialect:
what a model that is written in Python is made of.

The files are committed, since wheels are built without LLVM; with --check nothing is written and one
that is out of date is an error, as the tests want it. Arguments, defaults, words of enumerations and
documentation are the definitions'. Types of results that the definitions do not say are in
python/heddle/_shapes.py: an operation that is in neither is an error here.

usage: make_operations.py [--check] LLVM_TBLGEN MLIR_INCLUDE_FOLDER...
"""

import ast
import difflib
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "dialects/Transformer/TransformerOps.td"
PACKAGE = ROOT / "python" / "heddle"
SHAPES = PACKAGE / "_shapes.py"
# Passes make these; parameters and recurrences are methods of the builder.
NOT_OPERATIONS = {"attend", "attention", "attention_weights", "embed", "grouped_linear", "rotate",
                  "parameter", "next", "recurrence"}
# What a definition's operand or attribute is in Python: how the builder takes it, and its hint.
KINDS = {
    "Transformer_Tensor": ("tensor", "Tensor"), "Transformer_Rows": ("rows", "Tensor"),
    "Transformer_Heads": ("heads", "Tensor"), "Transformer_Scores": ("scores", "Tensor"),
    "Transformer_RowsOrScores": ("tensor", "Tensor"), "Transformer_Ids": ("ids", "Ids"),
    "Transformer_Mask": ("mask", "Mask"), "Transformer_SegmentsType": ("segments", "Segments"),
    "Transformer_CacheType": ("cache", "Cache"), "Transformer_StateType": ("state", "State"),
    "Transformer_RowState": ("state", "State"),
    "FlatSymbolRefAttr": ("parameter", "Parameter"), "I64Attr": ("whole", "int"),
    "F32Attr": ("number", "float"), "StrAttr": ("text", "str"), "UnitAttr": ("flag", "bool"),
    "DenseI64ArrayAttr": ("wholes", "Sequence[int]"), "DenseF32ArrayAttr": ("numbers", "Sequence[float]"),
    "Transformer_VisibilityAttr": ("visibility", "str"), "Transformer_WindowAttr": ("window", "Mapping[str, Any]"),
}
# Arguments with a spelling of their own: the attribute that describes it, and how a caller writes it.
SPELT = {"visibility": ("Transformer_VisibilityAttr", "a text: \"all\", \"causal\" or bounds."),
         "window": ("Transformer_WindowAttr",
                    "a dict such as {\"height\": 3, \"width\": 3}; what is left out is 1, or False.")}
# How the builder's documentation writes types of the IR.
AXES = {"tensor<?x?xf32>": "[t, k]", "tensor<?xHx?xf32>": "[t, h, k]", "tensor<?x1xf32>": "[t, 1]"}
RESULTS = {"Transformer_SegmentsType": "segments", "Transformer_Ids": "ids", "Transformer_Mask": "mask"}
NOTE = """# SPDX-License-Identifier: Apache-2.0
# Written by python/make_operations.py from dialects/Transformer; change that.
"""
TABLE = '''"""What ``EntryBuilder`` knows of each operation."""

'''
HEAD = '''"""The operations of the model level, as methods of an entry under construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ._values import Cache, Ids, Mask, Parameter, Segments, State, Tensor


class Operations:
    """Mathematics on the rows of all sequences, laid end to end: [t, w] are t rows of width w, h are
    heads, d is their size, and k are the keys of a row's own sequence. Every operation is one of the
    dialect, checked when it is made as far as its result depends on that, and by the compiler."""

    def _make(self, operation: str, given: dict) -> Any:
        raise NotImplementedError
'''


def fail(message):
    sys.exit(f"make_operations: {message}")


class Definitions:
    """The records that llvm-tblgen prints."""

    def __init__(self, tablegen, includes):
        command = [tablegen, "--dump-json", "-I", str(ROOT)]
        for include in includes:
            command += ["-I", include]
        self.records = json.loads(subprocess.run([*command, str(ROOT / SOURCE)], check=True,
                                                 capture_output=True, text=True).stdout)

    def operations(self):
        found = [self.records[name] for name in self.records["!instanceof"]["Op"]]
        return sorted((each for each in found if each["opName"] not in NOT_OPERATIONS),
                      key=lambda each: each["opName"])

    def inner(self, name):
        """(the definition's name without what is optional about it, "", "optional" or "variadic",
        default)"""
        record = self.records[name]
        classes = record["!superclasses"]
        if "Variadic" in classes or "Optional" in classes:
            return (record["baseType"]["def"], "variadic" if "Variadic" in classes else "optional", None)
        if "DefaultValuedAttr" in classes:
            return record["baseAttr"]["def"], "", record["defaultValue"]
        if "OptionalAttr" in classes:
            return record["baseAttr"]["def"], "optional", None
        return name, "", None

    def words(self, name):
        """The words of an enumeration, or None."""
        enum = self.records[name].get("enum")
        if enum is None:
            return None
        return [self.records[case["def"]]["str"] for case in self.records[enum["def"]]["enumerants"]]


def argument(definitions, operation, name, definition):
    """How a method has an argument: (name, kind, hint, default or None, words)."""
    inner, optional, default = definitions.inner(definition)
    words = definitions.words(inner)
    if words is not None:
        mnemonic = definitions.records[inner]["mnemonic"]
        return name, f"word:{mnemonic}", "str", default, words
    if inner not in KINDS:
        fail(f"transformer.{operation}: argument {name!r} is a {inner}, expected one of "
             f"{', '.join(KINDS)}")
    kind, hint = KINDS[inner]
    if kind == "flag":
        return name, kind, hint, "False", None
    if optional == "variadic":
        return name, kind + "*", f"Sequence[{hint}]", None, None
    if optional == "optional":
        return name, kind + "?", f"Optional[{hint}]", "None", None
    return name, kind, hint, default, None


def same_type(definitions, record, result):
    """The argument whose type the result has, or None."""
    for each in record["traits"]:
        trait = definitions.records[each["def"]]
        if each["def"] == "SameOperandsAndResultType":
            return next(name for value, name in record["arguments"]["args"]
                        if definitions.inner(value["def"])[0] in ("Transformer_Tensor", "Transformer_Rows"))
        if "TypesMatchWith" in trait["!superclasses"] and trait["rhs"] == result \
                and trait["transformer"] == "$_self":
            return trait["lhs"]
    return None


def result_of(definitions, record, shapes):
    """What _make() takes of the results, and the arguments that only a rule of _shapes.py has."""
    name = record["opName"]
    results = [(label, value["def"]) for value, label in record["results"]["args"]]
    if name in shapes:
        known = {label for _, label in record["arguments"]["args"]}
        extra = [each for each in shapes[name] if each[0] not in known]
        return "rule", extra
    if len(results) == 1:
        label, definition = results[0]
        like = same_type(definitions, record, label)
        if like is not None:
            return f"like:{like}", []
        if definition in RESULTS:
            return f"kind:{RESULTS[definition]}", []
    fail(f"transformer.{name}: nothing says the type of its result, expected a rule in {SHAPES.name}")
    return None


def rules():
    """The parameters of every rule in _shapes.py: (name, default or None)."""
    found = {}
    for node in ast.parse(SHAPES.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            given = node.args
            names = [each.arg for each in given.args]
            defaults = [None] * (len(names) - len(given.defaults)) + [
                ast.unparse(each) for each in given.defaults]
            found[node.name] = list(zip(names, defaults))
    return found


def capitalized(summary):
    """A sentence; one that begins with a formula stays as it is."""
    return (summary if re.match(r"x\b|\w+\(", summary) else summary[0].upper() + summary[1:]) + "."


def in_python(record, text):
    """A text of the definitions in the words of the builder: the format's words before arguments in brackets
    become the names of these, types of the IR become axes."""
    for word, names in re.findall(r"`(\w+)` `\(` ([^()]*?) *(?:`:`[^`]*)?`\)`", record["assemblyFormat"] or ""):
        arguments = [f"``{each}``" for each in re.findall(r"\$(\w+)", names)]
        text = text.replace(f"``{word}``", " and ".join(arguments))
    for written, axes in AXES.items():
        text = text.replace(f"``{written}``", axes)
    text = re.sub(r"``#transformer\.(\w+)``", r"``\1``", text)
    # A size of zero stands for any.
    text = re.sub(r"``across(?: =)? \?``", "``across`` 0", text)
    known = {label for _, label in record["arguments"]["args"]}
    for word in re.findall(r"``(in|to|after|over|\w+ \?|tensor<[^`]*|[#!]transformer[^`]*)``", text):
        if word not in known:
            fail(f"transformer.{record['opName']}: the description says {word!r}, expected names of arguments")
    return text


def filled(text):
    """Paragraphs and lists, in lines of a docstring."""
    wrapped = []
    for block in text.split("\n\n"):
        parts = re.split(r"\n(?=\* )", re.sub(r"^- ", "* ", block, flags=re.M))
        wrapped.append("\n".join(textwrap.fill(" ".join(part.split()), 92,
                                               subsequent_indent="  " if part.startswith("* ") else "",
                                               break_long_words=False, break_on_hyphens=False)
                                 for part in parts))
    return textwrap.indent("\n\n".join(wrapped), " " * 8).strip()


def description_of(record):
    """What a definition says of its meaning."""
    body = textwrap.dedent(record["description"] or "").strip()
    return re.split(r"^Constraints:|^```", body, flags=re.M)[0].strip()


def documentation(definitions, record, arguments):
    text = [capitalized(record["summary"].strip()), description_of(record)]
    for name, kind, _, _, words in arguments:
        if words:
            text.append(f"``{name}`` is one of {', '.join(words)}.")
        if kind in SPELT:
            attribute, introduction = SPELT[kind]
            text += [f"``{name}`` is {introduction}", description_of(definitions.records[attribute])]
    lines = "\n\n".join(filter(None, text)).replace("\\", "\\\\").replace("`", "``").replace("````", "``")
    return filled(in_python(record, re.sub(r"``{3,}", "``", lines)))


def method(definitions, record, shapes):
    name = record["opName"]
    arguments = [argument(definitions, name, label, value["def"])
                 for value, label in record["arguments"]["args"]]
    kind, extra = result_of(definitions, record, shapes)
    required = [each for each in arguments if each[3] is None and not each[1].endswith("*")]
    variadic = [each for each in arguments if each[1].endswith("*")]
    others = [each for each in arguments if each[3] is not None]
    parts = ["self"] + [f"{each[0]}: {each[2]}" for each in required]
    parts += [f"{each}: int" for each, default in extra if default is None]
    parts += [f"{each[0]}: {each[2]} = ()" if len(arguments) > 1 else f"{each[0]}: {each[2]}"
              for each in variadic]
    parts += [f"{each[0]}: {each[2]} = {each[3]}" for each in others]
    parts += [f"{each}: Optional[int] = {default}" for each, default in extra if default is not None]
    results = [value["def"] for value, _ in record["results"]["args"]]
    hints = [KINDS[each][1] for each in results]
    returns = hints[0] if len(hints) == 1 else f"tuple[{', '.join(hints)}]"
    changes = any(each["def"] == "Transformer_ChangesKept" for each in record["traits"])
    segmented = any(each["def"] == "AttrSizedOperandSegments" for each in record["traits"])
    # What stands together is not broken.
    parts = [each.replace(" ", "\xa0") for each in parts]
    returns = returns.replace(" ", "\xa0")
    head = textwrap.fill(f"def {name}({', '.join(parts)})\xa0->\xa0{returns}:", 100,
                         initial_indent="    ", subsequent_indent=" " * (9 + len(name)),
                         break_on_hyphens=False, break_long_words=False).replace("\xa0", " ")
    given = ", ".join(f'"{each}": {each}' for each in
                      [each[0] for each in arguments] + [each for each, _ in extra])
    call = textwrap.fill(f'return self._make("{name}", {{{given}}})', 100, initial_indent=" " * 8,
                         subsequent_indent=" " * 12, break_on_hyphens=False, break_long_words=False)
    row = (name, tuple((each[0], each[1]) for each in arguments), kind,
           arguments[0][0] if changes else None, segmented)
    return row, f'{head}\n        """{documentation(definitions, record, arguments)}"""\n{call}\n'


def table(rows, words):
    """What _make() knows of each operation."""
    lines = ["#: By operation: its arguments and how they are taken, the type of its result, the argument",
             "#: that it changes, and whether it says how many operands each has.", "OPERATIONS = {"]
    for name, arguments, kind, changes, segmented in rows:
        lines.append(f'    "{name}": (')
        lines.append(textwrap.fill(
            "(" + ", ".join(f'("{each}", "{how}")' for each, how in arguments)
            + ("," if len(arguments) == 1 else "") + "),", 100, initial_indent=" " * 8,
            subsequent_indent=" " * 9, break_on_hyphens=False))
        lines.append(f"        {kind!r}, {changes!r}, {segmented!r}),".replace("'", '"'))
    lines += ["}", "", "#: The words of enumerations.", "WORDS = {"]
    for mnemonic, each in sorted(words.items()):
        lines.append(textwrap.fill(
            f'"{mnemonic}": (' + ", ".join(f'"{word}"' for word in each) + "),", 100,
            initial_indent="    ", subsequent_indent=" " * (8 + len(mnemonic)), break_on_hyphens=False))
    return "\n".join([*lines, "}"]) + "\n"


def pages(definitions):
    """The text of each file."""
    shapes = rules()
    methods, rows, words = [], [], {}
    for record in definitions.operations():
        row, text = method(definitions, record, shapes)
        rows.append(row)
        methods.append(text)
        for value, label in record["arguments"]["args"]:
            _, kind, _, _, each = argument(definitions, row[0], label, value["def"])
            if each:
                words[kind.partition(":")[2]] = each
    if unused := set(shapes) - {row[0] for row in rows}:
        fail(f"{SHAPES.name} has a rule for {sorted(unused)[0]!r}, expected an operation of that name")
    return {"_operations.py": NOTE + HEAD + "\n" + "\n".join(methods),
            "_operation_table.py": NOTE + TABLE + table(rows, words)}


def main():
    arguments = [each for each in sys.argv[1:] if each != "--check"]
    stale = 0
    for name, new in pages(Definitions(arguments[0], arguments[1:])).items():
        old = (PACKAGE / name).read_text(encoding="utf-8") if (PACKAGE / name).exists() else ""
        if "--check" not in sys.argv:
            (PACKAGE / name).write_text(new, encoding="utf-8")
        elif old != new:
            stale += 1
            sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                                       f"python/heddle/{name}", "generated"))
            print(f"python/heddle/{name} is out of date: run ./dev docs")
    return int(stale > 0)


sys.exit(main())
