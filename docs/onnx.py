#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/onnx.md: which files of tests/oracles/onnx are read, by architecture and
exporter, and how many attentions are fused.

  docs/onnx.py BUILD_FOLDER
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "onnx.md"
ORACLES = ROOT / "tests" / "oracles" / "onnx"
EXPORTERS = {"ts": "TorchScript", "dynamo": "torch.export", "ort": "onnxruntime's optimizer",
             "hand": "by hand"}


def fused_attentions(text):
    """Those of one entry, or of a source's and of targets'. What entries have in common is a function
    that they call."""
    functions = [part.split("(", 1)[0:1] + [part] for part in text.split("func.func ")[1:]]
    # Weights that layers share are one attention, whose values are several.
    count = {name: body.count("transformer.attention ")
             + len(set(re.findall(r"transformer\.attend (%\w+)", body))) for name, body in functions}
    entries = [each for each in functions if not each[0].startswith("private ")]
    if not entries[0][0].startswith(("@encode", "@run_source")):
        entries = entries[:1]
    return sum(count[entry] + sum(count[name] for name in count if name.startswith("private ")
                                  and f"call {name.removeprefix('private ')}(" in body)
               for entry, body in entries)


def fused_in(heddlec, file):
    """How many attentions of a file are fused, and the option that it needs; where it is refused, 0
    and the message."""
    for options in [], ["--static"]:
        done = subprocess.run([heddlec, ORACLES / file, "--emit=fused", *options],
                              capture_output=True, text=True)
        if done.returncode == 0:
            return fused_attentions(done.stdout), " ".join(options)
        if "--static takes" not in done.stderr:
            break
    return 0, done.stderr


def outcome(heddlec, model):
    """What becomes of a file: its attentions, or the operators that are missing."""
    count, said = fused_in(heddlec, model["file"])
    if count or not said:
        return f"{count} of {model['attentions']}" + (f" with `{said}`" if said else "")
    missing = re.findall(r'"([\w.]+)" \(\d+ nodes?, first', said)
    return "no: " + (", ".join(name.removeprefix("com.microsoft.") for name in missing)
                     or said.strip().split("): ")[-1].split(",")[0])


def main():
    heddlec = Path(sys.argv[1]) / "bin" / "heddlec"
    rows = {}
    for model in json.loads((ORACLES / "models.json").read_text())["models"]:
        if (ORACLES / model["file"]).exists():
            name = model["file"].split("/")[0]
            text = f"{model['attention']}, opset {model['opset']}: {outcome(heddlec, model)}"
            # Without its optimizer, torch.export is still torch.export.
            exporter = {"raw": "dynamo"}.get(model["exporter"], model["exporter"])
            rows.setdefault(name, {}).setdefault(exporter, []).append(text)
    table = ["| model | " + " | ".join(EXPORTERS.values()) + " |", "|---" * (len(EXPORTERS) + 1) + "|"]
    for name, by_exporter in rows.items():
        cells = ["<br>".join(by_exporter.get(exporter, [])) for exporter in EXPORTERS]
        table.append(f"| {name} | " + " | ".join(cells) + " |")
    page = PAGE.read_text()
    begin, end = "<!-- table: begin -->\n", "<!-- table: end -->"
    head, rest = page.split(begin)
    PAGE.write_text(head + begin + "\n".join(table) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
