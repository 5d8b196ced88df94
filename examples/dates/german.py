# SPDX-License-Identifier: Apache-2.0
"""Dates, times and amounts as people write them in German. Each function draws a meaning and a way
to write it, and returns (text, normal form). '|' stands between the parts of a compound until
typos have been made: each part is a word that may be misspelt."""

from values import (amount_form, date_form, digits, on_dial, pick, short_amount, some_cents,
                    some_day, some_minute, some_year, time_form, written_amount)

ONES = ("null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
        "fünfzehn sechzehn siebzehn achtzehn neunzehn").split()
TENS = "null zehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
FIRST = ("nullt erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft dreizehnt "
         "vierzehnt fünfzehnt sechzehnt siebzehnt achtzehnt neunzehnt").split()
MONTHS = ("Januar Februar März April Mai Juni Juli August September Oktober November "
          "Dezember").split()
ALSO = {1: "Jänner", 2: "Feber"}
SHORT = "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez".split()
WEEKDAYS = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag Sonnabend".split()
PARTS = {
    "morgens": ("am", range(1, 12)), "am Morgen": ("am", range(4, 12)),
    "früh": ("am", range(3, 11)),
    "vormittags": ("am", range(8, 12)), "am Vormittag": ("am", range(8, 12)),
    "mittags": ("pm", [12, 1, 2]), "nachmittags": ("pm", range(1, 7)),
    "am Nachmittag": ("pm", range(1, 7)), "abends": ("pm", range(5, 12)),
    "am Abend": ("pm", range(5, 12)),
    "nachts": ("night", [9, 10, 11, 12, 1, 2, 3, 4]),
    "in der Nacht": ("night", [9, 10, 11, 12, 1, 2, 3, 4]),
}
UNITS = {"EUR": "Euro", "USD": "Dollar", "GBP": "Pfund", "CHF": "Franken", "JPY": "Yen"}
SIGNS = {"USD": ["$", "US-$"], "EUR": ["€"], "GBP": ["£"],
         "CHF": ["Fr.", "CHF", "SFr."], "JPY": ["¥"]}
CENTS = {"EUR": "Cent", "GBP": "Pence", "CHF": "Rappen"}
BEFORE = {
    "date": ["am ", "bis ", "fällig am ", "Datum: ", "geboren am ", "ab ", "vom ", "seit "],
    "time": ["um ", "gegen ", "ab ", "Beginn ", "bis ", "Uhrzeit: ", "Treffpunkt "],
    "amount": ["zusammen ", "Summe: ", "kostet ", "für ", "wir zahlten ", "Preis: ", "Betrag: "],
}
TOPICS = ("Termin Zug Flug Zahnarzt Geburtstag Feier Rechnung Miete Abendessen Konzert Lieferung "
          "Zahlung Bestellung Hotel Unterricht Anruf Abgabe Hochzeit Arzt Treffen").split()


def hundred(number, last="eins"):
    """0..99 in words; last is what one is called at the end."""
    if number == 1:
        return last
    if number < 20:
        return ONES[number]
    ten, one = divmod(number, 10)
    return (f"{ONES[one]}|und|" if one else "") + TENS[ten]


def cardinal(rng, number, last="eins"):
    """1..999999 in words."""
    thousands, hundreds, rest = number // 1000, number // 100 % 10, number % 100
    text = ""
    if thousands:
        if thousands > 1 or rng.random() >= 0.5:
            text = cardinal(rng, thousands, "ein") + "|"
        text += "tausend"
    if hundreds:
        ein = hundreds == 1 and (not thousands and rng.random() < 0.5)
        text += ("|" if text else "") + ("" if ein else ONES[hundreds] + "|") + "hundert"
    if rest:
        if text:
            text += "|und|" if rng.random() < 0.1 else "|"
        text += hundred(rest, last)
    return text


def ordinal(number, ending):
    stem = FIRST[number] if number < 20 else hundred(number) + "st"
    return stem + ending


