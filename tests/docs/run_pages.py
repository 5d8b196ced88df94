#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the pages tell people to type, with the names the pages print.

  tests/docs/run_pages.py BUILD

A page is README.md, CONTRIBUTING.md, a page of docs/ or an example's README.md. The language of a
fenced block says what becomes of it:

  sh               is executed, README's first and each block where the one before it ended, as in
                   one shell: other pages use what README's commands wrote. Nothing may be written
                   outside build/, which git ignores
  sh (reason)      is not executed, for the reason given
  cpp, cmake, c, python  stands in the file that a comment above names: <!-- from PATH -->
  text, json, mlir is shown

`./dev COMMAND` must exist and is not executed; examples/NAME/run is executed by `./dev test` itself.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"(?:<!-- from (?P<source>\S+) -->\n)?^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$",
                   re.M | re.S)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")),
         *sorted((ROOT / "examples").glob("**/README.md"))]
SHOWN = {"text", "json", "mlir"}
QUOTED = {"cpp", "cmake", "c", "python"}


def place(page, text, match):
    return f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start('body'))}"


def quoted_from(source, body):
    """Whether the lines of a block stand together in a file, at whatever indentation."""
    def lines(text):
        return [line.strip() for line in text.splitlines() if line.strip()]
    wanted, there = lines(body), lines(source.read_text(encoding="utf-8"))
    return any(there[i:i + len(wanted)] == wanted for i in range(len(there)))


def commands(body, where, findings):
    """The lines to execute: without ./dev, whose commands are looked up, and without examples."""
    functions = (ROOT / "dev").read_text(encoding="utf-8")
    kept = []
    for line in textwrap.dedent(body).splitlines():
        dev = re.match(r"\./dev (\w+)", line)
        if dev and f"cmd_{dev[1]}()" not in functions:
            findings.append(f"{where}: './dev {dev[1]}', expected a command of ./dev help")
        if dev or re.match(r"(.*&& )?examples/[\w-]+/run\b", line):
            continue
        kept.append(line)
    return "\n".join(kept)


def read(page, findings):
    """The blocks of a page that are executed: place and script."""
    text = page.read_text(encoding="utf-8")
    result = []
    for match in FENCE.finditer(text):
        where, info, body = place(page, text, match), match["info"], match["body"]
        language, _, reason = info.partition(" ")
        if info == "sh":
            script = commands(body, where, findings)
            if re.search(r"^\s*[^#\s]", script, re.M):
                result.append((where, script))
        elif language == "sh" and re.fullmatch(r"\(.+\)", reason):
            commands(body, where, findings)
        elif info in QUOTED:
            source = match["source"]
            if source is None or not (ROOT / source).is_file():
                findings.append(f"{where}: a block of {info} without '<!-- from FILE -->' above it")
            elif not quoted_from(ROOT / source, body):
                findings.append(f"{where}: the block is not what {source} says")
        elif info not in SHOWN:
            findings.append(f"{where}: a block of '{info}', expected one of sh, "
                            f"{', '.join(sorted(QUOTED | SHOWN))}")
    return result


def execute(where, script, folder, environment, findings):
    """Gives the folder that a block ends in."""
    ended = Path(environment["HEDDLE_PAGES_ENDED"])
    script += '\npwd > "$HEDDLE_PAGES_ENDED"'
    try:
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=1200, check=False)
    except subprocess.TimeoutExpired:
        findings.append(f"{where}: still running after 1200 s")
        return folder
    print(f"{where}: {'ran' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        findings.append(f"{where}: exit code {done.returncode}\n"
                        + textwrap.indent("\n".join(done.stdout.splitlines()[-12:]), "    "))
        return folder
    return Path(ended.read_text(encoding="utf-8").strip())


def main():
    build = Path(sys.argv[1]).resolve()
    findings, count = [], 0
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory(prefix="heddle-pages-") as name:
        folder = Path(name) / "clone"
        folder.mkdir()
        environment["HEDDLE_PAGES_ENDED"] = str(Path(name) / "ended")
        # What a clone has, so that the names fit; what is written stays out of it.
        for entry in ROOT.iterdir():
            if entry.name not in {".git", "build"}:
                (folder / entry.name).symlink_to(entry)
        (folder / "build").symlink_to(build)
        before = sorted(entry.name for entry in folder.iterdir())
        current = folder
        for page in PAGES:
            for where, script in read(page, findings):
                current = execute(where, script, current, environment, findings)
                count += 1
                after = sorted(entry.name for entry in folder.iterdir())
                if after != before:
                    findings.append(f"{where}: leaves {', '.join(set(after) - set(before))} in the "
                                    "repository, expected a name in build/")
                    before = after
    for finding in findings:
        print(finding)
    print(f"pages: {count} blocks executed, {len(findings)} findings")
    sys.exit(bool(findings) or count == 0)


main()
