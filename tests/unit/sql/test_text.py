"""Paths, aggregates and columns of SELECTs in the text of a query."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidExpression
from shredlake.sql.text import MarkedQuery, mark_query


def marked(found: MarkedQuery) -> list[tuple[str, str]]:
    return [(mark.kind, found.sql[slice(*mark.span)]) for mark in found.marks]


@pytest.mark.parametrize(
    ("sql", "copy", "kinds"),
    [
        ("select v:a::int, id from e", "select __mark0(v), id from e", ["path"]),
        ("select e.v:a from e", "select __mark0(e.v) from e", ["path"]),
        ("select COUNT ( * ), count() from e", "select __mark0 ( * ), __mark1() from e", ["count", "count"]),
        ("select count(id), min(e.id) from e", "select __mark0(id), __mark1(e.id) from e", ["count", "min"]),
        ("select max(v:a) from e", "select __mark0(__mark1(v)) from e", ["max", "path"]),
        (
            "select hour(make_timestamp(v:t::bigint)) from e",
            "select __mark0(make_timestamp(__mark1(v))) from e",
            ["hour", "path"],
        ),
        ("select v::int from e", "select __mark0(v) from e", ["path"]),
        ("select map {'k': v:a} from e", "select map {'k': __mark0(v)} from e", ["path"]),
        ("select {v: v:a} from e", "select {v: __mark0(v)} from e", ["path"]),
    ],
)
def test_what_is_found_is_marked(sql: str, copy: str, kinds: list[str]) -> None:
    found = mark_query(sql, {"v"})
    assert found.copy == copy
    assert [mark.kind for mark in found.marks] == kinds


@pytest.mark.parametrize(
    "sql",
    [
        "select id:a::int from e",
        "select 'v:a' -- v:a\n from e /* v:a */",
        "select count(distinct id), min(id + 1), max(1) from e",
        'select "count"(*), x.min(id) from e',
        "select sum(id), hour(id), hour(make_timestamp(id)) from e",
        "select list_transform([1], lambda v: 1) from e",
        "select count(",
        "",
    ],
)
def test_other_text_stays(sql: str) -> None:
    found = mark_query(sql, {"v"})
    assert (found.copy, found.marks) == (sql, ())


@pytest.mark.parametrize(
    "sql",
    [
        "select {} from (select v as w from e)",
        "select {} from (select v w from e)",
        "select {} from (select v:b w from e)",
        "select {} from e, unnest(v:items) as u(w)",
        "select {} from (select any_value(v) as w from e)",
        "with x as (select y as w from (select v as y from e)) select {} from x",
    ],
)
def test_a_path_may_go_into_a_name_that_the_query_gives_to_a_variant(sql: str) -> None:
    found = mark_query(sql.format("w:a::int"), {"v"})
    assert ("path", "w:a::int") in marked(found)
    assert ("path", "other:a::int") not in marked(mark_query(sql.format("other:a::int"), {"v"}))


def test_without_known_columns_every_name_may_be_a_variant() -> None:
    sql = "select w:a::int, x: 1, v:nope::notype from e"
    assert marked(mark_query(sql, None)) == [("path", "w:a::int")]
    assert marked(mark_query(sql, set())) == []


def test_a_path_that_can_not_be_is_an_error_only_if_its_column_is_a_variant() -> None:
    with pytest.raises(InvalidExpression, match="unknown type"):
        mark_query("select v:a::notype from e", {"v"})
    assert marked(mark_query("select v:a::notype from e", None)) == []


def test_an_unnested_path_is_a_list() -> None:
    types = [
        str(mark.path.get.type) for mark in mark_query("select unnest(v:a), v:a", {"v"}).marks if mark.path
    ]
    assert types == ["array<variant>", "None"]


SQL = "select 'é🚀', v:a.b::int as x, (select min(v:c), 1 from f) from e where v:d = 2 and id = 3"


def test_places_in_the_copy_are_places_in_the_text() -> None:
    found = mark_query(SQL, {"v"})
    for word in ("'é🚀'", "as x", "1 from f", "from e where", "= 2 and", "id = 3"):
        place = found.place(found.copy.index(word))
        assert found.sql[place:].startswith(word)


def test_a_mark_lies_in_columns_the_innermost_first() -> None:
    found = mark_query(SQL, {"v"})
    items = [[SQL[slice(*span)] for span in mark.items] for mark in found.marks]
    whole = "(select min(v:c), 1 from f)"
    assert items == [["v:a.b::int as x"], ["min(v:c)", whole], ["min(v:c)", whole], []]


def test_the_column_around_a_place() -> None:
    found = mark_query(SQL, {"v"})

    def around(text: str) -> str | None:
        span = found.item_around(SQL.index(text))
        return None if span is None else SQL[slice(*span)]

    assert around("as x") == "v:a.b::int as x"
    assert around("v:c") == "min(v:c)"
    assert around("from f") == "(select min(v:c), 1 from f)"
    assert around("id = 3") is None


@pytest.mark.parametrize(
    ("sql", "end"),
    [
        ("select a, b from e", "select a, b"),
        ("select distinct on (b, c) a, c from e", "select distinct on (b, c) a, c"),
        ("select a, f(b, c) where true", "select a, f(b, c)"),
        ("select a is distinct from b, c from e", "select a is distinct from b, c"),
        ("select a", "select a"),
        ("(select a, b) union all select c", "(select a, b"),
        ("select v:from::int, v:select::int from e", "select v:from::int, v:select::int"),
    ],
)
def test_the_end_of_the_columns(sql: str, end: str) -> None:
    found = mark_query(sql, {"v"})
    at = found.end_of_select_list(sql.index("a") if "v:" not in sql else sql.index("v:"))
    assert at is not None
    assert sql[:at] == end
    assert found.end_of_select_list(0) is None, "SELECT is not in its columns"


def test_words_count_names_except_qualifiers() -> None:
    words = mark_query("select e.id, 'e', e from e", {"v"}).words()
    assert (words["e"], words["id"], words["nothing"]) == (3, 1, 0)


def test_names_after_words() -> None:
    found = mark_query("selec * FROM a join 'lake/b', c", None)
    assert found.names_after(("from", "join", ",")) == ("a", "lake/b", "c")
    assert found.names_after(("using",)) == ()
