"""Queries for `shredlake.sql`, and the tables they read.

A query is a template: `{kind:string}` is a path into a document, `{e|kind:string}` one into the document of
`e`. It is written out once with paths, and once with DuckDB's functions of JSON over the text of the same
documents, which share no code with ours, and once with Spark's functions of Variants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

import shredlake as sl

PLACEHOLDER = re.compile(r"\{(?:(\w+)\|)?([\w.\[\]]+):([\w\[\](),]+)\}")

KINDS = ("like", "post", "follow", "repost")
WORDS = ("alpha", "beta", "gamma", "delta", "it's", "ü", "")


@dataclass(frozen=True)
class Case:
    """A query, and whether Spark means the same by it."""

    template: str
    spark: bool = True

    @property
    def ours(self) -> str:
        return PLACEHOLDER.sub(_ours, self.template)

    @property
    def oracle(self) -> str:
        return PLACEHOLDER.sub(_oracle, self.template)

    @property
    def spark_text(self) -> str:
        """The query with Spark's own functions, which give null for a value that can't be cast."""
        return PLACEHOLDER.sub(_spark, self.template)


def _ours(found: re.Match[str]) -> str:
    qualifier = f"{found[1]}." if found[1] else ""
    return f"{qualifier}v:{found[2]}::{found[3]}"


def _oracle(found: re.Match[str]) -> str:
    qualifier = f"{found[1]}." if found[1] else ""
    kind = found[3]
    path = f"'$.{found[2]}'"
    if kind.endswith("[]"):
        element = kind[:-2].replace("string", "varchar")
        return f"TRY_CAST(json_extract({qualifier}v, {path}) AS {element}[])"
    text = f"json_extract_string({qualifier}v, {path})"
    return f"({text})" if kind == "string" else f"TRY_CAST({text} AS {kind})"


def _spark(found: re.Match[str]) -> str:
    qualifier = f"{found[1]}." if found[1] else ""
    kind = f"array<{found[3][:-2]}>" if found[3].endswith("[]") else found[3]
    return f"try_variant_get({qualifier}v, '$.{found[2]}', '{kind}')"


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────


def event(random: Random, row: int) -> dict[str, Any]:
    """A document; some keys are missing, some values have odd types."""
    found: dict[str, Any] = {
        "id": row,
        "kind": random.choice(KINDS),
        "user": {"id": random.randrange(12), "name": random.choice(WORDS)},
        "n": random.randrange(-50, 50),
        "score": random.randrange(-400, 400) / 8,
        "ok": random.random() < 0.5,
        "day": str(date(2024, 1, 1) + timedelta(days=random.randrange(40))),
        "tags": [random.choice(WORDS) for _ in range(random.randrange(4))],
    }
    if random.random() < 0.3:
        del found["n"]
    if random.random() < 0.1:
        found["kind"] = None
    if random.random() < 0.15:
        found["n"] = random.choice(["12", "many", True, None, [1]])
        if found["n"] is True:
            found["n"] = "x"
    if random.random() < 0.2:
        del found["user"]
    if random.random() < 0.3:
        found["nested"] = {"deep": {"value": random.randrange(1000)}}
    return found


def documents(rows: int, seed: int) -> list[str]:
    random = Random(seed)
    return [json.dumps(event(random, row), ensure_ascii=False) for row in range(rows)]


def columns(texts: list[str]) -> dict[str, Any]:
    """The plain columns beside the documents."""
    return {
        "key": pa.array(range(len(texts)), pa.int64()),
        "part": [("a", "b", None)[n % 3] for n in range(len(texts))],
    }


class Tables:
    """The same rows as a Delta table, as a Parquet file, as Arrow data, and as JSON text for the oracle."""

    def __init__(self, folder: Path, rows: int = 240) -> None:
        events, users = documents(rows, 1), documents(40, 2)
        self.events = str(folder / "events")
        self.users = str(folder / "users.parquet")
        schema = pa.schema([("key", pa.int64()), ("part", pa.string()), ("v", sl.variant())])
        table = sl.Table.create(self.events, schema, properties={"delta.enableVariantShredding": "true"})
        whole = pa.table({**columns(events), "v": sl.from_json(pa.array(events))})
        layouts = ["infer", "struct<id bigint, kind string, n bigint>", None]
        step = -(-rows // len(layouts))
        for number, layout in enumerate(layouts):
            table.append(whole.slice(number * step, step), shredding=layout)
        table.delete("key = 7")
        users_table = pa.table({**columns(users), "v": sl.from_json(pa.array(users))})
        sl.write_parquet(users_table, self.users, shredding="infer")
        self.memory = users_table.slice(0, 20)
        self.oracle = duckdb.connect()
        self.oracle.execute("SET TimeZone = 'UTC'")
        texts = pa.table({**columns(events), "v": events})
        kept = [key != 7 for key in range(rows)]
        self.oracle.register("events", texts.filter(pa.array(kept)))
        self.oracle.register("users", pa.table({**columns(users), "v": users}))
        self.oracle.register("memory", pa.table({**columns(users), "v": users}).slice(0, 20))

    @property
    def given(self) -> dict[str, Any]:
        return {"events": self.events, "users": self.users, "memory": self.memory}

    def answer(self, case: Case) -> list[tuple[Any, ...]]:
        """The answer of `shredlake.sql`."""
        return rows_of(sl.sql(case.ours, **self.given).to_arrow())

    def expected(self, case: Case) -> list[tuple[Any, ...]]:
        """The answer of DuckDB over the documents."""
        return rows_of(self.oracle.sql(case.oracle).to_arrow_table())


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Sorted rows, with numbers as comparable values."""
    columns_ = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns_, strict=True), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    return [_plain(one) for one in value] if isinstance(value, list) else value


