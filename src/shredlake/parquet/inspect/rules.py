"""The rules that a file of Variants is checked against, and the type of a violation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Rule:
    """One requirement of the specification."""

    id: str
    text: str
    where: str
    """`structure`: found in the footer. `data`: found in the rows."""


@dataclass(frozen=True)
class Violation:
    """One place where a file breaks a rule.

    >>> str(Violation("conflict", "v", "$['a']", row=3, found="value 00 beside typed_value 5"))
    "v, row 3, $['a']: value 00 beside typed_value 5 [conflict]"
    """

    rule: str
    column: str
    """The Variant column's dotted name."""
    path: str
    """The normalised path within the Variant; for data, with the actual array positions."""
    found: str
    row: int | None = None
    """The row in the file, counted from 0; None for a violation in the structure."""
    position: tuple[int, ...] = ()
    """The positions in the lists around the Variant, if there are any."""

    def __str__(self) -> str:
        place = "" if self.row is None else f", row {self.row}"
        inner = "".join(f"[{index}]" for index in self.position)
        return f"{self.column}{place}{inner}, {self.path}: {self.found} [{self.rule}]"


DRAFT_RULES: Final[dict[str, Rule]] = {
    rule.id: rule
    for rule in (
        Rule(
            "draft-layout",
            "A level has untyped_value (or variant_value), object, array and typed_value, each at most once, "
            "and nothing else whose name starts without an underscore.",
            "structure",
        ),
        Rule("draft-malformed", "`untyped_value` is a well-formed Variant, metadata then value.", "data"),
        Rule("draft-alternatives", "Only one of `object`, `array` and `typed_value` is filled.", "data"),
        Rule("draft-conflict", "Beside `array` or `typed_value`, `untyped_value` is null.", "data"),
        Rule("draft-residual", "Beside `object`, `untyped_value` is an object.", "data"),
        Rule("draft-field-twice", "A field of `object` is not also in `untyped_value`.", "data"),
        Rule("draft-not-shredded", "What `object` or `array` can hold is not in `untyped_value`.", "data"),
        Rule("draft-missing", "Only the field of an object may be missing: all its parts null.", "data"),
    )
}
"""The rules of the older draft layout."""

RULES: Final[dict[str, Rule]] = {
    rule.id: rule
    for rule in (
        Rule("annotation", "A Variant group is annotated VARIANT(1).", "structure"),
        Rule("metadata-column", "A Variant group has a column `metadata` of plain binary.", "structure"),
        Rule("metadata-required", "`metadata` is required.", "structure"),
        Rule("value-column", "A Variant group has a column `value`, shredded or not.", "structure"),
        Rule("value-type", "`value` is plain binary.", "structure"),
        Rule(
            "value-repetition",
            "`value` is optional beside `typed_value`, required without, either in elements.",
            "structure",
        ),
        Rule("typed-value-repetition", "`typed_value` is optional.", "structure"),
        Rule(
            "typed-value-type",
            "`typed_value` has one of the specification's types, in its physical and logical form.",
            "structure",
        ),
        Rule("no-value", "A level has `value`, `typed_value`, or both.", "structure"),
        Rule(
            "unknown-field",
            "A level has no other fields, unless their names start with an underscore.",
            "structure",
        ),
        Rule("duplicate-field", "No two fields of a group have one name.", "structure"),
        Rule("field-group", "A shredded field is a required group.", "structure"),
        Rule("element-group", "The element of a shredded array is a required group.", "structure"),
        Rule("three-level-list", "A shredded array is a three-level list: list, then element.", "structure"),
        Rule("malformed-metadata", "`metadata` is a well-formed dictionary of names.", "data"),
        Rule("malformed-value", "`value` is a well-formed Variant.", "data"),
        Rule("key-order", "The keys of an object are in the order of their UTF-8 bytes, none twice.", "data"),
        Rule("malformed-typed-value", "`typed_value` holds values of its type.", "data"),
        Rule("missing-name", "The metadata has the names of all fields, shredded or not.", "data"),
        Rule("conflict", "`value` and `typed_value` are both there only for an object.", "data"),
        Rule("missing-value", "Only a shredded field may be missing: both its columns null.", "data"),
        Rule("missing-element", "Every element of an array is there.", "data"),
        Rule("residual-not-object", "Beside the fields of a shredded object, `value` is an object.", "data"),
        Rule("field-in-value", "A shredded field is not also in `value`.", "data"),
        Rule("object-not-shredded", "An object is in `typed_value` where that is an object.", "data"),
        Rule("array-not-shredded", "An array is in `typed_value` where that is an array.", "data"),
    )
}
"""Every rule by its id, those of the footer first."""

ALL_RULES: Final[dict[str, Rule]] = RULES | DRAFT_RULES
