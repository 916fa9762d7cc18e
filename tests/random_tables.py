"""Random tables of Variants, as varied as their writers may make them, and random queries over them."""

from __future__ import annotations

import json
import math
import random
import struct
import uuid
import zlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

import shredlake as sl
from delta_tables import variants, write_commit
from shredlake.delta.log.files import as_adds
from shredlake.delta.read.deletion_vectors import PORTABLE, read_vector
from shredlake.delta.stats import z85
from shredlake.delta.storage.storage import decode_path
from shredlake.parquet.write.writer import WriteOptions

LAYOUTS = [
    None,
    "struct<a bigint, s string, d double, o struct<x int, y string>, l array<bigint>>",
    "struct<a int, s string, d decimal(12,2), o struct<x bigint>>",
    "struct<a string, t timestamp, `A` bigint, `odd key` string>",
    "struct<a decimal(18,0), s date, t timestamp_ntz, b boolean>",
    "struct<a bigint, d float, o struct<x variant, y struct<z bigint>>, l array<struct<k bigint, m string>>>",
    "struct<o struct<x bigint, y string>, b boolean, s binary, `it's` bigint, `x.y` bigint>",
    "struct<a tinyint, s string, l array<array<bigint>>>",
    "struct<a bigint, `A` string>",
    "bigint",
    "array<bigint>",
]  # fmt: skip
"""How files may be shredded; None is not at all."""

PATHS = {
    "v:a": "$.a",
    "v:A": "$.A",
    "v:s": "$.s",
    "v:d": "$.d",
    "v:t": "$.t",
    "v:b": "$.b",
    "v:o.x": "$.o.x",
    "v:o.y": "$.o.y",
    "v:o.y.z": "$.o.y.z",
    "v:o": "$.o",
    "v:l[0]": "$.l[0]",
    "v:l[1].k": "$.l[1].k",
    "v:l[0][1]": "$.l[0][1]",
    "v:l": "$.l",
    "v:nowhere": "$.nowhere",
    "v:`odd key`": "$['odd key']",
    "v:`x.y`": "$['x.y']",
    "v:`it's`": '$["it\'s"]',
    "v:[0]": "$[0]",
    "v": "$",
}
"""The same paths as a column of `read` and of `variant_get` spells them."""

LITERALS = {
    "boolean": ["true", "false"],
    "tinyint": ["5Y", "-3Y", "127Y"],
    "smallint": ["5S", "0S"],
    "int": ["0", "5", "-3", "40"],
    "bigint": ["0L", "5L", "-3L", "60L", "9223372036854775807L"],
    "float": ["CAST(2.5 AS float)", "CAST('NaN' AS float)"],
    "double": ["0.0D", "-0.0D", "2.5D", "1e10D", "double('NaN')", "double('Infinity')"],
    "decimal(10,2)": ["0.00BD", "1.25BD", "30.00BD", "-3.50BD"],
    "decimal(38,0)": ["5BD", "12BD"],
    "string": ["''", "'5'", "'x'", "'é'", "'x03'", "'x05'", "'2024-01-05'", "'true'"],
    "date": ["DATE '2024-01-05'", "DATE '1960-01-01'"],
    "timestamp": ["TIMESTAMP '2024-01-05 00:00:00Z'", "TIMESTAMP '2024-01-02 03:04:05.5Z'"],
    "timestamp_ntz": ["TIMESTAMP_NTZ '2024-01-05 00:00:00'", "TIMESTAMP_NTZ '1960-01-01 00:00:00'"],
    "binary": ["X''", "X'ff'", "X'7830'"],
}
"""Every type that a path can be read as, with constants of it."""

PATTERNS = ["x%", "%5", "x0_", "2024%", "%", "", "\\\\%", "é%"]
ROWS = 40


