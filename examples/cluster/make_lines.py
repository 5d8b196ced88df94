#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes lines of English, one to three clauses each, no two of which are the same.

    make_lines.py COUNT > LINES.txt
"""

import random
import sys

SUBJECTS = ["the cat", "a sailor", "my neighbour", "the committee", "an old tree", "nobody", "the last train"]
VERBS = ["saw", "measured", "forgot", "could not repair", "painted", "waited for", "described at length"]
OBJECTS = ["a lighthouse", "the minutes of the meeting", "seventeen boxes", "the weather in March", "a bridge",
           "the map of the city", "what had been promised"]
ENDS = ["", " before noon", " again and again", ", as everyone knows", " without a word", " in the rain"]


def made(count):
    """The lines, the same on every machine."""
    draw = random.Random(1)
    for number in range(count):
        clauses = [f"{draw.choice(SUBJECTS)} {draw.choice(VERBS)} {draw.choice(OBJECTS)}{draw.choice(ENDS)}"
                   for _ in range(draw.choice((1, 1, 1, 2, 3)))]
        yield f"{number}: {', and '.join(clauses)}"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("usage: make_lines.py COUNT > LINES.txt")
    for line in made(int(sys.argv[1])):
        print(line)
