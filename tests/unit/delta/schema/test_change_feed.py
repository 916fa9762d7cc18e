"""Columns of the change data feed."""

from __future__ import annotations

import pytest

from shredlake.delta.protocol.properties import TableProperties
from shredlake.delta.schema.change_feed import FEED_COLUMNS, change_schema, check_feed
from shredlake.delta.schema.types import Field, Struct
from shredlake.errors import InvalidSchema

ON = TableProperties({"delta.enableChangeDataFeed": "true"})


def test_a_change_file_has_one_more_column() -> None:
    assert change_schema(Struct((Field("id", "long"),))).names == ["id", "_change_type"]


@pytest.mark.parametrize("name", [*FEED_COLUMNS, "_CHANGE_TYPE"])
def test_a_table_with_a_column_of_the_feed_cannot_have_one(name: str) -> None:
    schema = Struct((Field(name, "string"),))
    check_feed(schema, TableProperties({}))
    with pytest.raises(InvalidSchema, match="Rename it"):
        check_feed(schema, ON)


def test_other_columns_are_fine() -> None:
    check_feed(Struct((Field("change_type", "string"),)), ON)
