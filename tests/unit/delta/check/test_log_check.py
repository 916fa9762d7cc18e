"""A log that is replayed forwards: what each commit, checkpoint and checksum gets wrong, and where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, PROTOCOL, add, metadata, numbered, remove, write_commit
from shredlake.delta.check.log_check import LogCheck, LogState
from shredlake.delta.storage.storage import Storage
from shredlake.errors import CorruptLog, NotATable


def state(*commits: list[dict[str, Any]]) -> LogState:
    found = LogState()
    for version, actions in enumerate(commits):
        found.apply(f"commit {version}", "\n".join(map(json.dumps, actions)).encode())
    return found


def found_in(root: Path) -> list[tuple[str, str]]:
    """The rules that a log breaks, and the names of the files."""
    return [(one.rule, one.file.rpartition("/")[2]) for one in LogCheck(Storage(str(root))).findings()]


def log(root: Path, version: int, ending: str = "json") -> Path:
    return root / "_delta_log" / f"{version:020}.{ending}"


# ── One commit after the other ──────────────────────────────────────────────────────────────────────────


def test_the_state_follows_files_transactions_and_domains() -> None:
    domain = {"domain": "d", "configuration": "{}", "removed": False}
    first = [PROTOCOL, metadata(), add("a"), add("b", size=7), {"txn": {"appId": "x", "version": 1}}]
    second = [
        remove("./a"),
        add("b", size=8),
        {"txn": {"appId": "x", "version": 2}},
        {"domainMetadata": domain},
    ]
    found = state(first, second)
    assert {path: fact[0] for path, fact in found.files.items()} == {"b": 8}
    assert found.transactions["x"].version == 2
    assert set(found.domains) == {"d"}
    assert state(first, second, [{"domainMetadata": domain | {"removed": True}}]).domains == {}


def test_a_deletion_vector_makes_another_file_of_a_path() -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    found = state([add("a")], [remove("a"), add("a", deletionVector=vector)])
    assert list(found.files) == ["a\0ix"]
    assert (
        state(
            [add("a")], [add("a", deletionVector=vector), remove("a")], [remove("a", deletionVector=vector)]
        ).files
        == {}
    )


def test_an_empty_partition_value_is_null() -> None:
    assert (
        state([add("a", partitionValues={"p": ""})]).files
        == state([add("a", partitionValues={"p": None})]).files
    )


@pytest.mark.parametrize(
    "actions", [[], [add("a"), add("./a")], [add("a"), remove("a")], [metadata(), metadata()], [{"add": {}}]]
)
def test_a_commit_that_breaks_the_rules_is_an_error(actions: list[dict[str, Any]]) -> None:
    with pytest.raises(CorruptLog, match="commit 0"):
        state(actions)


# ── The whole log ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Five versions, and checkpoints of the second and the fourth."""
    made = sl.Table.create(tmp_path, ID_AND_VARIANT)
    for number in range(4):
        made.append(numbered(number, number + 1))
        if number % 2:
            made.checkpoint()
    return tmp_path


def test_a_sound_log_has_no_findings(table: Path) -> None:
    assert found_in(table) == []
    for version in (0, 1):
        log(table, version).unlink()
    assert found_in(table) == []  # the log was cleaned up


def test_what_is_not_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotATable):
        LogCheck(Storage(str(tmp_path)))


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ([0], []),  # the state starts with the checkpoint
        ([1], ["log-gap"]),
        ([3], ["log-gap"]),
        ([1, 3], ["log-gap", "log-gap"]),
        ([0, 1, 2], []),
        ([0, 1, 2, 3], ["log-gap"]),  # the older checkpoint still begins a log
    ],
)
def test_missing_commits(table: Path, gone: list[int], expected: list[str]) -> None:
    for version in gone:
        log(table, version).unlink()
    assert [rule for rule, _ in found_in(table)] == expected


def test_a_log_that_starts_nowhere(tmp_path: Path) -> None:
    write_commit(tmp_path, 3, [PROTOCOL, metadata()])
    [finding] = LogCheck(Storage(str(tmp_path))).findings()
    assert (finding.rule, finding.problem) == ("log-gap", "the log starts at commit 3, without a checkpoint")


def test_a_damaged_commit_is_found_once_and_the_next_checkpoint_goes_on(table: Path) -> None:
    log(table, 1).write_text('{"add": {"path": "x"}}\n')
    log(table, 3).write_text("{")
    check = LogCheck(Storage(str(table)))
    first, second = check.findings()
    assert (first.rule, first.problem) == ("commit", "line 1: an add action lacks the field size")
    assert second.file.endswith(log(table, 3).name)
    assert check.damaged == set()


