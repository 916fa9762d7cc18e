"""Random tables with every kind of file and value, and random conditions on them, for tests of answers.

Plain columns of every type with NaN, infinities, signed zeros, long texts and nulls; Variants that
fit their layout or do not; files of our own and of other writers, with statistics that are whole, partial,
cut short, without NaN, or missing; deletion vectors, column mapping, narrower types in files, up to 30
partitions in an append, checkpoints.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import shredlake as sl
from delta_tables import variants, write_commit
from random_tables import (
    LAYOUTS,
    PATTERNS,
    Text,
    delete_by_vectors,
    forget_layouts,
    random_comparison,
    random_document,
    random_value,
)
from shredlake.delta.read.conform import physical
from shredlake.delta.schema.partitions import serialize
from shredlake.parquet.write.writer import WriteOptions

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("f", pa.float32()),
        ("n", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(12, 2)),
        ("day", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("b", pa.bool_()),
        ("ntz", pa.timestamp("us")),
        ("bin", pa.binary()),
        ("list", pa.list_(pa.int64())),
        ("map", pa.map_(pa.string(), pa.int64())),
        ("o", pa.struct([("k", pa.int32()), ("odd.na me", pa.string())])),
        ("p", pa.string()),
        ("q", pa.int32()),
        ("v", sl.variant()),
        ("w", sl.variant()),
    ]
)
LONG = "z" * 40
FLOATS = [-math.inf, -1.5, -0.0, 0.0, 0.25, 2.5, 1e30, math.inf, math.nan, math.nan, None]
TEXTS = ["", "a", "ab", "b", "é", "5", "x05", LONG, LONG + "é", LONG + "\U0010ffff", "\U0010ffff" * 40, None]
PARTITIONS = ["one", "two/%=", "", "é ", None, "__HIVE_DEFAULT_PARTITION__"]


@dataclass(frozen=True)
class Answers:
    """A table, and its live rows as one Arrow table in memory, where nothing can be skipped."""

    table: sl.Table
    rows: pa.Table
    story: str


def random_answers(place: str | Path, dice: random.Random) -> Answers:
    """A table at a place: `memory://...`, or a folder, which more kinds of tables need."""
    local = isinstance(place, Path)
    mapping = dice.choice(["none", "none", "name", "id"])
    partitions = dice.choice([[], [], ["p"], ["q"], ["p", "q"]])
    vectors = local and dice.random() < 0.5
    properties = {
        "delta.enableVariantShredding": "true",
        "delta.checkpointInterval": "1000",
        "delta.enableDeletionVectors": "true" if vectors else "false",
        "delta.dataSkippingNumIndexedCols": dice.choice(["32", "32", "3", "0"]),
        **({"delta.columnMapping.mode": mapping} if mapping != "none" else {}),
    }
    table = sl.Table.create(place, SCHEMA, partitions, properties)
    story = [f"mapping {mapping}, by {partitions}, vectors {vectors}"]
    parts: list[pa.Table] = []
    for number in range(dice.randrange(1, 4)):
        rows = _rows(dice, number * 1000, dice.choice([0, 1, 4, 12, 30]))
        layouts = {name: dice.choice(LAYOUTS) for name in ("v", "w")}
        options = WriteOptions(row_group_rows=dice.choice([5, 12, 1000]), page_rows=dice.choice([2, 7]))
        table.append(rows, shredding=layouts, options=options)
        story.append(f"{len(rows)} rows as {layouts}")
        parts.append(rows)
    alive = pa.concat_tables(parts)
    if local and dice.random() < 0.6:
        foreign = _in_one_partition(_rows(dice, 90_000, dice.choice([3, 12])), partitions)
        _append_foreign(table, foreign, partitions, dice)
        alive = pa.concat_tables([alive, foreign])
        story.append(f"{len(foreign)} rows of another writer")
    gone = _gone(dice, alive)
    if gone:
        if vectors:
            delete_by_vectors(table, gone)
        else:
            table.delete(f"id IN ({', '.join(map(str, sorted(gone)))})")
        alive = alive.filter(pa.array([number not in gone for number in alive["id"].to_pylist()], pa.bool_()))
        story.append(f"{len(gone)} rows deleted")
    if local and dice.random() < 0.5:
        story.append(_change_statistics(Path(place), dice))
    table = sl.Table(table.uri)
    if dice.random() < 0.4:
        table.checkpoint()
        table = sl.Table(table.uri)
        story.append("a checkpoint")
    if "p" in partitions:  # the protocol has no empty text as a partition value: it is null
        texts = [text or None for text in alive["p"].to_pylist()]
        alive = alive.set_column(SCHEMA.get_field_index("p"), "p", pa.array(texts, pa.string()))
    return Answers(table, alive, "; ".join(story))


def _gone(dice: random.Random, alive: pa.Table) -> set[int]:
    numbers = alive["id"].to_pylist()
    kind = dice.randrange(4)
    if kind == 0 and numbers:
        low = dice.choice(numbers)
        return {number for number in numbers if low <= number < low + 6}
    return {number for number in numbers if dice.random() < 0.15} if kind == 1 else set()


def _rows(dice: random.Random, first: int, count: int) -> pa.Table:
    """Rows in mostly ascending order, so that scans can skip some, with all odd values among them."""
    wild = dice.choice([0.0, 0.1, 0.4])

    def column(regular: Callable[[int], Any], odd: list[Any]) -> list[Any]:
        return [dice.choice(odd) if dice.random() < wild else regular(row) for row in range(count)]

    start = dice.randrange(-5, 40)
    day = date(2024, 1, 1)
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    partitions = [dice.choice(PARTITIONS) for _ in range(dice.choice([1, 3, 30]))]
    numbers = [dice.choice([*range(30), None]) for _ in range(dice.choice([1, 3, 30]))]
    columns = {
        "id": list(range(first, first + count)),
        "x": column(lambda row: (start + row) / 4, FLOATS),
        "f": column(lambda row: (start + row) / 8, FLOATS),
        "n": column(lambda row: start + row, [None, -(2**63), 2**63 - 1, 2**53 + 1, 0, 127, 40000]),
        "s": column(lambda row: f"x{start + row:03}", TEXTS),
        "d": column(lambda row: Decimal(start + row) / 4, [None, Decimal("-3.50"), Decimal("9999999999.99")]),
        "day": column(
            lambda row: day + timedelta(days=start + row), [None, date(1960, 1, 1), date(9999, 12, 31)]
        ),
        "t": column(
            lambda row: moment + timedelta(hours=start + row, microseconds=row * 137),
            [None, datetime(1960, 1, 1, tzinfo=UTC), datetime(2024, 1, 5, 0, 0, 0, 999_999, tzinfo=UTC)],
        ),
        "b": column(lambda row: row % 2 == 0, [None, True, False]),
        "ntz": column(
            lambda row: moment.replace(tzinfo=None) + timedelta(hours=start + row, microseconds=row * 137),
            [None, datetime(1960, 1, 1), datetime(2024, 1, 5, 0, 0, 0, 999_999), datetime(9999, 12, 31)],
        ),
        "bin": column(lambda row: bytes([start + row & 0xFF, row]), [None, b"", b"\xff" * 40, b"\0"]),
        "list": column(lambda row: list(range(start, start + row % 3)), [None, [], [None], [7, None]]),
        "map": column(lambda row: [("k", start + row)], [None, [], [("", None)], [(LONG, 1)]]),
        "o": column(
            lambda row: {"k": start + row, "odd.na me": f"y{row}"},
            [None, {"k": None, "odd.na me": None}, {"k": 2**31 - 1, "odd.na me": LONG}],
        ),
        "p": [dice.choice(partitions) for _ in range(count)],
        "q": [dice.choice(numbers) for _ in range(count)],
    }
    arrays = [pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()]
    documents = [
        variants(
            [_deep(dice) if dice.random() < 0.05 else random_document(dice, row) for row in range(count)]
        )
        for _ in range(2)
    ]
    return pa.Table.from_arrays([*arrays, *documents], schema=SCHEMA)


def _deep(dice: random.Random) -> Any:
    value = random_value(dice)
    for _ in range(dice.randrange(1, 40)):
        value = {"o": value} if dice.random() < 0.5 else [value]
    return value


# ── Other writers ───────────────────────────────────────────────────────────────────────────────────────


def _in_one_partition(rows: pa.Table, partitions: list[str]) -> pa.Table:
    """The rows, all with the first row's values of the partition columns."""
    for name in partitions:
        first = pa.array(rows[name].to_pylist()[:1] * len(rows), SCHEMA.field(name).type)
        rows = rows.set_column(SCHEMA.get_field_index(name), name, first)
    return rows


