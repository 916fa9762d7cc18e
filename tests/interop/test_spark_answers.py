"""`read` on Spark answers as unpruned evaluation does, on the tables that leave nothing out.

Conditions are put together in one DataFrame per table, since a Spark job takes longer than an answer. Sums,
whose overflow is an error in Spark, are left out. SHREDLAKE_CASES is the number of tables.
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
from shredlake.spark.query.api import read
from shredlake.spark.settings import temporary_settings

pytestmark = pytest.mark.spark

CASES = int(os.environ.get("SHREDLAKE_CASES", "2"))
CONDITIONS = 12


@pytest.mark.parametrize("number", range(CASES))
def test_read_answers_as_the_reference(number: int, spark: Any, tmp_path: Path) -> None:
    dice = random.Random(1000 + number)
    answers = random_answers(tmp_path / "t", dice)
    frames: list[Any] = []
    wanted: dict[int, tuple[str, list[int]]] = {}
    while len(frames) < CONDITIONS:
        where = random_where(dice)
        if "+ 1" in where:  # an overflow is an error in Spark
            continue
        try:
            mask = matching(parse_predicate(where), answers.rows)
            frame = read(spark, tmp_path / "t", ["id"], where=where)
        except ShredlakeError:
            continue
        wanted[len(frames)] = (where, sorted(answers.rows["id"].filter(mask).to_pylist()))
        frames.append(frame.selectExpr(f"{len(frames)} AS question", "id"))
    with temporary_settings(spark, {"spark.sql.adaptive.enabled": "false"}):
        rows = reduce(lambda one, other: one.unionByName(other), frames).collect()
    found: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        found[row["question"]].append(row["id"])
    for question, (where, expected) in wanted.items():
        assert sorted(found[question]) == expected, f"seed {number}: {where}\n{answers.story}"