def random_scalar(dice: random.Random) -> Any:
    number = dice.randrange(12)
    moment = datetime(2024, 1, 1) + timedelta(hours=9 * number, milliseconds=number)
    return dice.choice([
        number, -number, number * 10**dice.randrange(12), None, dice.random() < 0.5, f"x{number:02}",
        str(number), f" {number}.5 ", "é" * number, "2024-01-05", "2024-01-05 10:11:12", "true",
        Decimal(number) / 4, Decimal("30.00"), number / 2, -0.0, math.nan, math.inf, sl.Float32(number / 4),
        date(2024, 1, 1 + number), date(1960, 1, 1), moment, moment.replace(tzinfo=UTC),
        sl.Int8(number), sl.Int64(number), 2**40 + number,
        # Where Spark and Arrow differ: texts of any bytes, and the digits of large numbers.
        b"\xff" * number, b"x0\xc3" + bytes([number]), 5.27e12 * 10**number, sl.Float32(number * 12345678.0),
    ])  # fmt: skip


def random_value(dice: random.Random, depth: int = 0) -> Any:
    shape = dice.random()
    if depth < 3 and shape < 0.2:
        names = dice.sample(["a", "x", "y", "z", "k", "A"], dice.randrange(4))
        return {name: random_value(dice, depth + 1) for name in names}
    if depth < 3 and shape < 0.35:
        return [random_value(dice, depth + 1) for _ in range(dice.randrange(3))]
    return random_scalar(dice)


def random_document(dice: random.Random, row: int) -> Any:
    """A row that mostly fits the layouts and mostly ascends, so that there is something to skip."""
    kind = dice.random()
    if kind < 0.04:
        return ...  # SQL NULL
    if kind < 0.12:
        return random_value(dice)
    regular = {
        "a": row,
        "s": f"x{row:02}",
        "d": dice.choice([row / 4, Decimal(row) / 4]),
        "t": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=row),
        "b": row % 2 == 0,
        "o": {"x": row % 5, "y": dice.choice([f"y{row}", {"z": row}])},
        "l": dice.choice([[row, row + 1], [{"k": row}, {"k": row, "m": "m"}], [[row, 1], []]]),
        "A": dice.choice([row, f"A{row}"]),
        "odd key": "odd",
        "x.y": row,
        "it's": row,
    }
    wild = dice.choice([0.0, 0.0, 0.1, 0.3])
    return {
        name: random_value(dice, 1) if dice.random() < wild else value
        for name, value in regular.items()
        if dice.random() < 0.9
    }


@dataclass(frozen=True)
class Made:
    """A table, the same rows as one plain file that Spark reads by itself, and what was done to it."""

    uri: Path
    plain: Path
    story: str


PLAIN_SCHEMA = "id bigint, p string, v variant, w variant"


def random_table(place: Path, dice: random.Random) -> Made:
    mapping = dice.choice(["none", "none", "none", "name", "id"])
    vectors = dice.random() < 0.5
    partitioned = dice.random() < 0.4
    untagged = dice.random() < 0.3
    late = dice.random() < 0.3  # one Variant column comes later
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", sl.variant()), ("w", sl.variant())])
    properties = {
        "delta.enableVariantShredding": "true",
        "delta.enableDeletionVectors": "true" if vectors else "false",
        **({"delta.columnMapping.mode": mapping} if mapping != "none" else {}),
    }
    first = schema.remove(3) if late else schema
    table = sl.Table.create(place / "t", first, ["p"] if partitioned else [], properties)
    everything: list[pa.Table] = []
    story = [f"mapping {mapping}, vectors {vectors}, partitioned {partitioned}, untagged {untagged}"]
    for file in range(dice.randrange(1, 5)):
        if late and file == 1:
            table.add_column(schema.field("w"))
        count = dice.choice([0, 1, ROWS // 2, ROWS, ROWS])
        ids = range(file * 100, file * 100 + count)
        rows = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "p": pa.array([dice.choice(["one", "two/%=", None]) for _ in ids], pa.string()),
                "v": variants([random_document(dice, row) for row in range(count)]),
                "w": variants(
                    [... if late and file == 0 else random_document(dice, row) for row in range(count)]
                ),
            }
        )
        layouts = {name: dice.choice(LAYOUTS) for name in ("v", "w")}
        story.append(f"{count} rows as {layouts}")
        options = WriteOptions(row_group_rows=dice.choice([7, 20, 1000]), page_rows=dice.choice([3, 10]))
        here = {name: layouts[name] for name in layouts if name in table.schema.names}
        table.append(rows.select(table.schema.names), shredding=here, options=options)
        everything.append(rows)
    if "w" not in table.schema.names:
        table.add_column(schema.field("w"))
    alive = pa.concat_tables(everything)
    for _ in range(dice.randrange(3)):
        gone = {number for number in range(500) if dice.random() < 0.1}
        low = dice.randrange(400)
        if dice.random() < 0.5:
            gone = set(range(low, low + 30))
        if not gone:
            continue
        if vectors:
            delete_by_vectors(table, gone)
        else:
            table.delete(f"id IN ({', '.join(map(str, sorted(gone)))})")
        keep = pa.array([number not in gone for number in alive["id"].to_pylist()], pa.bool_())
        alive = alive.filter(keep)
    if untagged:
        forget_layouts(place / "t")
    pq.write_table(alive, place / "plain.parquet")
    return Made(place / "t", place / "plain.parquet", "; ".join(story))


