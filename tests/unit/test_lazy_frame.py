"""Tables as Polars lazy frames: the answers of Polars over all rows, with less read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.read import scan as scans
from shredlake.lazy_frame import translated

COLUMNS = [
    "id",
    "v:a::bigint AS a",
    "v:b::string AS b",
    "v:f::double AS f",
    "v:day::date AS day",
    "v:at::timestamp AS at",
    "v:at::timestamp_ntz AS local",
    "v:ok::boolean AS ok",
    "v:mixed::bigint AS mixed",
    "v:f::float AS f32",
]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    folder = tmp_path_factory.mktemp("lazy") / "t"
    made = sl.Table.create(folder, schema, properties={"delta.enableVariantShredding": "true"})
    for start in range(0, 60, 20):
        made.append([{"id": n, "v": document(n)} for n in range(start, start + 20)])
    return made


def document(n: int) -> dict[str, Any]:
    whole = {
        "a": n,
        "b": f"x{n % 5}",
        "f": float("nan") if n % 11 == 0 else n / 4,
        "day": date(2024, 1, 1 + n % 28),
        "at": datetime(2024, 1, 1, n % 24, tzinfo=UTC),
        "ok": n % 2 == 0,
        "mixed": n if n % 3 else str(n),
    }
    return {key: value for place, (key, value) in enumerate(whole.items()) if (n + place) % 7}


a, b, f, day, at, local, ok = (pl.col(name) for name in ("a", "b", "f", "day", "at", "local", "ok"))
PREDICATES = {
    "gt": a > 42,
    "lt": a < 3,
    "flipped": a > 42,
    "text": b == "x3",
    "not text": b != "x3",
    "nan": f > 10.0,
    "float of an int literal": f >= 3,
    "int of a float literal": a > 41.5,
    "float32": pl.col("f32") > 0.1,
    "date": day <= date(2024, 1, 5),
    "timestamp": at > datetime(2024, 1, 1, 20, tzinfo=UTC),
    "local timestamp": local > datetime(2024, 1, 1, 20),
    "boolean": ok,
    "not boolean": ~ok,
    "boolean literal": ok == True,  # noqa: E712
    "and": (a > 5) & (a < 9),
    "or": (a < 2) | (a > 57),
    "or with more": (a < 2) | (a % 7 == 0),
    "and with more": (a > 50) & (a % 7 == 0),
    "not": ~((a > 5) & (b == "x1")),
    "not with more": ~((a > 5) & (a % 2 == 0)),
    "null": a.is_null(),
    "not null": a.is_not_null() & (a > 40),
    "in": a.is_in([1, 41, 59]),
    "in with null": a.is_in([1, None]),
    "in texts": b.is_in(["x1", "x9"]),
    "in nothing": a.is_in([]),
    "in dates": day.is_in([date(2024, 1, 3)]),
    "between": a.is_between(10, 12),
    "between open": a.is_between(10, 12, closed="none"),
    "other function": b.str.starts_with("x1") & (a >= 30),
    "two columns": a == pl.col("id"),
    "mixed": pl.col("mixed") >= 50,
    "huge": a < 2**80,
}


@pytest.mark.parametrize("name", PREDICATES)
def test_filters_mean_what_they_mean_in_polars(table: sl.Table, name: str) -> None:
    everything = table.scan(COLUMNS).to_polars()
    expected = everything.filter(PREDICATES[name])
    frame = sl.scan_polars(table, COLUMNS)
    assert frame.filter(PREDICATES[name]).collect().sort("id").equals(expected.sort("id"), null_equal=True)
    narrow = frame.filter(PREDICATES[name]).select("id").collect()
    assert narrow.sort("id")["id"].to_list() == expected.sort("id")["id"].to_list()


PUSHED = {
    "gt", "lt", "flipped", "text", "not text", "nan", "date", "timestamp", "local timestamp",
    "boolean literal", "boolean", "not boolean",
    "and", "or", "and with more", "not", "null", "not null", "in", "in with null", "in texts", "in dates",
    "between", "between open", "other function", "mixed",
}  # fmt: skip


def test_what_is_translated(table: sl.Table) -> None:
    scan = table.scan(COLUMNS)
    columns = {
        projection.name: (projection.expr, field.type)
        for projection, field in zip(scan.query.projections, scan.schema, strict=True)
    }
    assert {name for name, made in PREDICATES.items() if translated(made, columns) is not None} == PUSHED


def test_only_what_is_needed_is_read(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[scans.TableScan] = []
    initialize = scans.TableScan.__init__

    def noted(self: scans.TableScan, *given: Any, **named: Any) -> None:
        initialize(self, *given, **named)
        made.append(self)

    monkeypatch.setattr(scans.TableScan, "__init__", noted)
    frame = sl.scan_polars(table, COLUMNS)
    assert frame.filter(a > 45).select("b").collect().height == 12
    assert made[-1].schema.names == ["a", "b"]
    assert made[-1].files().num_rows == 1
    assert frame.head(3).collect().height == 3
    assert made[-1].query.predicate is None
    assert frame.select(pl.len()).collect().item() == 60
    assert frame.head(30).filter(a > 45).collect().height == 12, "the limit comes first; the newest file too"
    assert frame.select("id").collect(engine="streaming")["id"].sum() == sum(range(60))


def test_a_path_and_whole_variants(table: sl.Table) -> None:
    frame = sl.scan_polars(Path(table.uri.removeprefix("file://")))
    assert frame.collect_schema().names() == ["id", "v"]
    assert frame.filter(pl.col("id") == 7).select("id").collect().rows() == [(7,)]
    assert frame.collect().height == 60
    joined = frame.join(sl.scan_polars(table, ["id", "v:a::bigint AS a"]), on="id")
    assert joined.filter(pl.col("a") == 8).select("id").collect().rows() == [(8,)]
