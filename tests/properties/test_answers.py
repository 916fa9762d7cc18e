"""A scan finds the rows that evaluating the condition on every row finds, whatever the table looks like.

Conditions are evaluated on rows in memory, where nothing is skipped; every tenth by the reference, which has
no kernels either. SHREDLAKE_ANSWERS is the number of conditions (`make answers`); a table serves 100.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from answer_tables import Answers, random_answers, random_where
from shredlake.errors import ShredlakeError
from shredlake.expr import parse_predicate
from shredlake.expr.evaluate import matching
from shredlake.kernels import dispatch

CONDITIONS = int(os.environ.get("SHREDLAKE_ANSWERS", "200"))
FIRST = int(os.environ.get("SHREDLAKE_SEED", "0"))
PER_TABLE = 100


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


@pytest.mark.parametrize("number", range(FIRST, FIRST + max(CONDITIONS // PER_TABLE, 1)))
def test_scans_answer_as_the_reference(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(number)
    place = tmp_path / "t" if number % 4 else f"memory://answers/{number}"
    answers = random_answers(place, dice)
    assert answers.table.scan().count() == len(answers.rows), answers.story
    read = 0
    for condition in range(PER_TABLE):
        where = random_where(dice)
        expected = wanted(answers, where, monkeypatch, compiled=condition % 10 > 0)
        assert found(answers, where) == expected, f"seed {number}: {where}\n{answers.story}"
        read += isinstance(expected, list)
    assert read > PER_TABLE / 2  # most conditions are valid
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_a_lost_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison sees a row that a scan does not return."""
    answers = random_answers("memory://answers/lost", random.Random(3))
    more = pa.concat_tables([answers.rows, answers.rows.slice(0, 1)])
    assert len(answers.rows)
    less = Answers(answers.table, more, "")
    assert wanted(less, "true", monkeypatch, compiled=False) != found(less, "true")