def _append_foreign(table: sl.Table, rows: pa.Table, partitions: list[str], dice: random.Random) -> None:
    """A file that pyarrow wrote: narrower types, no checksums, perhaps no page index or statistics."""
    root = table.snapshot.storage.local_root
    statistics = dice.random() < 0.6
    snapshot = table.snapshot
    named = {field.name: field.physical_name for field in snapshot.schema.fields}
    stored = physical(rows, snapshot.schema).drop_columns([named[name] for name in partitions])
    narrow = pa.array([_in_32_bits(n) for n in rows["n"].to_pylist()], pa.int32())
    if dice.random() < 0.5 and rows["n"].to_pylist() == narrow.to_pylist():
        place = stored.schema.get_field_index(named["n"])
        stored = stored.set_column(place, stored.schema.field(place).with_type(pa.int32()), narrow)
    values = {named[name]: serialize(rows[name][0].as_py()) for name in partitions}
    pq.write_table(
        stored, root / "foreign.parquet", write_statistics=statistics,
        write_page_index=statistics and dice.random() < 0.5,
        row_group_size=dice.choice([4, 100]), use_dictionary=dice.random() < 0.5,
    )  # fmt: skip
    size = (root / "foreign.parquet").stat().st_size
    add = {
        "path": "foreign.parquet", "partitionValues": values, "size": size, "modificationTime": 1,
        "dataChange": True,
    }  # fmt: skip
    if dice.random() < 0.6:
        found = _foreign_statistics(rows, dice)
        for part in found.keys() - {"numRecords"}:
            found[part] = {named[name]: value for name, value in found[part].items()}
        add["stats"] = json.dumps(found)
    write_commit(root, table.version + 1, [{"add": add}])


