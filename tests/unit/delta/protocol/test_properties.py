"""Table properties: checked when they are set, lenient when they are read, one meaning everywhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
import source_trees
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered, set_by_another_writer
from shredlake.delta.protocol.properties import KNOWN, PREFIXES, TableProperties
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.migrate import migrate_files
from source_trees import SOURCE

BAD: list[tuple[str, Any, str]] = [
    ("delta.checkpointInterval", "abc", "it can be a whole number, 1 or more"),
    ("delta.checkpointInterval", 0, "it can be a whole number, 1 or more"),
    ("delta.parquet.compression.codec", "zip", "it can be uncompressed, none, snappy"),
    ("delta.enableChangeDataFeed", "yes", "it can be true or false"),
    ("delta.appendOnly", "", "it can be true or false"),
    ("delta.appendOnly", 1, "it can be true or false"),
    ("delta.appendOnly", ["true"], "give a text"),
    ("delta.deletedFileRetentionDuration", "a week", "it can be a duration"),
    ("delta.deletedFileRetentionDuration", "interval 1 month", "it can be a duration"),
    ("delta.logRetentionDuration", "30", "it can be a duration"),
    ("delta.checkpointPolicy", "v3", "it can be classic or v2"),
    ("delta.dataSkippingNumIndexedCols", "-2", "it can be a whole number, -1 or more"),
    ("delta.dataSkippingStatsColumns", "id,nope", "names 'nope', which is not a column: id, v"),
    ("shredlake.shredding.v", "struct<a bigint", "shredlake.shredding.v: "),
    ("shredlake.shredding.w", "none", "the table has no Variant 'w'; it has: v"),
    ("shredlake.stats.limitPerVariant", "many", "it can be a whole number, 0 or more"),
    ("delta.apendOnly", "true", "did you mean 'delta.appendOnly'"),
    ("delta.enablevariantshredding", "true", "did you mean 'delta.enableVariantShredding'"),
    ("shredlake.shreding.v", "none", "did you mean 'shredlake.shredding.'"),
    ("shredlake.zzzz", "1", "are reserved"),
    ("delta.feature.variantType", "on", "it can be supported"),
    ("delta.columnMapping.maxColumnId", "9", "kept by writers"),
    ("delta.inCommitTimestampEnablementVersion", "0", "kept by writers"),
    ("delta.minReaderVersion", "3", "kept by writers"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_bad_properties_are_refused(tmp_path: Path, name: str, value: Any, message: str) -> None:
    with pytest.raises(sl.InvalidSchema, match=re.escape(message)):
        sl.Table.create(tmp_path / "new", ID_AND_VARIANT, properties={name: value})
    table = sl.Table.create(tmp_path / "old", ID_AND_VARIANT)
    with pytest.raises(sl.InvalidSchema, match=re.escape(message)):
        table.set_properties({name: value})
    assert sl.Table(tmp_path / "old").version == 0


@pytest.mark.parametrize(
    "properties",
    [
        {"delta.feature.catalogManaged": "supported"},
        {"delta.enableRowTracking": "true"},
        {"delta.enableIcebergCompatV2": "true"},
        {"delta.feature.nonsense": "supported"},
    ],
)
def test_features_that_we_cannot_write_never_reach_the_log(
    tmp_path: Path, properties: dict[str, str]
) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    with pytest.raises(sl.UnsupportedFeature):
        table.set_properties(properties)
    assert sl.Table(tmp_path).version == 0
    assert table.append(numbered(0, 1)) == 1


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("value", [None, "none"])
def test_column_mapping_stays(tmp_path: Path, mode: str, value: str | None) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.columnMapping.mode": mode})
    with pytest.raises(sl.InvalidSchema, match=f"can't change from {mode} to none"):
        table.set_properties({"delta.columnMapping.mode": value})
    with pytest.raises(sl.InvalidSchema, match="can't be removed"):
        table.set_properties({"delta.columnMapping.maxColumnId": None})


def test_booleans_are_kept_in_one_spelling(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "TRUE"})
    assert table.properties["delta.enableVariantShredding"] == "true"
    assert "variantShredding" in (table.protocol.reader_features or ())
    with pytest.raises(sl.InvalidSchema, match="when a table is created, not later"):
        table.set_properties({"delta.enableInCommitTimestamps": "TRUE"})


def test_names_without_our_prefixes_belong_to_the_user(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"team": "lake", "deltas": 3})
    table.set_properties({"team": None, "owner": "x"})
    expected = {"delta.enableVariantShredding": "true", "deltas": "3", "owner": "x"}
    assert dict(table.properties) == expected


def test_odd_values_of_other_writers_stay_readable(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 3))
    odd = {name: "odd" for name in KNOWN if not name.startswith("delta.columnMapping.")}
    set_by_another_writer(tmp_path, odd | {"delta.unheardOf": "1"})
    table = sl.Table(tmp_path)
    assert table.scan().count() == 3
    assert table.append(numbered(3, 5)) == 3
    table.set_properties({"team": "x"})
    assert table.properties["delta.unheardOf"] == "1"
    with pytest.raises(sl.InvalidSchema, match="deletedFileRetentionDuration is 'odd'"):
        table.vacuum()


def test_shredding_needs_the_feature_in_the_protocol(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": "false"})
    set_by_another_writer(tmp_path, SHREDDED)
    table = sl.Table(tmp_path)
    table.append(numbered(0, 4))
    table.delete("id = 1")
    for path in table.files().column("path").to_pylist():
        assert "typed_value" not in str(pq.read_schema(tmp_path / path))
    table.set_properties({"delta.enableVariantShredding": "true", "team": "x"})
    table.append(numbered(4, 6))
    texts = [str(pq.read_schema(tmp_path / path)) for path in table.files().column("path").to_pylist()]
    assert sorted("typed_value" in text for text in texts) == [False, True]


def test_the_docs_list_every_property() -> None:
    text = (Path(__file__).parents[4] / "docs" / "delta.md").read_text()
    for name, row in KNOWN.items():
        if row.used:
            assert re.search(rf"^\| `{re.escape(name)}` \| .* \| {re.escape(row.doc)} \|$", text, re.M), name
    for prefix in PREFIXES:
        assert f"`{prefix}" in text


def test_no_other_module_reads_properties_by_name() -> None:
    """A text such as "delta.appendOnly" stands in one module, the table of features and the example."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in source_trees.modules()
        for node in source_trees.nodes(path)
        if isinstance(node, ast.Constant) and names_a_property(node.value)
    }
    assert found == {"delta/protocol/properties.py", "delta/protocol/features.py", "example.py"}


