"""A scan finds the rows that evaluating the condition on every row finds, whatever the table looks like.

Conditions are evaluated on rows in memory, where nothing is skipped; every tenth by the reference, which has
no kernels either. Every tenth is asked through `sl.sql` too, if DuckDB's dialect has it. SHREDLAKE_ANSWERS is
the number of conditions (`make answers`); a table serves 100, in long runs 500: making one takes as long as
50 answers.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from answer_tables import Answers, random_answers, random_where
from shredlake.errors import ShredlakeError
from shredlake.expr import parse_predicate
from shredlake.expr.evaluate import matching
from shredlake.kernels import dispatch

CONDITIONS = int(os.environ.get("SHREDLAKE_ANSWERS", "200"))
FIRST = int(os.environ.get("SHREDLAKE_SEED", "0"))
OTHERWISE_IN_DUCKDB = ("+ 1", "isnan")
"""DuckDB turns `3 < n + 1` into `n > 2`, which can't overflow; its isnan of null is null."""
PER_TABLE = 100 if CONDITIONS < 10_000 else 500


def wanted(answers: Answers, where: str, monkeypatch: pytest.MonkeyPatch, compiled: bool) -> list[int] | str:
    """The ids of the rows that match, or the name of the error."""
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "COMPILED", compiled and dispatch.COMPILED)
        try:
            mask = matching(parse_predicate(where), answers.rows)
        except ShredlakeError as error:
            return type(error).__name__
    return sorted(answers.rows["id"].filter(mask).to_pylist())


def found(answers: Answers, where: str) -> list[int] | str:
    try:
        scan = answers.table.scan(["id"], where=where, threads=1)
        rows: list[int] = sorted(scan.to_arrow()["id"].to_pylist())
    except ShredlakeError as error:
        return type(error).__name__
    return rows


def found_by_sql(answers: Answers, where: str) -> list[int] | None:
    """The ids that `sl.sql` finds; None for a condition that is not in DuckDB's dialect, or fails there."""
    try:
        rows: list[int] = (
            sl.sql(f"SELECT id FROM t WHERE {where}", t=answers.table).to_arrow()["id"].to_pylist()
        )
    except ShredlakeError:
        return None
    return sorted(rows)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FIRST, FIRST + max(CONDITIONS // PER_TABLE, 1)))
def test_scans_answer_as_the_reference(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(number)
    place = tmp_path / "t" if number % 4 else f"memory://answers/{number}"
    answers = random_answers(place, dice)
    assert answers.table.scan().count() == len(answers.rows), answers.story
    read = through_sql = 0
    for condition in range(PER_TABLE):
        where = random_where(dice).ours
        expected = wanted(answers, where, monkeypatch, compiled=condition % 10 > 0)
        assert found(answers, where) == expected, f"seed {number}: {where}\n{answers.story}"
        read += isinstance(expected, list)
        if condition % 10 == 5 and not any(word in where for word in OTHERWISE_IN_DUCKDB):
            answer = found_by_sql(answers, where)
            assert answer is None or answer == expected, f"sql, seed {number}: {where}\n{answers.story}"
            through_sql += answer is not None
    assert read > PER_TABLE / 2  # most conditions are valid
    assert through_sql
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_a_lost_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison detects a row that a scan does not return."""
    answers = random_answers("memory://answers/lost", random.Random(3))
    more = pa.concat_tables([answers.rows, answers.rows.slice(0, 1)])
    assert len(answers.rows)
    less = Answers(answers.table, more, "")
    assert wanted(less, "true", monkeypatch, compiled=False) != found(less, "true")
