# SPDX-License-Identifier: Apache-2.0
"""Dates, times and amounts as people write them in English. Each function draws a meaning and a way
to write it, and returns (text, normal form)."""

from values import (amount_form, date_form, digits, on_dial, pick, short_amount, some_cents,
                    some_day, some_minute, some_year, time_form, written_amount)

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen").split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
FIRST = ("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
         "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
         "twentieth").split()
MONTHS = ("January February March April May June July August September October November "
          "December").split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
# What halves of the day are called, and the hours on the dial that go with each.
PARTS = {
    "in the morning": ("am", range(1, 12)), "this morning": ("am", range(5, 12)),
    "in the afternoon": ("pm", [12, 1, 2, 3, 4, 5, 6]), "in the evening": ("pm", range(4, 12)),
    "at night": ("night", [8, 9, 10, 11, 12, 1, 2, 3, 4]),
}
UNITS = {
    "USD": {"dollars": 8, "bucks": 1, "US dollars": 1, "dollar": 1},
    "EUR": {"euros": 5, "euro": 5}, "GBP": {"pounds": 8, "quid": 1, "pounds sterling": 1},
    "CHF": {"francs": 3, "Swiss francs": 2}, "JPY": {"yen": 1},
}
SIGNS = {"USD": ["$", "US$"], "EUR": ["€"], "GBP": ["£"], "CHF": ["Fr. ", "CHF "], "JPY": ["¥"]}
CENTS = {"USD": "cents", "EUR": "cents", "GBP": "pence", "CHF": "centimes"}
# Words before a line that say nothing about its meaning.
BEFORE = {
    "date": ["on ", "due ", "date: ", "born ", "see you on ", "until ", "by "],
    "time": ["at ", "at about ", "from ", "meet me at ", "around ", "time: "],
    "amount": ["total: ", "it costs ", "for ", "we paid ", "I owe you ", "price: ", "a bill of "],
}
TOPICS = ("meeting train flight dentist birthday party invoice rent dinner lunch concert delivery "
          "payment order hotel class call deadline wedding doctor").split()


def tens(rng, number):
    """0..99 in words."""
    if number < 20:
        return ONES[number]
    ten, one = divmod(number, 10)
    return TENS[ten] + (pick(rng, {"-": 6, " ": 4}) + ONES[one] if one else "")


def cardinal(rng, number):
    """1..999999 in words."""
    thousands, hundreds, rest = number // 1000, number // 100 % 10, number % 100
    parts = []
    if thousands:
        parts.append(("a" if number == 1000 or thousands == 1 and rng.random() < 0.2
                      else cardinal(rng, thousands)) + " thousand")
    if hundreds:
        parts.append(("a" if hundreds == 1 and not thousands and rng.random() < 0.4
                      else ONES[hundreds]) + " hundred")
    if rest:
        parts.append(("and " if parts and rng.random() < 0.6 else "") + tens(rng, rest))
    return " ".join(parts)


def ordinal(rng, number):
    if number <= 20:
        return FIRST[number]
    ten, one = divmod(number, 10)
    if not one:
        return TENS[ten][:-1] + "ieth"
    return TENS[ten] + pick(rng, {"-": 6, " ": 4}) + FIRST[one]


def year_in_words(rng, year):
    century, rest = divmod(year, 100)
    if century == 20 and (rest < 10 or rng.random() < 0.3):
        if rest and rest < 10 and rng.random() < 0.2:
            return f"twenty oh {ONES[rest]}"
        return "two thousand" + (pick(rng, [" ", " and "]) + tens(rng, rest) if rest else "")
    if rest == 0:
        return f"{ONES[century]} hundred"
    if rng.random() < 0.15 and century < 20:
        return f"{ONES[century]} hundred{pick(rng, [' ', ' and '])}{tens(rng, rest)}"
    if rest < 10:
        return f"{tens(rng, century)} {pick(rng, ['oh', 'o'])} {ONES[rest]}"
    return f"{tens(rng, century)}{pick(rng, {' ': 5, '-': 1})}{tens(rng, rest)}"


def month_name(rng, month):
    name = MONTHS[month - 1]
    if len(name) > 4 and rng.random() < 0.35:
        name = "Sept" if month == 9 and rng.random() < 0.5 else name[:3]
        return name + pick(rng, {"": 2, ".": 1})
    return name


