"""Defaults of jobs: tables shred, sort keys of mixed types are reported, and staging leaves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

import shredlake as sl


def test_new_tables_shred_unless_told_not_to(tmp_path: Path) -> None:
    schema = pa.schema([("v", sl.variant())])
    told = sl.Table.create(tmp_path / "no", schema, properties={"delta.enableVariantShredding": "false"})
    by_default = sl.Table.create(tmp_path / "yes", schema)
    plain = sl.Table.create(tmp_path / "plain", pa.schema([("id", pa.int64())]))
    for table, typed in ((told, 0), (by_default, 1)):
        table.append([{"v": {"a": n}} for n in range(10)])
        assert len(table.report().paths["v"]) == typed
    assert "delta.enableVariantShredding" not in plain.properties


def test_a_sort_key_of_mixed_types_is_told(tmp_path: Path) -> None:
    source = tmp_path / "a.ndjson"
    source.write_text("".join(f'{{"t": {n if n % 4 else json.dumps(str(n))}}}\n' for n in range(1000)))
    report = sl.ingest(source, tmp_path / "t", sort_by="v:t::bigint")
    [warning] = report.warnings
    assert "25.0% of the values are not bigint" in warning
    assert "1 of 1 new file" in warning
    optimized = sl.optimize(tmp_path / "t", sort_by="v:t::bigint")
    assert [text for text in optimized.warnings if "25.0%" in text]
    assert not sl.ingest(source, tmp_path / "u", sort_by="v:t::bigint", shredding=None).warnings


def test_a_sort_is_logged_as_such(tmp_path: Path) -> None:
    for n in range(2):
        (tmp_path / f"{n}.ndjson").write_text(f'{{"id": {n}}}\n')
        sl.ingest(tmp_path / f"{n}.ndjson", tmp_path / "t")
    sl.optimize(tmp_path / "t", sort_by="v:id::bigint")
    parameters = sl.Table(tmp_path / "t").history()[0]["parameters"]
    assert json.loads(parameters["sortBy"]) == ["v:id::bigint"]
    assert json.loads(parameters["zOrderBy"]) == []


def test_staging_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"id": 1}\nbad\n')
    sl.ingest(tmp_path / "a.ndjson", tmp_path / "t", max_rejects=5)
    assert sorted(path.name for path in (tmp_path / "t_rejects").iterdir() if path.is_dir()) == ["_delta_log"]
