"""From names to fields, and suggestions for names that no column has."""

from __future__ import annotations

import pytest

from shredlake.delta.schema.names import resolve, suggestion
from shredlake.delta.schema.types import Field, Struct
from shredlake.errors import InvalidExpression

SCHEMA = Struct(
    (
        Field("id", "long"),
        Field("ID", "string"),
        Field("s", Struct((Field("a.b", "long"), Field("Inner", Struct((Field("x", "date"),)))))),
        Field("v", "variant"),
    )
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("id", ["id"]),
        ("ID", ["ID"]),
        ("s.inner.X", ["s", "Inner", "x"]),
        ("s.`a.b`", ["s", "a.b"]),
    ],
)
def test_names(name: str, wanted: list[str]) -> None:
    assert [field.name for field in resolve(SCHEMA, name)] == wanted


@pytest.mark.parametrize("name", ["x", "id.x", "s.a", "s.inner.y", "v.a"])
def test_names_that_no_column_has(name: str) -> None:
    with pytest.raises(InvalidExpression, match="it has: id, ID, s, v"):
        resolve(SCHEMA, name)


def test_suggestions() -> None:
    assert suggestion(SCHEMA, ["v", "a b"]) == ". For a path of a Variant, write v:['a b']::string"
    assert suggestion(Struct((Field("kind", "string"),)), ["knd"]) == ". Did you mean kind?"
    assert suggestion(Struct((Field("kind", "string"),)), ["other"]) == ""