def day_ordinal(rng, day):
    suffix = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{suffix}"


def numeric_date(rng, year, month, day):
    """5/3/1984 is month first unless that cannot be a month; dots and dashes are day first."""
    form = pick(rng, {"us": 5, "uk": 1, "iso": 3, "slashes": 1, "dots": 2, "dashes": 1, "name": 1})
    if form in ("iso", "slashes"):
        mark = "-" if form == "iso" else "/"
        return f"{year}{mark}{month:02}{mark}{day:02}"
    short = 1950 <= year < 2050 and rng.random() < 0.4
    shown = f"{year % 100:02}" if short else str(year)
    if form == "name":
        return f"{digits(rng, day)}-{MONTHS[month - 1][:3]}-{shown}"
    if form == "us" or form == "uk" and day <= 12:
        first, second, mark = month, day, "/"
    else:
        first, second, mark = day, month, {"uk": "/", "dots": ".", "dashes": "-"}[form]
    return mark.join([digits(rng, first), digits(rng, second), shown])


def named_day(rng, month, day):
    """'the third of May', 'May 3rd', without a year."""
    name = month_name(rng, month)
    form = pick(rng, {"3 May": 4, "3rd May": 3, "3rd of May": 3, "May 3": 4, "May 3rd": 3,
                      "the third of May": 5, "third May": 1, "May the third": 2, "May third": 2})
    article = pick(rng, {"the ": 3, "": 2})
    return {
        "3 May": f"{day} {name}", "3rd May": f"{day_ordinal(rng, day)} {name}",
        "3rd of May": f"{article}{day_ordinal(rng, day)} of {name}",
        "May 3": f"{name} {day}", "May 3rd": f"{name} {day_ordinal(rng, day)}",
        "the third of May": f"{article}{ordinal(rng, day)} of {name}",
        "third May": f"{article}{ordinal(rng, day)} {name}",
        "May the third": f"{name} the {ordinal(rng, day)}",
        "May third": f"{name} {ordinal(rng, day)}",
    }[form]


def named_year(rng, year):
    if rng.random() < 0.35:
        return year_in_words(rng, year)
    if 1950 <= year < 2050 and rng.random() < 0.12:
        return pick(rng, ["'", "’"]) + f"{year % 100:02}"
    return str(year)


def date(rng):
    year, (month, day) = some_year(rng), some_day(rng)
    form = pick(rng, {"numeric": 6, "named": 10, "no year": 4, "month": 2, "slash": 0.6,
                      "year first": 0.4})
    if form == "numeric":
        text = numeric_date(rng, year, month, day)
    elif form == "year first":
        text = f"{year} {month_name(rng, month)} {day}"
    elif form == "slash":
        year, text = None, f"{digits(rng, month)}/{digits(rng, day)}"
    elif form == "no year":
        year, text = None, named_day(rng, month, day)
    elif form == "month":
        day, text = None, month_name(rng, month)
        text += pick(rng, [" ", ", ", " of "]) + named_year(rng, year)
    else:
        text = named_day(rng, month, day)
        # 'May 3 1984' needs no comma, 'May three nineteen ...' likes one.
        text += pick(rng, {", ": 5, " ": 4, " in ": 0.3}) + named_year(rng, year)
    if day and rng.random() < 0.12:
        weekday = pick(rng, WEEKDAYS)
        weekday = pick(rng, {weekday: 2, weekday[:3]: 1})
        the = 0 if text.startswith("the") else 0.2
        text = weekday + pick(rng, {", ": 3, " ": 2, ", the ": the}) + text
    return text, date_form(year, month, day)


