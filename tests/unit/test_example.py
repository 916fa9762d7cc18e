"""The table of the examples in docstrings."""

from __future__ import annotations

import pytest

from shredlake.errors import TableExists
from shredlake.example import example_table


def test_two_rows_of_which_a_path_is_shredded() -> None:
    table = example_table("two-rows")
    rows = table.scan(["id", "v:a::int AS a"], where="v:a::int > 10").to_arrow().to_pylist()
    assert rows == [{"id": 2, "a": 20}]
    assert table.uri == "memory://example-two-rows/table"
    assert table.snapshot.version == 1


def test_properties_are_added_and_replace_those_of_the_example() -> None:
    table = example_table(
        "properties of a test", {"delta.appendOnly": "true", "shredlake.shredding.v": "struct<a string>"}
    )
    properties = table.snapshot.metadata.configuration
    assert properties["delta.appendOnly"] == "true"
    assert properties["shredlake.shredding.v"] == "struct<a string>"
    assert properties["delta.enableVariantShredding"] == "true"


def test_a_name_is_one_table() -> None:
    example_table("once")
    with pytest.raises(TableExists):
        example_table("once")