def delete_by_vectors(table: sl.Table, gone: set[int]) -> None:
    """Deletes rows by their `id` as engines with deletion vectors do; half of the vectors are in files."""
    snapshot = table.refresh().snapshot
    identity = snapshot.schema.get("id")
    assert identity is not None
    place = snapshot.storage.local_root
    actions: list[dict[str, Any]] = []
    for number, add in enumerate(as_adds(table.files())):
        numbers = pq.ParquetFile(place / decode_path(add.path)).read([identity.physical_name]).column(0)
        rows = {row for row, value in enumerate(numbers.to_pylist()) if value in gone}
        known = (
            set() if add.deletion_vector is None else set(read_vector(snapshot.storage, add.deletion_vector))
        )
        if rows <= known:  # the same vector again would add and remove the same file
            continue
        rows |= known
        data = struct.pack("<i", PORTABLE) + BitMap64(rows).serialize()
        vector: dict[str, object] = {"storageType": "i", "pathOrInlineDv": z85.encode(data)}
        if number % 2:
            name = uuid.uuid4()
            raw = b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
            (place / f"deletion_vector_{name}.bin").write_bytes(raw)
            vector = {"storageType": "u", "pathOrInlineDv": z85.encode(name.bytes), "offset": 1}
        added = add.to_json()
        removed = {
            key: added[key] for key in ("path", "partitionValues", "size", "deletionVector") if key in added
        }
        vector |= {"sizeInBytes": len(data), "cardinality": len(rows)}
        actions += [
            {"remove": removed | {"dataChange": True, "deletionTimestamp": 1}},
            {"add": added | {"deletionVector": vector}},
        ]
    if actions:
        write_commit(place, table.version + 1, actions)
        table.refresh()


