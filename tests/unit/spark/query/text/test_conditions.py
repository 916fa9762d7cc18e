"""Conditions that mean the same under all settings of a session, and those that may not."""

from __future__ import annotations

import pytest

from shredlake.delta.schema.types import Array, Field, Struct
from shredlake.spark.query.text.conditions import condition_on, is_false_of_nulls
from shredlake.spark.query.text.selects import NotSimple

SCHEMA = Struct(
    (
        Field("id", "long"),
        Field("name", "string"),
        Field("day", "date"),
        Field("flag", "boolean"),
        Field("v", "variant"),
        Field("l", Array("long")),
    )
)


@pytest.mark.parametrize(
    "text",
    [
        "id > 5",
        "5.5 >= id",
        "name = 'x' and flag = true",
        "v:a::bigint in (1, 2)",
        "v:a.b is null or not v:s::string like 'a%'",
        "id is not null",
        "name <=> 'x'",
    ],
)
def test_conditions_that_are_read_alike(text: str) -> None:
    condition_on(text, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "id = '5'",
        "day = '2024-01-01'",
        "flag = 1",
        "v:a::date > '2024-01-01'",
        "v:a::bigint = 'x'",
        "id = day",
        "v = 5",
        "id:a::int = 5",
        "missing = 5",
        "id + 1 = 2",
        "name like 5",
        "l is null",
        "v:a::int::string = 'x'",
        "id = ",
    ],
)
def test_conditions_that_are_left_to_spark(text: str) -> None:
    with pytest.raises(NotSimple):
        condition_on(text, SCHEMA)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("id = 5", True),
        ("id <=> 5", False),
        ("not id = 5", True),
        ("not id <=> 5", False),
        ("id in (1)", True),
        ("name like 'x'", True),
        ("id is null", False),
        ("id is not null", True),
        ("id is null and name = 'x'", True),
        ("id = 1 or name = 'x'", True),
        ("id = 1 or name is null", False),
    ],
)
def test_rows_of_nulls(text: str, wanted: bool) -> None:
    assert is_false_of_nulls(condition_on(text, SCHEMA)) is wanted
