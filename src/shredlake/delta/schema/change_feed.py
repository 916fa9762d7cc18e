"""The columns that the change data feed adds to those of the table."""

from __future__ import annotations

from typing import Final

from shredlake.delta.protocol.properties import CHANGE_FEED, TableProperties
from shredlake.delta.schema.types import Field, Struct
from shredlake.errors import InvalidSchema

CHANGE_TYPE: Final = "_change_type"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIMESTAMP: Final = "_commit_timestamp"

FEED_COLUMNS: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)

CHANGE_DIRECTORY: Final = "_change_data/"
"""The folder of change files below the table's root."""


def change_schema(schema: Struct) -> Struct:
    """The columns of a change file: those of the table and the type of the change."""
    return Struct((*schema.fields, Field(CHANGE_TYPE, "string")))


def check_feed(schema: Struct, properties: TableProperties) -> None:
    """Refuses a table that has a column of the change data feed, if the feed is on.

    >>> check_feed(Struct((Field("_change_type", "string"),)), TableProperties({}))
    """
    taken = [name for name in FEED_COLUMNS if schema.get(name) is not None]
    if properties.change_feed and taken:
        raise InvalidSchema(
            f"the table has a column {taken[0]}, which the change data feed adds itself. Rename it, or "
            f"do not set {CHANGE_FEED.name}"
        )