def test_a_damaged_checkpoint_is_left_out_of_the_snapshot(table: Path) -> None:
    log(table, 4, "checkpoint.parquet").write_bytes(b"PAR1")
    check = LogCheck(Storage(str(table)))
    [finding] = check.findings()
    assert finding.problem.startswith("can't be read: ")
    assert check.damaged == {4}
    assert check.snapshot().segment.checkpoint == check.snapshot_at(2).segment.checkpoint
    assert (check.snapshot().version, len(check.snapshot().files)) == (4, 4)


def differences(root: Path, *actions: dict[str, Any]) -> str:
    """The finding on the checkpoint of a log whose first commit is then replaced."""
    replaced = {
        name: fields
        for action in (PROTOCOL, metadata(), *actions)
        for name, fields in action.items()
        if name != "add"
    }
    files = [action for action in actions if "add" in action]
    write_commit(root, 0, [*({name: fields} for name, fields in replaced.items()), *files])
    [finding] = LogCheck(Storage(str(root))).findings()
    assert finding.rule == "checkpoint"
    return finding.problem.removeprefix("differs from the commits up to it: ")


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([add("a")], "lacks 1 file (such as a)"),
        ([add("c"), add("b"), add("f")], "lacks 2 files (such as b)"),
        ([], "has too many: 1 file (such as f)"),
        ([add("f", size=9)], "differs in 1 file (such as f)"),
        ([add("f", partitionValues={"p": "1"})], "differs in 1 file (such as f)"),
        ([add("f"), metadata(configuration={"a": "b"})], "other metadata"),
        ([add("f"), {"txn": {"appId": "x", "version": 1}}], "other transactions"),
        ([add("f"), {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}}],
         "other domain metadata"),
        ([add("f"), {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}], "another protocol"),
        ([add("g"), metadata(id="x")],
         "other metadata; lacks 1 file (such as g); has too many: 1 file (such as f)"),
    ],
)  # fmt: skip
def test_how_a_checkpoint_differs(tmp_path: Path, actions: list[dict[str, Any]], expected: str) -> None:
    write_commit(tmp_path, 0, [PROTOCOL, metadata(), add("f")])
    sl.Table(tmp_path).checkpoint()
    assert found_in(tmp_path) == []
    if expected.startswith("lacks"):
        actions = [*actions, add("f")] if add("f") not in actions else actions
    assert differences(tmp_path, *actions) == expected


def test_a_checkpoint_may_leave_out_expired_transactions(tmp_path: Path) -> None:
    old = {"txn": {"appId": "x", "version": 1, "lastUpdated": 1}}
    keeps = metadata(configuration={"delta.setTransactionRetentionDuration": "interval 7 days"})
    for settings, expected in ((keeps, []), (metadata(), ["checkpoint"])):
        write_commit(tmp_path, 0, [PROTOCOL, settings])
        sl.Table(tmp_path).checkpoint()
        write_commit(tmp_path, 0, [PROTOCOL, settings, old])
        assert [rule for rule, _ in found_in(tmp_path)] == expected


# ── Checksums and the hint ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"numFiles": 0, "tableSizeBytes": 0, "others": 1}', None),
        ('{"numFiles": 1, "tableSizeBytes": 0}', "numFiles is 1, the log has 0"),
        ('{"numFiles": 1, "tableSizeBytes": 2}',
         "numFiles is 1, the log has 0; tableSizeBytes is 2, the log has 0"),
        ('{"numFiles": 0}', "is not a version checksum; it may be deleted"),
        ("null", "is not a version checksum; it may be deleted"),
        ("[" * 9999, "is not a version checksum; it may be deleted"),
        ("\xff", "is not a version checksum; it may be deleted"),
    ],
)  # fmt: skip
def test_version_checksums(table: Path, text: str, problem: str | None) -> None:
    log(table, 0, "crc").write_text(text)
    found = list(LogCheck(Storage(str(table))).findings())
    assert [one.problem for one in found] == ([] if problem is None else [problem])


@pytest.mark.parametrize("version", ["true", "1", "3", "-1", '"4"', "4.0", "null", "1e999"])
def test_a_hint_to_no_checkpoint_is_found(table: Path, version: str) -> None:
    (table / "_delta_log" / "_last_checkpoint").write_text(f'{{"version": {version}}}')
    assert found_in(table) == [("last-checkpoint", "_last_checkpoint")]


def test_a_log_without_a_hint_is_sound(table: Path) -> None:
    (table / "_delta_log" / "_last_checkpoint").unlink()
    assert found_in(table) == []
