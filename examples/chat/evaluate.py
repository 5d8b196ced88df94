#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a compiled model the last questions of conversations that it was not trained on.

    evaluate.py --heddle build/bin/heddle --model model.so [--count 500] [--least 0.9]

An answer is right if it is that of conversations.py, letter by letter. Exit code 1 if fewer than
`--least` of them are.
"""

import argparse
import json
import random
import subprocess
import sys

from conversations import messages

HELDOUT_SEED = 2
# Wrong answers that are printed.
SHOWN = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heddle", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--least", type=float, default=0)
    options = parser.parse_args()
    rng = random.Random(HELDOUT_SEED)
    conversations = [messages(rng) for _ in range(options.count)]
    asked = "".join(json.dumps({"messages": each[:-1]}) + "\n" for each in conversations)
    done = subprocess.run(
        [options.heddle, "generate", options.model, "--chat", "--input", "-", "--format", "jsonl",
         "--max-length", "128"], input=asked, stdout=subprocess.PIPE, text=True, check=True)
    answers = [json.loads(line)["hypotheses"][0]["text"]
               for line in done.stdout.splitlines()]
    right, shown = 0, 0
    for conversation, answer in zip(conversations, answers, strict=True):
        wanted = conversation[-1]["content"]
        right += answer == wanted
        if answer != wanted and shown < SHOWN:
            shown += 1
            print(f"asked: {conversation[-2]['content']}\nanswered: {answer}\nexpected: {wanted}\n",
                  file=sys.stderr)
    print(f"{right} of {len(answers)} held-out answers exact")
    return right < options.least * len(answers)


if __name__ == "__main__":
    sys.exit(main())
