"""A log can't lead readers out of the table by a path, a scheme, a link, a pipe or a device."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import shredlake as sl
from deletion_vectors import stored, with_vector
from shredlake.delta.protocol.actions import DeletionVector
from shredlake.delta.read.deletion_vectors import vector_path
from shredlake.errors import CorruptLog, InvalidFile, PathRefused, ShredlakeError, WrongType

ROWS = pa.table({"id": [1, 2, 3]})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    sl.Table.create(tmp_path / "t", ROWS.schema).append(ROWS)
    sl.Table.create(tmp_path / "other", ROWS.schema).append(ROWS)
    return tmp_path / "t"


def data_file(table: Path) -> Path:
    return next(table.glob("*.parquet"))


def renamed(table: Path, path: str, **fields: Any) -> None:
    """The log names the file by this path."""
    commit = table / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"] |= {"path": path} | fields
    commit.write_text("".join(json.dumps(action) + "\n" for action in actions))


def changed(file: Path, kind: str, field: str, value: Any) -> None:
    """Changes a field of all actions of a kind in a file of the log."""
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    assert any(kind in action for action in actions)
    for action in actions:
        if kind in action:
            action[kind][field] = value
    file.write_text("".join(json.dumps(action) + "\n" for action in actions))


def read_in_every_way(table: Path, **options: Any) -> list[int]:
    """The rows, after all doors gave the same."""
    opened = sl.Table(table, storage_options=options)
    rows: list[int] = opened.scan().to_arrow()["id"].to_pylist()
    assert opened.scan(where="id > 1").to_arrow().num_rows == 2
    assert opened.scan(where="id > 1").count() == 2
    return rows


OUTSIDE = {
    "absolute": lambda file: str(file),
    "file URL": lambda file: file.as_uri(),
    "file URL with one slash": lambda file: f"file:{file}",
    "dots": lambda file: f"../other/{file.name}",
    "dots, encoded": lambda file: f"%2e%2e/other/{file.name}",
    "dots, half encoded": lambda file: f".%2E/other/{file.name}",
    "slash, encoded": lambda file: f"..%2Fother%2F{file.name}",
    "dots inside": lambda file: f"a/../../other/{file.name}",
    "absolute with dots": lambda file: f"{file.parent.parent}/t/../other/{file.name}",
    "URL with encoded dots": lambda file: f"file://{quote(str(file.parent.parent))}/t/%2e%2e/other/{file.name}",
}  # fmt: skip


@pytest.mark.parametrize("spelling", OUTSIDE)
def test_a_path_outside_the_table_is_refused(table: Path, spelling: str) -> None:
    file = data_file(table.with_name("other"))
    renamed(table, OUTSIDE[spelling](file), size=file.stat().st_size)
    with pytest.raises((PathRefused, CorruptLog), match="outside the table"):
        sl.Table(table).scan().to_arrow()
    with pytest.raises((PathRefused, CorruptLog), match="outside the table"):
        sl.Table(table).scan(where="id > 1").count()
    assert [finding.rule for finding in sl.check_table(table).findings] == ["path"]


@pytest.mark.parametrize("spelling", ["absolute", "file URL", "file URL with one slash"])
def test_a_prefix_that_the_user_names_is_allowed(table: Path, spelling: str) -> None:
    other = table.with_name("other")
    renamed(table, OUTSIDE[spelling](data_file(other)), size=data_file(other).stat().st_size)
    for allowed in (other, [str(other)], [other.as_uri() + "/"]):
        assert read_in_every_way(table, allow_paths=allowed) == [1, 2, 3]
    for refused in ([], [str(other)[:-1]], [str(table)], ["s3://other"]):
        with pytest.raises(PathRefused, match="allow_paths"):
            read_in_every_way(table, allow_paths=refused)
    with pytest.raises(WrongType, match="allow_paths is a list"):
        read_in_every_way(table, allow_paths=5)


def test_its_own_files_may_be_named_absolutely(table: Path) -> None:
    renamed(table, str(data_file(table)))
    assert read_in_every_way(table) == [1, 2, 3]


def test_a_link_that_leads_out_is_refused(table: Path) -> None:
    file = data_file(table)
    target = table.with_name("other") / "target.parquet"
    shutil.move(file, target)
    file.symlink_to(target)
    with pytest.raises(PathRefused, match="outside the table"):
        read_in_every_way(table)
    assert read_in_every_way(table, allow_paths=[target.parent]) == [1, 2, 3]
    file.unlink()
    shutil.copy(target, table / "copy.parquet")
    file.symlink_to(table / "copy.parquet")
    assert read_in_every_way(table) == [1, 2, 3]  # it stays inside


def test_a_folder_or_a_log_that_is_a_link_out_is_refused(table: Path) -> None:
    name = data_file(table).name
    moved = table.with_name("moved")
    moved.mkdir()
    shutil.move(data_file(table), moved / name)
    (table / "d").symlink_to(moved)
    renamed(table, f"d/{name}")
    with pytest.raises(PathRefused):
        read_in_every_way(table)
    shutil.move(table / "_delta_log", moved / "_delta_log")
    (table / "_delta_log").symlink_to(moved / "_delta_log")
    with pytest.raises(ShredlakeError):
        sl.Table(table)
    (table / "_delta_log").unlink()
    (table / "_delta_log").mkdir()
    (table / "_delta_log" / f"{0:020}.json").symlink_to("/etc/hostname")
    with pytest.raises(PathRefused) as refused:
        sl.Table(table)
    assert Path("/etc/hostname").read_text().strip() not in str(refused.value).replace("/etc/hostname", "")


def test_the_tables_own_folder_may_be_a_link(table: Path) -> None:
    link = table.with_name("link")
    link.symlink_to(table)
    assert read_in_every_way(link) == [1, 2, 3]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_pipe_or_a_device_is_refused_and_not_read(table: Path, kind: str) -> None:
    file = data_file(table)
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    with pytest.raises((PathRefused, InvalidFile, ShredlakeError)):
        read_in_every_way(table, **({"allow_paths": ["/dev"]} if kind == "device" else {}))
    assert not sl.check_table(table).ok


def test_nothing_is_contacted_that_the_user_did_not_name(table: Path) -> None:
    """A server waits for a connection that must not come."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        called = threading.Event()

        def wait() -> None:
            try:
                server.accept()
                called.set()
            except OSError:
                return

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        host = f"127.0.0.1:{server.getsockname()[1]}"
        vector = {"storageType": "p", "sizeInBytes": 40, "cardinality": 6, "offset": 0}
        name = data_file(table).name
        for address in (f"http://{host}/x.parquet", f"s3://{host}/x.parquet", f"az://{host}/x.parquet"):
            renamed(table, address, deletionVector=None)
            with pytest.raises(PathRefused):
                sl.Table(table).scan().to_arrow()
            renamed(table, name, deletionVector=vector | {"pathOrInlineDv": address})
            with pytest.raises(PathRefused):
                sl.Table(table).scan().to_arrow()
            sl.check_table(table)
            sl.Table(table).vacuum()
            sl.Table(table).history()
        assert not called.is_set()