def spoken_dial(rng, dial, minute):
    """'twenty to five' for the hour and the minute that the dial shows."""
    hour = pick(rng, {tens(rng, dial): 4, str(dial): 1})
    after = dial % 12 + 1
    following = pick(rng, {tens(rng, after): 4, str(after): 1})
    if minute == 0:
        return pick(rng, {f"{hour} o'clock": 3, f"{hour} o’clock": 0.5, f"{hour} oclock": 0.3,
                          hour: 1})
    if minute == 15:
        return f"{pick(rng, ['', '', 'a '])}quarter {pick(rng, {'past': 5, 'after': 1})} {hour}"
    if minute == 30:
        return pick(rng, {f"half past {hour}": 5, f"half {hour}": 1})
    if minute == 45:
        article = pick(rng, ["", "", "a "])
        return f"{article}quarter {pick(rng, {'to': 5, 'before': 1, 'till': 1})} {following}"
    shown, past = (minute, True) if minute < 30 else (60 - minute, False)
    shown = pick(rng, {tens(rng, shown): 4, str(shown): 1})
    if minute % 5 or rng.random() >= 0.7:
        shown += " minute" if minute in (1, 59) else " minutes"
    if past:
        return f"{shown} {pick(rng, {'past': 5, 'after': 1})} {hour}"
    return f"{shown} {pick(rng, {'to': 5, 'before': 1, 'till': 1})} {following}"


def spoken_time(rng):
    half = pick(rng, {None: 3, "am": 2, "pm": 2, "part": 5})
    part = ""
    dial = rng.randint(1, 12)
    if half == "part":
        words = pick(rng, {words: 3 if "the" in words else 1 for words in PARTS})
        part, (half, dials) = " " + words, PARTS[words]
        dial = rng.choice(list(dials))
    elif half:
        part = pick(rng, {f" {half}": 3, f" {half[0]}.m.": 2, f" {half.upper()}": 1})
    minute = some_minute(rng) if rng.random() < 0.5 else 15 * rng.randint(0, 3)
    if rng.random() < 0.3:
        # 'six fifteen', 'six oh five': alone it is a number like any other.
        if minute == 0:
            text = tens(rng, dial) if part else f"{tens(rng, dial)} o'clock"
        elif minute < 10:
            text = f"{tens(rng, dial)} {pick(rng, ['oh', 'o'])} {ONES[minute]}"
        else:
            text = f"{tens(rng, dial)}{pick(rng, {' ': 5, '-': 1})}{tens(rng, minute)}"
    else:
        text = spoken_dial(rng, dial, minute)
        if not part and (text in ONES or text.isdigit()):
            text += " o'clock"
    return text + part, dial, minute, half


def time(rng):
    form = pick(rng, {"spoken": 10, "digital": 4, "half": 5, "noon": 1, "relative": 0.8,
                      "military": 0.6})
    if form == "spoken":
        text, dial, minute, half = spoken_time(rng)
        return text, time_form(on_dial(dial, half) + minute)
    if form in ("noon", "relative"):
        name, base = pick(rng, {("noon", 720): 4, ("midnight", 0): 4, ("midday", 720): 1,
                                ("12 noon", 720): 1, ("twelve noon", 720): 0.5})
        if form == "noon":
            return name, time_form(base)
        minute = pick(rng, [5, 10, 15, 20, 25, rng.randint(1, 29)])
        if minute == 15:
            shown = "a quarter"
        else:
            unit = " minutes" if rng.random() < 0.4 else ""
            shown = tens(rng, minute) + unit
        sign, word = pick(rng, [(1, "past"), (1, "after"), (-1, "to"), (-1, "before")])
        return f"{shown} {word} {name.split()[-1]}", time_form(base + sign * minute)
    hour, minute = rng.randint(0, 23), some_minute(rng)
    if form == "military":
        unit = pick(rng, ["hours", "hrs", "h"])
        return f"{hour:02}{minute:02} {unit}", time_form(hour * 60 + minute)
    if form == "half":
        dial, half = rng.randint(1, 12), pick(rng, ["am", "pm"])
        mark = pick(rng, {half: 4, half.upper(): 2, f"{half[0]}.m.": 2})
        shown = str(dial)
        if minute or rng.random() >= 0.8:
            shown = digits(rng, dial) if rng.random() < 0.3 else shown
            shown += pick(rng, {":": 4, ".": 1}) + f"{minute:02}"
        return shown + pick(rng, [" ", ""]) + mark, time_form(on_dial(dial, half) + minute)
    text = f"{digits(rng, hour)}:{minute:02}"
    form = time_form(hour * 60 + minute)
    if rng.random() < 0.12:
        second = rng.randint(0, 59)
        return f"{text}:{second:02}", f"{form}:{second:02}"
    return text + pick(rng, {"": 8, " hrs": 1, " h": 1}), form


