#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs fuzz targets for a number of inputs each and prints what they did as a table.

The targets and their corpora are those that ctest runs for a few seconds. What a run finds stays in
the build folder under fuzz/findings, and the grown corpora are used by later runs.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path


# A target that has taken the signal over says 72, libFuzzer's code for it; before that it ends by it.
INTERRUPTED = {72, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM}


def fuzz_targets(build):
    """Names and command lines, as the tests have them."""
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                            stdout=subprocess.PIPE, check=True)
    for test in json.loads(listed.stdout)["tests"]:
        if test["name"].endswith("Fuzzer") and "command" in test:
            yield test["name"], test["command"]


def run(build, name, command, inputs, seconds):
    """One target: (inputs, seconds, exit code)."""
    findings = build / "fuzz" / "findings" / name
    grown = build / "fuzz" / name
    for folder in (findings, grown):
        folder.mkdir(parents=True, exist_ok=True)
    log = build / "fuzz" / f"{name}.log"
    command = [word for word in command if not word.startswith(("-max_total_time=", "-seed="))]
    command[1:1] = [f"-runs={inputs}", f"-max_total_time={seconds}", f"-artifact_prefix={findings}/"]
    command.append(str(grown))
    # Where memory was taken is of interest when a finding is looked at; memory that was given back is
    # kept from use for a while that is longer than an input. More of either costs time.
    environment = {"ASAN_OPTIONS": "malloc_context_size=1:quarantine_size_mb=8", **os.environ}
    begin = time.monotonic()
    with open(log, "wb") as output:
        code = subprocess.run(command, stdout=output, stderr=output, check=False, env=environment,
                              preexec_fn=lambda: os.nice(5)).returncode
    took = time.monotonic() - begin
    text = log.read_text(errors="replace")
    counts = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text)
    # A run that ends with a finding has no statistics, but says how far it was.
    counts = counts or re.findall(r"^#(\d+)", text, re.M) or ["0"]
    return int(counts[-1]), took, code


def result_of(code, inputs, wanted, seconds, log):
    """What a target's row of the table says."""
    if code in INTERRUPTED:
        return "interrupted, nothing found until then"
    if code != 0:
        return f"exit code {code}, see {log}"
    return "nothing found" + (f", stopped after {seconds} s" if inputs < wanted else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of each target")
    parser.add_argument("--seconds", type=int, default=3600, help="of each target at most")
    parser.add_argument("targets", nargs="*", help="all if none is named")
    # Options may stand between the build folder and the targets.
    arguments = parser.parse_intermixed_args()
    build = arguments.build.resolve()
    known = dict(fuzz_targets(build))
    unknown = [name for name in arguments.targets if name not in known]
    if unknown:
        parser.error(f"no fuzz target '{unknown[0]}', known are {', '.join(known)}")
    print("| target | inputs | seconds | result |\n|---|---|---|---|", flush=True)
    bad = 0
    for name in arguments.targets or known:
        inputs, took, code = run(build, name, known[name], arguments.inputs, arguments.seconds)
        bad += code != 0
        result = result_of(code, inputs, arguments.inputs, arguments.seconds,
                           build / "fuzz" / f"{name}.log")
        print(f"| {name} | {inputs:,} | {took:.0f} | {result} |", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
