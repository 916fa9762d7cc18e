"""Actions of the log: read and written without loss, and compared as logical files."""

from __future__ import annotations

from typing import Any

from shredlake.delta.protocol.actions import Add, DeletionVector, Remove

VECTOR: dict[str, Any] = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
}
ADD: dict[str, Any] = {
    "path": "day=a%20b/part-0.parquet",
    "partitionValues": {"day": "a b", "hour": None},
    "size": 100,
    "modificationTime": 7,
    "dataChange": True,
    "stats": '{"numRecords":3}',
    "tags": {"shredlake.layout": "{}"},
    "deletionVector": VECTOR,
    "baseRowId": 12,
    "defaultRowCommitVersion": 3,
    "clusteringProvider": "liquid",
}


def test_an_add_keeps_all_that_it_was_read_from() -> None:
    assert Add.from_json(ADD).to_json() == ADD


def test_an_add_needs_little() -> None:
    found = Add.from_json({"path": "p", "size": "5", "modificationTime": None})
    assert (found.size, found.modification_time, found.partition_values) == (5, 0, {})
    assert set(found.to_json()) == {"path", "partitionValues", "size", "modificationTime", "dataChange"}


def test_a_removal_names_the_same_file_and_keeps_row_ids() -> None:
    add = Add.from_json(ADD)
    removal = add.removal(99, data_change=False)
    assert removal.key == add.key
    assert (removal.deletion_timestamp, removal.data_change) == (99, False)
    assert removal.extra == {"baseRowId": 12, "defaultRowCommitVersion": 3}
    assert Remove.from_json(removal.to_json()) == removal


def test_another_deletion_vector_makes_another_logical_file() -> None:
    first = Add.from_json(ADD)
    without = Add.from_json({**ADD, "deletionVector": None})
    moved = Add.from_json({**ADD, "deletionVector": {**VECTOR, "offset": 5}})
    assert len({first.key, without.key, moved.key}) == 3
    assert DeletionVector.from_json({**VECTOR, "offset": None}).unique_id == "u" + VECTOR["pathOrInlineDv"]