def test_a_deletion_vector_can_not_lead_out() -> None:
    with pytest.raises(CorruptLog, match="outside the table"):
        vector_path(DeletionVector("u", "../../ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 4))


def test_the_option_reaches_the_command_line(table: Path) -> None:
    from typer.testing import CliRunner

    from shredlake.cli.app import app

    other = table.with_name("other")
    renamed(table, str(data_file(other)), size=data_file(other).stat().st_size)
    run, count = CliRunner().invoke, ["count", str(table), "--where", "id > 1"]
    assert run(app, count).exit_code == 1
    assert run(app, [*count, "--storage-option", f"allow_paths={other}"]).output.strip() == "2"


def test_a_count_by_the_log_opens_nothing_outside(tmp_path: Path) -> None:
    """Such a count believes the log and follows no path; the rows of the same table are refused."""
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1, 2]}))
    log = tmp_path / "t" / "_delta_log" / f"{1:020}.json"
    [add] = [json.loads(line)["add"] for line in log.read_text().splitlines() if '"add"' in line]
    log.write_text(log.read_text().replace(add["path"], "../elsewhere.parquet"))
    opened = sl.Table(tmp_path / "t")
    assert opened.scan().count() == 2
    for read in (lambda: opened.scan().to_arrow(), lambda: opened.scan(where="id = 1").count()):
        with pytest.raises((CorruptLog, PathRefused), match="outside the table"):
            read()


SPELLINGS = {
    "doubly encoded dots": "%252e%252e/other/{name}",
    "doubly encoded slashes": "..%252Fother%252F{name}",
    "backslashes": "..\\other\\{name}",
    "encoded backslashes": "..%5Cother%5C{name}",
    "dots, then a backslash": "x\\../../other/{name}",
    "NUL": "../other/{name}%00.parquet",
    "NUL, not encoded": "../other/{name}\0.parquet",
    "absolute with NUL": "{other}/{name}%00",
    "file URL with NUL": "file://{other}/{name}%00",
    "upper-case scheme": "FILE://{other}/{name}",
    "mixed-case scheme": "File:{other}/{name}",
    "mixed-case scheme with a host": "fiLe://localhost{other}/{name}",
    "scheme of a store": "S3://other/{name}",
    "two slashes": "//{other}/{name}",
    "broken address": "http://[{other}/{name}",
}
"""Ways to name a file of the folder `other`, beside the table: readers that decode too much would find it."""


def spelled(spelling: str, file: Path, other: Path) -> str:
    return SPELLINGS[spelling].format(other=other, name=file.relative_to(other).as_posix())


