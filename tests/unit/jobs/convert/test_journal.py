"""A journal that is damaged, or that someone else wrote, costs work and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.jobs.convert import convert as job
from shredlake.jobs.convert.journal import FOLDER, PLAN

DEEP = "[" * 100_000
Json = dict[str, Any]


class Stop(Exception):
    """Stands for a kill: nothing is cleaned up."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A table of three files whose conversion was killed before its commit; its journal has all of them."""
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64()), ("j", pa.string())]))
    for n in range(3):
        table.append([{"id": 2 * n, "j": f'{{"n": {n}}}'}, {"id": 2 * n + 1, "j": "{"}])

    def stop(*_: Any, **__: Any) -> Any:
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "commit", stop)
        with pytest.raises(Stop):
            convert(tmp_path / "t")
    (tmp_path / "outside.parquet").write_bytes(b"not yours")
    yield tmp_path / "t"
    assert (tmp_path / "outside.parquet").read_bytes() == b"not yours"
    found = sl.Table(tmp_path / "t").scan(["id", "j:n::int AS n"]).to_arrow()
    assert sorted(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True)) == [
        (0, 0),
        (2, 1),
        (4, 2),
    ]
    assert all(path.startswith("part-") for path in sl.Table(tmp_path / "t").files()["path"].to_pylist())


def convert(folder: Path) -> sl.IngestReport:
    return sl.convert(folder, ["j"], file_bytes=1, threads=1)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / FOLDER).rglob("*.json") if path.name != PLAN)


def test_a_whole_journal_is_believed(folder: Path) -> None:
    assert convert(folder).resumed == 3


NOT_JSON = ["", "{", "[]", "null", "1", '"x"', DEEP, "\x00", "[1e999]"]


@pytest.mark.parametrize("text", NOT_JSON, ids=lambda text: text[:10])
def test_an_entry_that_is_no_entry(folder: Path, text: str) -> None:
    entries(folder)[0].write_text(text)
    assert convert(folder).resumed == 2


def in_add(**fields: Any) -> Callable[[Json], None]:
    return lambda entry: entry["adds"][0].update(fields)


def in_entry(**fields: Any) -> Callable[[Json], None]:
    return lambda entry: entry.update(fields)


