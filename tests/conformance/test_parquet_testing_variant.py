"""The encoded Variants of the parquet-testing project: decoded to known values, encoded to the same bytes."""

from __future__ import annotations

import json
import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from shredlake import Float32, TimestampNanos, TimestampNtzNanos, Variant, VariantType

NAMES = [
    "array_empty", "array_nested", "array_primitive", "long_string", "object_empty", "object_nested",
    "object_primitive", "primitive_binary", "primitive_boolean_false", "primitive_boolean_true",
    "primitive_date", "primitive_decimal16", "primitive_decimal4", "primitive_decimal8", "primitive_double",
    "primitive_float", "primitive_int16", "primitive_int32", "primitive_int64", "primitive_int8",
    "primitive_null", "primitive_string", "primitive_time", "primitive_timestamp",
    "primitive_timestamp_nanos", "primitive_timestampntz", "primitive_timestampntz_nanos",
    "primitive_uuid", "short_string",
]  # fmt: skip

# The dictionary has these as text or rounded; this is what the text says.
NOT_JSON: dict[str, Any] = {
    "object_primitive": {
        "boolean_false_field": False,
        "boolean_true_field": True,
        "double_field": Decimal("1.23456789"),  # in spite of its name
        "int_field": 1,
        "null_field": None,
        "string_field": "Apache Parquet",
        "timestamp_field": "2025-04-16T12:34:56.78",
    },
    "primitive_binary": bytes.fromhex("031337deadbeefcafe"),
    "primitive_date": date(2025, 4, 16),
    "primitive_decimal16": Decimal("12345678912345678.90"),
    "primitive_decimal4": Decimal("12.34"),
    "primitive_decimal8": Decimal("12345678.90"),
    "primitive_float": Float32(1234567940),
    "primitive_time": time(12, 33, 54, 123456),
    "primitive_timestamp": datetime(2025, 4, 16, 12, 34, 56, 780000, timezone(-timedelta(hours=4))),
    "primitive_timestampntz": datetime(2025, 4, 16, 12, 34, 56, 780000),
    "primitive_timestamp_nanos": TimestampNanos(1730982834123456789),
    "primitive_timestampntz_nanos": TimestampNtzNanos(1730982834123456789),
    "primitive_uuid": UUID("f24f9b64-81fa-49d1-b74e-8c09a6e31c56"),
}


def load(conformance: Path, name: str) -> Variant:
    folder = conformance / "parquet-testing" / "variant"
    return Variant((folder / f"{name}.metadata").read_bytes(), (folder / f"{name}.value").read_bytes())


def expected_values(conformance: Path) -> dict[str, Any]:
    text = (conformance / "parquet-testing/variant/data_dictionary.json").read_text()
    return dict(json.loads(re.sub(r",\s*}\s*$", "}", text)))  # the file ends with a comma too many


def test_no_file_is_left_out(conformance: Path) -> None:
    found = {path.stem for path in (conformance / "parquet-testing/variant").glob("*.value")}
    assert found == set(NAMES)
    assert set(expected_values(conformance)) <= found


@pytest.mark.parametrize("name", NAMES)
def test_decodes_to_the_dictionary(conformance: Path, name: str) -> None:
    variant = load(conformance, name).validate()
    if name == "long_string":  # the only one that the dictionary leaves out
        assert variant.to_python().encode() == variant.value[5:]
        return
    assert variant.to_python() == NOT_JSON.get(name, expected_values(conformance)[name])
    named_type = re.fullmatch(
        r"primitive_((?:int|decimal)\d+|double|float|date|time|uuid|binary|string)", name
    )
    assert named_type is None or variant.type.value == named_type[1]


@pytest.mark.parametrize("name", NAMES)
def test_encodes_to_the_same_bytes(conformance: Path, name: str) -> None:
    """Every one of the files has the smallest form."""
    variant = load(conformance, name)
    rebuilt = Variant.of(in_written_order(variant))
    assert rebuilt.value == variant.value
    assert rebuilt.metadata == variant.metadata


def in_written_order(variant: Variant) -> Any:
    """The value with its fields in the order in which the writer added them, which is that of their bytes."""
    if variant.type is VariantType.OBJECT:
        fields = sorted(variant.items(), key=lambda field: field[1]._start)
        return {key: in_written_order(value) for key, value in fields}
    if variant.type is VariantType.ARRAY:
        return [in_written_order(element) for element in variant]
    return variant.to_python(exact=True)
