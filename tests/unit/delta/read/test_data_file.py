"""A struct of `metadata` and `value` is what the table's schema says it is: a struct, or a Variant."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import FileMissing
from shredlake.parquet.format.footer import read_footer

BLOB = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
ROWS = [{"metadata": b"not a Variant", "value": b"\xff\xff"}, None, {"metadata": None, "value": b""}]


def new_table(folder: Path) -> Path:
    """A table whose schema says that `s` is a struct and `v` is a Variant."""
    fields: list[dict[str, object]] = [
        {"name": name, "type": "binary", "nullable": True, "metadata": {}} for name in ("metadata", "value")
    ]
    blob = {"type": "struct", "fields": fields}
    columns = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("s", blob), ("v", "variant"))
    ]
    features = ["variantType"]
    actions = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {
            "metaData": {
                "id": "0",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": columns}),
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]
    log = folder / "t" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return folder / "t"


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    found = sl.Table(str(new_table(tmp_path)))
    variants = sl.from_json(pa.array(['{"a":1}', None, "2"]))
    found.append(pa.table({"id": [1, 2, 3], "s": pa.array(ROWS, BLOB), "v": variants}))
    return found


def test_it_is_written_without_the_annotation(table: sl.Table, tmp_path: Path) -> None:
    [file] = (tmp_path / "t").glob("*.parquet")
    schema = read_footer(io.BytesIO(file.read_bytes())).schema
    assert [node.annotation for node in schema.children] == [None, None, "VARIANT(1)"]


def test_it_reads_as_the_struct_that_it_is(table: sl.Table) -> None:
    assert table.scan(["id", "s"]).to_arrow().column("s").to_pylist() == ROWS
    found = table.scan(["s.value AS b", "v:a::int AS a"], where="s.metadata IS NOT NULL").to_arrow()
    assert found.to_pylist() == [{"b": b"\xff\xff", "a": 1}]


def test_a_path_into_it_is_refused(table: sl.Table) -> None:
    with pytest.raises(sl.InvalidExpression, match="not a Variant"):
        table.scan(["s:a::int"]).to_arrow()


def test_the_schema_decides_even_where_a_file_is_annotated(table: sl.Table, tmp_path: Path) -> None:
    """As in files of earlier versions of shredlake."""
    other = tmp_path / "other.parquet"
    variants = sl.from_json(pa.array(['{"a":1}', "2", "3"]))
    sl.write_parquet(pa.table({"id": [1, 2, 3], "s": variants, "v": variants}), other, shredding=None)
    [file] = (tmp_path / "t").glob("*.parquet")
    file.write_bytes(other.read_bytes())
    expected = pq.read_table(other).column("s").to_pylist()
    assert table.scan(["s"]).to_arrow().column("s").to_pylist() == expected
    assert table.scan(["v:a::int AS a"]).to_arrow().column("a").to_pylist() == [1, None, None]


def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    plain = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    plain.append([{"id": 1}])
    [path] = plain.files().column("path").to_pylist()
    (tmp_path / "t" / path).unlink()
    for read in (plain.scan(["id"]).to_arrow, plain.report, lambda: plain.delete("id = 1")):
        with pytest.raises(FileMissing, match=rf"t: the data file {path} does not exist.*shredlake check"):
            read()
