"""The digits of floats and doubles, as texts and as decimals, are those of the Java that Spark runs on."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import variants
from shredlake import caches
from shredlake.expr.types import parse_type
from shredlake.kernels import get
from shredlake.kernels.cast_options import spark_on
from shredlake.spark.query.api import read, sql
from shredlake.spark.settings import dialect_of
from shredlake.variant.json import java_digits as old_java
from spark_tables import in_every_layout, use_workers

pytestmark = pytest.mark.spark

LAYOUTS = ["struct<n double>", "struct<n float>", "struct<n string>", "struct<n decimal(38,2)>", None]
TYPES = [
    "string",
    "decimal(38,10)",
    "decimal(20,0)",
    "array<string>",
    "struct<n:string>",
    "map<string,string>",
]


def doubles() -> list[float]:
    """Of many exponents, with many digits and with few."""
    dice = random.Random(19)
    found = [0.0, -0.0, 1.0, -2.5, 1e23, 2e-3, 5e-324, 1.7976931348623157e308, 5.27e21]
    for exponent in [*range(0, 2047, 16), *range(1023, 1110, 2)]:
        many, few = dice.getrandbits(52), dice.getrandbits(8) << dice.randrange(45)
        found += [_double(exponent, fraction) for fraction in (many, few, 0)]
    return found + [float(f"{dice.randrange(1000)}e{dice.randrange(-30, 30)}") for _ in range(200)]


def floats() -> list[sl.Float32]:
    dice = random.Random(20)
    fractions = [(dice.getrandbits(23), dice.getrandbits(4) << dice.randrange(20), 0) for _ in range(255)]
    return [sl.Float32(_float(exponent, one)) for exponent in range(0, 255, 3) for one in fractions[exponent]]


def _double(exponent: int, fraction: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", exponent << 52 | fraction))[0])


def _float(exponent: int, fraction: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", exponent << 23 | fraction))[0])


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The numbers in every layout, alone and inside others; the same rows unshredded as the view `digits`."""
    place = tmp_path_factory.mktemp("digits")
    numbers = [*doubles(), *floats()]
    values = [{"n": n, "l": [n, [n]]} if place % 2 else {"n": [{"n": n}]} for place, n in enumerate(numbers)]
    yield in_every_layout(spark, place, values, LAYOUTS, "digits")
    spark.catalog.dropTempView("digits")


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("path", ["$.n", "$.l", "$"])
def test_read_has_the_digits_that_spark_has(spark: Any, table: str, kind: str, path: str) -> None:
    column = f"v:{path[2:]}::{kind}" if path != "$" else f"try_variant_get(v, '$', '{kind}')"
    found = read(spark, table, ["id", f"{column} AS c"]).orderBy("id").collect()
    truth = spark.sql(f"select id, try_variant_get(v, '{path}', '{kind}') AS c from digits order by id")
    assert found == truth.collect()


@pytest.mark.parametrize("by_the_workers", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "select {n} k, count(*) from {t} group by 1 order by 1",
        "select min({n}), max({n}), sum(length({n})), count(distinct {n}) from {t}",
        "select id, {n} k from {t} order by k desc, id limit 100",
        "select count(*) from {t} where {n} > '5'",
    ],
)
def test_sql_has_the_digits_that_spark_has(
    spark: Any, table: str, by_the_workers: bool, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_the_workers:
        use_workers(monkeypatch)
    caches.clear()
    number = "try_variant_get(v, '$.n', 'string')"
    found = sql(spark, text.format(n=number, t="t"), t=table)
    assert found.collect() == spark.sql(text.format(n=number, t="digits")).collect()


@pytest.mark.parametrize(
    ("numbers", "kind", "by_hand"),
    [(doubles(), "double", old_java.double_text), (floats(), "float", old_java.float_text)],
    ids=["double", "float"],
)
def test_kernel_and_reference_print_as_java(
    spark: Any, numbers: list[Any], kind: str, by_hand: Callable[[float], str]
) -> None:
    """The digits that Java 19 and later prints."""
    table = pa.table({"n": pa.array([float(n) for n in numbers], parse_type(kind).arrow)})
    want = spark.createDataFrame(table).selectExpr("cast(n as string) n").toArrow()["n"].to_pylist()
    dialect = dialect_of(spark)
    assert get(variants(numbers), "$", pa.string(), dialect=dialect).to_pylist() == want
    if dialect.old_java:
        assert [by_hand(number) for number in table["n"].to_pylist()] == want
    else:
        assert get(variants(numbers), "$", pa.string()).to_pylist() == want


def test_java_has_changed() -> None:
    """Both algorithms differ on common numbers."""
    column = sl.from_json(pa.array(["5.27e21", "0.1"]))
    old, new = (get(column, "$", pa.string(), dialect=spark_on(java)).to_pylist() for java in (17, 21))
    assert old != new
    assert old[1] == new[1]


CONSTANTS = [
    "cast(d as string) = '1.9999999999999998E23' or cast(d as string) = '2.0E23'",
    "cast(d as string) like '1.99%'",
    "cast(d as decimal(38,0)) < 200000000000000000000000",
    "cast(f as string) in ('2.14748365E9', '2.1474836E9')",
    "cast(b as string) is not null and not cast(b as string) like 'a_'",
    "{n} = cast(2e23 as string)",
    "{n} in (cast(2e23 as string), cast(5.27e21 as string))",
    "{n} = cast(x'ff' as string)",
    "cast(2e23 as string) < '2' and {n} is not null",
]
"""Casts of constants, and of partition columns, which are constants in every file."""


@pytest.mark.parametrize("condition", CONSTANTS)
def test_constants_have_the_digits_that_spark_has(
    spark: Any, constants: tuple[str, Any], condition: str
) -> None:
    place, truth = constants
    number = "try_variant_get(v, '$.n', 'string')"
    want = sorted(row.id for row in truth.where(condition.format(n=number)).collect())
    for columns in (["id"], ["id", "v:n::int"]):
        found = read(spark, place, columns, where=condition.format(n="v:n::string"))
        assert sorted(row[0] for row in found.collect()) == want
    text = f"select id, v from t where {condition.format(n=number)}"
    assert sorted(row.id for row in sql(spark, text, t=place).collect()) == want


@pytest.fixture(scope="module")
def constants(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """A table with partitions of doubles, floats and bytes, and its rows as Spark has them."""
    place = tmp_path_factory.mktemp("constants")
    keys = [("d", pa.float64()), ("f", pa.float32()), ("b", pa.binary())]
    schema = pa.schema([("id", pa.int64()), *keys, ("v", sl.variant())])
    table = sl.Table.create(place / "t", schema, ["d", "f", "b"])
    rows = [(2e23, 2147483648.0, b"a"), (0.5, 0.1, b"a\xc3"), (5.27e21, 1.0, b"\xff")]
    parts = []
    for number, (d, f, b) in enumerate(rows):
        values = variants([{"n": n} for n in (2e23, 5.27e21, b"\xff", "ab")])
        columns = [range(4 * number, 4 * number + 4), *([one] * 4 for one in (d, f, b)), values]
        parts.append(pa.table(columns, schema))
        table.append(parts[-1])
    pq.write_table(pa.concat_tables(parts), place / "plain.parquet")
    truth = spark.read.schema("id bigint, d double, f float, b binary, v variant")
    return str(place / "t"), truth.parquet(str(place / "plain.parquet"))
