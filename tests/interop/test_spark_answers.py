"""`read` and `sql` on Spark answer as unpruned evaluation does, on the tables that leave nothing out.

Conditions are put together in one DataFrame per table, since a Spark job takes longer than an answer. Sums,
whose overflow is an error in Spark, are left out. SHREDLAKE_CASES is the number of tables, SHREDLAKE_SEED the
first one.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from answer_tables import random_answers, random_where
from shredlake.errors import ShredlakeError
from shredlake.expr import parse_predicate
from shredlake.expr.evaluate import matching
from shredlake.spark.query.api import read, sql
from shredlake.spark.settings import temporary_settings

pytestmark = pytest.mark.spark

CASES = int(os.environ.get("SHREDLAKE_CASES", "2"))
FIRST = int(os.environ.get("SHREDLAKE_SEED", "0"))
CONDITIONS = 12


@pytest.mark.parametrize("number", range(FIRST, FIRST + CASES))
def test_read_and_sql_answer_as_the_reference(number: int, spark: Any, tmp_path: Path) -> None:
    dice = random.Random(1000 + number)
    place = tmp_path / "t"
    answers = random_answers(place, dice)
    frames: list[Any] = []
    questions: list[tuple[str, list[int]]] = []
    while len(frames) < 2 * CONDITIONS:
        where = random_where(dice)
        if "+ 1" in where.ours:  # an overflow is an error in Spark
            continue
        try:
            mask = matching(parse_predicate(where.ours), answers.rows)
            by_read = read(spark, place, ["id"], where=where.ours)
        except ShredlakeError:
            continue
        by_sql = sql(spark, f"SELECT id FROM t WHERE {where.sparks}", t=place)
        expected = sorted(answers.rows["id"].filter(mask).to_pylist())
        for frame, asked in ((by_read, f"read: {where.ours}"), (by_sql, f"sql: {where.sparks}")):
            frames.append(frame.selectExpr(f"{len(frames)} AS question", "id"))
            questions.append((asked, expected))
    with temporary_settings(spark, {"spark.sql.adaptive.enabled": "false"}):
        rows = reduce(lambda one, other: one.unionByName(other), frames).collect()
    found: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        found[row["question"]].append(row["id"])
    for question, (asked, expected) in enumerate(questions):
        assert sorted(found[question]) == expected, f"seed {number}, {asked}\n{answers.story}"
