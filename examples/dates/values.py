# SPDX-License-Identifier: Apache-2.0
"""What a line can mean, drawn at random, and the normal form of each: the same in all languages."""

import random

DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


class Draw(random.Random):
    """Random numbers by seed; hard: to draw more of the lines that a model learns last."""

    def __init__(self, seed, hard=False):
        super().__init__(seed)
        self.hard = hard


def pick(rng, choices):
    """One of {form: weight}, or of a list in which all weigh the same."""
    if isinstance(choices, dict):
        return rng.choices(list(choices), choices.values())[0]
    return rng.choice(choices)


# --- dates: YYYY-MM-DD, without a year --MM-DD, without a day YYYY-MM -------------------------


def some_year(rng):
    return rng.randint(1950, 2049) if rng.random() < 0.6 else rng.randint(1700, 2099)


def some_day(rng):
    """(month, day)."""
    month = rng.randint(1, 12)
    return month, rng.randint(1, DAYS[month - 1])


def date_form(year, month, day):
    if day is None:
        return f"{year:04}-{month:02}"
    return f"{year:04}-{month:02}-{day:02}" if year else f"--{month:02}-{day:02}"


def digits(rng, number):
    """7 as people write it in a date: 7 or 07."""
    return f"{number:02}" if rng.random() < 0.45 else str(number)


# --- times: HH:MM, HH:MM:SS when seconds are written ------------------------------------------


def time_form(minutes):
    """Minutes since midnight; before and after that the clock goes round."""
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}"


def some_minute(rng):
    """People like round numbers."""
    return pick(rng, {rng.randint(0, 59): 5, 5 * rng.randint(0, 11): 3, 15 * rng.randint(0, 3): 2})


def on_dial(dial, half):
    """Minutes since midnight when the dial shows 1..12: in the 'am' or 'pm' half, at 'night', which
    is evening before twelve and morning from twelve on, or as written (None)."""
    if half is None:
        return dial * 60
    if half == "night":
        half = "am" if dial == 12 or dial < 5 else "pm"
    return (dial % 12 + (12 if half == "pm" else 0)) * 60


# --- amounts: 1250.50 USD ---------------------------------------------------------------------


def amount_form(cents, currency):
    return f"{cents // 100}.{cents % 100:02} {currency}"


def some_cents(rng):
    """As many small amounts as large ones; half of them whole."""
    units = int(10 ** rng.uniform(0, rng.choice([3, 4, 5, 7])))
    if rng.random() < 0.2:
        units = max(1, units // 10 ** (len(str(units)) - 1)) * 10 ** (len(str(units)) - 1)
    cents = 0 if rng.random() < 0.45 else rng.randint(1, 99)
    return cents if cents and rng.random() < 0.05 else units * 100 + cents


def grouped(units, mark):
    return f"{units:,}".replace(",", mark)


def written_amount(rng, cents, point):
    """Digits with the decimal point '.' or ',' of a language, thousands grouped or not."""
    marks = {".": {",": 6, "": 3, "'": 1}, ",": {".": 6, "": 3, " ": 1, "'": 1}}[point]
    text = grouped(cents // 100, pick(rng, marks))
    if cents % 100 == 0:
        return text + pick(rng, {"": 6, point + "00": 3, point + "-": 1})
    if cents % 10 == 0 and rng.random() < 0.2:
        return f"{text}{point}{cents % 100 // 10}"
    return f"{text}{point}{cents % 100:02}"


def short_amount(rng, point):
    """'2.5', and what it stands for in hundredths: written before 'million'."""
    hundredths = pick(rng, [rng.randint(1, 99) * 100, rng.randint(1, 999) * 10,
                            rng.randint(1, 9) * 100])
    whole, rest = divmod(hundredths, 100)
    return (f"{whole}{point}{rest // 10}" if rest else str(whole)), hundredths