def opened_below(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files below a folder that Python opens from now on; pyarrow's own are seen by `memory_map`."""
    seen: list[str] = []

    def noted(open_one: Any) -> Any:
        def call(path: Any, *given: Any, **how: Any) -> Any:
            if isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(f"{folder}/"):
                seen.append(str(path))
            return open_one(path, *given, **how)

        return call

    monkeypatch.setattr(os, "open", noted(os.open))
    monkeypatch.setattr("builtins.open", noted(open))
    monkeypatch.setattr(pa, "memory_map", noted(pa.memory_map))
    return seen


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_data_file_leads_out(
    table: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = table.with_name("other")
    file = data_file(other)
    renamed(table, spelled(spelling, file, other), size=file.stat().st_size, stats=None)
    seen = opened_below(other, monkeypatch)
    for read in (
        lambda: sl.Table(table).scan().to_arrow(),
        lambda: sl.Table(table).scan(where="id > 1").count(),
        lambda: sl.Table(table).delete("id = 1"),
        lambda: sl.Table(table).optimize(sort_by=["id"]),
    ):
        with pytest.raises(ShredlakeError):
            read()
    assert not sl.check_table(table).ok
    with suppress(ShredlakeError):
        sl.Table(table).vacuum(retention_hours=0, dry_run=False, enforce_retention=False)
    assert seen == []
    assert file.exists()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_change_file_leads_out(
    tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t", "other"):
        made = sl.Table.create(
            tmp_path / name, ROWS.schema, properties={"delta.enableChangeDataFeed": "true"}
        )
        made.append(ROWS)
        made.delete("id = 1")
    other = tmp_path / "other"
    [file] = (other / "_change_data").rglob("*.parquet")
    changed(tmp_path / "t" / "_delta_log" / f"{2:020}.json", "cdc", "path", spelled(spelling, file, other))
    seen = opened_below(other, monkeypatch)
    with pytest.raises(ShredlakeError):
        sl.Table(tmp_path / "t").changes(2, 2)
    assert seen == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_vector_leads_out(
    tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t", "other"):
        (tmp_path / name).mkdir()
        with_vector(tmp_path / name, stored(tmp_path / name, [1]))
    other = tmp_path / "other"
    [file] = (other / "ab").iterdir()
    log = tmp_path / "t" / "_delta_log" / f"{2:020}.json"
    vector = next(
        json.loads(line)["add"]["deletionVector"] for line in log.read_text().splitlines() if '"add"' in line
    )
    address = spelled(spelling, file, other)
    seen = opened_below(other, monkeypatch)
    for changes in (
        {"storageType": "p", "pathOrInlineDv": address},
        {"pathOrInlineDv": address.partition("ab/")[0] + vector["pathOrInlineDv"]},
    ):
        changed(log, "add", "deletionVector", vector | changes)
        for read in (
            lambda: sl.Table(tmp_path / "t").scan().to_arrow(),
            lambda: sl.Table(tmp_path / "t").delete("id = 5"),
        ):
            with pytest.raises(ShredlakeError):
                read()
        assert not sl.check_table(tmp_path / "t").ok
    assert seen == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_sidecar_leads_out(
    tmp_path: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t", "other"):
        made = sl.Table.create(tmp_path / name, ROWS.schema, properties={"delta.checkpointPolicy": "v2"})
        made.append(ROWS)
        made.checkpoint()
    other, log = tmp_path / "other", tmp_path / "t" / "_delta_log"
    [file] = (other / "_delta_log" / "_sidecars").iterdir()
    [checkpoint] = log.glob("*.checkpoint.*.json")
    changed(checkpoint, "sidecar", "path", spelled(spelling, file, other))
    for commit in log.glob("0" * 19 + "?.json"):
        commit.unlink()
    seen = opened_below(other, monkeypatch)
    with pytest.raises(ShredlakeError):
        sl.Table(tmp_path / "t").scan().to_arrow()
    with suppress(ShredlakeError):
        sl.Table(tmp_path / "t").vacuum(retention_hours=0, dry_run=False, enforce_retention=False)
    assert seen == []
    assert file.exists()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_in_the_last_checkpoint_leads_out(
    table: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = table.with_name("other")
    for place in (table, other):
        sl.Table(place).checkpoint()
    [file] = (other / "_delta_log").glob("*.checkpoint.parquet")
    address = spelled(spelling, file, other)
    hint = table / "_delta_log" / "_last_checkpoint"
    v2 = {"path": address, "sizeInBytes": 1, "modificationTime": 1, "sidecarFiles": [{"path": address}]}
    seen = opened_below(other, monkeypatch)
    for version in (1, address):
        hint.write_text(json.dumps({"version": version, "size": 1, "path": address, "v2Checkpoint": v2}))
        assert read_in_every_way(table) == [1, 2, 3]
    assert seen == []