def amount_in_words(rng, currency):
    unit = pick(rng, UNITS[currency])
    units = int(10 ** rng.uniform(0, rng.choice([2, 3, 4, 6 if rng.hard else 5])))
    if rng.random() < 0.3:
        units = max(1, units // 10 ** (len(str(units)) - 1)) * 10 ** (len(str(units)) - 1)
    cents = 0
    if units % 100 == 0 and 1000 < units < 10000 and units % 1000 and rng.random() < 0.4:
        text = f"{tens(rng, units // 100)} hundred {unit}"
    else:
        text = f"{cardinal(rng, units)} {unit}"
        if units == 1:
            text = pick(rng, ["one", "a"]) + " " + {"USD": "dollar", "EUR": "euro", "GBP": "pound",
                                                   "CHF": "franc", "JPY": "yen"}[currency]
    if currency in CENTS and rng.random() < 0.35:
        cents = rng.randint(2, 99)
        text += pick(rng, [" and ", " ", ", "]) + f"{tens(rng, cents)} {CENTS[currency]}"
    return text, amount_form(units * 100 + cents, currency)


def amount(rng):
    currency = pick(rng, {"USD": 10, "EUR": 6, "GBP": 5, "CHF": 2, "JPY": 1})
    form = pick(rng, {"sign": 6, "code": 3, "unit": 6, "words": 6, "million": 2, "cents": 0.8,
                      "split": 0.7, "hundreds": 0.7 * rng.hard})
    if form == "hundreds":
        hundreds = rng.choice([number for number in range(11, 100) if number % 10])
        return (f"{tens(rng, hundreds)} hundred {pick(rng, UNITS[currency])}",
                amount_form(hundreds * 10000, currency))
    if form == "words":
        return amount_in_words(rng, currency)
    if form in ("cents", "split") and currency in CENTS:
        cents = rng.randint(2, 99)
        if form == "cents":
            # Cents alone are dollars'; in German they are euros'.
            currency = "USD" if currency == "EUR" else currency
            shown = pick(rng, {str(cents): 1, tens(rng, cents): 1})
            short = {"USD": "c", "GBP": "p"}.get(currency)
            if short and shown.isdigit() and rng.random() < 0.2:
                return shown + short, amount_form(cents, currency)
            return f"{shown} {CENTS[currency]}", amount_form(cents, currency)
        units = rng.randint(2, 300)
        text = f"{units} {pick(rng, UNITS[currency])}{pick(rng, [' and ', ' '])}"
        return f"{text}{cents} {CENTS[currency]}", amount_form(units * 100 + cents, currency)
    if form == "million":
        shown, hundredths = short_amount(rng, ".")
        word, factor = pick(rng, {("million", 10**6): 5, ("thousand", 1000): 2, ("m", 10**6): 1,
                                  ("k", 1000): 2})
        normal = amount_form(hundredths * factor, currency)
        space = " " if len(word) > 1 else pick(rng, {"": 3, " ": 1})
        if rng.random() < 0.4:
            return f"{pick(rng, SIGNS[currency])}{shown}{space}{word}", normal
        return f"{shown}{space}{word} {pick(rng, UNITS[currency])}", normal
    cents = some_cents(rng)
    shown = written_amount(rng, cents, pick(rng, {".": 8, ",": 1}))
    if form == "sign":
        sign = pick(rng, SIGNS[currency])
        text = pick(rng, {f"{sign}{shown}": 6, f"{sign} {shown}": 1, f"{shown}{sign.rstrip()}": 1})
    elif form == "code":
        text = pick(rng, {f"{currency} {shown}": 1, f"{shown} {currency}": 2,
                          f"{currency}{shown}": 0.3})
    else:
        text = f"{shown} {pick(rng, UNITS[currency])}"
    return text, amount_form(cents, currency)


def joint(rng, first, second):
    """What stands between two of "date", "time", "amount"."""
    if second == "time":
        return pick(rng, {" at ": 5, ", ": 4, " ": 1 if first == "amount" else 0, ", at ": 1,
                          " - ": 0.4})
    if second == "date":
        return pick(rng, {" on ": 5, ", ": 4, " ": 1})
    return pick(rng, {": ": 4, ", ": 3, " for ": 1, " - ": 1})