def names_a_property(value: object) -> bool:
    """Whether a text is a property, or begins one: "delta.constraints." and then a name."""
    begins = isinstance(value, str) and value.startswith(tuple(PREFIXES)) and not is_module(value)
    return begins or value in KNOWN


def is_module(name: str) -> bool:
    return SOURCE.parent.joinpath(*name.split(".")).with_suffix(".py").exists()


def test_typed_values() -> None:
    properties = TableProperties(
        {"delta.checkpointPolicy": "v2", "delta.parquet.compression.codec": "LZ4_RAW", "x": "y"}
    )
    assert properties.v2_checkpoints
    assert properties.codec == "lz4"
    assert properties.file_retention_ms == 7 * 86_400_000


def test_migrated_files_ask_the_property_too(tmp_path: Path) -> None:
    documents = sl.from_json(pa.array(['{"a": 1}', '{"a": 2}']))
    sl.write_draft(pa.table({"v": documents}), tmp_path / "old.parquet", {"v": "struct<a bigint>"})
    table = tmp_path / "t"
    unshredded = {"delta.enableVariantShredding": "false"}
    sl.Table.create(table, pa.schema([("v", sl.variant())]), properties=unshredded)
    migrate_files(LocalEngine(), str(tmp_path / "old.parquet"), str(table))
    [path] = sl.Table(table).files().column("path").to_pylist()
    assert "typed_value" not in str(pq.read_schema(table / path))
    assert sl.Table(table).scan(["v:a::int AS a"]).to_arrow().column("a").to_pylist() == [1, 2]
