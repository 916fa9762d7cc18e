"""A scan of a table: planned from the log alone, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of, variants
from shredlake.errors import ShredlakeError
from shredlake.expr import Column, Get
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.get import get_path
from shredlake.spark.query.path_columns import Service
from shredlake.spark.query.scan import SparkScan, does_not_cast, lenient
from shredlake.variant.path import Path


class Session:
    """A place for caches: planning asks a session for nothing else."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """Two files, partitioned by nothing; in the second, `a` is a text."""
    made = sl.Table.create(tmp_path_factory.mktemp("scan") / "t", ID_AND_VARIANT, properties=SHREDDED)
    made.append(rows_of([1, 2], [{"a": 1, "s": "x"}, {"a": 2, "s": "y"}]))
    made.append(rows_of([3, 4], [{"a": "text", "s": "x"}, {"a": 4, "s": "y"}]))
    return made


SESSION: Any = Session()


def scan(table: sl.Table, columns: Any, where: Any = None, *, strict: bool = False, **how: bool) -> SparkScan:
    return SparkScan(SESSION, table.snapshot, columns, where, options=CastOptions.of(strict=strict), **how)


def names(found: SparkScan) -> set[str]:
    return {ref.name if isinstance(ref, Column) else f"{ref.column}:{ref.path}" for ref in found.references}


def test_references_are_those_of_columns_and_condition(table: sl.Table) -> None:
    asked = ["v:a::bigint + v:a::bigint AS twice", "id"]
    found = scan(table, asked, "v:s::string = 'x'")
    assert names(found) == {"v:$.a", "id", "v:$.s"}
    assert len(set(found.references.values())) == 3
    pruning = scan(table, asked, "v:s::string = 'x'", prune_only=True)
    assert names(pruning) == {"v:$.a", "id"}, "the caller filters the rows"


def test_files_that_the_condition_rules_out(table: sl.Table) -> None:
    for prune_only in (False, True):
        assert len(scan(table, "id", "id > 2", prune_only=prune_only).files) == 1
        assert len(scan(table, "id", "id > 9", prune_only=prune_only).files) == 0
    assert len(scan(table, "id").files) == 2


def test_groups_hold_every_file_once(table: sl.Table) -> None:
    for columns in ("id", "v:a::bigint AS a", "v:z::int AS z", "v", "v:s::string AS s"):
        found = scan(table, columns)
        paths = [add.path for group in found.groups for add in group.adds]
        assert sorted(paths) == sorted(table.files().column("path").to_pylist())


def test_how_paths_are_read(table: sl.Table) -> None:
    services = {
        service
        for group in scan(table, ["v:a::bigint AS a", "v:s::string AS s"]).groups
        for service in ((served.service, len(group.files)) for served in group.served.values())
    }
    assert (Service.MIXED, 1) in services
    assert (Service.TYPED, 1) in services
    assert all(group.worker for group in scan(table, "v").groups)
    assert not any(group.worker for group in scan(table, "v", native=True).groups)


def test_paths_that_must_cast(table: sl.Table) -> None:
    columns = ["v:a::bigint AS a", "try_cast(v:s AS int) AS s", "v:s AS raw"]
    assert scan(table, columns).strict_paths == {}
    found = scan(table, columns, strict=True).strict_paths
    assert [(str(get.path), name.startswith("failed_")) for get, name in found.items()] == [("$.a", True)]


def test_identities_tell_scans_apart(table: sl.Table) -> None:
    one = scan(table, "v:a::bigint AS a", "id > 2")
    assert one.identity == scan(table, "v:a::bigint AS b", "id > 2").identity
    others = [
        scan(table, "v:a::int AS a", "id > 2"),
        scan(table, "v:a::bigint AS a"),
        scan(table, "v:a::bigint AS a", "id > 2", strict=True),
        scan(table, "v:a::bigint AS a", "id > 2", native=True),
    ]
    assert len({one.identity, *(other.identity for other in others)}) == 5
    pruned = [
        scan(table, "v:z::int AS a", where, prune_only=True) for where in ("id > 2", "id > 1 and id <> 2")
    ]
    assert len({found.identity for found in pruned}) == 2, "workers read other files"


def test_a_condition_tells_frames_apart_where_the_reading_depends_on_it(table: sl.Table) -> None:
    plain = [scan(table, "id", where, prune_only=True).frame_identity for where in ("id > 2", "id >= 3")]
    assert plain[0] == plain[1]
    workers = [scan(table, "v", where).frame_identity for where in ("id > 2", "id >= 3")]
    assert workers[0] != workers[1]


def test_mistakes_are_found_while_planning(table: sl.Table) -> None:
    for columns, where in (("nothing", None), ("id", "v:a::nokind = 1"), (["id", "id"], None)):
        with pytest.raises(ShredlakeError):
            scan(table, columns, where)


def test_partition_columns_are_those_of_the_log(tmp_path: Any) -> None:
    made = sl.Table.create(tmp_path, pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"])
    found = scan(made, ["id", "p"])
    assert [found.is_partition(Column(name)) for name in ("id", "p", "P")] == [False, True, True]


def test_values_that_do_not_cast_are_marked() -> None:
    rows = variants([{"a": 1}, {"a": "x"}, {"a": None}, {"b": 1}, ..., None, {"a": {}}])
    path = Path(("a",))
    cast = get_path(rows, path, pa.int64(), CastOptions())
    found = does_not_cast(rows, path, cast)
    assert found.to_pylist() == [False, True, False, False, False, False, True]


def test_a_lenient_reference_gives_null() -> None:
    strict = Get("v", Path(("a",)), None, strict=True)
    assert lenient(strict) == Get("v", Path(("a",)), None, strict=False)
    assert lenient(Column("id")) == Column("id")
