"""Groups by workers: the rows that they group, and whether there are likely to be few groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.delta.log.files import as_adds
from shredlake.delta.read.data_file import DataFile
from shredlake.expr.types import BIGINT, STRING
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.workers.aggregate import _has_few_groups
from shredlake.spark.query.workers.aggregate import rows_of as rows_to_group
from shredlake.spark.query.workers.partials import Grouping, Part, Value

ROWS = 400


class Session:
    """A place for caches."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """`s` has few values, `a` another one in each row, and `z` few, which are not shredded."""
    made = sl.Table.create(tmp_path_factory.mktemp("groups") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for file in range(3):
        ids = range(file * ROWS, (file + 1) * ROWS)
        made.append(rows_of(ids, [{"a": n * 7919 % 100_003, "s": f"s{n % 3}", "z": n % 2} for n in ids]))
    made.delete("id = 5")
    return made


def scan(table: sl.Table, columns: list[str], where: str | None = None) -> SparkScan:
    session: Any = Session()
    return SparkScan(session, table.snapshot, columns, where, options=CastOptions())


def files(table: sl.Table) -> list[DataFile]:
    return [DataFile(table.snapshot, add) for add in as_adds(table.files())]


def test_rows_of_files(table: sl.Table) -> None:
    query = scan(table, ["v:s::string AS s", "id"], "id >= 300 and id < 500").local.query
    batches = list(rows_to_group(files(table), query))
    assert sum(batch.num_rows for batch in batches) == 200
    found = {value for batch in batches for value in batch.column(0).to_pylist()}
    assert found == {"s0", "s1", "s2"}


def test_rows_without_columns_are_counted(table: sl.Table) -> None:
    for where, expected in ((None, 3 * ROWS - 1), ("id < 10", 9), ("id < 0", 0)):
        query = scan(table, [], where).local.query
        assert sum(batch.num_rows for batch in rows_to_group(files(table), query)) == expected


@pytest.mark.parametrize(
    ("column", "kind", "where", "few"),
    [
        ("v:s::string", STRING, None, True),
        ("v:a::bigint", BIGINT, None, False),
        ("id", BIGINT, None, False),
        ("v:z::bigint", BIGINT, None, False),  # in doubt: only shredded columns are looked at
        ("v:s::string", STRING, "v:a::bigint = 5", False),
        ("v:s::string", STRING, "v:s::string = 's1'", True),
    ],
)
def test_few_groups(table: sl.Table, column: str, kind: Any, where: str | None, few: bool) -> None:
    grouping = Grouping((Value("k", kind),), (Part("Count"),))
    assert _has_few_groups(scan(table, [f"{column} AS k"], where), grouping) is few


def test_a_file_that_can_not_be_read_is_not_an_error_yet(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    made.append(rows_of([1], [{"a": 1, "s": "x"}]))
    found = scan(made, ["v:s::string AS k"])
    assert found.groups
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    assert not _has_few_groups(found, Grouping((Value("k", STRING),), (Part("Count"),)))
