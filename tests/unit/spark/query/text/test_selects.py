"""The SELECTs of a query: their tables, joins and conditions, by the tokens of its text."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from shredlake.spark.query.text.clauses import Span
from shredlake.spark.query.text.selects import JOINS, NotSimple, Select, Selects, require, selects_of
from shredlake.spark.query.text.sql_paths import rewrite


def selects(sql: str) -> Selects:
    found = rewrite(sql)
    return selects_of(found.tokens, found.places)


def texts(sql: str, spans: Iterable[Span]) -> list[str]:
    return [span.text(sql, rewrite(sql).tokens) for span in spans]


def names(found: Iterable[Select]) -> list[list[str]]:
    return [[source.alias for source in one.sources] for one in found]


@pytest.mark.parametrize("words", JOINS)
def test_kinds_of_joins(words: tuple[str, ...]) -> None:
    [found] = selects(f"select x from a {' '.join(words)} JOIN b as B2 on a.x = B2.y, c").all
    joined = [(source.table, source.alias, source.join) for source in found.sources]
    assert joined == [("a", "a", "inner"), ("b", "b2", JOINS[words]), ("c", "c", "inner")]


def test_conditions_are_parts_that_must_all_hold() -> None:
    sql = (
        "select x, f(y, z) n from a join b on a.x = b.x and b.y between 1 and 2 "
        "where p or q and r group by x having count(*) > 1 and n < 5 order by 1 limit 3"
    )
    [found] = selects(sql).all
    assert texts(sql, found.columns) == ["x", "f(y, z) n"]
    assert texts(sql, found.sources[1].on) == ["a.x = b.x", "b.y between 1 and 2"]
    assert texts(sql, found.where) == ["p or q and r"]
    assert texts(sql, found.having) == ["count(*) > 1", "n < 5"]


def test_columns_of_using_mean_both_sides() -> None:
    [found] = selects("select x from a join b using (X, `y`)").all
    assert {"x", "y"} <= set(found.using)


def test_a_subquery_may_use_columns_of_the_select_around_it_alone() -> None:
    found = selects(
        "select x from (select y from b where exists (select 1 from c)) s, d where x in (select z from e)"
    )
    around = {one.sources[0].table or one.sources[0].alias: one.outer for one in found.all}
    by_name = {one.sources[0].table or one.sources[0].alias: one for one in found.all}
    assert around["s"] is None
    assert around["b"] is None, "a subquery behind FROM does not see the SELECT around it"
    assert around["c"] is by_name["b"]
    assert around["e"] is by_name["s"]


def test_a_path_belongs_to_the_select_that_reads_it() -> None:
    found = selects("select v:a::int from t where id in (select w:b::int from s where w:c::int > 1)")
    paths = {one.sources[0].table: [str(place.get.path) for place in one.places] for one in found.all}
    assert paths == {"t": ["$.a"], "s": ["$.b", "$.c"]}


def test_keywords_in_paths_are_not_clauses() -> None:
    [found] = selects("select v:from::int, v:select.where::string from t").all
    assert (len(found.columns), names([found])) == (2, [["t"]])


def test_common_table_expressions_are_sources_by_their_names() -> None:
    found = selects(
        "with A as (select x from t union all select y from u), b as (select z from a) select 1 from b"
    )
    assert found.own == {"a", "b"}
    assert names(found.all) == [["t"], ["u"], ["a"], ["b"]]
    assert names(found.outermost) == [["b"]]
    [outer] = found.outermost
    [b] = outer.sources
    assert names(b.inner[0].sources[0].inner) == [["t"], ["u"]], (
        "a source holds the SELECTs that give its rows"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "select x from a union select y from b",
        "select x from a except all select y from b",
        "(select x from a) intersect distinct (select y from b) order by 1 limit 2",
    ],
)
def test_set_operations_have_several_outermost_selects(sql: str) -> None:
    assert names(selects(sql).outermost) == [["a"], ["b"]]


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "select 1",
        "select x from",
        "select from t",
        "select x from t where",
        "select x from t limit 1 where x",
        "select x from t, t",
        "select x from t join t on true",
        "select x from db.t",
        "select x from t e (y)",
        "select x from t tablesample (5 rows)",
        "select x from t lateral view explode(l) e",
        "select x from range(5)",
        "select x from t window w as ()",
        "select x from t cluster by x",
        "select x from natural t",
        "select x from a natural join b",
        "select x from a left b",
        "select x from a cross left join b",
        "select x from (values (1)) s",
        "select x from (select y from a)",
        "select x from t)",
        "select (x from t",
        "select x from t where a in (select 1 from b",
        "select x from t; select y from u",
        "with a as (select x from t), a as (select y from u) select 1 from a",
        "with a(x) as (select x from t) select 1 from a",
        "with a as (select x from t)",
        "with recursive a as (select x from t) select 1 from a",
        "from t select x",
        "table t",
        "insert into u select x from t",
    ],
)
def test_unknown_clauses_need_spark(sql: str) -> None:
    with pytest.raises(NotSimple):
        selects(sql)


def test_requiring() -> None:
    require(True)
    with pytest.raises(NotSimple):
        require(False)
