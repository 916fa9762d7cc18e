"""String columns of JSON into Variants: every row is once in the table or in the rejects table."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.delta.schema.partitions import NULL_DIRECTORY
from shredlake.jobs.convert import convert as job
from shredlake.jobs.convert import task
from shredlake.jobs.convert.journal import FOLDER
from shredlake.jobs.ingest.parse_task import Parsing

SCHEMA = pa.schema([("id", pa.int64()), ("payload", pa.string()), ("day", pa.string())])


def text(n: int) -> str | None:
    """Rows 3, 13, 23 are not JSON, rows 7, 17, 27 are null."""
    if n % 10 == 3:
        return f'{{"n": {n}'
    return None if n % 10 == 7 else json.dumps({"n": n, "tags": ["a", n], "big": n / 3})


def rows(start: int, stop: int) -> list[dict[str, Any]]:
    return [{"id": n, "payload": text(n), "day": f"d{n % 2}"} for n in range(start, stop)]


def make(where: Path, files: int = 3, **options: Any) -> sl.Table:
    table = sl.Table.create(where, SCHEMA, **options)
    for number in range(files):
        table.append(rows(number * 10, number * 10 + 10))
    return table


def check(table: sl.Table, rejects: Path | str, count: int) -> None:
    found = table.scan(["id", "payload", "day"]).to_arrow()
    values = dict(zip(found["id"].to_pylist(), sl.to_json(found["payload"]).to_pylist(), strict=True))
    expected = {n: text(n) for n in range(count) if n % 10 != 3}
    assert len(found) == len(values) == len(expected)
    assert {n: None if value is None else json.loads(value) for n, value in values.items()} == {
        n: None if value is None else json.loads(value) for n, value in expected.items()
    }
    kept = sl.Table(rejects).scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["payload"], row["day"]) for row in kept) == [
        (n, text(n), f"d{n % 2}") for n in range(3, count, 10)
    ]
    assert {row["_column"] for row in kept} == {"payload"}
    assert all(row["_reason"] and row["_file"].endswith(".parquet") and row["_row"] >= 0 for row in kept)


@pytest.mark.parametrize(
    "options", [{}, {"partition_by": ["day"]}, {"properties": {"delta.columnMapping.mode": "name"}}]
)
def test_in_place(tmp_path: Path, options: dict[str, Any]) -> None:
    before = make(tmp_path / "t", **options)
    report = sl.convert(tmp_path / "t", ["payload"])
    assert (report.documents, report.rows, report.rejects, report.resumed) == (30, 27, 3, 0)
    table = sl.Table(tmp_path / "t")
    assert table.version == before.version + 1
    assert table.schema.field("payload").type == sl.variant()
    assert {"variantType", "variantShredding"} <= set(table.protocol.reader_features or ())
    check(table, tmp_path / "t_rejects", 30)
    assert table.history(1)[0]["operation"] == "CONVERT TO VARIANT"
    assert table.scan(["payload:n::bigint AS n"], where="payload:n::bigint = 25").to_arrow()[
        "n"
    ].to_pylist() == [25]
    assert table.scan(where="payload:n::bigint > 28").files().num_rows <= 2
    old = sl.Table(tmp_path / "t", version=before.version)
    assert old.scan(["payload"]).to_arrow().schema.field(0).type == pa.string()
    assert not list((tmp_path / "t" / FOLDER).rglob("*.*")), "the journal is gone"
    again = sl.convert(tmp_path / "t", ["payload"])
    assert again.already_done
    assert sl.Table(tmp_path / "t").version == table.version


def test_beside(tmp_path: Path) -> None:
    make(tmp_path / "t")
    report = sl.convert(tmp_path / "t", ["payload"], target=tmp_path / "copy", rejects=str(tmp_path / "bad"))
    assert (report.rows, report.rejects) == (27, 3)
    assert sl.Table(tmp_path / "t").schema.field("payload").type == pa.string()
    check(sl.Table(tmp_path / "copy"), tmp_path / "bad", 30)
    assert sl.convert(tmp_path / "t", ["payload"], target=tmp_path / "copy").already_done
    with pytest.raises(sl.TableExists, match="name another address for the copy"):
        sl.convert(tmp_path / "t", ["payload"], target=tmp_path / "copy", shredding=None)


@pytest.mark.parametrize("target", [None, "copy"])
def test_parquet_files(tmp_path: Path, target: str | None) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(3):
        pq.write_table(
            pa.Table.from_pylist(rows(number * 10, number * 10 + 10), SCHEMA), folder / f"{number}.parquet"
        )
    where = None if target is None else tmp_path / target
    report = sl.convert(folder, ["payload"], target=where)
    assert (report.documents, report.rejects) == (30, 3)
    place = where or folder
    check(sl.Table(place), f"{place}_rejects", 30)
    if target is None:
        assert sl.convert(folder, ["payload"]).already_done


@pytest.mark.parametrize("target", [None, "copy"])
def test_folders_as_hive_names_them(tmp_path: Path, target: str | None) -> None:
    given = [("d0", "2026-01-01", "07"), ("d1", "2026-01-02", "12"), ("d%2F2", NULL_DIRECTORY, "3")]
    for number, (day, at, hour) in enumerate(given):
        folder = tmp_path / "hive" / f"day={day}" / f"at={at}" / f"hour={hour}"
        folder.mkdir(parents=True)
        part = pa.Table.from_pylist(rows(number * 10, number * 10 + 10), SCHEMA).select(["id", "payload"])
        pq.write_table(part, folder / "a.parquet")
    place = tmp_path / (target or "hive")
    report = sl.convert(tmp_path / "hive", ["payload"], target=None if target is None else place)
    assert (report.documents, report.rows, report.rejects) == (30, 27, 3)
    table = sl.Table(place)
    assert table.schema.names == ["id", "payload", "day", "at", "hour"]
    assert table.snapshot.metadata.partition_columns == ("day", "at", "hour")
    found = table.scan(["id", "day", "at", "hour"], where="payload:n::int % 10 = 1").to_arrow()
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == [
        (1, "d0", date(2026, 1, 1), 7), (11, "d1", date(2026, 1, 2), 12), (21, "d/2", None, 3),
    ]  # fmt: skip
    rejects = sl.Table(f"{place}_rejects").scan(["id", "hour"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["hour"]) for row in rejects) == [(3, 7), (13, 12), (23, 3)]


def test_several_columns(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    table = sl.Table.create(tmp_path / "t", schema)
    table.append([{"a": "1", "b": "[2]"}, {"a": "x", "b": "y"}, {"a": "3", "b": "z"}, {"a": None, "b": None}])
    report = sl.convert(tmp_path / "t", ["A", "b"], shredding=None)
    assert (report.rows, report.rejects, report.layout) == (2, 2, None)
    found = sl.Table(tmp_path / "t").scan().to_arrow()
    assert sl.to_json(found["a"]).to_pylist() == ["1", None]
    assert sl.to_json(found["b"]).to_pylist() == ["[2]", None]
    kept = sl.Table(tmp_path / "t_rejects").scan(["_column", "a", "b", "_row"]).to_arrow().to_pylist()
    assert kept == [
        {"_column": "a", "a": "x", "b": "y", "_row": 1},
        {"_column": "b", "a": "3", "b": "z", "_row": 2},
    ]


class Stop(Exception):
    """Stands for a kill: nothing is cleaned up."""


def stopping(monkeypatch: pytest.MonkeyPatch, name: str, after: int) -> None:
    """Ends the job when a function is called once too often."""
    real, calls = getattr(job, name), []

    def stop(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) > after:
            raise Stop
        return real(*given, **named)

    monkeypatch.setattr(job, name, stop)


@pytest.mark.parametrize("target", [None, "copy"])
@pytest.mark.parametrize(
    ("name", "after"), [("convert_files", 1), ("append", 0), ("append", 1), ("commit", 0)]
)
def test_an_interrupted_job_goes_on(tmp_path: Path, name: str, after: int, target: str | None) -> None:
    make(tmp_path / "t", files=4)
    where = None if target is None else tmp_path / target
    place = where or tmp_path / "t"
    with pytest.MonkeyPatch.context() as monkeypatch:
        stopping(monkeypatch, name, after)
        with pytest.raises(Stop):
            sl.convert(tmp_path / "t", ["payload"], target=where, file_bytes=1, threads=1)
    if target is None:
        sl.Table(tmp_path / "t").append(rows(40, 50))  # another writer, meanwhile
    report = sl.convert(tmp_path / "t", ["payload"], target=where, file_bytes=1, threads=1)
    assert report.resumed == (1 if name == "convert_files" else 4)
    check(sl.Table(place), f"{place}_rejects", 50 if target is None else 40)


def test_rows_that_are_added_meanwhile_are_converted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "t")
    real = job.commit  # type: ignore[attr-defined]

    def late(*given: Any, **named: Any) -> int:
        if not late_rows:
            late_rows.append(sl.Table(tmp_path / "t").append(rows(30, 40)))
        return real(*given, **named)

    late_rows: list[int] = []
    monkeypatch.setattr(job, "commit", late)
    report = sl.convert(tmp_path / "t", ["payload"], file_bytes=1)
    assert (report.documents, report.resumed) == (40, 3)
    check(sl.Table(tmp_path / "t"), tmp_path / "t_rejects", 40)


def test_an_entry_whose_files_are_gone_is_done_again(tmp_path: Path) -> None:
    make(tmp_path / "t")
    with pytest.MonkeyPatch.context() as monkeypatch:
        stopping(monkeypatch, "commit", 0)
        with pytest.raises(Stop):
            sl.convert(tmp_path / "t", ["payload"], file_bytes=1)
    live = set(sl.Table(tmp_path / "t").files()["path"].to_pylist())
    made = [file for file in (tmp_path / "t").glob("*.parquet") if file.name not in live]
    made[0].unlink()
    made[1].write_bytes(b"x")
    report = sl.convert(tmp_path / "t", ["payload"], file_bytes=1)
    assert report.resumed == 1
    check(sl.Table(tmp_path / "t"), tmp_path / "t_rejects", 30)


def test_new_files_are_compared_with_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "t")
    real = task.write_and_sum  # type: ignore[attr-defined]

    def wrong(target: Any, files: Any, batches: Any, written: Any) -> Any:
        changed = (pa.concat_batches([batch.slice(1), batch.slice(1, 1)]) for batch in batches)
        return real(target, files, changed, written)

    monkeypatch.setattr(task, "write_and_sum", wrong)
    with pytest.raises(sl.VerificationFailed, match="the new files differ from the old ones"):
        sl.convert(tmp_path / "t", ["payload"])


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        (["nothing"], {}, sl.InvalidSchema, "has no column 'nothing'; it has id, payload, day"),
        (["id"], {}, sl.InvalidSchema, "column 'id' of .* is long; only strings hold JSON"),
        ("payload", {}, sl.InvalidSchema, "as a list"),
        ([], {}, sl.InvalidSchema, "name the string columns"),
        (["day"], {}, sl.NotJson, "none of 30 rows has JSON in day"),
        (["payload"], {"max_rejects": 2}, sl.TooManyRejects, "3 of 30"),
        (["payload"], {"rejects": "{table}"}, sl.PipelineError, "the table itself"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, columns: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    before = make(tmp_path / "t")
    given: dict[str, Any] = {
        key: str(tmp_path / "t") if value == "{table}" else value for key, value in options.items()
    }
    with pytest.raises(error, match=message):
        sl.convert(tmp_path / "t", columns, **given)
    assert sl.Table(tmp_path / "t").version == before.version
    assert not (tmp_path / "t_rejects").exists()


def test_a_single_file_is_named_in_errors(tmp_path: Path) -> None:
    pq.write_table(pa.table({"payload": pa.array([b"{}"])}), tmp_path / "one.parquet")
    with pytest.raises(sl.InvalidSchema, match=r"'payload' of .*/one\.parquet is binary; only strings"):
        sl.convert(tmp_path / "one.parquet", ["payload"], target=tmp_path / "t")


def test_files_of_one_folder_are_different_sources(tmp_path: Path) -> None:
    """The second file was once taken for the first, and its rows were left out."""
    for name in ("a b", "b"):
        pq.write_table(pa.table({"payload": ["1"]}), tmp_path / f"{name}.parquet")
    assert sl.convert(tmp_path / "a b.parquet", ["payload"], target=tmp_path / "t").rows == 1
    assert sl.convert(tmp_path / "a b.parquet", ["payload"], target=tmp_path / "t").already_done
    with pytest.raises(sl.TableExists, match="already a table; name another address"):
        sl.convert(tmp_path / "b.parquet", ["payload"], target=tmp_path / "t")


def test_a_folder_may_be_called_like_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "all.parquet"
    folder.mkdir()
    with pytest.raises(sl.NotATable, match=r"all\.parquet is neither a Delta table"):
        sl.convert(folder, ["payload"], target=tmp_path / "t")
    pq.write_table(pa.table({"payload": ["1"]}), folder / "one.parquet")
    assert sl.convert(folder, ["payload"], target=tmp_path / "t").rows == 1


def test_what_is_refused_of_files_and_partitions(tmp_path: Path) -> None:
    make(tmp_path / "t", partition_by=["day"])
    with pytest.raises(sl.InvalidSchema, match="is partitioned by 'day'"):
        sl.convert(tmp_path / "t", ["day"])
    folder = tmp_path / "hive" / "day=1"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"payload": ["1"]}), folder / "a.parquet")
    pq.write_table(pa.table({"payload": ["1"]}), tmp_path / "hive" / "b.parquet")
    with pytest.raises(sl.InvalidSchema, match=r"different columns: .*none"):
        sl.convert(tmp_path / "hive", ["payload"])
    with pytest.raises(sl.InvalidSchema, match="a single file can't be converted in place"):
        sl.convert(folder / "a.parquet", ["payload"])
    assert sl.convert(folder / "a.parquet", ["payload"], target=tmp_path / "one").rows == 1
    with pytest.raises(sl.NotATable, match="neither a Delta table, a Parquet file nor"):
        sl.convert(tmp_path / "none", ["payload"])


def test_a_journal_that_can_t_be_removed_is_not_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The commit is there, so the conversion is done; vacuum removes what is left of it."""
    make(tmp_path / "t")

    def fail(*_: object) -> None:
        raise OSError("the disk is read-only")

    with monkeypatch.context() as patch:
        patch.setattr("shredlake.delta.storage.local_files.LocalFiles.delete", fail)
        assert sl.convert(tmp_path / "t", ["payload"]).rows == 27
    assert "stays until vacuum" in caplog.text
    assert list((tmp_path / "t" / FOLDER).rglob("*.json"))
    sl.Table(tmp_path / "t").vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    assert not [path for path in (tmp_path / "t" / FOLDER).rglob("*") if path.is_file()]


