#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `heddle generate` again and again and ends it by a signal at a random moment.

Afterwards the output is what it was before, or whole. Beside it there is at most NAME.partial with
the whole lines that were answered, and after SIGKILL, when a process can remove nothing, a file
NAME.partial-PID-NUMBER. Every line has the bytes that an undisturbed run gives. The program ends by
the signal, as a shell expects of one that was interrupted, or with 0 if it was done first.
"""

import argparse
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
OLD = b"what was here before\n"
# How a run is started: options, and whether its result goes to a file or through a pipe.
OPTIONS = [["--beam", "1"], ["--beam", "3"], ["--beam", "4", "--nbest", "2", "--scores"],
           ["--beam", "2", "--format", "jsonl"], ["--beam", "1", "--threads", "2"],
           ["--sample", "--seed", "7", "--top-k", "20"], ["--beam", "2", "--batch-tokens", "64"]]


class Case:
    """One way to call the program, with the result and the time of an undisturbed run."""

    def __init__(self, heddle, model, text, options, to_file):
        self.command = [heddle, "generate", model, "--input", text, *options]
        self.to_file = to_file
        begin = time.monotonic()
        run = subprocess.run(self.command, capture_output=True, check=True, timeout=1200)
        self.seconds = time.monotonic() - begin
        self.whole = run.stdout


def is_beginning(part, whole):
    """Some whole lines, none of them another one than in the whole."""
    return whole.startswith(part) and (not part or part.endswith(b"\n"))


def findings_in(folder, before, case, sent, run, errors):
    """What must not be, as messages."""
    out = folder / "out.txt"
    now = out.read_bytes() if out.exists() else None
    message = errors.decode(errors="replace")
    if run.returncode == 0 and now != case.whole:
        yield f"ended with 0, but the output has {len(now or b'')} bytes of {len(case.whole)}"
    if now not in (before, case.whole):
        yield f"out.txt is neither the old nor the new file: {len(now or b'')} bytes"
    for path in folder.iterdir():
        if path == out:
            continue
        content = path.read_bytes()
        path.unlink()
        is_killed = sent == signal.SIGKILL and re.fullmatch(r"out\.txt\.partial-.*", path.name)
        # Where an interrupted run keeps the answers that it has.
        is_said = path.name == "out.txt.partial" and is_beginning(content, case.whole)
        if not is_killed and not is_said:
            yield f"left over: {path.name}, {len(content)} bytes; stderr: {message[-300:]!r}"


def wrong_codes(code, sent):
    """A code that the signal does not explain; None if none came."""
    expected = [0] if sent is None else [-sent, 0]
    if code not in expected:
        yield f"exit code {code}, expected {' or '.join(map(str, expected))}"


def heed_signals():
    """In the child: a program started by nohup or in the background would ignore some of them."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def one_round(case, chance, folder):
    """Starts, signals and looks; the signal, if the program was there for it, the exit code and the
    findings."""
    sent = chance.choice(SIGNALS)
    before = OLD if chance.random() < 0.5 else None
    out = folder / "out.txt"
    out.unlink(missing_ok=True)
    if before is not None:
        out.write_bytes(before)
    command = case.command + (["--output", str(out)] if case.to_file else [])
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           preexec_fn=heed_signals)
    # Before it has started, while it works, and about when it is done.
    moment = chance.choice([0.1, 1.1]) * case.seconds * chance.random()
    try:
        result, errors = run.communicate(timeout=moment)
        sent = None
    except subprocess.TimeoutExpired:
        run.send_signal(sent)
        if chance.random() < 0.2:
            run.send_signal(sent)
        try:
            result, errors = run.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            return sent, run.returncode, [f"still runs ten minutes after {sent.name}"]
    found = list(wrong_codes(run.returncode, sent))
    if case.to_file:
        found += findings_in(folder, before, case, sent, run, errors)
    elif not case.whole.startswith(result):
        # A pipe may have been cut anywhere by SIGKILL; what came through is right.
        found.append(f"{len(result)} bytes through the pipe differ")
    elif run.returncode == 0 and result != case.whole:
        found.append(f"ended with 0 after {len(result)} bytes of {len(case.whole)}")
    return sent, run.returncode, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--model", required=True, help="a compiled model that generates")
    parser.add_argument("--heddlec", help="compiles --model, a folder, first")
    parser.add_argument("--input", required=True, help="a source a line")
    parser.add_argument("--lines", type=int, default=60, help="lines of it that are used")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    # Told to stop, it still says what it has seen.
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    ends = Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        model = arguments.model
        if arguments.heddlec:
            model = str(place / "model.so")
            subprocess.run([arguments.heddlec, arguments.model, "-o", model], check=True,
                           stderr=subprocess.DEVNULL)
        text = place / "input.txt"
        lines = Path(arguments.input).read_text(encoding="utf-8").splitlines()
        text.write_text("".join(line.split("\t")[0] + "\n" for line in lines[:arguments.lines]),
                        encoding="utf-8")
        folder = place / "results"
        folder.mkdir()
        cases = [Case(arguments.heddle, model, str(text), options, to_file)
                 for options in OPTIONS for to_file in (True, True, False)]
        begin = time.monotonic()
        while time.monotonic() - begin < arguments.seconds and not stopped:
            case = chance.choice(cases)
            sent, code, found = one_round(case, chance, folder)
            name = sent.name if sent else "no signal"
            ends[f"{name} {code}"] += 1
            for each in found:
                bad += 1
                print(f"{' '.join(case.command[2:])}: {name}, exit code {code}: {each}")
    rounds = sum(ends.values())
    print(f"{rounds} runs in {time.monotonic() - begin:.0f} s, {bad} findings; signal and exit code: "
          + ", ".join(f"{name}: {count}" for name, count in sorted(ends.items())))
    sys.exit(1 if bad or not rounds else 0)


if __name__ == "__main__":
    main()
