"""Rules on the rows of a file: rows that break each, and what is reported."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from broken_files import BINARY, DATA, METADATA, NAMES, NULL, VALUE, shredded, typed, value, write_raw
from shredlake.parquet.inspect.check import check
from shredlake.parquet.inspect.check_rows import names_in, path_with_indices
from shredlake.shredding.schema import ARRAY_ELEMENT
from shredlake.variant.metadata import encode_metadata


@pytest.mark.parametrize(
    ("rule", "path", "found", "table"), DATA, ids=[f"{d[0]} {d[1]} {d[2]}" for d in DATA]
)
def test_data(rule: str, path: str, found: str, table: pa.Table, tmp_path: Path) -> None:
    good = table.slice(0, 0)
    file = write_raw(
        pa.concat_tables([good, table]), tmp_path / "f.parquet", ("v",), store_decimal_as_integer=True
    )
    breaches = check(file)
    assert [(breach.rule, breach.column, breach.path, breach.row) for breach in breaches] == [
        (rule, "v", path, 0)
    ]
    assert found in breaches[0].found


def test_the_shredded_field_of_an_object_that_is_not_shredded(tmp_path: Path) -> None:
    """Both rules are broken: the object is not in typed_value, and its field is in value."""
    file = write_raw(shredded("struct<a bigint>", (value({"a": 7}), None)), tmp_path / "f", ("v",))
    assert [breach.rule for breach in check(file)] == ["object-not-shredded", "field-in-value"]


def test_bad_strings_and_decimals(tmp_path: Path) -> None:
    strings = pa.array([b"ok", b"\xff"]).view(pa.string())
    metadata = pa.array([NAMES, NAMES])
    fields = [METADATA, VALUE, typed(pa.string())]
    group = pa.StructArray.from_arrays([metadata, pa.nulls(2, BINARY), strings], fields=fields)
    file = write_raw(pa.table({"v": group}), tmp_path / "f", ("v",))
    [breach] = check(file)
    assert (breach.rule, breach.row) == ("malformed-typed-value", 1)
    assert "UTF8" in breach.found


def test_what_lies_below_a_null_is_not_checked(tmp_path: Path) -> None:
    """Parquet has no values there, so only rows that are Variants count."""
    table = shredded("bigint", None, (None, 5), None)
    assert check(write_raw(table, tmp_path / "f", ("v",))) == []
    assert check(write_raw(table.slice(0, 1), tmp_path / "g", ("v",))) == []


def test_a_dictionary_that_is_malformed_is_reported_once_per_row_and_nothing_else(tmp_path: Path) -> None:
    bad = b"\x02\x00\x00"
    table = shredded("bigint", (bad, NULL, 34), (NAMES, None, 1), (bad, None, None))
    breaches = check(write_raw(table, tmp_path / "f", ("v",)))
    assert [(breach.rule, breach.row) for breach in breaches] == [
        ("malformed-metadata", 0),
        ("malformed-metadata", 2),
    ]


def test_long_values_are_shown_by_their_first_bytes(tmp_path: Path) -> None:
    table = shredded("bigint", (value("x" * 40), 34))
    [breach] = check(write_raw(table, tmp_path / "f", ("v",)))
    assert breach.found == "value a1 78 78 78 78 78 78 78 78 78 78 78 78 78 78 78 ... beside typed_value 34"


def test_the_names_of_a_dictionary() -> None:
    assert names_in(encode_metadata([b"a", b""])) == {"a", ""}
    assert names_in(encode_metadata([])) == frozenset()
    assert names_in(b"\x02") == frozenset(), "another rule reports it"


def test_paths_have_the_positions_in_arrays() -> None:
    steps = ("a", ARRAY_ELEMENT, "b c", ARRAY_ELEMENT, ARRAY_ELEMENT)
    assert path_with_indices(steps, (3, 0, 12)) == "$['a'][3]['b c'][0][12]"
    assert path_with_indices((), ()) == "$"
