"""Refused documents by reason, from the table beside a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT
from shredlake.delta.report.rejects import (
    LONGEST,
    MOST_REASONS,
    OTHER_REASONS,
    by_reason,
    general_reason,
    readable,
    rejects_beside,
)
from shredlake.delta.storage.storage import Storage

SCHEMA = pa.schema(
    [("file", pa.string()), ("line", pa.int64()), ("reason", pa.string()), ("raw", pa.binary())]
)


def refused(reason: str, **fields: Any) -> dict[str, Any]:
    return {"file": "a.ndjson", "line": 1, "reason": reason, "raw": b"{"} | fields


def test_rejects_by_reason(table: sl.Table) -> None:
    report = table.report()
    assert report.rejects_table is not None
    assert sum(one.count for one in report.rejects) == 4
    reasons = {one.reason: one for one in report.rejects}
    assert all("byte" not in reason for reason in reasons)
    assert sum(1 for one in report.rejects if one.raw in ('{"a" 1}', '{"a": tru')) >= 1
    assert all(one.line is not None for one in report.rejects)


@pytest.mark.parametrize(
    ("reason", "general"),
    [
        ("expected ':', at line 1, column 6 (byte 5)", "expected ':'"),
        ("bad number at line 12, column 3 (byte 99)", "bad number"),
        ("at line 1 of a poem", "at line 1 of a poem"),
        ("", ""),
    ],
)
def test_a_reason_without_its_position(reason: str, general: str) -> None:
    assert general_reason(reason) == general


def test_the_most_frequent_reason_comes_first_with_its_first_document() -> None:
    rows = [refused("a", line=1), refused("b", line=2), refused("b", line=3, file=None, raw=None)]
    assert [(one.reason, one.count, one.line) for one in by_reason(rows)] == [("b", 2, 2), ("a", 1, 1)]
    assert by_reason([]) == ()


def test_reasons_beyond_the_limit_are_summed_up() -> None:
    rows = [refused(f"reason {number}") for number in range(MOST_REASONS + 3)]
    found = by_reason([*rows, refused("reason 0")])
    assert len(found) == MOST_REASONS + 1
    assert [(one.reason, one.count) for one in found[:2]] == [(OTHER_REASONS, 3), ("reason 0", 2)]


@pytest.mark.parametrize("letter", ["x", "é", "😀", "\x1b"])
def test_a_long_document_is_cut_and_shows_that_it_is(letter: str) -> None:
    whole = readable((letter * 3).encode())
    assert not whole.endswith("…")
    for count in (LONGEST + 1, 10 * LONGEST):
        text = readable((letter * count).encode() + b"}")
        assert len(text) == LONGEST
        assert text.endswith("…")
        assert text.isprintable()


def test_as_many_letters_as_fit_are_shown_whole() -> None:
    assert readable("😀".encode() * LONGEST) == "😀" * LONGEST
    assert readable(b"x" * LONGEST + b"\r\n") == "x" * LONGEST


def beside(root: Path, schema: pa.Schema, rows: list[dict[str, Any]]) -> object:
    sl.Table.create(root / "t_rejects", schema).append(rows)
    return rejects_beside(Storage(str(root / "t")))


def test_rejects_of_a_conversion_beside_those_of_an_ingest_have_no_reason_here(tmp_path: Path) -> None:
    found = beside(tmp_path, SCHEMA, [refused("bad"), refused("bad") | {"reason": None, "raw": None}])
    assert found is not None
    assert [one.count for one in found[1]] == [1]  # type: ignore[index]


@pytest.mark.parametrize("name", SCHEMA.names)
def test_a_table_of_other_columns_is_not_one_of_rejects(tmp_path: Path, name: str) -> None:
    """Whatever it is, it must not keep the report of the table from being made."""
    place = SCHEMA.get_field_index(name)
    number = SCHEMA.set(place, pa.field(name, pa.int32()))
    assert beside(tmp_path / "type", number, [refused("bad") | {name: 7}]) is None
    lacking = refused("bad")
    del lacking[name]
    assert beside(tmp_path / "lacks", SCHEMA.remove(place), [lacking]) is None
    table = sl.Table.create(tmp_path / "type" / "t", ID_AND_VARIANT)
    assert (table.report().rejects_table, table.report().rejects) == (None, ())


def test_what_can_not_be_read_is_not_a_table_of_rejects(tmp_path: Path) -> None:
    assert rejects_beside(Storage(str(tmp_path / "t"))) is None
    beside(tmp_path, SCHEMA, [refused("bad")])
    (tmp_path / "t_rejects" / "_delta_log" / f"{1:020}.json").write_text("{")
    assert rejects_beside(Storage(str(tmp_path / "t"))) is None
