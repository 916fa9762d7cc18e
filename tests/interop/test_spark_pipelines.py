"""Random pipelines of DataFrames over `read` and `format("shredlake")` answer as over Spark's own Variants.

A pipeline filters, projects, joins, groups, unites and sorts. The same one is built over three frames: ours,
the data source's, and Spark's over reconstructed Variants. SHREDLAKE_PIPELINES says how many are tried;
`make pipelines` tries 1,000.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from random_tables import PLAIN_SCHEMA, random_table
from shredlake.spark.query.api import read
from spark_tables import with_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PIPELINES = int(os.environ.get("SHREDLAKE_PIPELINES", "3"))
PER_TABLE = 20
TABLES = -(-PIPELINES // PER_TABLE)
COLUMNS = {"s": ("s", "string"), "a": ("a", "bigint"), "d": ("d", "double"), "x": ("o.x", "int")}
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Rows are few and queries many: compiling them takes longer than running them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


def filtered(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    name, kind = dice.choice(frame.dtypes)
    constant = repr(dice.choice(["", "b", "abc"])) if kind == "string" else str(dice.randrange(-3, 300))
    tests = (f"{name} {dice.choice(['<', '>=', '=', '<=>'])} {constant}", f"{name} is not null")
    return frame.where(dice.choice([*tests, f"not ({tests[0]})", f"{name} in ({constant}, {constant})"]))


def projected(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    kept = dice.sample(frame.columns, dice.randrange(1, len(frame.columns) + 1))
    return frame.select(*kept)


def computed(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    name, kind = dice.choice(frame.dtypes)
    made = {"string": f"upper({name})", "double": f"floor({name} / 2)"}.get(kind, f"{name} % 7")
    case = f"case when {name} is null then 'none' else cast({name} as string) end"
    return frame.selectExpr("*", f"{dice.choice([made, case])} AS c{len(frame.columns)}_{dice.randrange(99)}")


def distinct(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    return frame.distinct()


def grouped(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    from pyspark.sql import functions as F

    key, value = dice.choice(frame.columns), dice.choice(frame.columns)
    found = frame.groupBy(key).agg(
        F.count("*").alias("n"), F.max(value).alias("most"), F.min(value).alias("m")
    )
    return found.withColumnRenamed(key, "key") if key in ("n", "most", "m") else found


def joined(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    how = dice.choice(["inner", "left", "left_semi", "left_anti", "full"])
    if "id" not in frame.columns:
        return frame
    other = filtered(base, base, dice).selectExpr(
        "id", f"{dice.choice(base.columns)} AS j{dice.randrange(99)}"
    )
    return frame.join(other, "id", how)


def united(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    return frame.unionByName(filtered(frame, base, dice))


def first_rows(frame: DataFrame, base: DataFrame, dice: random.Random) -> DataFrame:
    return frame.orderBy(*frame.columns).limit(dice.randrange(1, 40))


STEPS = (filtered, filtered, projected, computed, distinct, grouped, joined, united, first_rows)


def pipeline(base: DataFrame, seed: int) -> tuple[list[str], DataFrame]:
    """The steps of a pipeline, and its frame. The same seed gives the same steps over any frame."""
    dice = random.Random(seed)
    frame, names = base, []
    for _ in range(dice.randrange(1, 6)):
        step = dice.choice(STEPS)
        before = frame.columns
        frame = step(frame, base, dice)
        if len(set(frame.columns)) < len(frame.columns):
            frame = frame.toDF(*(f"u{n}" for n in range(len(frame.columns))))
        names.append(f"{step.__name__} {before} -> {frame.columns}")
    return names, frame


def rows_of(frame: DataFrame) -> tuple[list[tuple[str, str]], list[str]]:
    return frame.dtypes, sorted(repr(tuple(row)) for row in frame.collect())


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Any:
    with with_settings(spark, SETTINGS) as session:
        yield session


@pytest.mark.parametrize("number", range(TABLES))
def test_random_pipelines(session: Any, tmp_path: Path, number: int) -> None:
    made = random_table(tmp_path, random.Random(7000 + number))
    asked = ["id", "p", *(f"v:{path}::{kind} AS {name}" for name, (path, kind) in COLUMNS.items())]
    spelled = (
        f"try_variant_get(v, '$.{path}', '{kind}') AS {name}" for name, (path, kind) in COLUMNS.items()
    )
    truth = session.read.schema(PLAIN_SCHEMA).parquet(str(made.plain)).selectExpr("id", "p", *spelled).cache()
    bases = {
        "read": read(session, made.uri, asked),
        "source": session.read.format("shredlake").option("columns", ", ".join(asked)).load(str(made.uri)),
    }
    for seed in range(number * PER_TABLE, min((number + 1) * PER_TABLE, PIPELINES)):
        steps, frame = pipeline(truth, seed)
        expected = rows_of(frame)
        for way, base in bases.items():
            assert rows_of(pipeline(base, seed)[1]) == expected, f"seed {seed}, {way}: {made.story}\n{steps}"
    truth.unpersist()
