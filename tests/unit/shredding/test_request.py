"""`shredding=`: one request per Variant column, from every form that the argument may have."""

from __future__ import annotations

import pytest

from shredlake.errors import InvalidSchema
from shredlake.shredding.request import requests
from shredlake.shredding.schema import ShreddingSchema

SCHEMA = ShreddingSchema.parse("struct<a int>")


def test_one_request_for_all_columns() -> None:
    assert requests("infer", ["v", "w"]) == {"v": "infer", "w": "infer"}
    assert requests(None, ["v", "w"]) == {"v": None, "w": None}
    assert requests(None, []) == {}


@pytest.mark.parametrize("given", [SCHEMA, "struct<a int>"])
def test_one_schema_is_for_the_only_column_or_the_one_it_is_meant_for(given: ShreddingSchema | str) -> None:
    assert requests(given, ["v"]) == {"v": SCHEMA}
    assert requests(given, ["v", "w"], "w") == {"v": "infer", "w": SCHEMA}
    for columns in (["v", "w"], []):
        with pytest.raises(InvalidSchema, match="one schema"):
            requests(given, columns)


def test_a_mapping_leaves_the_others_to_be_inferred() -> None:
    given = {"v": SCHEMA, "w": None}
    assert requests(given, ["v", "w", "x"]) == {"v": SCHEMA, "w": None, "x": "infer"}


def test_names_match_as_in_sql() -> None:
    assert requests({"V": None}, ["v"]) == {"v": None}
    assert requests({"V": None}, ["v", "V"]) == {"v": "infer", "V": None}
    for name, columns in (("V", ["v", "w", "ẅ"][1:]), ("Aa", ["aA", "AA"])):
        with pytest.raises(InvalidSchema, match="the Variant columns are"):
            requests({name: None}, columns)
