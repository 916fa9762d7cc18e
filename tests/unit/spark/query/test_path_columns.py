"""How a path is read from files of one layout, decided without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from shredlake.expr import Column, Get
from shredlake.expr.parse import parse_columns, parse_predicate
from shredlake.expr.types import PRESENT
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.shredding.schema import ShreddingSchema
from shredlake.spark.query.path_columns import (
    Served,
    Service,
    always_casts,
    family,
    is_false_of_null,
    is_narrowed,
    read_schema,
    serve,
)
from shredlake.variant.path import Path


def layout(ddl: str, *residual: str, objects: list[str] | None = None) -> ColumnLayout:
    """A layout in which these levels hold something in `value`."""
    known = None if objects is None else frozenset(objects)
    return ColumnLayout(ShreddingSchema.parse(ddl), frozenset(residual), known)


def path(sql: str) -> Get:
    [projection] = parse_columns([sql])
    assert isinstance(projection.expr, Get)
    return projection.expr


def served(sql: str, ddl: str, *residual: str, objects: list[str] | None = None) -> Served:
    return serve(path(sql), "v", layout(ddl, *residual, objects=objects))


@pytest.mark.parametrize(
    ("sql", "ddl", "residual", "service"),
    [
        ("v:a::bigint", "struct<a bigint>", [], Service.TYPED),
        ("v:a::bigint", "struct<a bigint>", ["$"], Service.TYPED),
        ("v:a::bigint", "struct<a bigint>", ["$['a']"], Service.MIXED),
        ("v:b::bigint", "struct<a bigint>", [], Service.ABSENT),
        ("v:b::bigint", "struct<a bigint>", ["$"], Service.WORKER),
        ("v:a.b::bigint", "struct<a bigint>", ["$"], Service.ABSENT),
        ("v:a.b::bigint", "struct<a bigint>", ["$['a']"], Service.WORKER),
        ("v:a[0]::bigint", "struct<a array<bigint>>", [], Service.TYPED),
        ("v:a[0]::bigint", "struct<a array<bigint>>", ["$['a'][*]"], Service.MIXED),
        ("v:a[0]::bigint", "struct<a struct<`0` bigint>>", [], Service.ABSENT),
        ("variant_get(v, '$', 'bigint')", "bigint", [], Service.TYPED),
        ("v:a", "struct<a bigint>", [], Service.WORKER),
        ("v:a::string", "struct<a decimal(9,2)>", [], Service.WORKER),
        ("v:a::date", "struct<a bigint>", [], Service.WORKER),
        ("v:a::string", "struct<a uuid>", [], Service.WORKER),
        ("v:a::string", "struct<a struct<b int>>", [], Service.WORKER),
        ("v:a::int", "struct<a int, A int>", [], Service.WORKER),
    ],
)
def test_services(sql: str, ddl: str, residual: list[str], service: Service) -> None:
    found = served(sql, ddl, *residual)
    assert found.service is service
    assert bool(found.reason) == (service in (Service.MIXED, Service.WORKER)), "what is slower has a reason"
    assert bool(found.residual) == (service is Service.MIXED)


def test_files_that_are_not_shredded_are_read_by_the_worker() -> None:
    found = serve(path("v:a::int"), "v", None)
    assert (found.service, found.reason) == (Service.WORKER, "v is not shredded")


def test_columns_by_name() -> None:
    found = serve(
        path("v:l[2].x::string"), "s.v", layout("struct<l array<struct<x string>>>", "$['l'][*]['x']")
    )
    level = ("s", "v", "typed_value", "l", "typed_value", 2, "typed_value", "x")
    assert found.typed == (*level, "typed_value")
    assert found.residual == (*level, "value")
    assert list(found.columns()) == [((*level, "typed_value"), "string")]


@pytest.mark.parametrize(
    ("have", "want", "cast", "may_fail"),
    [
        ("bigint", "bigint", "", False),
        ("int", "bigint", "cast", False),
        ("bigint", "int", "try_cast", True),
        ("string", "int", "try_cast", True),
        ("double", "string", "cast", False),
        ("decimal(9,2)", "decimal(10,2)", "cast", False),
        ("decimal(9,2)", "decimal(9,1)", "try_cast", True),
    ],
)
def test_casts_that_may_fail(have: str, want: str, cast: str, may_fail: bool) -> None:
    ddl = f"struct<a {have}>"
    lenient = served(f"v:a::{want}", ddl)
    strict = serve(
        Get("v", Path.parse_spark("$.a"), path(f"v:a::{want}").type, strict=True), "v", layout(ddl)
    )
    assert (lenient.typed_ddl, lenient.cast, lenient.may_fail) == (have, cast, False)
    assert (strict.cast, strict.may_fail) == (cast, may_fail)


def test_levels_that_no_row_lacks_are_declared() -> None:
    ddl = "struct<o struct<x bigint>>"
    assert served("v:o.x::bigint", ddl).never_null == frozenset()
    root = served("v:o.x::bigint", ddl, objects=["$"]).never_null
    assert {("v",), ("v", "typed_value"), ("v", "typed_value", "o")} <= root
    assert ("v", "typed_value", "o", "typed_value") not in root
    both = served("v:o.x::bigint", ddl, objects=["$", "$['o']"]).never_null
    assert ("v", "typed_value", "o", "typed_value") in both
    inner = serve(path("v:o.x::bigint"), "s.v", layout(ddl, objects=["$"])).never_null
    assert ("s", "v") not in inner, "the struct around it may be null"


@pytest.mark.parametrize(
    ("sql", "ddl", "residual", "whole"),
    [
        ("v:o::struct<x bigint>", "struct<o struct<x bigint>>", [], True),
        ("v:o::struct<x bigint, y int>", "struct<o struct<x bigint>>", [], True),
        ("v:o::struct<x bigint, y int>", "struct<o struct<x bigint>>", ["$['o']"], False),
        ("v:o::struct<y int>", "struct<o struct<x bigint>>", [], False),
        ("v:o::struct<x bigint>", "struct<o struct<x bigint>>", ["$['o']['x']"], False),
        ("v:o::struct<x bigint>", "struct<o struct<x bigint, X int>>", [], False),
        ("v:l::array<bigint>", "struct<l array<bigint>>", [], True),
        ("v:l::array<string>", "struct<l array<decimal(9,2)>>", [], False),
        ("v:l::array<struct<x int>>", "struct<l array<struct<x bigint>>>", [], True),
        ("v:l::array<bigint>", "struct<l array<bigint>>", ["$['l'][*]"], False),
        ("v:o::array<bigint>", "struct<o struct<x bigint>>", [], False),
        ("v:o::map<string, bigint>", "struct<o struct<x bigint>>", [], False),
    ],
)
def test_objects_and_arrays_as_a_whole(sql: str, ddl: str, residual: list[str], whole: bool) -> None:
    found = served(sql, ddl, *residual)
    assert found.service is (Service.TYPED if whole else Service.WORKER)
    if whole:
        ends = [names[-1] for names, _ in found.columns()]
        assert ends
        assert set(ends) == {"typed_value"}


def test_a_strict_cast_of_a_whole_needs_all_values_in_typed_columns() -> None:
    strict = Get("v", Path.parse_spark("$.o"), path("v:o::struct<x bigint>").type, strict=True)
    ddl = "struct<o struct<x bigint>>"
    assert serve(strict, "v", layout(ddl)).service is Service.TYPED
    assert serve(strict, "v", layout(ddl, "$['o']")).service is Service.WORKER
    assert serve(strict, "v", layout("struct<o struct<x string>>")).service is Service.WORKER


def present(steps: str, *found: Any, **objects: Any) -> Served:
    return serve(Get("v", Path.parse_spark(steps), PRESENT), "v", layout(*found, **objects))


def test_whether_a_value_is_there() -> None:
    whole = serve(Get("v", Path.parse_spark("$"), PRESENT), "v", None)
    assert (whole.service, whole.present) == (Service.TYPED, (("v",),))
    level = ("v", "typed_value", "a")
    typed = present("$.a", "struct<a bigint>")
    assert typed.present == ((*level, "typed_value"),)
    mixed = present("$.a", "struct<a bigint>", "$['a']")
    assert mixed.present == ((*level, "typed_value"), (*level, "value"))
    below = present("$.a", "struct<a struct<l array<int>>>")
    assert below.present == ((*level, "typed_value"),)
    assert below.typed == (*level, "typed_value", "l", "typed_value", 0, "typed_value")
    assert present("$.a", "struct<a uuid>").service is Service.WORKER
    assert present("$.b", "struct<a int>").service is Service.ABSENT


@pytest.mark.parametrize(
    ("have", "want", "sure"),
    [
        ("tinyint", "smallint", True),
        ("bigint", "double", True),
        ("string", "double", False),
        ("string", "string", True),
        ("timestamp", "string", False),
        ("decimal(9,2)", "string", False),
        ("bigint", "decimal(19,0)", True),
        ("bigint", "decimal(20,2)", False),
        ("decimal(9,2)", "decimal(9,3)", False),
        ("decimal(9,2)", "decimal(10,3)", True),
        ("decimal(9,2)", "bigint", False),
        ("double", "float", True),
        ("boolean", "int", False),
    ],
)
def test_casts_that_never_fail(have: str, want: str, sure: bool) -> None:
    assert always_casts(have, want) is sure


def test_families() -> None:
    assert [family(ddl) for ddl in ("decimal(9,2)", "bigint")] == ["decimal", "bigint"]


def test_schemas_of_reads() -> None:
    schema = read_schema(
        {
            ("v", "typed_value", "a", "typed_value"): "long",
            ("v", "typed_value", "${env:HOME}", "value"): "binary",
            ("id",): "integer",
        },
        [("v", "typed_value")],
    )
    [v, number] = schema["fields"]
    [typed] = v["type"]["fields"]
    assert [(one["name"], one["nullable"]) for one in (v, typed, number)] == [
        ("v", True),
        ("typed_value", False),
        ("id", True),
    ]
    assert [one["name"] for one in typed["type"]["fields"]] == ["a", "${env:HOME}"]


def test_elements_of_one_array_are_read_once() -> None:
    one, two = (("v", "typed_value", number, "typed_value") for number in (0, 3))
    [v] = read_schema({one: "long", two: "long"})["fields"]
    [typed] = v["type"]["fields"]
    assert typed["type"]["type"] == "array"
    assert [item["name"] for item in typed["type"]["elementType"]["fields"]] == ["typed_value"]


@pytest.mark.parametrize(
    ("text", "wanted"), [("id > 1", True), ("id <=> 1", False), ("id is null", False), ("id in (1)", True)]
)
def test_expressions_that_are_not_true_of_null(text: str, wanted: bool) -> None:
    assert is_false_of_null(parse_predicate(text)) is wanted


@pytest.mark.parametrize(
    ("sql", "ddl", "wanted"),
    [
        ("v:a::int", "struct<a bigint>", True),
        ("v:a::bigint", "struct<a int>", False),
        ("v:a::int", "struct<a string>", False),
        ("v:a[0]::int", "struct<a array<bigint>>", False),
    ],
)
def test_integers_that_are_read_as_narrower_ones(sql: str, ddl: str, wanted: bool) -> None:
    get = path(sql)
    assert is_narrowed(get, {get: served(sql, ddl)}) is wanted
    assert not is_narrowed(get, {})
    assert not is_narrowed(Column("id"), {})