def test_a_quarantine_that_can_t_be_written_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "t")

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("shredlake.jobs.ingest.rejects.ParquetWriter", fail)
    with pytest.raises(sl.TableError, match=r"could not be written: .*no space left"):
        sl.convert(tmp_path / "t", ["payload"])


def test_other_options_do_not_continue_the_work_of_an_interrupted_job(tmp_path: Path) -> None:
    """Its tasks rejected documents that the new options accept."""
    table = sl.Table.create(tmp_path / "t", SCHEMA)
    table.append(
        [{"id": 1, "payload": '{"a": 1, "a": 2}', "day": "d"}, {"id": 2, "payload": "3", "day": "d"}]
    )
    with pytest.MonkeyPatch.context() as monkeypatch:
        stopping(monkeypatch, "commit", 0)
        with pytest.raises(Stop):
            sl.convert(tmp_path / "t", ["payload"])
    report = sl.convert(tmp_path / "t", ["payload"], parsing=Parsing(duplicate_keys="last_wins"))
    assert (report.rows, report.rejects, report.resumed) == (2, 0, 0)


def test_files_of_different_columns_keep_all_of_them(tmp_path: Path) -> None:
    source = tmp_path / "raw"
    source.mkdir()
    pq.write_table(pa.table({"id": [1], "payload": ['{"a":1}']}), source / "a.parquet")
    pq.write_table(pa.table({"id": [2], "payload": ['{"a":2}'], "later": ["x"]}), source / "b.parquet")
    sl.convert(source, ["payload"], target=tmp_path / "t")
    found = sl.Table(tmp_path / "t").scan(["id", "later"]).to_arrow().to_pylist()
    assert sorted(found, key=str) == [{"id": 1, "later": None}, {"id": 2, "later": "x"}]
    pq.write_table(pa.table({"id": [0.1], "payload": ['{"a":3}']}), source / "c.parquet")
    with pytest.raises(sl.InvalidSchema, match=r"raw/c.parquet does not fit the files before it: .*id"):
        sl.convert(source, ["payload"], target=tmp_path / "u")


