"""SQL identifiers: the names of columns and fields, in backticks if needed, or in double quotes."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quote(name: str) -> str:
    """A name in backticks. A backtick in the name is doubled.

    >>> quote("id"), quote("it`s")
    ('`id`', '`it``s`')
    """
    return "`" + name.replace("`", "``") + "`"


def double_quote(name: str) -> str:
    """A name in double quotes, as in DuckDB's SQL. A double quote in the name is doubled.

    >>> double_quote('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_if_needed(name: str) -> str:
    """Quotes a name for SQL and DDL: unchanged if it is a plain word, otherwise in backticks.

    >>> quote_if_needed("id"), quote_if_needed("user id"), quote_if_needed("tick`")
    ('id', '`user id`', '`tick```')
    """
    return name if _PLAIN.fullmatch(name) else quote(name)
