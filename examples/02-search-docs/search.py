#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Search in this project's documentation by meaning.

    search.py --heddle build/bin/heddle --model build/models/minilm.so [QUESTION ...]

Splits every page into paragraphs, has them embedded by `heddle embed`, and prints the paragraphs
nearest to each question. Embeddings have length one: their dot product is the cosine similarity.
Only the standard library of Python is needed.
"""

import argparse
import json
import operator
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "dialects", "compiler", "runtime",
         "frontend", "examples"]
QUESTIONS = [
    "How do I add a new pass to the compiler?",
    "Why does the same sentence give the same bits in every batch?",
    "Is it safe to load a compiled model that somebody else made?",
]


def pages():
    """All pages in markdown, those of builds left out."""
    for name in PAGES:
        path = REPOSITORY / name
        yield from sorted(path.rglob("*.md")) if path.is_dir() else filter(Path.is_file, [path])


def paragraphs(page):
    """(heading, text) of every paragraph with at least six words. Code and pictures are no text;
    a point of a list is a paragraph, and so is a row of a table; numbered steps belong together."""
    heading = ""
    prose = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*] |\|)", prose):
        for line in re.findall(r"^#+\s+(.*)", block, flags=re.M):
            heading = line
        text = re.sub(r"^#+\s[^\n]*|<!--.*?-->", "", block, flags=re.M | re.S)
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)  # a link is its words
        text = " ".join(re.sub(r"[|`*]", " ", text).split())
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= 6:
            yield heading, text


def embed(heddle, model, texts, threads):
    """The records `heddle embed` writes for texts, and the seconds the command took."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "texts.jsonl"), Path(folder, "embeddings.jsonl")
        source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        begin = time.perf_counter()
        command = [heddle, "embed", model, "--input", source, "--output", result]
        subprocess.run(command + ["--threads", str(threads)], check=True)
        seconds = time.perf_counter() - begin
        return [json.loads(line) for line in result.read_text().splitlines()], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heddle", required=True, help="the program heddle")
    parser.add_argument("--model", required=True, help="a model compiled by heddlec")
    parser.add_argument("--results", type=int, default=2, help="paragraphs printed for a question")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("questions", nargs="*", default=QUESTIONS)
    options = parser.parse_args()

    places = [(page, heading, text) for page in pages() for heading, text in paragraphs(page)]
    texts = [f"{heading}: {text}" if heading else text for _, heading, text in places]
    try:
        records, seconds = embed(options.heddle, options.model, texts, options.threads)
        asked, asking = embed(options.heddle, options.model, options.questions, options.threads)
    except subprocess.CalledProcessError as error:
        return error.returncode
    tokens = sum(len(record["tokens"]) for record in records)
    print(f"{len(places)} paragraphs, {tokens} tokens embedded in {seconds * 1e3:.0f} ms "
          f"on {options.threads} threads, the start of the program included")

    for record in asked:
        begin = time.perf_counter()
        scores = [sum(map(operator.mul, record["embedding"], other["embedding"]))
                  for other in records]
        best = sorted(range(len(scores)), key=lambda i: -scores[i])[:options.results]
        elapsed = (time.perf_counter() - begin) * 1e3
        print(f"\n{record['text']}")
        for i in best:
            page, heading, text = places[i]
            print(f"  {scores[i]:.3f}  {page.relative_to(REPOSITORY)}: {heading}")
            print(textwrap.indent(textwrap.fill(textwrap.shorten(text, 240), 88), "         "))
        print(f"  compared in {elapsed:.0f} ms")
    print(f"\nquestions embedded in {asking * 1e3:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