CHANGES: dict[str, Callable[[Json], None]] = {
    "a path that leaves the table": in_add(path="../outside.parquet", size=9),
    "the same, encoded": in_add(path="%2e%2e/outside.parquet", size=9),
    "an absolute path": in_add(path="/etc/passwd"),
    "an address": in_add(path="s3://other/a.parquet"),
    "a file of the log": in_add(path="_delta_log/00000000000000000000.json"),
    "a hidden file": in_add(path=".x.parquet"),
    "an empty path": in_add(path=""),
    "a path that is a number": in_add(path=7),
    "a size that is text": in_add(size="9"),
    "another size": in_add(size=3),
    "a partition value that is a number": in_add(partitionValues={"p": 1}),
    "a deletion vector": in_add(
        deletionVector={
            "storageType": "p",
            "pathOrInlineDv": "/etc/passwd",
            "sizeInBytes": 1,
            "cardinality": 1,
        }
    ),
    "an entry that changes no data": in_add(dataChange=False),
    "a field that convert does not write": in_add(clusteringProvider="other"),
    "bounds that hide rows": in_add(
        stats='{"numRecords":1,"minValues":{"id":7},"maxValues":{"id":7},"nullCount":{"id":0,"j":0}}'
    ),
    "a count of rows that is not so": in_add(stats='{"numRecords":2}'),
    "a layout that hides values": in_add(tags={"shredlake.layout": '{"j":{"shredding":"int"}}'}),
    "one row more, which was rejected": in_entry(read=3, rejected=2),
    "an add that is a list": in_entry(adds=[[]]),
    "adds that are a number": in_entry(adds=1),
    "an unknown field": in_entry(more=1),
    "a count that is text": in_entry(rows="1"),
    "a count that is infinite": in_entry(read=float("inf"), rejected=float("inf")),
    "counts that do not agree": in_entry(rows=2),
    "negative counts": in_entry(read=-1, rows=-1, rejected=0),
    "rejects elsewhere": in_entry(staged="../../../outside.parquet"),
    "rejects that are a number": in_entry(staged=1),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_entry_that_the_task_can_not_have_recorded(folder: Path, change: str) -> None:
    path = entries(folder)[0]
    raw = json.loads(path.read_text())
    CHANGES[change](raw)
    path.write_text(json.dumps(raw))
    assert convert(folder).resumed == 2


def test_an_entry_that_names_a_file_of_the_table_or_of_another_entry(folder: Path) -> None:
    first, second, third = entries(folder)
    raw = json.loads(first.read_text())
    live = sl.Table(folder).files().to_pylist()[0]
    first.write_text(
        json.dumps(raw | {"adds": [raw["adds"][0] | {"path": live["path"], "size": live["size"]}]})
    )
    other = json.loads(third.read_text())
    second.write_text(json.dumps(json.loads(second.read_text()) | {"adds": other["adds"]}))
    assert convert(folder).resumed == 0


def test_files_with_rows_of_somebody_else(folder: Path) -> None:
    """The entry, the file and its statistics agree with each other, but not with the source."""
    table = sl.Table.create(folder.parent / "other", pa.schema([("id", pa.int64()), ("j", sl.variant())]))
    table.append(pa.table({"id": [666], "j": sl.from_json(['{"n": 666}'])}))
    [other] = table.files().to_pylist()
    path = entries(folder)[0]
    raw = json.loads(path.read_text())
    (folder / raw["adds"][0]["path"]).write_bytes((folder.parent / "other" / other["path"]).read_bytes())
    raw["adds"][0] |= {"size": other["size"], "stats": None, "tags": None}
    path.write_text(json.dumps(raw))
    assert convert(folder).resumed == 2


def test_rejects_of_somebody_else(folder: Path) -> None:
    first, second, _ = (path.with_suffix(".parquet") for path in entries(folder))
    first.write_bytes(second.read_bytes())
    assert convert(folder).resumed == 2
    rejects = sl.Table(f"{folder}_rejects").scan().to_arrow()
    assert sorted(rejects["id"].to_pylist()) == [1, 3, 5]


def test_an_entry_that_names_a_link_out_of_the_table(folder: Path) -> None:
    path = entries(folder)[0]
    raw = json.loads(path.read_text())
    (folder / "part-link.parquet").symlink_to(folder.parent / "outside.parquet")
    raw["adds"][0].update(path="part-link.parquet", size=9)
    path.write_text(json.dumps(raw))
    assert convert(folder).resumed == 2


def test_rejects_that_are_a_link_out_of_the_table(folder: Path) -> None:
    staged = entries(folder)[0].with_suffix(".parquet")
    staged.unlink()
    staged.symlink_to(folder.parent / "outside.parquet")
    with pytest.raises(sl.PathRefused, match="outside the table"):
        convert(folder)
    staged.unlink()
    assert convert(folder).resumed == 2


PLANS = [
    *NOT_JSON,
    '{"layout":[],"tasks":[]}',
    '{"layout":{"j":7},"tasks":[]}',
    '{"layout":{"j":"struct<"},"tasks":[]}',
    '{"layout":{},"tasks":{}}',
    '{"layout":{},"tasks":[7]}',
    '{"layout":{},"tasks":[[7]]}',
    '{"layout":{},"tasks":[["a","a"]]}',
]


@pytest.mark.parametrize("text", PLANS, ids=lambda text: text[:30])
def test_a_plan_that_is_no_plan(folder: Path, text: str) -> None:
    [path] = (folder / FOLDER).rglob(PLAN)
    path.write_text(text)
    assert convert(folder).resumed == 3  # a new plan has the same tasks


def test_a_plan_that_names_a_file_twice(folder: Path) -> None:
    [path] = (folder / FOLDER).rglob(PLAN)
    raw = json.loads(path.read_text())
    path.write_text(json.dumps(raw | {"tasks": [names * 2 for names in raw["tasks"]]}))
    assert convert(folder).resumed == 3


def test_a_plan_for_columns_that_the_table_lacks(folder: Path) -> None:
    [path] = (folder / FOLDER).rglob(PLAN)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"layout": {"no such column": "bigint"}}))
    assert convert(folder).resumed == 3


@pytest.mark.parametrize("level", [0, 1])
def test_a_journal_that_is_a_link_out_of_the_table(folder: Path, level: int) -> None:
    [plan] = (folder / FOLDER).rglob(PLAN)
    place = [folder / FOLDER, plan.parent][level]
    outside = folder.parent / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with pytest.raises(sl.PathRefused, match="outside the table"):
        convert(folder)
    assert sorted(outside.rglob("*")) == before
    place.unlink()
    outside.rename(place)
    assert convert(folder).resumed == 3
