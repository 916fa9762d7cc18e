"""The null table: the joint meaning of `value` and `typed_value`, as data.

Three kinds of null are distinguished. SQL NULL is a null row of the column and is not handled here; Variant
null is a value like any other (`00`, in `value`); a field is missing if both parts are null.

| `value`  | `typed_value` | meaning                                                        |
|----------|---------------|----------------------------------------------------------------|
| null     | null          | MISSING: allowed only for an object field                      |
| non-null | null          | ANY_TYPE: any value, including Variant null                    |
| null     | non-null      | SHREDDED_TYPE                                                  |
| non-null | non-null      | PARTIAL_OBJECT: fields in both parts; anything else a conflict |

The position of a group decides how a reader treats the two cases that writers must not produce:

| group                       | MISSING            | conflict                                            |
|-----------------------------|--------------------|-----------------------------------------------------|
| COLUMN, the Variant itself  | Variant null       | an error                                            |
| ELEMENT of an array         | Variant null       | an error                                            |
| FIELD of an object          | the field is absent| `typed_value` is used; in strict mode an error      |
"""

from __future__ import annotations

import enum
from typing import Final


class Meaning(enum.Enum):
    """The joint meaning of the two parts of a group."""

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
    """The position of a group of `value` and `typed_value`."""

    COLUMN = enum.auto()
    ELEMENT = enum.auto()
    FIELD = enum.auto()


MISSING_READS_AS_NULL: Final[dict[Group, bool]] = {
    Group.COLUMN: True,
    Group.ELEMENT: True,
    Group.FIELD: False,
}
"""A missing value reads as Variant null where a value is required."""

CONFLICT_IS_AN_ERROR: Final[dict[Group, bool]] = {
    Group.COLUMN: True,
    Group.ELEMENT: True,
    Group.FIELD: False,
}
"""Only for fields does the specification say which part to use in a conflict."""