def _in_32_bits(number: int | None) -> int | None:
    return number if number is None or abs(number) < 2**31 else None


def _foreign_statistics(rows: pa.Table, dice: random.Random) -> dict[str, Any]:
    """As Spark collects them: NaN counts as the maximum or is ignored, strings are cut to 32 characters."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for name in ("id", "x", "n", "s", "day"):
        values = rows[name].to_pylist()
        nulls[name] = values.count(None)
        known = [value for value in values if value is not None and value == value]
        if not known or any(isinstance(value, float) and math.isinf(value) for value in known):
            continue
        low[name], high[name] = _bound(min(known), False), _bound(max(known), True)
        if high[name] is None:
            del high[name]
    statistics: dict[str, Any] = {
        "numRecords": len(rows),
        "minValues": low,
        "maxValues": high,
        "nullCount": nulls,
    }
    for part in dice.sample(["minValues", "maxValues", "nullCount"], dice.choice([0, 0, 1, 2])):
        statistics.pop(part)
    return statistics


def _bound(value: Any, upper: bool) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str) or len(value) <= 32:
        return value
    # A cut text is a lower bound as it is, and an upper bound with the greatest character behind it.
    return value[:32] + "\U0010ffff" if upper and value[32] != "\U0010ffff" else None if upper else value[:32]


def _change_statistics(place: Path, dice: random.Random) -> str:
    """Makes the log look like another writer's: some or all statistics, or all layouts, are removed."""
    kind = dice.choice(["layouts", "all", "some", "counts"])
    if kind == "layouts":
        forget_layouts(place)
        return "no layouts"
    for commit in sorted((place / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            stats = json.loads(action.get("add", {}).get("stats") or "null")
            if stats is None:
                continue
            if kind == "all":
                action["add"].pop("stats")
                continue
            if kind == "counts":
                stats.pop("nullCount", None)
            for part in ("minValues", "maxValues", "nullCount"):
                names = list(stats.get(part, {}))
                for name in dice.sample(names, dice.randrange(len(names) + 1)):
                    stats[part].pop(name)
            action["add"]["stats"] = json.dumps(stats)
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return f"statistics without {kind}"


# ── Conditions ──────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = [
    "0",
    "5",
    "-3",
    "40",
    "2.5",
    "0.25D",
    "-0.0D",
    "9223372036854775807",
    "9007199254740993",
    "1e30D",
    "NULL",
]
DOUBLES = [*NUMBERS, "double('NaN')", "double('Infinity')", "double('-Infinity')", "CAST('NaN' AS float)"]
QUOTED = [
    "''",
    "'a'",
    "'b'",
    "'x005'",
    "'x020'",
    "'é'",
    "'5'",
    f"'{LONG}'",
    f"'{LONG}é'",
    f"'{LONG[:32]}'",
    "NULL",
]
DAYS = ["date'2024-01-05'", "date'1960-01-01'", "date'9999-12-31'", "date'2024-02-01'"]
TIMES = ["timestamp'2024-01-05 00:00:00Z'", "timestamp'2024-01-05 00:00:00.999999Z'", "timestamp'1960-01-01'"]
PLAIN: dict[str, list[str]] = {
    "id": ["3", "1005", "2000L", "90003"],
    "x": DOUBLES,
    "f": DOUBLES,
    "n": NUMBERS,
    "n + 1": ["3", "41L"],
    "s": QUOTED,
    "d": ["0", "1.25", "-3.5", "2.005", "9999999999.99", "5D"],
    "day": DAYS,
    "t": TIMES,
    "CAST(t AS date)": DAYS,
    "ntz": [f"timestamp_ntz'{day}'" for day in ("2024-01-05", "2024-01-05 00:00:00.999999", "1960-01-01")],
    "CAST(ntz AS date)": DAYS,
    "o.k": NUMBERS[:4],
    "o.`odd.na me`": ["'y3'", f"'{LONG}'"],
    "p": ["'one'", "'two/%='", "''", "'é '", "NULL"],
    "q": ["3", "29", "CAST(5 AS bigint)", "NULL"],
}


def _plain_comparison(dice: random.Random) -> str:
    operand = dice.choice(list(PLAIN))
    one, other = dice.choice(PLAIN[operand]), dice.choice(PLAIN[operand])
    operator = dice.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    choices = [
        f"{operand} {operator} {one}", f"{one} {operator} {operand}", f"{operand} IS NULL",
        f"{operand} IS NOT NULL",
        f"{operand} IN ({one}, {other})", f"{operand} NOT IN ({one}, {other})",
        f"{operand} BETWEEN {one} AND {other}",
    ]  # fmt: skip
    if operand in ("x", "f"):
        choices += [f"isnan({operand})", f"{operand} = {dice.choice(['x', 'f', 'n'])}"]
    if operand in ("s", "p"):
        choices += [f"{operand} LIKE '{dice.choice([*PATTERNS, LONG + '%'])}'"] * 2
    if operand == "id":
        choices += [f"{name} IS {dice.choice(['', 'NOT '])}NULL" for name in ("bin", "list", "map", "ntz")]
        choices += ["b", "NOT b", "b = true", "v IS NULL", "w IS NOT NULL", "o IS NULL", "true", "NULL"]
    return dice.choice(choices)


def random_where(dice: random.Random, depth: int = 0) -> Text:
    """A condition, as `read` takes it and as Spark does."""
    choice = dice.random()
    if depth > 2 or choice < 0.5:
        if dice.random() < 0.5:
            plain = _plain_comparison(dice)
            return Text(plain, plain)
        return random_comparison(dice)
    if choice < 0.6:
        inner = random_where(dice, depth + 1)
        return Text(f"NOT ({inner.ours})", f"NOT ({inner.sparks})")
    joiner = " AND " if choice < 0.8 else " OR "
    one, other = (random_where(dice, depth + 1) for _ in range(2))
    return Text(f"({one.ours}{joiner}{other.ours})", f"({one.sparks}{joiner}{other.sparks})")