# ── Queries ─────────────────────────────────────────────────────────────────────────────────────────────

KEYS = ("{kind:string}", "{user.id:bigint}", "{ok:boolean}", "{user.name:string}", "{day:date}", "part")
FILTERS = (
    "", "where {kind:string} = 'like'", "where {n:bigint} > 5", "where {n:bigint} is null",
    "where {score:double} between -10 and 10", "where {user.name:string} in ('alpha', 'it''s')",
    "where {kind:string} <> 'post' and {ok:boolean}", "where {kind:string} = 'like' or {n:bigint} < 0",
    "where {day:date} >= date '2024-01-20'", "where not ({n:bigint} >= 3)", "where key % 3 = 1",
    "where {user.name:string} like 'a%'", "where {nested.deep.value:bigint} > 500 and part = 'a'",
)  # fmt: skip
AGGREGATES = (
    "count(*)", "count({n:bigint})", "min({n:bigint}), max({n:bigint})", "sum({n:bigint})",
    "count(distinct {user.id:bigint})", "min({kind:string}), max({day:date})",
    "avg({score:double})", "count(*), min(key), max(key)",
    "count({kind:string}), count(distinct {kind:string})",
)  # fmt: skip

QUERIES = Path(__file__).parent / "unit" / "sql" / "queries.sql"


def written_cases() -> Iterator[Case]:
    """The queries of the file."""
    for line in QUERIES.read_text().splitlines():
        if line and not line.startswith("--"):
            yield Case(line.removeprefix("! "), spark=not line.startswith("! "))


def cases() -> Iterator[Case]:
    """Every query."""
    yield from written_cases()
    for key, where in product(KEYS, FILTERS):
        yield Case(f"select {key} as k, count(*) as n from events {where} group by 1")
    for aggregate, where in product(AGGREGATES, FILTERS):
        yield Case(f"select {aggregate} from events {where}")
    for key, aggregate in product(KEYS, AGGREGATES[1:]):
        yield Case(f"select {key} as k, {aggregate} from events group by k")
