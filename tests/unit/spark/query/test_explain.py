"""How much a query on Spark reads, and why: from the log and footers, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.query import explain as explaining
from shredlake.spark.query.explain import SparkExplain, SparkSqlExplain, explain
from shredlake.spark.query.scan import SparkScan

FILES, ROWS = 4, 10


class Session:
    """A place for caches: planning asks a session for nothing else."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> sl.Table:
    """Every file has ten values of `a`; the last has three under `a` that are not numbers."""
    made = sl.Table.create(tmp_path_factory.mktemp("explain") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for number in range(FILES):
        ids = range(ROWS * number, ROWS * (number + 1))
        last = number == FILES - 1
        made.append(rows_of(ids, [{"a": "x" if last and n % ROWS < 3 else n, "z": n} for n in ids]))
    return made


def explained(table: sl.Table, columns: list[str], where: str | None = None) -> SparkExplain:
    session: Any = Session()
    return explain(SparkScan(session, table.snapshot, columns, where, options=CastOptions()))


def test_files_that_the_log_rules_out(table: sl.Table) -> None:
    found = explained(table, ["v:a::bigint AS a"], "id >= 10 and v:a::bigint < 20 and id < 30")
    assert (found.files, found.files_total) == (1, FILES)
    assert (found.pruned_by_partition, found.pruned_by_statistics) == (0, FILES - 1)
    assert (found.row_groups, found.row_groups_total) == (1, 1)
    assert 0 < found.bytes < found.bytes_total
    assert found.predicates[0] == f"id >= 10 rules out 1 of {FILES} files"
    assert found.predicates[1].startswith("v:a::bigint < 20 rules out")


def test_only_the_bytes_of_columns_that_are_read_count(table: sl.Table) -> None:
    one = explained(table, ["v:a::bigint AS a"])
    both = explained(table, ["v:a::bigint AS a", "v:s::string AS s", "id"])
    assert 0 < one.bytes < both.bytes < both.bytes_total
    assert one.bytes_total == both.bytes_total == sum(table.files().column("size").to_pylist())


def test_notes_say_what_is_not_a_plain_column(table: sl.Table) -> None:
    assert explained(table, ["id"]).notes == ()
    [note] = explained(table, ["v:a::bigint AS a"]).notes
    assert note == "v:a is mixed in 1 of 4 files: 7.5% of rows read from value"
    [note] = explained(table, ["v:z::bigint AS z"]).notes
    assert note == "workers read 4 of 4 files: $.z is not shredded"


def test_parts_that_rule_out_nothing_say_why(table: sl.Table) -> None:
    [unknown] = explained(table, ["id"], "v:z::bigint > 5").predicates
    assert unknown == "v:z::bigint > 5 rules out 0 of 4 files: no statistics for v:z"
    [all_match] = explained(table, ["id"], "id >= 0").predicates
    assert all_match == "id >= 0 rules out 0 of 4 files: by their statistics, all may match"


def test_no_file_is_left(table: sl.Table) -> None:
    found = explained(table, ["id"], "id < 0")
    assert (found.files, found.row_groups_total, found.bytes) == (0, 0, 0)
    assert "files              0 of 4" in str(found)


def test_with_more_files_a_sample_stands_for_all(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = explained(table, ["id"])
    monkeypatch.setattr(explaining, "FOOTERS", 2)
    sampled = explained(table, ["id"])
    assert sampled.row_groups_total == everything.row_groups_total == FILES
    assert sampled.bytes == pytest.approx(everything.bytes, rel=0.2)


def test_an_empty_table(tmp_path: Path) -> None:
    found = explained(sl.Table.create(tmp_path, ID_AND_VARIANT), ["id"], "id = 1")
    assert (found.files, found.bytes_total) == (0, 0)
    assert "0.0% of the table" in str(found)


def test_a_plan_in_words() -> None:
    one = SparkExplain(1, 4, 0, 3, 2, 2, 5_000, 100_000, ("id > 1 rules out 3 of 4 files",), ("a note",))
    lines = str(
        SparkSqlExplain({"t": one, "s": one}, reason="because", declined={"first": "no"})
    ).splitlines()
    assert lines[0] == "t is read by Spark with its Variants: because"
    assert lines[4:6] == ["id > 1 rules out 3 of 4 files", "a note"]
    assert lines[-1] == "first not used: no"
    by_workers = str(SparkSqlExplain({"t": one}, by_workers="grouped"))
    assert by_workers.startswith("t is answered from its paths, grouped by the workers\n")
