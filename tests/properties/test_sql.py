"""Random queries: `shredlake.sql` answers as DuckDB does over the text of the documents."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sql_cases import Case, Tables

pytest.importorskip("duckdb", reason="SQL needs DuckDB")

EXAMPLES = int(os.environ.get("SHREDLAKE_SQL_EXAMPLES", "40"))

PATHS = st.sampled_from(
    ["{kind:string}", "{user.id:bigint}", "{n:bigint}", "{score:double}", "{ok:boolean}", "{day:date}",
     "{user.name:string}", "{tags[0]:string}", "{nested.deep.value:bigint}", "key", "part",
     "hour(make_timestamp({n:bigint}))", "second(make_timestamp({user.id:bigint}))"]
)  # fmt: skip
CONDITIONS = st.sampled_from(
    ["{kind:string} = 'like'", "{n:bigint} > 3", "{n:bigint} <= -2", "{ok:boolean}",
     "{user.id:bigint} in (1, 5, 9)", "{score:double} > 0", "{day:date} < date '2024-01-15'",
     "{n:bigint} is null",
     "{user.name:string} is not null",
     "key < 100", "part = 'b'", "{kind:string} like '%o%'", "{user.id:bigint} + key > 60",
     "{tags[0]:string} <> 'beta'"]
)  # fmt: skip
AGGREGATES = st.sampled_from(
    ["count(*)", "count({n:bigint})", "min({n:bigint})", "max({id:bigint})", "count(distinct {kind:string})",
     "sum({user.id:bigint})", "min({day:date})", "max({kind:string})", "count(part)", "min(key)"]
)  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn) -> str:
    parts = draw(st.lists(CONDITIONS, min_size=1, max_size=3))
    text = parts[0]
    for part in parts[1:]:
        text += draw(st.sampled_from([" and ", " or ", " and not "])) + f"({part})"
    return text


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query over one table or a join, plain or grouped, perhaps in a subquery."""
    source = draw(
        st.sampled_from(["events", "(select * from events) e", "(select v, key, part from events) e"])
    )
    if draw(st.booleans()):
        source = f"(select * from events where {draw(conditions())}) e"
    where = f" where {draw(conditions())}" if draw(st.booleans()) else ""
    if draw(st.booleans()):
        keys = draw(st.lists(PATHS, min_size=0, max_size=2, unique=True))
        aggregates = draw(st.lists(AGGREGATES, min_size=1, max_size=3))
        grouped = f" group by {', '.join(str(n + 1) for n in range(len(keys)))}" if keys else ""
        return f"select {', '.join([*keys, *aggregates])} from {source}{where}{grouped}"
    columns = draw(st.lists(PATHS, min_size=1, max_size=3))
    named = ", ".join(f"{column} as c{number}" for number, column in enumerate(columns))
    query = f"select {named} from {source}{where}"
    if draw(st.booleans()):
        return f"select c0, count(*) from ({query}) q group by c0"
    return query


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(tmp_path_factory.mktemp("random-sql"), rows=120)


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=queries())
def test_random_queries(tables: Tables, query: str) -> None:
    case = Case(query)
    assert tables.answer(case) == tables.expected(case)