def year_in_words(rng, year):
    if year >= 2000:
        rest = year % 100
        if rest >= 10 and rng.random() < 0.08:
            return f"zwanzig|{hundred(rest)}"
        return "zwei|tausend" + (pick(rng, {"|": 6, "|und|": 1}) + hundred(rest) if rest else "")
    return ONES[year // 100] + "|hundert" + ("|" + hundred(year % 100) if year % 100 else "")


def month_name(rng, month):
    if month in ALSO and rng.random() < 0.1:
        return ALSO[month]
    if rng.random() < 0.3:
        short = SHORT[month - 1]
        if month in (3, 9) and rng.random() < 0.4:
            short = "Mrz" if month == 3 else "Sept"
        return short + ("" if month == 5 else pick(rng, {".": 2, "": 1}))
    return MONTHS[month - 1]


def day_text(rng, day):
    """'dritten', 'der dritte', '3.': the text before the month."""
    form = pick(rng, {"3.": 6, "dritter": 2, "dritten": 2, "der dritte": 2, "der 3.": 1})
    if form == "3.":
        return digits(rng, day) + "."
    if form == "der 3.":
        return pick(rng, ["der ", "den ", "dem "]) + f"{day}."
    if form == "der dritte":
        return pick(rng, {f"der {ordinal(day, 'e')}": 3, f"den {ordinal(day, 'en')}": 1})
    return ordinal(day, form[5:])


def year_text(rng, year, full=False):
    if rng.random() < 0.3:
        return year_in_words(rng, year)
    if not full and 1950 <= year < 2050 and rng.random() < 0.12:
        return pick(rng, {"": 2, "'": 1, "’": 1}) + f"{year % 100:02}"
    return str(year)


def named_date(rng, year, month, day):
    text = day_text(rng, day)
    month_form = pick(rng, {"name": 8, "number": 1, "ordinal": 1.5})
    if month_form == "name":
        text += " " + month_name(rng, month)
    elif month_form == "number":
        text += f" {digits(rng, month)}."
    else:
        ending = "ten" if text.endswith("en") else "ter" if text.endswith("ter") else "te"
        words = ordinal(month, ending[1:])
        text += " " + (words if text[-1] != "." else ordinal(month, pick(rng, ["er", "en"])))
    if not year:
        return text
    text += pick(rng, {" ": 8, ", ": 0.6, " im Jahr ": 0.1, " im Jahre ": 0.1})
    return text + year_text(rng, year)


def numeric_date(rng, year, month, day):
    form = pick(rng, {"dots": 8, "iso": 1.5, "dashes": 0.5, "spaces": 1})
    if form == "iso":
        return f"{year}-{month:02}-{day:02}"
    short = 1950 <= year < 2050 and rng.random() < 0.4
    shown = f"{year % 100:02}" if short else str(year)
    mark = {"dots": ".", "dashes": "-", "spaces": ". "}[form]
    return mark.join([digits(rng, day), digits(rng, month), shown])


def date(rng):
    year, (month, day) = some_year(rng), some_day(rng)
    form = pick(rng, {"numeric": 6, "named": 11, "no year": 3, "short": 1.5, "month": 2})
    if form == "numeric":
        text = numeric_date(rng, year, month, day)
    elif form == "short":
        year, text = None, f"{digits(rng, day)}.{pick(rng, ['', ' '])}{digits(rng, month)}."
    elif form == "no year":
        year, text = None, named_date(rng, None, month, day)
    elif form == "month":
        day = None
        text = pick(rng, {"": 4, "im ": 1}) + month_name(rng, month)
        text += " " + year_text(rng, year, full=True)
    else:
        text = named_date(rng, year, month, day)
    if day and rng.random() < 0.12:
        weekday = pick(rng, WEEKDAYS)
        weekday = pick(rng, {weekday: 2, weekday[:2]: 1, weekday[:2] + ".": 0.5})
        text = weekday + pick(rng, {", ": 3, " ": 2}) + text
    return text, date_form(year, month, day)


def minutes_word(rng, minute):
    shown = pick(rng, {hundred(minute): 4, str(minute): 1})
    if minute == 1:
        return "eine Minute"
    return shown + ("" if minute % 5 == 0 and rng.random() < 0.75 else " Minuten")


def spoken_dial(rng):
    """'Viertel vor acht', 'fünf nach halb sieben': (text, the hour it names, minutes to add)."""
    dial = rng.randint(1, 12)
    hour = pick(rng, {hundred(dial): 4, str(dial): 1})
    quarter = pick(rng, {"Viertel": 3, "viertel": 2})
    form = pick(rng, {"full": 3, "half": 4, "past": 2, "to": 2, "quarter": 1, "three": 1,
                      "near half": 2, "minutes": 4})
    if form == "full":
        return pick(rng, {f"{hundred(dial, 'ein')} Uhr": 3, f"{dial} Uhr": 2}), dial, 0
    if form == "half":
        return f"halb {hour}", dial, -30
    if form == "past":
        return f"{quarter} nach {hour}", dial, 15
    if form == "to":
        return f"{quarter} vor {hour}", dial, -15
    if form == "quarter":
        return f"{quarter} {hour}", dial, -45
    if form == "three":
        return f"{pick(rng, ['drei|viertel', 'Drei|viertel'])} {hour}", dial, -15
    sign, word = pick(rng, [(1, "nach"), (-1, "vor")])
    if form == "near half":
        minute = pick(rng, {5: 6, 10: 2, rng.randint(1, 9): 2})
        return f"{minutes_word(rng, minute)} {word} halb {hour}", dial, -30 + sign * minute
    minute = pick(rng, {5: 2, 10: 2, 20: 2, rng.randint(1, 29): 3})
    return f"{minutes_word(rng, minute)} {word} {hour}", dial, sign * minute


def spoken_time(rng):
    part = half = None
    dials = range(1, 13)
    if rng.random() < 0.55:
        part = rng.choice(list(PARTS))
        half, dials = PARTS[part]
    while True:
        text, dial, minutes = spoken_dial(rng)
        if minutes < 0:
            # Half past eleven shows eleven on the dial, though German names twelve.
            dial, minutes = (dial - 2) % 12 + 1, minutes + 60
        if dial in dials:
            break
    if part:
        text += pick(rng, {" ": 9, " Uhr ": 0 if text.endswith("Uhr") else 1}) + part
    return text, time_form(on_dial(dial, half) + minutes)


def time(rng):
    form = pick(rng, {"spoken": 12, "digital": 6, "hour": 3, "words": 3, "noon": 1, "relative": 0.6,
                      "with part": 1.5})
    if form == "spoken":
        return spoken_time(rng)
    if form in ("noon", "relative"):
        name, base = pick(rng, {("Mittag", 720): 3, ("Mitternacht", 0): 4,
                                ("zwölf Uhr mittags", 720): 1, ("zwölf Uhr nachts", 0): 0.5})
        if form == "noon" or " " in name:
            return name, time_form(base)
        minute = pick(rng, [5, 10, 15, 20, rng.randint(1, 29)])
        sign, word = pick(rng, [(1, "nach"), (-1, "vor")])
        shown = "Viertel" if minute == 15 else minutes_word(rng, minute)
        return f"{shown} {word} {name}", time_form(base + sign * minute)
    hour, minute = rng.randint(0, 23), some_minute(rng)
    if form == "with part":
        part = rng.choice(list(PARTS))
        half, dials = PARTS[part]
        dial = rng.choice(list(dials))
        shown = pick(rng, {f"{dial} Uhr {minute:02}": 1, f"{dial}:{minute:02} Uhr": 2,
                           f"{dial}:{minute:02}": 1,
                           f"{hundred(dial, 'ein')} Uhr {hundred(minute)}": 1 if minute else 0})
        return f"{shown} {part}", time_form(on_dial(dial, half) + minute)
    normal = time_form(hour * 60 + minute)
    if form == "hour":
        if rng.random() < 0.5:
            return f"{digits(rng, hour)} {pick(rng, {'Uhr': 6, 'h': 1})}", time_form(hour * 60)
        return f"{digits(rng, hour)} Uhr {digits(rng, minute)}", normal
    if form == "words":
        if minute == 0:
            return f"{hundred(hour, 'ein')} Uhr", normal
        return f"{hundred(hour, 'ein')} Uhr {hundred(minute)}", normal
    text = f"{digits(rng, hour)}:{minute:02}"
    if rng.random() < 0.08:
        second = rng.randint(0, 59)
        return f"{text}:{second:02}" + pick(rng, ["", " Uhr"]), f"{normal}:{second:02}"
    return pick(rng, {f"{text} Uhr": 6, text: 3, f"{digits(rng, hour)}.{minute:02} Uhr": 3,
                      f"{text} h": 1, f"{hour}h{minute:02}": 0.4}), normal


def amount_in_words(rng, currency):
    unit = UNITS[currency]
    units = int(10 ** rng.uniform(0, rng.choice([2, 3, 4, 6 if rng.hard else 5])))
    if rng.random() < 0.3:
        units = max(1, units // 10 ** (len(str(units)) - 1)) * 10 ** (len(str(units)) - 1)
    text, cents = f"{cardinal(rng, units, 'ein')} {unit}", 0
    if currency in CENTS and rng.random() < 0.4:
        cents = rng.randint(2, 99)
        text += pick(rng, {f" {hundred(cents)}": 3 if cents > 9 else 0,
                           f" und {hundred(cents)} {CENTS[currency]}": 3,
                           f" {hundred(cents)} {CENTS[currency]}": 2})
    return text, amount_form(units * 100 + cents, currency)


def amount(rng):
    currency = pick(rng, {"EUR": 14, "USD": 3, "GBP": 2, "CHF": 4, "JPY": 1})
    form = pick(rng, {"sign": 7, "code": 3, "unit": 7, "words": 6, "million": 2, "cents": 0.8,
                      "split": 1, "hundreds": 0.5 * rng.hard})
    if form == "hundreds":
        hundreds = rng.randint(11, 19)
        return (f"{ONES[hundreds]}|hundert {UNITS[currency]}",
                amount_form(hundreds * 10000, currency))
    if form == "words":
        return amount_in_words(rng, currency)
    if form in ("cents", "split") and currency in CENTS:
        cents = rng.randint(2, 99)
        if form == "cents":
            shown = pick(rng, {str(cents): 1, hundred(cents): 1})
            return f"{shown} {CENTS[currency]}", amount_form(cents, currency)
        units = rng.randint(2, 300)
        shown = pick(rng, {f"{cents:02}": 1, f"und {cents} {CENTS[currency]}": 1})
        return f"{units} {UNITS[currency]} {shown}", amount_form(units * 100 + cents, currency)
    if form == "million":
        shown, hundredths = short_amount(rng, ",")
        word, factor = pick(rng, {("Millionen", 10**6): 3, ("Mio.", 10**6): 3, ("tausend", 1000): 2,
                                  ("Tsd.", 1000): 1, ("Tausend", 1000): 1})
        if word == "Millionen" and shown == "1":
            word = "Million"
        unit = pick(rng, {UNITS[currency]: 2, pick(rng, SIGNS[currency]): 1, currency: 1})
        return f"{shown} {word} {unit}", amount_form(hundredths * factor, currency)
    cents = some_cents(rng)
    shown = written_amount(rng, cents, pick(rng, {",": 8, ".": 1}))
    if form == "sign":
        sign = pick(rng, SIGNS[currency])
        text = pick(rng, {f"{shown} {sign}": 5, f"{shown}{sign}": 2, f"{sign} {shown}": 2,
                          f"{sign}{shown}": 1})
    elif form == "code":
        text = pick(rng, {f"{currency} {shown}": 1, f"{shown} {currency}": 2})
    else:
        text = f"{shown} {UNITS[currency]}"
    return text, amount_form(cents, currency)


def joint(rng, first, second):
    """What stands between two of "date", "time", "amount"."""
    if second == "time":
        return pick(rng, {" um ": 6, ", ": 4, " gegen ": 0.5, " - ": 0.4, ", um ": 0.5})
    if second == "date":
        return pick(rng, {" am ": 5, ", ": 4, " vom ": 0.6 if first == "amount" else 0})
    return pick(rng, {": ": 4, ", ": 3, " über ": 1, " - ": 1})
