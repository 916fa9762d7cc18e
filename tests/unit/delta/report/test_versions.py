"""Growth and layouts over versions: as the versions themselves, however much of the log is left."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import shredlake as sl
from delta_tables import ID_AND_VARIANT, PROTOCOL, add, metadata, numbered, remove, rows_of, write_commit
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.report.versions import LayoutFacts, VersionFacts, versions_of
from shredlake.delta.storage.storage import Storage


def facts(root: Path, most: int = 1000) -> list[VersionFacts]:
    return list(versions_of(load_snapshot(Storage(str(root))), most).versions)


def counts(root: Path, most: int = 1000) -> list[tuple[int, int, int | None]]:
    return [(one.version, one.files, one.rows) for one in facts(root, most)]


def without_commits(root: Path, *versions: int) -> None:
    for version in versions:
        (root / "_delta_log" / f"{version:020}.json").unlink()


def test_versions_agree_with_the_versions_themselves(table: sl.Table) -> None:
    found = table.report().history.versions
    assert [one.version for one in found] == list(range(10))
    for one in found:
        then = sl.Table(table.uri, one.version)
        assert (one.files, one.rows) == (then.files().num_rows, then.scan().count())
        assert one.bytes == sum(then.files().column("size").to_pylist())
        assert sum(one.layouts.values()) == one.files


def test_versions_after_the_log_was_cut(table: sl.Table, tmp_path: Path) -> None:
    table.checkpoint()
    table.append(rows_of([100], [{"a": 7}]))
    for version in range(9):
        (tmp_path / "t" / "_delta_log" / f"{version:020}.json").unlink()
    found = sl.Table(table.uri).report().history.versions
    assert [(one.version, one.rows) for one in found] == [(9, 61), (10, 62)]


def test_commits_that_nothing_leads_to_are_left_out(tmp_path: Path) -> None:
    """A cleanup of the log may stop between two checkpoints."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    for number in range(4):
        table.append(numbered(number, number + 1))
        if number == 1:
            table.checkpoint()
    without_commits(tmp_path, 0)
    assert counts(tmp_path) == [(2, 2, 2), (3, 3, 3), (4, 4, 4)]


def test_a_log_of_a_checkpoint_alone_has_no_versions_to_tell(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(numbered(0, 1))
    table.checkpoint()
    without_commits(tmp_path, 0, 1)
    report = sl.Table(tmp_path).report()
    assert (report.rows, report.history.versions, report.drift.changes) == (1, (), ())


def test_only_the_newest_versions_are_replayed(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    for number in range(4):
        table.append(numbered(number, number + 1))
    assert counts(tmp_path, most=2) == counts(tmp_path)[-2:] == [(3, 3, 3), (4, 4, 4)]


def test_fields_that_are_null_are_absent(tmp_path: Path) -> None:
    """Other writers may write them so."""
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("a", size=5), add("b", size=7)])
    gone = remove("a", size=None, partitionValues=None, tags=None, deletionVector=None)
    write_commit(tmp_path, 1, [{"commitInfo": {"operation": None}}, gone])
    assert [(one.files, one.bytes, one.operation) for one in facts(tmp_path)] == [(2, 12, ""), (1, 7, "")]


def test_rows_are_unknown_as_long_as_those_of_a_file_are(tmp_path: Path) -> None:
    known = add("a", stats='{"numRecords":3}')
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), known])
    write_commit(tmp_path, 1, [add("b")])
    write_commit(tmp_path, 2, [remove("b")])
    assert counts(tmp_path) == [(0, 1, 3), (1, 2, None), (2, 1, 3)]


def test_a_file_that_is_added_again_counts_once_and_in_any_spelling(tmp_path: Path) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("d/a", size=5, stats='{"numRecords":3}')])
    write_commit(tmp_path, 1, [add("./d//a", size=6, stats='{"numRecords":4}')])
    write_commit(tmp_path, 2, [remove("d/./a")])
    found = [(one.files, one.rows, one.bytes) for one in facts(tmp_path)]
    assert found == [(1, 3, 5), (1, 4, 6), (0, 0, 0)]


def test_layouts_are_numbered_as_they_appear(tmp_path: Path) -> None:
    def tagged(path: str, text: str) -> dict[str, object]:
        return add(path, tags={"shredlake.layout": text})

    two = '{"v":{"shredding":"struct<a bigint, b array<string>>","residual":[]}}'
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("a")])
    write_commit(tmp_path, 1, [tagged("b", two), tagged("c", two), tagged("d", "{}")])
    write_commit(tmp_path, 2, [remove("a"), remove("c"), tagged("e", '{"version":9}')])
    found = versions_of(load_snapshot(Storage(str(tmp_path))))
    assert found.layouts == (
        LayoutFacts(0, since=0, typed_paths=0, known=False),
        LayoutFacts(1, since=1, typed_paths=2, known=True),
        LayoutFacts(2, since=1, typed_paths=0, known=True),
    )
    assert [dict(one.layouts) for one in found.versions] == [{0: 1}, {0: 1, 1: 2, 2: 1}, {0: 1, 1: 1, 2: 1}]


def test_a_table_without_variants_has_one_unknown_layout_at_most(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("id", pa.int64())]))
    assert versions_of(table.snapshot).layouts == ()
    table.append(pa.table({"id": [1]}))
    assert [one.typed_paths for one in versions_of(table.snapshot).layouts] == [0]
