"""New tables: planned first, and there from their first commit on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT
from shredlake.delta.log.listing import list_log
from shredlake.delta.protocol.actions import Transaction
from shredlake.delta.schema.types import from_arrow
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.commit import commit
from shredlake.delta.write.create import check_partitioning, create, planned, shredded_by_default
from shredlake.delta.write.transaction import Operation
from shredlake.errors import CommitConflict, InvalidSchema, TableError, TableExists

NESTED = pa.schema(
    [
        ("id", pa.int64()),
        ("v", sl.variant()),
        ("s", pa.struct([("x", pa.int64())])),
        ("l", pa.list_(sl.variant())),
        ("m", pa.map_(pa.string(), pa.int64())),
    ]
)


def test_a_variant_column_asks_for_its_feature(tmp_path: Path) -> None:
    unshredded = {"delta.enableVariantShredding": "false"}
    protocol = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=unshredded).protocol
    assert (protocol.min_reader_version, protocol.min_writer_version) == (3, 7)
    assert protocol.reader_features == ("variantType",)
    assert protocol.writer_features == ("appendOnly", "invariants", "variantType")


def test_shredding_asks_for_its_feature(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.enableVariantShredding": True})
    assert table.protocol.reader_features == ("variantShredding", "variantType")
    assert {"variantShredding", "variantType"} <= set(table.protocol.writer_features or ())
    assert table.properties["delta.enableVariantShredding"] == "true"


def test_a_plain_table_stays_readable_by_all(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 2)


def test_a_table_is_created_once(tmp_path: Path) -> None:
    sl.Table.create(tmp_path, ID_AND_VARIANT)
    with pytest.raises(sl.TableExists, match="is already a table; open it with Table"):
        sl.Table.create(tmp_path, ID_AND_VARIANT)


def test_name_description_and_partitioning_are_kept(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, ["id"], name="events", description="all of them")
    metadata = table.snapshot.metadata
    assert (metadata.name, metadata.description, table.partition_columns) == (
        "events",
        "all of them",
        ("id",),
    )


@pytest.mark.parametrize("column", ["nope", "ID"])
def test_unknown_partition_columns(tmp_path: Path, column: str) -> None:
    with pytest.raises(sl.InvalidSchema, match=f"partition column '{column}' is not a column of the table"):
        sl.Table.create(tmp_path, ID_AND_VARIANT, [column])
    assert not (tmp_path / "_delta_log").exists()


def test_a_planned_table_is_nowhere_until_its_first_commit(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path / "t"))
    plan = planned(storage, ID_AND_VARIANT, name="events")
    assert (plan.version, len(plan.files), plan.metadata.name) == (-1, 0, "events")
    assert not (tmp_path / "t").exists()
    assert commit(plan, [Transaction("app", 1)], Operation("WRITE")) == 0
    assert sl.Table(tmp_path / "t").snapshot.transactions["app"].version == 1


def test_a_planned_table_that_another_creates_is_a_conflict(tmp_path: Path) -> None:
    first, second = (planned(Storage(str(tmp_path)), ID_AND_VARIANT) for _ in range(2))
    create(first)
    with pytest.raises(CommitConflict):
        commit(second, [], Operation("WRITE"))
    with pytest.raises(TableExists, match="is already a table; open it with Table"):
        create(second)
    assert sl.Table(tmp_path).snapshot.metadata.id == first.metadata.id


def test_two_that_create_a_table_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second looked before the first had committed."""
    first, second = (planned(Storage(str(tmp_path)), ID_AND_VARIANT) for _ in range(2))
    before = list_log(first.storage)
    create(first)
    monkeypatch.setattr("shredlake.delta.write.create.list_log", lambda storage: before)
    with pytest.raises(TableExists):
        create(second)


@pytest.mark.parametrize("name", ["notes.txt", "old.parquet", "deep/old.parquet"])
def test_a_folder_with_files_of_others_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(TableError, match=r"is not a table and not empty: it holds .*force=True"):
        planned(Storage(str(tmp_path)), ID_AND_VARIANT)
    assert planned(Storage(str(tmp_path)), ID_AND_VARIANT, force=True).version == -1


@pytest.mark.parametrize("role", ["partition", "clustering"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["nope"], "column 'nope' is not a column of the table: id, v, s, l, m"),
        (["ID"], "column 'ID' is not a column of the table"),
        (["v:a"], "column 'v:a' is not .* ingest can compute one from it"),
        (["v"], "column 'v' is a variant; variants can't be compared"),
        (["l"], "column 'l' contains a variant"),
        (["s"], "column 's' is a struct; only plain columns can be used"),
        (["m"], "column 'm' is a map; only plain columns"),
        (["id", "id"], "column is named twice: id, id"),
    ],
)
def test_columns_that_a_table_can_not_be_arranged_by(role: str, columns: list[str], message: str) -> None:
    with pytest.raises(InvalidSchema, match=f"^(a )?{role} {message}"):
        check_partitioning(from_arrow(NESTED), columns, role)


def test_a_column_must_stay_in_the_files() -> None:
    schema = from_arrow(pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    with pytest.raises(InvalidSchema, match="at least one must stay in the files"):
        check_partitioning(schema, ["a", "b"], "partition")
    check_partitioning(schema, ["a", "b"], "clustering")
    check_partitioning(schema, [], "partition")


def test_a_table_is_partitioned_or_clustered() -> None:
    place = Storage("memory://created/both")
    with pytest.raises(InvalidSchema, match="not both"):
        planned(place, NESTED, ["id"], cluster_by=["id"])
    clustered = planned(place, NESTED, cluster_by=["id"])
    assert clustered.clustering_columns == ("id",)
    assert "clustering" in (clustered.protocol.writer_features or ())


@pytest.mark.parametrize(
    ("schema", "properties", "expected"),
    [
        (NESTED, None, {"delta.enableVariantShredding": "true"}),
        (pa.schema([("s", pa.struct([("v", sl.variant())]))]), {}, {"delta.enableVariantShredding": "true"}),
        (NESTED, {"delta.enableVariantShredding": False}, {"delta.enableVariantShredding": False}),
        (pa.schema([("id", pa.int64())]), {"a": 1}, {"a": 1}),
    ],
)  # fmt: skip
def test_new_tables_with_variants_allow_shredding(
    schema: pa.Schema, properties: Any, expected: dict[str, Any]
) -> None:
    assert shredded_by_default(schema, properties) == expected


def test_features_that_are_asked_for_are_not_kept_as_properties() -> None:
    asked = {"delta.feature.deletionVectors": "supported", "mine": "x"}
    plan = planned(Storage("memory://created/asked"), ID_AND_VARIANT, properties=asked)
    assert "deletionVectors" in (plan.protocol.writer_features or ())
    assert dict(plan.properties) == {"mine": "x"}
