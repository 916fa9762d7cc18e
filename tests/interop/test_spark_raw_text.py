"""Bytes that are not UTF-8 are strings for Spark, and so they are wherever shredlake reads for it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from long_runs import some
from shredlake import caches
from shredlake.spark.arrow import collected
from shredlake.spark.query.api import explain, read, sql
from spark_tables import adopt, in_every_layout, use_workers, with_settings

pytestmark = pytest.mark.spark

LAYOUTS = [
    "struct<s string, n bigint>",
    "struct<s binary, n bigint>",
    "struct<s bigint, n bigint>",
    "struct<n bigint>",
    "struct<s struct<x bigint>, n bigint>",
    None,
]
"""Ways in which the files of a table may hold what is read as text."""

PIECES = [
    b"a", b"(", "é".encode(), b"\x00", b"\x80", b"\xbf", b"\xc0", b"\xc3", b"\xe0", b"\xe2\x82", b"\xed",
    b"\xed\xa0", b"\xf0\x9f", b"\xf4\x90", b"\xf5", b"\xff", "\U0001f600".encode(), b"2024-01-05 ",
]  # fmt: skip
"""Whole characters, and parts of such."""


def texts() -> list[Any]:
    dice = random.Random(8)
    made = [b"".join(dice.choices(PIECES, k=dice.randrange(1, 6))) for _ in range(60)]
    regular: list[Any] = ["ab", b"ab", "é", 7, None, {"x": 1}, b"", *2 * [b"\xff\xff"]]
    return [*regular, *made, *(f"t{number % 5}" for number in range(15))]


CONDITIONS = [
    "{s} is null",
    "{s} is not null",
    "{s} > 'a'",
    "{s} <= 'é'",
    "{s} <> 'ab'",
    "not ({s} in ('ab', 'é'))",
    "{s} like 'a%'",
    "{s} not like '_'",
    "{s} like '__'",
    "{s} like '%(_'",
    "{s} not like '%é%'",
    "{s} not like 'a%('",
    "{s} like 'é_' or {s} like '_%é'",
    "{s} in (cast(x'ffff' as string), 'ab')",
]

QUERIES = [
    *(f"select id, {{s}} from {{t}} where {condition}" for condition in CONDITIONS),
    *(f"select count(*), count({{s}}) from {{t}} where {condition}" for condition in CONDITIONS[:5]),
    "select {s} k, count(*) from {t} group by 1",
    "select hex({s}), length({s}), {s} from {t}",
    "select min({s}), max({s}), sum(length({s})), count(distinct {s}) from {t}",
    "select id, {s} k from {t} order by k, id limit 12",
    "select id, {s} k from {t} order by k desc nulls first, id limit 40",
    "select id from {t} where {s} = cast(x'ffff' as string)",
    "select count(*) from {t} where {s} > cast(x'e0' as string)",
    "select id, try_cast({s} as date), try_cast({s} as int) from {t}",
    "select id, try_variant_get(v, '$', 'map<string,string>')['s'] from {t}",
    "select id, try_variant_get(v, '$.l', 'array<string>')[0] from {t}",
    "select id, try_variant_get(v, '$', 'struct<s:string>').s from {t}",
]


@pytest.fixture(scope="module", autouse=True)
def light_queries(spark: Any) -> Iterator[None]:
    """Rows are few and queries many: compiling them takes longer than running them."""
    light = {"spark.sql.codegen.wholeStage": "false", "spark.sql.shuffle.partitions": "1"}
    with with_settings(spark, light):
        yield


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """All the texts in every layout; the same rows unshredded are the view `raw_texts`."""
    place = tmp_path_factory.mktemp("raw")
    values = [{"s": text, "n": n, "l": [text]} for n, text in enumerate(texts())]
    return in_every_layout(spark, place, values, LAYOUTS, "raw_texts")


@pytest.fixture(params=[True, False], ids=["by the workers", "by Spark"])
def by_the_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param:
        use_workers(monkeypatch)
    caches.clear()
    return bool(request.param)


def exactly(frame: Any) -> list[str]:
    """The rows, with the bytes of their texts."""
    named = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    columns = [
        f"hex({field.name})" if field.dataType.typeName() == "string" else field.name
        for field in named.schema
    ]
    return sorted(repr(tuple(row)) for row in named.selectExpr(*columns).collect())


@pytest.mark.parametrize("text", some(QUERIES))
def test_sql_has_the_bytes_that_spark_has(spark: Any, table: str, by_the_workers: bool, text: str) -> None:
    path = "try_variant_get(v, '$.s', 'string')"
    found = sql(spark, text.format(s=path, t="t"), t=table)
    assert exactly(found) == exactly(spark.sql(text.format(s=path, t="raw_texts")))


@pytest.mark.parametrize("condition", [*some(CONDITIONS), "try_cast({s} as date) > date'2024-01-01'"])
def test_read_has_the_bytes_that_spark_has(spark: Any, table: str, condition: str) -> None:
    found = read(spark, table, ["id", "v:s::string AS s"], where=condition.format(s="v:s::string"))
    path = "try_variant_get(v, '$.s', 'string')"
    truth = spark.sql(f"select id, {path} AS s from raw_texts where {condition.format(s=path)}")
    assert exactly(found) == exactly(truth)


def test_a_cast_that_must_not_fail_does_not(spark: Any, table: str) -> None:
    found = read(spark, table, ["id", "v:s::string AS s"], strict=True)
    truth = spark.sql("select id, variant_get(v, '$.s', 'string') AS s from raw_texts")
    assert exactly(found) == exactly(truth)


def test_the_workers_do_answer(spark: Any, table: str, by_the_workers: bool) -> None:
    """Otherwise half of the tests above would show nothing."""
    asked = "select try_variant_get(v, '$.s', 'string') k, count(*) from t group by 1"
    told = str(explain(spark, asked, t=table))
    assert ("grouped" in told) == by_the_workers, told


def test_rows_for_python_have_what_java_would_print(spark: Any, table: str) -> None:
    frame = read(spark, table, ["id", "v:s::string AS s", "v:l::array<string> AS l"])
    want: dict[int, Any] = {row["id"]: row["s"] for row in frame.collect()}
    found = collected(frame)
    found.validate(full=True)
    assert dict(zip(found["id"].to_pylist(), found["s"].to_pylist(), strict=True)) == want
    assert [one and one[0] for one in found["l"].to_pylist()] == found["s"].to_pylist()
    assert any("\ufffd" in text for text in want.values() if text)


def test_plain_texts_of_other_writers(spark: Any, tmp_path: Path, by_the_workers: bool) -> None:
    """A column of strings may hold such bytes as well: Spark writes them if it is asked to."""
    spark.createDataFrame(
        [(n, bytearray(text)) for n, text in enumerate(texts()) if isinstance(text, bytes)],
        "id long, b binary",
    ).selectExpr("id", "cast(b as string) s").coalesce(1).write.parquet(str(tmp_path / "files"))
    schema = pa.schema([("id", pa.int64()), ("s", pa.string())])
    table = sl.Table.create(tmp_path / "t", schema)
    file = adopt(table, tmp_path / "files")
    spark.read.parquet(str(file)).createOrReplaceTempView("raw_plain")
    for text in QUERIES:
        if "variant_get" not in text:
            found = sql(spark, text.format(s="s", t="t"), t=str(tmp_path / "t"))
            assert exactly(found) == exactly(spark.sql(text.format(s="s", t="raw_plain"))), text
