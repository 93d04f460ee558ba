"""A second reading of the expressions of time, with Python's calendar and zones, written from the rule alone.

    when.py questions COUNT SEED    prints so many questions, a JSON object a line
    when.py answer                  answers the questions on standard input: start and end in UTC, or an error
    when.py zones                   prints the release of the zone database in use

It shares nothing with the Rust code, neither the approach: a day is looked for minute by minute on the zone's clock.
"""

import json
import random
import re
import sys
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
UNITS = ["day", "week", "month", "quarter", "year"]
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
ZONES = """
UTC Europe/Zurich Europe/London Europe/Dublin Europe/Lisbon Europe/Moscow Africa/Cairo Africa/Casablanca
America/New_York America/Toronto America/Los_Angeles America/Sao_Paulo America/Santiago America/Havana America/Asuncion
America/St_Johns America/Goose_Bay America/Caracas America/Scoresbysund America/Nuuk
Asia/Kathmandu Asia/Kolkata Asia/Tehran Asia/Beirut Asia/Gaza Asia/Tokyo Asia/Amman Asia/Pyongyang Asia/Manila
Australia/Lord_Howe Australia/Adelaide Pacific/Apia Pacific/Kwajalein Pacific/Chatham Pacific/Kiritimati
Pacific/Fakaofo Antarctica/Troll Antarctica/Casey
""".split()


def local(instant, zone):
    """What the zone's clock shows."""
    return instant.astimezone(zone).replace(tzinfo=None)


@lru_cache(maxsize=None)
def begin(day, zone):
    """The first instant at which the clock shows that day or a later one."""
    midnight = datetime(day.year, day.month, day.day)
    instant = midnight.replace(tzinfo=timezone.utc) - timedelta(hours=30)
    step = timedelta(minutes=10)
    while local(instant, zone) < midnight:
        instant += step
    # The clock shows it within the last ten minutes for the first time.
    low, high = instant - step, instant
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        if middle == low:
            break
        low, high = (low, middle) if local(middle, zone) >= midnight else (middle, high)
    return high


def shifted_month(day, months):
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, 1)


