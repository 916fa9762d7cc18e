"""`read` and `sql` answer as Spark does over the same Variants, for random tables and random queries.

Each seed is one table: files shredded in different ways or not at all, rows that don't fit, three kinds of
null, deleted rows, a partition column, mapped columns, logs that say nothing of layouts. SHREDLAKE_CASES
says how many tables are tried.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from random_selects import random_selects
from random_tables import (
    PLAIN_SCHEMA,
    Made,
    random_columns,
    random_condition,
    random_groups,
    random_query,
    random_table,
    random_top,
)
from shredlake.errors import ShredlakeError
from shredlake.spark.query import api as query
from shredlake.spark.query.api import read, sql
from shredlake.spark.query.strategies.answer import Strategy
from shredlake.spark.query.strategies.answer import answer as answered
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.settings import temporary_settings
from spark_tables import answer_from_text, use_workers, with_settings

pytestmark = pytest.mark.spark

CASES = int(os.environ.get("SHREDLAKE_CASES", "5"))
FIRST = int(os.environ.get("SHREDLAKE_SEED", "0"))
READS, QUERIES, SELECTS, GROUPINGS, TOPS, MOST_TRIES = 3, 4, 6, 5, 3, 40
INTO_SCAN = "spark.sql.variant.pushVariantIntoScan"


SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Rows are few and queries many: compiling them takes longer than running them.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    """The session, with settings that a test may change."""
    with with_settings(spark, SETTINGS) as session:
        yield session


def answer(query: Any) -> Any:
    """The rows as sorted text, or what went wrong."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        frame = query()
        kinds = frame.schema.simpleString()
        for field in frame.schema:
            # Python's datetime ends with the year 9999, Spark's timestamps do not.
            if field.dataType.typeName() in ("variant", "timestamp", "timestamp_ntz"):
                frame = frame.withColumn(field.name, frame[field.name].cast("string"))
        return kinds, sorted(repr(tuple(row)) for row in frame.collect())
    except (PySparkException, Py4JJavaError) as error:
        return error


@contextmanager
def table_and_truth(session: Any, place: Path, dice: random.Random) -> Iterator[tuple[Made, Any]]:
    """A random table under random settings, and its rows as Spark has them."""
    session.conf.set("spark.sql.session.timeZone", dice.choice(["UTC", "America/Los_Angeles"]))
    session.conf.set("spark.sql.ansi.enabled", dice.choice(["true", "false"]))
    made = random_table(place, dice)
    truth = session.read.schema(PLAIN_SCHEMA).parquet(str(made.plain)).cache()
    try:
        yield made, truth
    finally:
        truth.unpersist()


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_random_queries(session: Any, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    with table_and_truth(session, tmp_path, dice) as (made, truth):
        for _ in range(READS):
            check_read(session, made, truth, dice, seed)
        for _ in range(QUERIES):
            check_sql(session, made, truth, dice, seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_random_groups(session: Any, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets workers answer, as if every table were large and every key had few values.

    At least one of the queries is answered by them, if there are rows.
    """
    use_workers(monkeypatch)
    by_workers: list[str] = []

    plan = answered

    def watched(question: Question, strategies: Sequence[Strategy]) -> Answer:
        found = plan(question, strategies)
        by_workers.append(found.by_workers)
        return found

    monkeypatch.setattr(query, "answer", watched)
    dice = random.Random(seed)
    with table_and_truth(session, tmp_path, dice) as (made, truth):
        for _ in range(GROUPINGS):
            check_sql(session, made, truth, dice, seed, random_groups(dice))
        for _ in range(TOPS):
            check_sql(session, made, truth, dice, seed, random_top(dice))
        has_rows = truth.count() > 0  # without rows, workers are not used
        for _ in range(MOST_TRIES if has_rows else 0):
            if any(by_workers):
                break
            check_sql(session, made, truth, dice, seed, random_groups(dice))
    assert any(by_workers) or not has_rows, "no query was one for the workers"


def check_read(spark: Any, made: Made, truth: Any, dice: random.Random, seed: int) -> None:
    columns, where = random_columns(dice), random_condition(dice)
    strict = dice.random() < 0.2
    whole = ["v"] if dice.random() < 0.2 else []
    ours = answer(
        lambda: read(spark, made.uri, [c.ours for c in columns] + whole, where=where.ours, strict=strict)
    )
    asked = [c.sparks.replace("try_", "") if strict else c.sparks for c in columns] + whole
    condition = where.sparks.replace("try_", "") if strict else where.sparks
    theirs = answer(lambda: truth.where(condition).selectExpr(*asked))
    story = f"seed {seed}: {made.story}\nread {[c.ours for c in columns]} where {where.ours} strict={strict}"
    compare(ours, theirs, story, errors=not strict)


def check_sql(
    spark: Any, made: Made, truth: Any, dice: random.Random, seed: int, text: str | None = None
) -> None:
    text, errors = (text, True) if text else random_query(dice)
    truth.createOrReplaceTempView("t")
    # While it scans, Spark would also cast the values of rows that the filter drops, and fail.
    with temporary_settings(spark, {INTO_SCAN: "false"}):
        theirs = answer(lambda: spark.sql(text))
    spark.catalog.dropTempView("t")
    ours = answer(lambda: sql(spark, text, t=made.uri))
    compare(ours, theirs, f"seed {seed}: {made.story}\n{text}", errors)


def compare(ours: Any, theirs: Any, story: str, errors: bool) -> None:
    """A value that can't be cast is an error here as there; in a filter, the file may not even be read."""
    if isinstance(theirs, Exception):
        assert not errors or isinstance(ours, Exception | ShredlakeError), f"{story}\nno {theirs}"
        return
    assert not isinstance(ours, Exception), f"{story}\n{ours}"
    assert ours[0] == theirs[0], story
    assert ours[1] == theirs[1], story


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_random_selects(session: Any, tmp_path: Path, seed: int) -> None:
    """Joins, subqueries, windows and set operations, most of them planned from their text alone."""
    dice = random.Random(seed)
    from_text = 0
    with table_and_truth(session, tmp_path, dice) as (made, truth):
        for _ in range(SELECTS):
            text = random_selects(dice)
            check_sql(session, made, truth, dice, seed, text)
            from_text += answer_from_text(session, text, {"t": sl.Table(made.uri).snapshot}) is not None
    assert from_text, "no query was planned from its text"
