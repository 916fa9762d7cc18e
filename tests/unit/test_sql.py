"""Every query of `sql_cases`: the same answer as DuckDB gives over the text of the documents."""

from __future__ import annotations

import pytest

from sql_cases import Case, Tables, cases

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

CASES = list(cases())


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(tmp_path_factory.mktemp("sql"))


def test_there_are_as_many_queries_as_promised() -> None:
    assert len({case.template for case in CASES}) >= 300


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template[:90])
def test_same_answer_as_over_the_documents(tables: Tables, case: Case) -> None:
    assert tables.answer(case) == tables.expected(case)
