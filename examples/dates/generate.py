#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pairs of a date, time or amount as people write it and its normal form, tab-separated.

    generate.py --seed 1 --count 20

The same seed gives the same pairs. Typos never make a line mean something else: a word is misspelt
only so that no other word of the two languages is as near.
"""

import argparse
import re
import sys

import english
import german
from values import Draw, pick

LANGUAGES = {english: 1, german: 1}
KINDS = {("date",): 36, ("time",): 22, ("date", "time"): 17, ("time", "date"): 4, ("amount",): 15,
         ("date", "amount"): 3, ("amount", "date"): 3}
ORDER = ["date", "time", "amount"]
KEYBOARD = ["qwertzuiop", "qwertyuiop", "asdfghjkl", "yxcvbnm", "zxcvbnm"]
PLAIN = {"ä": "a", "ö": "o", "ü": "u", "ß": "s"}
WORD = re.compile(r"[^\W\d_]{4,}")


def neighbours():
    """The letters that lie beside each on a keyboard, and an umlaut's plain letter."""
    near = {letter: set(plain) for letter, plain in PLAIN.items()}
    for row in KEYBOARD:
        for left, right in zip(row, row[1:]):
            near.setdefault(left, set()).add(right)
            near.setdefault(right, set()).add(left)
    return {letter: sorted(others) for letter, others in near.items()}


def meanings():
    """Every word that decides what a line means, and what it means."""
    words = {}
    for number in range(1, 20):
        for language in LANGUAGES:
            words[language.ONES[number]] = number
    for ten in range(2, 10):
        words[english.TENS[ten]] = words[german.TENS[ten]] = 10 * ten
    words.update(eins=1, hundred=100, hundert=100, thousand=1000, tausend=1000, zwo=2)
    for number in range(1, 32):
        for ending in ["e", "er", "en"]:
            last = german.ordinal(number, ending).split("|")[-1]
            words[last] = f"{number}." if number < 20 else "0."
        if number <= 20:
            words[english.FIRST[number]] = f"{number}."
    words.update(thirtieth="30.", zwanzigste="20.", dreißigste="30.")
    for number, name in enumerate(english.MONTHS, 1):
        for name in [name, german.MONTHS[number - 1], name[:3], german.SHORT[number - 1],
                     german.ALSO.get(number, name)]:
            words[name.lower()] = f"month {number}"
    for language in LANGUAGES:
        for part, (half, _) in language.PARTS.items():
            words[part.split()[-1].lower()] = half
        for weekday in language.WEEKDAYS:
            words[weekday.lower()] = "weekday"
    for word in ("past half quarter before after till noon midday midnight minutes hours vor nach "
                 "halb viertel mittag mitternacht uhr minuten oh clock dollars bucks euros pounds "
                 "quid francs yen cent cents pence centimes million millionen mio tsd franken "
                 "rappen pfund und and um am im").split():
        words[word] = word
    return words


NEAR, MEANING = neighbours(), meanings()
BY_LENGTH = {}
for known in MEANING:
    BY_LENGTH.setdefault(len(known), []).append(known)


def within_one_edit(one, other):
    """Whether one letter more, less, another, or two swapped make one word of the other."""
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return max(len(one), len(other)) <= 1 or len(one) == 2 and one == other[::-1]


def determined(word, typo):
    meaning = MEANING.get(word)
    return not any(MEANING[known] != meaning and within_one_edit(typo, known)
                   for length in range(len(typo) - 1, len(typo) + 2)
                   for known in BY_LENGTH.get(length, []))