def test_rows_of_an_append_only_table_are_not_replaced(tmp_path: Path) -> None:
    make(tmp_path / "t", properties={"delta.appendOnly": "true"})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(sl.TableError, match="is append-only"):
        sl.convert(tmp_path / "t", ["payload"])
    assert sorted(tmp_path.rglob("*")) == before, "refused before any work"
    sl.convert(tmp_path / "t", ["payload"], target=tmp_path / "copy")


def test_rejects_of_several_jobs(tmp_path: Path) -> None:
    """By default all jobs on a table share its rejects table."""
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    table = sl.Table.create(tmp_path / "t", schema)
    table.append([{"a": "1", "b": "2"}, {"a": "bad", "b": "2"}, {"a": "1", "b": "bad"}])
    assert sl.convert(tmp_path / "t", ["a"]).rejects == 1
    version = sl.Table(tmp_path / "t").version
    with pytest.raises(sl.InvalidSchema, match=r"t_rejects holds rejects of another job.*'a'.*rejects="):
        sl.convert(tmp_path / "t", ["b"])
    assert sl.Table(tmp_path / "t").version == version
    assert not list((tmp_path / "t" / FOLDER).rglob("*.json")), "refused before any work"
    orders = sl.Table.create(tmp_path / "orders", pa.schema([("n", pa.int64())]))
    with pytest.raises(sl.InvalidSchema, match="orders is not a rejects table of a conversion: it has n"):
        sl.convert(tmp_path / "t", ["b"], rejects=orders.uri)
    assert sl.convert(tmp_path / "t", ["b"], rejects=str(tmp_path / "others")).rejects == 1


def test_an_ingest_may_follow_a_conversion(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", pa.schema([("v", pa.string())]))
    table.append([{"v": "1"}, {"v": "bad"}])
    sl.convert(tmp_path / "t", ["v"])
    (tmp_path / "a.ndjson").write_text('{"a": 1}\n{"a":\n')
    assert sl.ingest(tmp_path / "a.ndjson", tmp_path / "t").rejects == 1
    kept = sl.Table(tmp_path / "t_rejects").scan(["_column", "reason", "raw"]).to_arrow().to_pylist()
    assert sorted((row["_column"], row["raw"]) for row in kept if row["raw"]) == [(None, b'{"a":\n')]
    assert len(kept) == 2
    [shown] = sl.Table(tmp_path / "t").report().rejects or ()
    assert shown.count == 1
