"""Records of machines: logs whose types drift, wide telemetry, maps keyed by id, flat rows, nasty ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from random import Random

from shredlake.cli.verbs.demo_data import START_US, quoted, sentence, skewed, stamp

SERVICES = ["gateway", "checkout", "search", "profile", "billing", "mailer", "images", "auth"]
METHODS = ["GET", "GET", "GET", "POST", "PUT", "DELETE"]
STATUSES = [200] * 88 + [201, 204, 301, 304, 400, 401, 404, 404, 429, 500, 502, 503]


def logs(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """Logs whose types drift: at 45% of the rows `ts` turns into text, `user_id` and `duration` follow.

    A new optional field appears every million rows (or every eighth of a smaller set).
    """
    era_rows = min(1_000_000, max(rows // 8, 1))
    for row in range(first, first + count):
        progress, era = row / rows, row // era_rows
        micros = START_US + row * 2500 + random.randrange(100_000)
        when = str(micros // 1000) if progress < 0.45 else f'"{stamp(micros)}"'
        status = '"n/a"' if random.random() < 0.02 else str(random.choice(STATUSES))
        user = skewed(random, 50_000)
        user_id = str(user) if progress < 0.6 else '"null"' if random.random() < 0.03 else f'"u-{user}"'
        took = random.lognormvariate(3, 1.2)
        duration = (
            str(int(took)) if progress < 0.5 else f"{took:.2f}" if progress < 0.9 else f"{took / 1000:.17f}e3"
        )
        extra = "".join(
            f',"x_{age:03d}":{random.randrange(1000) if age % 2 else quoted(random.choice(SERVICES))}'
            for age in range(1, min(era, 40) + 1)
            if random.random() < 0.5
        )
        yield (
            f'{{"ts":{when},"level":"{random.choice(("INFO", "INFO", "INFO", "WARN", "ERROR"))}",'
            f'"service":"{SERVICES[skewed(random, 8)]}","status":{status},"user_id":{user_id},'
            f'"duration":{duration},'
            f'"http":{{"method":"{random.choice(METHODS)}",'
            f'"path":"/v1/{random.choice(SERVICES)}/{skewed(random, 3000)}",'
            f'"bytes":{skewed(random, 900_000)}}},"trace":"{random.getrandbits(128):032x}",'
            f'"message":"{sentence(random, 4 + skewed(random, 20))}"{extra}}}'
        )


# (part of a device, its units): model L has all of them, S about a third
UNITS = ["voltage", "current", "power", "temp", "freq", "load", "errors", "resets", "level", "phase"]
FIRMWARES = ["2.1.0", "2.1.0", "2.2.4", "2.2.4", "2.2.4", "3.0.1"]
# From 3.0 on some fields have other names.
RENAMED = {"temp": "temperature_c", "freq": "frequency_hz", "errors": "error_count"}


@cache
def telemetry_template(model: str, firmware: str) -> tuple[str, tuple[tuple[float, float], ...]]:
    """A document with a placeholder per number, and (mean, spread) of each."""
    random = Random("telemetry")
    renamed = RENAMED if firmware >= "3" else {}
    slots: list[tuple[float, float]] = []
    parts = []
    for part in range({"S": 6, "M": 12, "L": 20}[model]):
        modules = []
        for module in range(5):
            leaves = []
            for unit in UNITS:
                counter = unit in ("errors", "resets")
                leaves.append(f'"{renamed.get(unit, unit)}":%{".0f" if counter else ".3f"}')
                mean = 3.0 if counter else random.choice((1.0, 12.0, 48.0, 230.0, 3000.0))
                slots.append((mean, mean * random.choice((0.001, 0.02, 0.3))))
            modules.append(f'"m{module}":{{{",".join(leaves)}}}')
        parts.append(f'"part{part:02d}":{{{",".join(modules)}}}')
    return ",".join(parts), tuple(slots)


def telemetry(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """300 to 1,000 numbers a document, three levels deep; firmware 3 renames some fields."""
    gauss = random.gauss
    for row in range(first, first + count):
        device = skewed(random, 5000)
        model, firmware = "SMML"[device % 4], FIRMWARES[device % 6]
        template, slots = telemetry_template(model, firmware)
        values = tuple([abs(gauss(mean, spread)) for mean, spread in slots])
        yield (
            f'{{"device":"d{device:05d}","model":"{model}","firmware":"{firmware}","seq":{row},'
            f'"at":"{stamp(START_US + row * 50_000)}",{template % values}}}'
        )


def map_by_id(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """Counts per user of a day: the keys are ids, so every path is rare."""
    for row in range(first, first + count):
        day = date(2024, 1, 1) + timedelta(days=row * 365 // max(rows, 365))
        users = dict.fromkeys(random.randrange(40_000) for _ in range(5 + skewed(random, 60)))
        counts = ",".join(f'"u{user}":{1 + skewed(random, 30)}' for user in users)
        region = random.choice(("eu", "us", "ap"))
        yield f'{{"day":"{day}","shard":{row % 64},"region":"{region}","counts":{{{counts}}}}}'


def relational(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """Lines of orders: flat, every field in every row, one type each."""
    for row in range(first, first + count):
        quantity = random.randint(1, 50)
        price = quantity * random.randint(90_000, 200_000) / 100
        shipped = 8036 + skewed(random, 2526)
        yield (
            f'{{"orderkey":{row // 4 + 1},"partkey":{random.randint(1, 200_000)},'
            f'"suppkey":{random.randint(1, 10_000)},'
            f'"linenumber":{row % 4 + 1},"quantity":{quantity},"extendedprice":{price:.2f},'
            f'"discount":0.{random.randint(0, 10):02d},"tax":0.0{random.randint(0, 8)},'
            f'"returnflag":"{random.choice("ANR")}","linestatus":"{random.choice("OF")}",'
            f'"shipdate":"{_day(shipped)}",'
            f'"commitdate":"{_day(shipped + 20)}","receiptdate":"{_day(shipped + random.randint(1, 30))}",'
            f'"shipinstruct":"{random.choice(("DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"))}",'
            f'"shipmode":"{random.choice(("AIR", "RAIL", "SHIP", "TRUCK", "MAIL"))}",'
            f'"comment":"{sentence(random, random.randint(2, 8))}"}}'
        )


@cache
def _day(days: int) -> str:
    return str(date(1970, 1, 1) + timedelta(days=days))


NASTY = [
    "{}",
    "[]",
    "null",
    '""',
    "true",
    '{"a":{}}',
    '{"a":[]}',
    '{"a":null,"b":[null,null],"c":{"d":null}}',
    "[[],[[]],{},[{}]]",
    '{"a.b":1,"a":{"b":2},"a[0]":3,"$":4,"":5,"*":6}',
    '{"quote\\"d":1,"back\\\\slash":2,"tab\\t":3,"new\\nline":4,"\'":5,"`":6}',
    '{"😀":1,"é":2,"e\\u0301":3,"\\ud83d\\ude00x":4,"\\uffff":5,"\\u0000":6,"𝒳":7}',
    '{"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz":1}',
    "[0,-0,127,128,-128,-129,32767,32768,-32768,-32769,2147483647,2147483648,-2147483648,-2147483649]",
    "[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809]",
    "[99999999999999999999999999999999999999,-99999999999999999999999999999999999999]",
    "[100000000000000000000000000000000000000,0.00000000000000000000000000000000000001]",
    "[-0.0,0.0,0e0,1e0,1E+2,1.5e-7,1.7976931348623157e308,5e-324,2.2250738585072014e-308]",
    "[99999.9999,999999999.999999999,0.1,0.10,1.000000000000000000000,12345678901234567890.123456789012345678]",
    '{"t":"2024-02-30","u":"2024-02-29T23:59:60Z","v":"00000000-0000-0000-0000-000000000000","w":"null"}',
    '"' + "x" * 63 + '"',
    '"' + "y" * 64 + '"',
    '"' + "é" * 32 + '"',
]


def nasty(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """Everything that breaks readers. From 1,000 rows on, row 997 has 20 MB."""
    for row in range(first, first + count):
        if row == 997:
            yield json.dumps({"big": "z" * 20_000_000, "after": 1}, separators=(",", ":"))
        elif row % 100 == 50:
            yield '{"n":' * 450 + "[" * 449 + "1" + "]" * 449 + "}" * 450
        elif row % 100 == 51:
            yield (
                "{" + ",".join(f'"k{key}":{key}' for key in range(random.choice((255, 256, 257, 300)))) + "}"
            )
        elif row % 3 == 0:
            yield random.choice(NASTY)
        else:
            keys = random.sample(("a", "b", "c", "a.b", "😀", "k" * 70, "", "x y"), random.randint(1, 5))
            values = (
                random.choice(NASTY) if random.random() < 0.6 else random.randrange(-(10**12), 10**12)
                for _ in keys
            )
            yield "{" + ",".join(f'"{key}":{value}' for key, value in zip(keys, values, strict=True)) + "}"
