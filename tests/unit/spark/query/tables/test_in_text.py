"""The names of tables in the text of a query."""

from __future__ import annotations

import pytest

from shredlake.spark.query.tables.in_text import replaced, table_names

FOUND = {
    "select 1": [],
    "table e": ["e"],
    "select * from a, b c, (d) join e on f(x, y) = 1, g": ["a", "b", "d", "e", "g"],
    "select x, y from a where x in (select y from b, c)": ["a", "b", "c"],
    "select extract(day from d), trim(both 'x' from s), substring(t from 2) from e": ["e"],
    "select a is not distinct from b from c": ["c"],
    "select * from range(3) r join explode(x) join a.b.c tablesample (3 rows)": ["a.b.c"],
    "from a |> join b on true |> select x, y": ["a", "b"],
    "select * from (from a select x) union all values (1), (2)": ["a"],
    "select * from a lateral view explode(x) t as y, z where y > 1": ["a"],
    "select '/* from x */' from `a b`.`c``d` -- from y": ["a b.c`d"],
    "select 1 from e version as of 3": ["e@v3"],
    "select 1 from e for system_version as of '3' join f": ["e@v3", "f"],
    "select 1 from e timestamp as of now() - interval 1 day x": ["e@now() - interval 1 day"],
    "select 1 from e timestamp as of cast('2026-01-01' as date), f": ["e@cast('2026-01-01' as date)", "f"],
    "select 1 from e timestamp as of": ["e"],
    "select 1 from e version as of": ["e"],
}


@pytest.mark.parametrize("sql", FOUND)
def test_names(sql: str) -> None:
    assert [name.shown for name in table_names(sql)] == FOUND[sql]


def test_names_of_common_table_expressions_are_marked() -> None:
    found = table_names("with a as (select 1), b(x, y) as (select 2) select * from a, b, c, d.a")
    assert [(name.shown, name.may_be_own) for name in found] == [
        ("a", True),
        ("b", True),
        ("c", False),
        ("d.a", False),
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select s.e.id from s.e", "select `e`.id from `new` AS `e`"),
        ("select s.e.id from s.e x, t.s.e.y", "select s.e.id from `new` x, t.s.e.y"),
        ("select id from S.E as x where x.id = 1", "select id from `new` as x where x.id = 1"),
        ("select id from s.e version as of 2 where id = 1", "select id from `new` AS `e` where id = 1"),
        ("select 's.e' from s.e -- s.e", "select 's.e' from `new` AS `e` -- s.e"),
    ],
)
def test_replacing(sql: str, expected: str) -> None:
    chosen = {name: "new" for name in table_names(sql) if [part.lower() for part in name.parts] == ["s", "e"]}
    assert replaced(sql, chosen) == expected
