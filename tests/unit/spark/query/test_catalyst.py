"""Spark's plans: expressions as trees, and for each table the columns, paths and filters of a query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.expr.types import parse_type
from shredlake.spark.query.catalyst import (
    Node,
    Plan,
    Relation,
    asks_for_presence,
    identity,
    inline_ctes,
    is_variant_column,
    names_paths,
    parse_tree,
    path_of,
    relations,
    takes_variants_whole,
)
from shredlake.spark.query.strategies.question import Question
from shredlake.variant import path as paths

V = Node("AttributeReference", {"dataType": "variant", "exprId": {"id": 7}})


def getter(text: str, kind: Any) -> Node:
    where = Node("Literal", {"value": text, "dataType": "string"})
    return Node("VariantGet", {"targetType": kind}, (V, where))


def test_trees_in_prefix_order() -> None:
    flat = [("a.Or", 2), ("a.b.Not", 1), ("C", 0), ("a.And", 2), ("D", 0), ("E", 0)]
    tree = parse_tree([{"class": name, "num-children": count} for name, count in flat])

    def shape(node: Node) -> Any:
        return [node.name, *map(shape, node.children)]

    assert shape(tree) == ["Or", ["Not", ["C"]], ["And", ["D"], ["E"]]]


def test_paths_of_a_variant() -> None:
    for kind, name in (
        ("int", "int"),
        ("integer", "int"),
        ("long", "bigint"),
        ("decimal(9,2)", "decimal(9,2)"),
    ):
        assert path_of([getter("$.a[0]", kind)]) == (paths.Path(("a", 0)), parse_type(name))
    cast = Node("Cast", {"dataType": "string"}, (getter("$.a", "variant"),))
    assert path_of([cast, *cast.children]) == (paths.Path(("a",)), parse_type("string"))


@pytest.mark.parametrize(
    "above",
    [
        [],
        [V],
        [getter("$.a", "variant")],
        [Node("Upper", {}), getter("$.a", "variant")],
        [getter("no path", "int")],
        [getter("$.a", "string collate UTF8_LCASE")],
        [getter("$.a", {"type": "udt"})],
        [Node("VariantGet", {"targetType": "int"}, (V, V))],
    ],
)
def test_other_expressions_read_no_path(above: list[Node]) -> None:
    assert path_of(above) is None


def test_columns_that_are_variants() -> None:
    assert identity(V) == 7
    assert is_variant_column(V)
    assert is_variant_column(Node("Cast", {"dataType": "variant"}, (V,))), "a view casts its columns"
    assert not is_variant_column(Node("Cast", {"dataType": "string"}, (V,)))
    assert not is_variant_column(Node("AttributeReference", {"dataType": "string"}))
    assert is_variant_column(Node("OuterReference", {"e": [{"dataType": "variant"}]}))
    assert not is_variant_column(Node("OuterReference", {"e": [{"dataType": "long"}]}))


def test_paths_that_a_relation_takes() -> None:
    from shredlake.expr import Get

    relation = Relation("t", taken={"v": {(paths.Path(("a",)), parse_type("int"))}}, whole={"w"})
    asked = [Get(column, paths.Path((step,)), parse_type(kind)) for column, step, kind in (
        ("v", "a", "int"), ("v", "a", "bigint"), ("v", "b", "int"), ("w", "b", "int"),
    )]  # fmt: skip
    assert [relation.takes(get.column, get) for get in asked] == [True, False, False, True]


# ── Plans of the JVM ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def question(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Question]:
    place = tmp_path_factory.mktemp("plans")
    schemas = {
        "t": [("id", pa.int64()), ("day", pa.date32()), ("v", sl.variant())],
        "s": [("key", pa.int64()), ("w", sl.variant())],
    }
    tables = {
        name: sl.Table.create(Path(place, name), pa.schema(one)).snapshot for name, one in schemas.items()
    }
    return lambda sql: Question(spark, sql, tables)


@pytest.fixture(scope="module")
def optimised(question: Callable[[str], Question], spark: Any) -> Callable[[str], Plan]:
    return lambda sql: Plan.of(spark, question(sql).analysis.original._jdf.queryExecution().optimizedPlan())


@pytest.fixture(scope="module")
def analysed(question: Callable[[str], Question], spark: Any) -> Callable[[str], Plan]:
    return lambda sql: Plan.of(spark, question(sql).analysis.original._jdf.queryExecution().analyzed())


@pytest.mark.spark
def test_what_a_query_reads_of_each_table(optimised: Callable[[str], Plan]) -> None:
    found = relations(
        optimised(
            "select t.v:a::int, w from t join s on t.v:k::bigint = s.key "
            "where t.id > 3 and s.w:b::string = 'x' and t.day <> date'2026-01-31'"
        )
    )
    t, s = sorted(found, key=lambda one: one.table, reverse=True)
    assert (t.table, t.used) == ("t", {"id", "day", "v"})
    assert {"id", "day"} <= t.whole
    assert {(str(path), str(kind)) for path, kind in t.taken["v"]} == {("$.a", "int"), ("$.k", "bigint")}
    assert (s.table, s.used, "w" in s.whole) == ("s", {"key", "w"}, True)
    names = {tree.name for condition in (*t.filters, *s.filters) for tree in walked(condition)}
    assert {"GreaterThan", "Not", "EqualTo", "VariantGet"} <= names
    [day] = [tree for one in t.filters for tree in walked(one) if tree.fields.get("dataType") == "date"
             and tree.name == "Literal"]  # fmt: skip
    assert day.fields["count"] == 20_484, "days since 1970, whatever the text says"


def walked(node: Node) -> list[Node]:
    return [node, *(below for child in node.children for below in walked(child))]


@pytest.mark.spark
def test_conditions_above_an_aggregate_or_an_outer_join_are_not_on_rows(
    optimised: Callable[[str], Plan],
) -> None:
    [over] = relations(optimised("select v:a::int, count(*) from t group by 1 having count(*) > 3"))
    assert (over.filters, over.exact) == ([], True)
    [under] = relations(optimised("select count(*) from t where id > 3"))
    assert (len(under.filters) > 0, under.exact) == (True, True)
    [rows] = relations(optimised("select id from t where id > 3"))
    assert not rows.exact
    found = relations(optimised("select t.id, key from t left join s on t.id = s.key where s.key is null"))
    assert all(not one.filters or one.table == "s" for one in found)


@pytest.mark.spark
def test_tables_in_subqueries_are_found(spark: Any, analysed: Callable[[str], Plan]) -> None:
    plan = analysed("select (select max(key) from s) from t where exists (select 1 from s where key = id)")
    whole = Plan.of(spark, inline_ctes(spark, plan._plan))
    tables = [node.table()[0] for node in whole.walk() if node.name == "LogicalRDD"]
    assert sorted(tables) == ["s", "s", "t"]


@pytest.mark.spark
def test_uses_of_variants(analysed: Callable[[str], Plan]) -> None:
    #      query                                     as a whole, for presence, names fields after paths
    expected = {
        "select v:a::int from t": (False, False, False),
        "select v from (select v from t) x": (False, False, False),
        "select to_json(v) from t": (True, False, False),
        "select v::string from t": (True, False, False),
        "select id from t where v is null": (False, True, False),
        "select count(v:a) from t": (False, True, False),
        "select struct(v:a::int) from t": (False, False, True),
        "select named_struct('n', id) from t": (False, False, False),
        "select id from t where exists (select schema_of_variant(w) from s)": (True, False, False),
        "select id from t where exists (select 1 from s where to_json(v) = 'x')": (True, False, False),
    }
    found = {}
    for sql in expected:
        plan = analysed(sql)
        found[sql] = (takes_variants_whole(plan), asks_for_presence(plan), names_paths(plan))
    assert found == expected


@pytest.mark.spark
def test_nodes_of_plans(analysed: Callable[[str], Plan]) -> None:
    plan = analysed("select day, sum(id) AS s, try_sum(id) from t group by day order by s limit 3")
    found = {node.name: node for node in plan.walk()}
    assert found["GlobalLimit"].limit() == 3
    assert found["Sort"].is_global()
    aggregate = found["Aggregate"]
    assert [one.fields["name"] for one in aggregate.groupings()] == ["day"]
    assert len(aggregate.results()) == 3
    assert aggregate.has_try_sum()
    again = {node.name: node for node in analysed("select sum(id) from t sort by 1").walk()}
    assert not again["Aggregate"].has_try_sum()
    assert not again["Sort"].is_global()
    assert analysed("select 1 where current_date() > date'2026-01-01'").holds("CurrentDate")
    assert not plan.holds("CurrentDate")


@pytest.mark.spark
def test_expressions_of_with_are_inlined(spark: Any, analysed: Callable[[str], Plan]) -> None:
    plan = analysed("with a as (select id from t) select * from a join a b on a.id = b.id")
    assert "WithCTE" in {node.name for node in plan.walk()}
    inlined = Plan.of(spark, inline_ctes(spark, plan._plan))
    names = [node.name for node in inlined.walk()]
    assert (names.count("LogicalRDD"), "WithCTE" in names) == (2, False)


@pytest.mark.spark
def test_views_that_a_query_uses(spark: Any) -> None:
    spark.range(3).createOrReplaceTempView("catalyst_rows")
    spark.sql("create or replace temporary view catalyst_text as select id + 1 AS more from catalyst_rows")
    found = Plan.of(spark, spark.sql("select * from catalyst_text")._jdf.queryExecution().analyzed()).views()
    assert list(found) == ["catalyst_rows", "catalyst_text"]
    assert (found["catalyst_rows"].columns, found["catalyst_rows"].text) == (["id"], None)
    assert found["catalyst_text"].columns == ["more"]
    assert found["catalyst_text"].text == "select id + 1 AS more from catalyst_rows"