def misspell(rng, word):
    """The word with a letter lost, doubled, swapped or mistaken; as it was if that misleads."""
    at = rng.randrange(1, len(word)) if rng.random() < 0.95 else 0
    letter = word[at]
    form = pick(rng, {"lost": 3, "swapped": 3, "doubled": 2, "near": 2, "extra": 1})
    if form == "lost":
        typo = word[:at] + word[at + 1:]
    elif form == "swapped":
        at = min(at, len(word) - 2)
        typo = word[:at] + word[at + 1] + word[at] + word[at + 2:]
    elif form == "doubled":
        typo = word[:at] + letter + word[at:]
    else:
        mistaken = pick(rng, NEAR.get(letter.lower(), [letter]))
        typo = word[:at] + mistaken + word[at + (form == "near"):]
    return typo if determined(word.lower(), typo.lower()) else word


def with_typos(rng, text):
    words = list(WORD.finditer(text))
    count = min(len(words), pick(rng, {0: 76, 1: 19, 2: 5}))
    for match in sorted(rng.sample(words, count), key=lambda match: -match.start()):
        text = text[:match.start()] + misspell(rng, match[0]) + text[match.end():]
    return text


def untidy(rng, text):
    """Umlauts spelt out, capitals forgotten, a space lost or too many, a full stop."""
    if rng.random() < 0.1:
        for umlaut, plain in [("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")]:
            text = text.replace(umlaut, plain)
    elif rng.random() < 0.05:
        text = text.replace("ß", "ss")
    case = pick(rng, {"as is": 80, "lower": 14, "first": 4, "upper": 8 if rng.hard else 2})
    if case == "lower":
        text = text.lower()
    elif case == "upper":
        text = text.upper()
    elif case == "first":
        text = text[0].upper() + text[1:]
    spaces = [match.start() for match in re.finditer(r"(?<=[^\W\d]) (?=[^\W\d])", text)]
    if spaces and rng.random() < 0.04:
        at = rng.choice(spaces)
        text = text[:at] + pick(rng, ["", "  "]) + text[at + 1:]
    if text[-1].isalpha() and rng.random() < 0.05:
        text += pick(rng, [".", "!", " "]).rstrip()
    return text


def joined(rng, language, first, second):
    """The two side by side; a time in digits needs no word before it, after one 6 is enough."""
    (kind, one, _), (other, two, normal) = first, second
    joint = language.joint(rng, kind, other)
    if (kind, other) == ("date", "time"):
        if re.search(r"\d\.?$", one) and re.match(r"\d+(:| ?[ap]m| Uhr)", two):
            joint = pick(rng, {joint: 3, " ": 2})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", one) and re.fullmatch(r"\d\d:\d\d(:\d\d)?", two):
            joint = pick(rng, {joint: 1, "T": 1})
        elif joint in (" at ", " um ") and normal.endswith(":00") and rng.random() < 0.3:
            two = str(int(normal[:2]))
    return one + joint + two


def pair(rng):
    """(what somebody wrote, its normal form)."""
    language, kinds = pick(rng, LANGUAGES), pick(rng, KINDS)
    drawn = [(kind, *getattr(language, kind)(rng)) for kind in kinds]
    while len(kinds) > 1 and any(re.fullmatch(r"\d+-\d+", normal) for _, _, normal in drawn):
        # A month alone goes with no time and no amount.
        drawn = [(kind, *getattr(language, kind)(rng)) for kind in kinds]
    text = drawn[0][1] if len(drawn) == 1 else joined(rng, language, *drawn)
    if rng.random() < 0.15:
        text = pick(rng, language.BEFORE[kinds[0]]) + text
        if rng.random() < 0.4:
            text = pick(rng, language.TOPICS) + " " + text
    drawn.sort(key=lambda part: ORDER.index(part[0]))
    normal = " ".join(normal for _, _, normal in drawn)
    return untidy(rng, with_typos(rng, text).replace("|", "")), normal


def pairs(seed, count, hard=False):
    rng = Draw(seed, hard)
    for _ in range(count):
        yield pair(rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--hard", action="store_true", help="more of what a model learns last")
    options = parser.parse_args()
    for source, target in pairs(options.seed, options.count, options.hard):
        print(source, target, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
