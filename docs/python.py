#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/python.md from the docstrings of the Python package.

  docs/python.py            write the page
  docs/python.py --check    fail if the page is out of date

The files of the package are read, not run: neither the extension module nor numpy is needed.
"""

import ast
import difflib
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "heddle"
PAGE = ROOT / "docs" / "python.md"
# Where each part of the page comes from, in its order.
PARTS = [("_model.py", ["load", "shared", "info", "Model"]), ("_compile.py", ["compile", "explain"]),
         ("_builder.py", ["ModelBuilder"]), ("_entry.py", ["EntryBuilder"]),
         ("_values.py", ["Tensor", "Parameter"]), ("torch.py", ["save"]),
         ("integrations/sentence_transformers.py", ["SentenceTransformer"]),
         ("integrations/langchain.py", ["HeddleEmbeddings"]),
         ("integrations/llama_index.py", ["HeddleEmbedding"]),
         ("integrations/onnxruntime.py", ["InferenceSession", "NodeArg"]),
         ("__init__.py", ["machine_targets"]),
         ("_results.py", ["Hypothesis", "Piece", "TokenScore", "Score", "CacheUse", "Classification",
                          "TokenLabel", "Ranked", "Info", "Languages", "Entry", "Port"]),
         ("_reports.py", ["Profile", "ProfiledWork", "Analysis", "AttentionKind", "Alignment", "Report"]),
         ("_errors.py", ["Error", "InvalidArgument", "WrongType", "NotFound", "DataLoss", "OutOfRange",
                         "Unsupported", "ResourceExhausted", "InputOutput", "Internal",
                         "CompileError", "CompileWarning"])]
# What a reader looks for, and the parts that answer it.
CONTENTS = [("Load and describe models", ["load", "shared", "info", "machine_targets", "Info"]),
            ("Embed, generate, chat, classify, measure", ["Model"]),
            ("What these calls return", ["Hypothesis", "Piece", "Score", "Classification", "TokenLabel", "Ranked",
                                         "Profile", "Analysis", "Alignment", "Report"]),
            ("Compile", ["compile", "explain"]),
            ("Write models", ["ModelBuilder", "EntryBuilder", "Tensor", "Parameter", "torch.save"]),
            ("Inside other packages", ["integrations.sentence_transformers.SentenceTransformer",
                                       "integrations.langchain.HeddleEmbeddings",
                                       "integrations.llama_index.HeddleEmbedding",
                                       "integrations.onnxruntime.InferenceSession"]),
            ("Exceptions", ["Error"])]
# Classes that a class is made of, whose methods are its own for whoever reads the page.
PARTS_OF = {"Operations": "_operations.py", "Classifying": "_classification.py", "Generation": "_generation.py",
            "Measuring": "_measuring.py"}
NOTE = "<!-- Written by docs/python.py from the docstrings in python/heddle; change those. -->"
SECTIONS = {"Args:": "Arguments", "Returns:": "Returns", "Raises:": "Raises",
            "Attributes:": "Attributes"}
WIDTH = 128


def wrapped(text, indent=""):
    return textwrap.fill(" ".join(text.split()), WIDTH, initial_indent=indent,
                         subsequent_indent=" " * len(indent), break_on_hyphens=False,
                         break_long_words=False)


def to_code(text):
    """Double backquotes are those of docstrings."""
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.S)


def items(lines):
    """The `name: text` items of a section, or its one text."""
    parts, base = [], min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    for line in lines:
        if line.strip() and len(line) - len(line.lstrip()) == base:
            parts.append(line.strip())
        elif line.strip() and parts:
            parts[-1] += " " + line.strip()
    return parts


def paragraphs(docstring):
    """A docstring as Markdown."""
    result, blocks = [], re.split(r"\n\s*\n", to_code(docstring))
    for block in blocks:
        lines = block.splitlines()
        title = SECTIONS.get(lines[0].strip())
        if title is None and lines[0].startswith("    "):
            result.append("```text\n" + textwrap.dedent(block) + "\n```")
        elif title is None and lines[0].startswith("* "):
            points = re.split(r"^\* ", block, flags=re.M)[1:]
            result.append("\n".join(wrapped(point, "* ") for point in points))
        elif title is None:
            result.append(wrapped(block))
        elif title in ("Returns",):
            result.append(wrapped(f"{title}: " + " ".join(items(lines[1:]))))
        else:
            named = [re.match(r"([\w, ]+): (.*)", item) for item in items(lines[1:])]
            result.append(f"{title}:\n\n" + "\n".join(
                wrapped(f"`{match[1]}`: {match[2]}", "* ") for match in named))
    return "\n\n".join(result)


def signature(name, function):
    """The call as one types it, without types, which the docstring says in words."""
    given = function.args
    names = [each.arg for each in [*given.posonlyargs, *given.args]]
    defaults = [None] * (len(names) - len(given.defaults)) + [ast.unparse(each) for each in given.defaults]
    parts = [each if default is None else f"{each}={default}"
             for each, default in zip(names, defaults) if each not in ("self", "cls")]
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    if given.kwonlyargs:
        parts.append("*")
        parts += [f"{each.arg}={ast.unparse(default)}" if default else each.arg
                  for each, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        parts.append(f"**{given.kwarg.arg}")
    text = f"{name}({', '.join(parts)})"
    return textwrap.fill(text, 100, subsequent_indent=" " * (len(name) + 1), break_on_hyphens=False)


def classes(file):
    """The functions and classes of a file, by name."""
    return {node.name: node for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def is_property(node):
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def is_setter(node):
    return any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in node.decorator_list)


def described(node, prefix="", module=""):
    """A function or a class with its methods."""
    name = module + prefix + node.name
    text = [f"{'###' if prefix else '##'} {name}"]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not is_property(node):
        start = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
        text.append(f"```text\n{start}{signature(name if prefix else 'heddle.' + name, node)}\n```")
    bases = [ast.unparse(base) for base in getattr(node, "bases", ())]
    parts = [each for each in bases if each in PARTS_OF]
    if isinstance(node, ast.ClassDef) and node.bases and not parts:
        bases = " and ".join(f"`{base}`" for base in bases)
        text.append(f"A subclass of {bases}.")
    docstring = ast.get_docstring(node)
    # A class that callers make themselves says what it takes.
    makes = [each for each in getattr(node, "body", []) if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    if makes and (not prefix and re.search(r"^Args:", docstring, re.M) or node.name == "ModelBuilder"):
        text.append(f"```text\n{signature('heddle.' + name, makes[0])}\n```")
    text.append(paragraphs(docstring))
    if isinstance(node, ast.ClassDef):
        bodies = [node.body] + [classes(PARTS_OF[part])[part].body for part in reversed(parts)]
        text += [described(method, f"{node.name}.") for body in bodies for method in body
                 if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
                 and not method.name.startswith("_") and not is_setter(method)]
    return "\n\n".join(text)


def contents(headings):
    """A table of links, each to a heading."""
    anchors, times = {}, Counter()
    for heading in headings:
        anchor = heading.lower().replace(".", "")
        # The second of two that are equal but for capitals is numbered.
        anchors[heading] = f"{anchor}-{times[anchor]}" if times[anchor] else anchor
        times[anchor] += 1
    lines = ["| for | see |", "|---|---|"]
    for what, names in CONTENTS:
        if missing := [name for name in names if name not in anchors]:
            sys.exit(f"docs/python.py: {missing[0]} is in CONTENTS and has no heading")
        links = [f"[{name.rpartition('.')[2]}](#{anchors[name]})" for name in names]
        lines.append(f"| {what} | {', '.join(links)} |")
    return "\n".join(lines)


def page():
    intro = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")))
    text = [NOTE, "# The Python package",
            "`pip install .` in a clone installs it, on a machine that `./dev setup` has prepared. `./dev wheel` builds\n"
            "wheels for other machines: heddle, which runs models, and heddle-compiler, with which `heddle.compile` works.\n"
            "CPython 3.10 and later, with the interpreter's lock: free-threaded builds (3.13t) are not tested, and no wheel\n"
            "is built for them. `help(heddle)` says what this page says.", paragraphs(intro)]
    parts = []
    for file, names in PARTS:
        nodes = classes(file)
        if lacking := [name for name in names if not ast.get_docstring(nodes[name])]:
            sys.exit(f"python/heddle/{file}: {lacking[0]} has no docstring, expected one")
        module = "" if file.startswith("_") else file.removesuffix(".py").replace("/", ".") + "."
        parts += [described(nodes[name], module=module) for name in names]
    headings = [part.partition("\n")[0].removeprefix("## ") for part in parts]
    return "\n\n".join([*text, contents(headings), *parts]) + "\n"


def main():
    new = page()
    if "--check" not in sys.argv:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                               "docs/python.md", "generated"))
    if old != new:
        print("docs/python.md is out of date: run docs/python.py")
    return int(old != new)


sys.exit(main())