def units(unit, today, first_day, first, count):
    """`count` units, beginning with the one that lies `first` after the current one, as a pair of dates."""
    if unit == "day":
        start, step = today, lambda n: today + timedelta(days=n)
    elif unit == "week":
        start = today
        while start.weekday() != first_day:
            start -= timedelta(days=1)
        step = lambda n: start + timedelta(weeks=n)
    else:
        each = {"month": 1, "quarter": 3, "year": 12}[unit]
        months = today.year * 12 + today.month - 1
        start = date(today.year, months // each * each % 12 + 1, 1)
        step = lambda n: shifted_month(start, n * each)
    return step(first), step(first + count)


def fixed(words):
    if m := re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", words):
        day = date(*map(int, m.groups()))
        return day, day + timedelta(days=1)
    if m := re.fullmatch(r"(\d{4})-(\d\d)", words):
        day = date(int(m[1]), int(m[2]), 1)
        return day, shifted_month(day, 1)
    if m := re.fullmatch(r"(\d{4})", words):
        return date(int(m[1]), 1, 1), date(int(m[1]) + 1, 1, 1)
    if m := re.fullmatch(r"(\d{4})-q([1-4])", words):
        day = date(int(m[1]), int(m[2]) * 3 - 2, 1)
        return day, shifted_month(day, 3)
    if m := re.fullmatch(r"(\d{4})-w(\d\d)", words):
        day = date.fromisocalendar(int(m[1]), int(m[2]), 1)
        return day, day + timedelta(days=7)
    return None


def number(word):
    if word in ("a", "an"):
        return 1
    return NUMBERS.index(word) + 1 if word in NUMBERS else int(word)


def dates(words, today, first_day):
    """The first day of an expression and the first after it."""
    if found := fixed(words.strip()):
        return found
    words = re.sub(r"[\s_-]+", " ", words).strip()
    days = {"today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "day after tomorrow": 2}
    if words in days:
        return units("day", today, first_day, days[words], 1)
    unit = r"(day|week|month|quarter|year)s?"
    if m := re.fullmatch(rf"(this|last|next) {unit}", words):
        return units(m[2], today, first_day, {"this": 0, "last": -1, "next": 1}[m[1]], 1)
    if m := re.fullmatch(rf"(last|next) (\w+) {unit}", words):
        n = number(m[2])
        return units(m[3], today, first_day, -n if m[1] == "last" else 1, n)
    if m := re.fullmatch(rf"(\w+) {unit} ago", words):
        return units(m[2], today, first_day, -number(m[1]), 1)
    if m := re.fullmatch(rf"in (\w+) {unit}", words):
        return units(m[2], today, first_day, number(m[1]), 1)
    if m := re.fullmatch(rf"(?:(this|last|next) )?({'|'.join(DAYS)})", words):
        wanted = DAYS.index(m[2])
        if m[1] in (None, "this"):
            day, _ = units("week", today, first_day, 0, 1)
            step = 1
        else:
            step = -1 if m[1] == "last" else 1
            day = today + timedelta(days=step)
        while day.weekday() != wanted:
            day += timedelta(days=step)
        return day, day + timedelta(days=1)
    raise ValueError("Unknown")


def resolve(question):
    zone = ZoneInfo(question["timezone"])
    now = datetime.fromisoformat(question["now"].replace("Z", "+00:00"))
    first_day = DAYS.index(question["first_day"])
    today = local(now, zone).date()
    words = question["expression"].lower()
    if m := re.fullmatch(r"(day|week|month|quarter|year)[\s_-]+to[\s_-]+date", words):
        first, _ = units(m[1], today, first_day, 0, 1)
        return begin(first, zone), now
    for sign in ["..", " to "]:
        if sign in words:
            left, right = (dates(side, today, first_day) for side in words.split(sign))
            if right[1] <= left[0]:
                raise ValueError("Backwards")
            return begin(left[0], zone), begin(right[1], zone)
    first, after = dates(words, today, first_day)
    return begin(first, zone), begin(after, zone)


def stamp(instant):
    return instant.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def answer():
    for line in sys.stdin:
        try:
            start, end = resolve(json.loads(line))
            print(json.dumps({"start": stamp(start), "end": stamp(end)}))
        except ValueError as error:
            print(json.dumps({"error": str(error)}))


def some_instant(chance, zone):
    """Often near a change of the clocks, or near an end of a day, month or year."""
    instant = datetime(1925, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=chance.randrange(4 * 10**9))
    kind = chance.randrange(4)
    if kind == 0:
        for _ in range(400):
            later = instant + timedelta(days=1)
            if later.astimezone(zone).utcoffset() != instant.astimezone(zone).utcoffset():
                return instant + timedelta(seconds=chance.randrange(-86400, 2 * 86400))
            instant = later
    if kind == 1:
        shown = local(instant, zone)
        month = chance.choice([1, 2, 3, 4, 7, 10, 12])
        edge = datetime(shown.year, month, 1, tzinfo=zone) + timedelta(seconds=chance.randrange(-90000, 90000))
        return edge.astimezone(timezone.utc)
    return instant


def some_date(chance, now):
    day = now.date() + timedelta(days=chance.randrange(-800, 800))
    year, week, _ = day.isocalendar()
    forms = [f"{day}", f"{day}"[:7], f"{day}"[:4], f"{day.year:04}-Q{(day.month + 2) // 3}", f"{year:04}-W{week:02}"]
    return chance.choice(forms)


def some_single(chance, now):
    unit, day = chance.choice(UNITS), chance.choice(DAYS)
    count = chance.choice([1, 2, 3, 7, 12, 13, 30, 90, 365, chance.randrange(1, 800)])
    if unit in ("quarter", "year"):
        count = min(count, 90)
    said = NUMBERS[count - 1] if count <= 12 and chance.random() < 0.5 else str(count)
    units = unit + ("s" if count > 1 else "")
    which = chance.choice(["this", "last", "next"])
    forms = [
        chance.choice(["today", "yesterday", "tomorrow", "day before yesterday", "day after tomorrow"]),
        f"{which} {unit}", f"last {said} {units}", f"next {said} {units}", f"{said} {units} ago", f"in {said} {units}",
        day, f"{which} {day}", some_date(chance, now),
    ]
    return chance.choice(forms)


def some_expression(chance, now):
    kind = chance.randrange(12)
    if kind == 0:
        return chance.choice(UNITS) + " to date"
    if kind == 1:
        sides = [some_single(chance, now), some_single(chance, now)]
        return chance.choice(["..", " .. ", " to "]).join(sides)
    text = some_single(chance, now)
    if not text[:4].isdigit() or " " in text:
        text = text.replace(" ", chance.choice([" ", " ", "_", "-", "  "]))
    return chance.choice([text, text, text.upper(), text.title()])


def questions(count, seed):
    chance = random.Random(seed)
    for _ in range(count):
        name = chance.choice(ZONES)
        now = some_instant(chance, ZoneInfo(name))
        question = {
            "expression": some_expression(chance, now), "now": stamp(now), "timezone": name,
            "first_day": chance.choice(DAYS),
        }
        print(json.dumps(question))


if __name__ == "__main__":
    if sys.argv[1] == "questions":
        questions(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "zones":
        import tzdata

        print(tzdata.IANA_VERSION)
    else:
        answer()
