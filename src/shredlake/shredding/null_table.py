"""The null table: what `value` and `typed_value` mean together, as data.

Three nulls stay three. SQL NULL is a null row of the column and never gets here; Variant null is a value
like any other (`00`, in `value`); a missing field is where both parts are null.

| `value`  | `typed_value` | meaning                                                        |
|----------|---------------|----------------------------------------------------------------|
| null     | null          | MISSING: only an object field may be                           |
| non-null | null          | ANY_TYPE: the value as it is, Variant null included            |
| null     | non-null      | SHREDDED_TYPE                                                  |
| non-null | non-null      | PARTIAL_OBJECT: fields in both parts; anything else a conflict |

Where a group stands decides what a reader makes of the two cases that writers must not leave:

| group                       | MISSING            | conflict                                            |
|-----------------------------|--------------------|-----------------------------------------------------|
| COLUMN, the Variant itself  | Variant null       | an error                                            |
| ELEMENT of an array         | Variant null       | an error                                            |
| FIELD of an object          | the field is absent| `typed_value` counts; in strict reading an error    |
"""

from __future__ import annotations

import enum
from typing import Final


class Meaning(enum.Enum):
    """What the two parts of a group mean together."""

    MISSING = enum.auto()
    ANY_TYPE = enum.auto()
    SHREDDED_TYPE = enum.auto()
    PARTIAL_OBJECT = enum.auto()


NULL_TABLE: Final[dict[tuple[bool, bool], Meaning]] = {
    (False, False): Meaning.MISSING,
    (True, False): Meaning.ANY_TYPE,
    (False, True): Meaning.SHREDDED_TYPE,
    (True, True): Meaning.PARTIAL_OBJECT,
}
"""(`value` is non-null, `typed_value` is non-null) to meaning."""


class Group(enum.Enum):
    """Where a group of `value` and `typed_value` stands."""

    COLUMN = enum.auto()
    ELEMENT = enum.auto()
    FIELD = enum.auto()


MISSING_READS_AS_NULL: Final[dict[Group, bool]] = {
    Group.COLUMN: True,
    Group.ELEMENT: True,
    Group.FIELD: False,
}
"""A value missing where one is required reads as Variant null."""

CONFLICT_IS_AN_ERROR: Final[dict[Group, bool]] = {
    Group.COLUMN: True,
    Group.ELEMENT: True,
    Group.FIELD: False,
}
"""Only for fields does the specification say which part counts if a reader goes on."""
