"""Type widening: values of the narrower type are read as the wider."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import (
    PROTOCOL,
    metadata,
    write_commit,
)
from shredlake.delta.schema.type_widening import is_widening


def changes(table: sl.Table, start: int, end: int | None = None) -> list[tuple[int, str, int]]:
    rows = table.changes(start, end).to_pylist()
    return sorted((row["_commit_version"], row["_change_type"], row["id"]) for row in rows)


def test_widened_types_read_as_the_wider(tmp_path: Path) -> None:
    schema = pa.schema(
        [("a", pa.int32()), ("b", pa.float32()), ("d", pa.date32()), ("m", pa.decimal128(5, 2))]
    )
    table = sl.Table.create(tmp_path, schema, properties={"delta.feature.typeWidening": "supported"})
    one = {
        "a": 1,
        "b": 0.5,
        "d": date(2026, 1, 1),
        "m": Decimal("1.25"),
    }
    table.append(pa.Table.from_pylist([one], schema=schema))
    action = json.loads((tmp_path / "_delta_log" / f"{0:020}.json").read_text().splitlines()[2])
    wider = {"a": "double", "b": "double", "d": "timestamp_ntz", "m": "decimal(12,4)"}
    parsed = json.loads(action["metaData"]["schemaString"])
    for field in parsed["fields"]:
        field["metadata"] = {
            "delta.typeChanges": [{"fromType": field["type"], "toType": wider[field["name"]]}]
        }
        field["type"] = wider[field["name"]]
    action["metaData"]["schemaString"] = json.dumps(parsed)
    write_commit(tmp_path, 2, [action])
    [row] = sl.Table(tmp_path).scan().to_arrow().to_pylist()
    assert (row["a"], row["b"], str(row["d"]), str(row["m"])) == (1.0, 0.5, "2026-01-01 00:00:00", "1.2500")
    assert (
        sl.Table(tmp_path).scan(["a"], where="a >= 1 and m = 1.25 and d = timestamp_ntz'2026-01-01'").count()
        == 1
    )


@pytest.mark.parametrize(
    ("old", "new", "fine"),
    [
        ("byte", "long", True),
        ("long", "integer", False),
        ("integer", "double", True),
        ("long", "double", False),
        ("float", "double", True),
        ("date", "timestamp_ntz", True),
        ("date", "timestamp", False),
        ("decimal(6, 2)", "decimal(10, 4)", True),
        ("decimal(6,2)", "decimal(7,4)", False),
        ("short", "decimal(10,0)", True),
        ("short", "decimal(11,2)", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(19,0)", False),
        ("string", "variant", False),
    ],
)
def test_which_types_may_grow(old: str, new: str, fine: bool) -> None:
    assert is_widening(old, new) is fine


def test_other_type_changes_are_refused(tmp_path: Path) -> None:
    changes = [{"fromType": "long", "toType": "string"}]
    field = {"name": "a", "type": "string", "nullable": True, "metadata": {"delta.typeChanges": changes}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    write_commit(tmp_path, 0, [PROTOCOL, metadata(schema=schema)])
    with pytest.raises(sl.UnsupportedFeature, match="column a changed its type from long to string"):
        sl.Table(tmp_path).scan()