def forget_layouts(place: Path) -> None:
    """Makes the log look like that of a writer that records no layouts."""
    for commit in (place / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"].pop("tags", None)
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


@dataclass(frozen=True)
class Text:
    """One piece of SQL in two spellings: as `read` takes it, and as Spark does."""

    ours: str
    sparks: str


def random_path(dice: random.Random, kind: str, column: str = "v") -> Text:
    ours, path = dice.choice(list(PATHS.items()))
    quoted = path.replace("'", "\\'")
    return Text(f"{column}{ours[1:]}::{kind}", f"try_variant_get({column}, '{quoted}', '{kind}')")


def random_comparison(dice: random.Random) -> Text:
    if dice.random() < 0.15:
        plain = dice.choice([
            f"id {dice.choice(['<', '>=', '='])} {dice.randrange(300)}", "p = 'one'", "p IS NULL", "p > 'p'",
        ])  # fmt: skip
        return Text(plain, plain)
    kind = dice.choice(list(LITERALS))
    operand = random_path(dice, kind, dice.choice(["v", "v", "v", "w"]))
    one, other = dice.choice(LITERALS[kind]), dice.choice(LITERALS[kind])
    tail = dice.choice([
        f"{dice.choice(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {one}",
        f"{dice.choice(['=', '<', '>='])} {one}",
        "IS NULL", "IS NOT NULL", f"IN ({one}, {other})", f"NOT IN ({one}, {other})", f"IN ({one}, NULL)",
        f"BETWEEN {one} AND {other}",
    ])  # fmt: skip
    if kind == "string" and dice.random() < 0.4:
        tail = f"{dice.choice(['', 'NOT '])}LIKE '{dice.choice(PATTERNS)}'"
    return Text(f"{operand.ours} {tail}", f"{operand.sparks} {tail}")


def random_condition(dice: random.Random, depth: int = 0) -> Text:
    choice = dice.random()
    if depth > 2 or choice < 0.5:
        return random_comparison(dice)
    if choice < 0.6:
        inner = random_condition(dice, depth + 1)
        return Text(f"NOT ({inner.ours})", f"NOT ({inner.sparks})")
    joiner = " AND " if choice < 0.8 else " OR "
    parts = [random_condition(dice, depth + 1) for _ in range(2)]
    return Text(f"({joiner.join(p.ours for p in parts)})", f"({joiner.join(p.sparks for p in parts)})")


def random_columns(dice: random.Random) -> list[Text]:
    columns = [Text("id", "id")]
    for number in range(dice.randrange(1, 4)):
        path = random_path(dice, dice.choice(list(LITERALS)), dice.choice(["v", "v", "w"]))
        columns.append(Text(f"{path.ours} AS c{number}", f"{path.sparks} AS c{number}"))
    return columns


# ── whole queries ───────────────────────────────────────────────────────────────────────────────────────


def _path(dice: random.Random, column: str, kind: str | None = None, strict: bool = False) -> str:
    """A path in one of the spellings of SQL."""
    text = random_path(dice, kind or dice.choice(list(LITERALS)), column)
    if not strict:
        name, _, type_ = text.ours.rpartition("::")
        tried = f"try_cast({name} AS {type_})"
        return dice.choice([text.sparks, tried if name != column else text.sparks])
    return dice.choice([text.ours if ":" in text.ours[:3] else text.sparks[4:], text.sparks[4:]])


def random_query(dice: random.Random) -> tuple[str, bool]:
    """A query over the table `t`, and whether its errors are those of rows that the result holds."""
    condition = random_condition(dice).sparks
    other = random_condition(dice).sparks
    key = dice.choice(["bigint", "string", "int", "date"])

    def path(column: str = "v", kind: str | None = None) -> str:
        return _path(dice, column, kind)

    plain = [
        f"SELECT id, {path()} FROM t WHERE {condition}",
        f"SELECT {path()} k, count(*), max({path(kind='bigint')}) FROM t WHERE {condition} GROUP BY 1",
        f"WITH e AS (SELECT v x, id FROM t WHERE {condition}) SELECT id, {path('x')} FROM e WHERE "
        f"{path('x', 'bigint')} > 5 OR {path('x', 'string')} IS NULL",
        f"SELECT a.id, b.id, {path('b.v')} FROM t a JOIN t b ON {path('a.v', key)} = {path('b.v', key)} "
        f"WHERE a.id < 20 AND b.id % 3 = 0",
        f"SELECT a.id, {path('b.v')} FROM t a LEFT JOIN (SELECT * FROM t WHERE {condition}) b ON a.id = b.id",
        f"SELECT {path('x', key)}, {path('x')} FROM (SELECT v AS x FROM t WHERE {condition} UNION ALL "
        f"SELECT w FROM t WHERE {other})",
        f"SELECT id FROM t WHERE {path(kind=key)} = (SELECT max({path(kind=key)}) FROM t WHERE {condition})",
        f"SELECT id FROM t a WHERE {'NOT ' if dice.random() < 0.3 else ''}EXISTS (SELECT 1 FROM t b WHERE "
        f"{path('b.v', key)} = {path('a.v', key)} AND b.id <> a.id)",
        f"SELECT id FROM t WHERE {path(kind=key)} IN (SELECT {path('w', key)} FROM t WHERE {other})",
        f"SELECT count(*), count(v), count({path()}) FROM t WHERE {condition}",
        f"SELECT id, {path()} FROM t WHERE v IS {dice.choice(['', 'NOT '])}NULL AND ({condition})",
        f"SELECT id, to_json(v), {path('w')} FROM t WHERE {condition}",
        f"SELECT id, v, {path()} FROM t WHERE {condition}",
        f"SELECT id, {path('v')}, rn FROM (SELECT v, id, row_number() OVER (PARTITION BY p ORDER BY id) rn "
        f"FROM t WHERE {condition}) WHERE rn < 4",
        f"SELECT count(DISTINCT {path(kind=key)}), count(DISTINCT {path('w', 'string')}) FROM t "
        f"WHERE {condition}",
        f"SELECT {path(kind=key)} k, p, count(*) FROM t WHERE {condition} GROUP BY ROLLUP(1, 2)",
        f"SELECT t.id, e.pos, e.value::string FROM t, LATERAL variant_explode(v:l) e WHERE {condition}",
        f"SELECT /* v:a::int */ id, {path()} FROM t -- v:b::int\nWHERE {condition} ORDER BY id DESC LIMIT 7",
        f"SELECT count(*) FROM (SELECT id, {path()} FROM t WHERE {condition} UNION ALL "
        f"SELECT id, NULL FROM t WHERE {other})",
        f"SELECT CASE WHEN {condition} THEN {path(kind=key)} ELSE {path('w', key)} END FROM t",
    ]
    strict = [
        f"SELECT id, {_path(dice, 'v', strict=True)} FROM t WHERE {condition}",
        f"SELECT max({_path(dice, 'v', key, strict=True)}) FROM t WHERE {condition}",
    ]
    if dice.random() < 0.8:
        return dice.choice(plain), True
    if dice.random() < 0.6:
        return dice.choice(strict), True
    return f"SELECT id FROM t WHERE {_path(dice, 'v', key, strict=True)} IS NOT NULL OR {condition}", False


def random_groups(dice: random.Random) -> str:
    """A query over the table `t` that groups its rows, of a kind that the workers may do."""

    def path(kinds: list[str]) -> str:
        return random_path(dice, dice.choice(kinds), dice.choice(["v", "v", "w"])).sparks

    comparable = ["string", "bigint", "int", "boolean", "date"]
    keys = [path(comparable) if dice.random() < 0.8 else "p" for _ in range(dice.randrange(3))]
    aggregates = [
        "count(*)",
        f"count({path(list(LITERALS))})",
        f"sum({path(['bigint', 'int', 'smallint'])})",
        f"min({path([*comparable, 'timestamp'])})",
        f"max({path([*comparable, 'timestamp'])})",
        f"sum(length({path(['string'])}))",
        "max(id)",
        f"count(distinct {path(comparable)})",
    ]
    columns = [f"{key} AS k{number}" for number, key in enumerate(keys)]
    columns += [
        f"{one} AS a{number}" for number, one in enumerate(dice.sample(aggregates, dice.randrange(1, 4)))
    ]
    dice.shuffle(columns)
    text = f"SELECT {', '.join(columns)} FROM t"
    if dice.random() < 0.7:
        text += f" WHERE {random_condition(dice).sparks}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
        text += dice.choice(["", "", " HAVING count(*) > 1"])
    return text


def random_top(dice: random.Random) -> str:
    """A query for the first rows of the table `t`, of a kind that the workers may look for."""
    kinds = ["string", "bigint", "int", "date", "timestamp"]
    key, other = (random_path(dice, dice.choice(kinds), dice.choice("vw")).sparks for _ in range(2))
    text = f"SELECT id, {key} AS k, {other} AS o FROM t"
    if dice.random() < 0.7:
        text += f" WHERE {random_condition(dice).sparks}"
    order = dice.choice(["", " DESC"]) + dice.choice(["", " NULLS FIRST", " NULLS LAST"])
    return f"{text} ORDER BY k{order}, id LIMIT {dice.choice([1, 3, 10, 50])}"
