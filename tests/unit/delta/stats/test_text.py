"""Statistics back as JSON, where a checkpoint has them only as typed columns."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import add, variants, write_commit
from shredlake.delta.stats.columns import JsonPiece
from shredlake.delta.stats.parsed import StatsColumns
from shredlake.delta.stats.text import texts_of, with_stats

SCHEMA = pa.schema(
    [
        ("n", pa.decimal128(20, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("text", pa.string()),
        ("v", sl.variant()),
    ]
)
PROPERTIES = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpointInterval": "1000"}


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    """Two files in a checkpoint without JSON, one of them removed afterwards, and a file after it."""
    made = sl.Table.create(tmp_path, SCHEMA, properties=PROPERTIES)
    for number in (1, 2):
        columns = {
            "n": [Decimal("123456789012345678.25")],
            "at": [datetime(2026, 1, number, microsecond=number, tzinfo=UTC)],
            "day": [date(2026, 1, number)],
            "text": ['"é' * 30],
        }
        data = pa.Table.from_pydict(columns, pa.schema(list(SCHEMA)[:4]))
        made.append(data.append_column("v", variants([{"a": number}])), shredding={"v": "struct<a bigint>"})
    return made


def filled(table: sl.Table, keep: list[bool] | None = None) -> dict[str, str | None]:
    files = table.snapshot.files
    mask = np.ones(files.places, bool) if keep is None else np.array(keep)
    found = with_stats(table.snapshot, files.table(keep=mask), mask)
    return dict(zip(found["path"].to_pylist(), found["stats"].to_pylist(), strict=True))


def test_the_text_is_what_it_was(table: sl.Table) -> None:
    before = dict(zip(table.files()["path"].to_pylist(), table.files()["stats"].to_pylist(), strict=True))
    table.checkpoint()
    again = sl.Table(table.uri)
    assert again.files()["stats"].null_count == 2
    assert {path: json.loads(text or "") for path, text in filled(again).items()} == {
        path: json.loads(text) for path, text in before.items()
    }
    assert all("123456789012345678.25" in str(text) for text in filled(again).values())


def test_each_text_goes_to_its_own_file(table: sl.Table, tmp_path: Path) -> None:
    before = dict(zip(table.files()["path"].to_pylist(), table.files()["stats"].to_pylist(), strict=True))
    table.checkpoint()
    table.delete("day = date '2026-01-01'")
    write_commit(tmp_path, 4, [add("new", stats='{"numRecords":9}'), add("unknown")])
    again = sl.Table(table.uri)
    [left] = [path for path in again.files()["path"].to_pylist() if path not in ("new", "unknown")]
    texts = filled(again)
    assert (texts["new"], texts["unknown"]) == ('{"numRecords":9}', None)
    assert json.loads(texts[left] or "") == json.loads(before[left])
    places = again.snapshot.files.column("path").to_pylist()
    for wanted in ({left}, {"new"}, {left, "unknown"}, set(before) - {left}):
        assert filled(again, [path in wanted for path in places]) == {
            path: text for path, text in texts.items() if path in wanted
        }


def test_texts_that_are_there_are_not_made_again(table: sl.Table) -> None:
    files = table.snapshot.files
    given = files.table()
    assert with_stats(table.snapshot, given, np.ones(files.places, bool)) is given


def test_a_file_without_a_row_count_has_no_text() -> None:
    columns = StatsColumns((), ())
    piece = JsonPiece.of(pa.array(['{"numRecords":1,"tightBounds":false}', '{"tightBounds":true}', None]))
    assert texts_of(columns, piece) == ['{"numRecords":1,"tightBounds":false}', None, None]
