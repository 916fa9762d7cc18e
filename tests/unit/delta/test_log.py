"""Logs of other writers: any content gives a table that can be read, or one of our errors."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import PROTOCOL, add, ids, metadata, write_commit
from shredlake.delta.storage.storage import Storage

SEED = 20
_numbers = itertools.count()

WRONG: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -7,
    "huge": 1 << 70,
    "fraction": 1.5,
    "not a number": float("nan"),
    "infinite": float("inf"),
    "empty text": "",
    "text": "x",
    "number as text": "7",
    "half a character": "\ud800",
    "NUL": "a\0b",
    "outside": "../../etc/passwd",
    "absolute": "/dev/zero",
    "list": [1],
    "list of lists": [[]],
    "object": {"a": 1},
    "object of objects": {"a": {"b": {}}},
    "object of strings": {"a": "b"},
    "deep": "DEEP",
    "deep text": json.dumps("x").join(["[" * 3000, "]" * 3000]),
    "long text": "y" * 5000,
}
DEEP = "[" * 5000 + "]" * 5000
MISSING = object()


@pytest.fixture(scope="module")
def log() -> dict[str, list[dict[str, Any]]]:
    """The commits of a table that has every action: partitions, change data, transactions, domains."""
    storage = Storage("memory://hostile/template")
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableInCommitTimestamps": "true"}
    schema = pa.schema(
        [("id", pa.int64()), ("s", pa.struct([("d", pa.decimal128(9, 2))])), ("p", pa.string())]
    )
    table = sl.Table.create(storage.uri, schema, partition_by=["p"], properties=properties)
    rows = pa.table({"id": [1, 2, 3], "s": [{"d": None}] * 3, "p": ["a", "a", "b"]}, schema)
    table.append(rows, transaction=("app", 1))
    table.delete("id = 1")
    found = {}
    for entry in storage.list("_delta_log"):
        lines = storage.get(entry.path).splitlines()
        found[entry.path] = [json.loads(line) for line in lines]
    found[entry.path].append({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}})
    for line in found[entry.path]:
        line.get("commitInfo", {}).pop("tags", None)
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place within an action."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with one place changed."""
    copy = dict(value)
    if len(path) > 1:
        copy[path[0]] = replaced(value[path[0]], path[1:], new)
    elif new is MISSING:
        del copy[path[0]]
    else:
        copy[path[0]] = new
    return copy


def inside(text: str) -> Iterator[str]:
    """JSON in a text (schemas, statistics) with each of its places changed in turn."""
    try:
        raw = json.loads(text)
    except ValueError:
        return
    if not isinstance(raw, dict):
        return
    spots = list(places(raw))
    new: object
    if isinstance(raw.get("fields"), list):
        for index, field in enumerate(raw["fields"]):
            for spot in places(field):
                for new in (None, 7, -1, "x", [], {}, "decimal(99,1)", 1 << 80):
                    fields = list(raw["fields"])
                    fields[index] = replaced(field, spot, new)
                    yield json.dumps({**raw, "fields": fields})
    for spot in spots:
        for new in (None, True, -1, 1 << 80, 1.5, "x", [], {}, {"id": []}):
            yield json.dumps(replaced(raw, spot, new))


def hostile(log: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, str, int, str]]:
    """(what, file, line number, the line) of every entry that we try."""
    for file, lines in log.items():
        for number, line in enumerate(lines):
            for spot in places(line):
                for what, new in {**WRONG, "missing": MISSING}.items():
                    text = json.dumps(replaced(line, spot, new))
                    yield f"{'.'.join(spot)}: {what}", file, number, text.replace('"DEEP"', DEEP)
                found: Any = line
                for step in spot:
                    found = found[step]
                if isinstance(found, str):
                    for changed in inside(found):
                        yield f"in {'.'.join(spot)}", file, number, json.dumps(replaced(line, spot, changed))


def uses(uri: str) -> None:
    """Runs every reader of a log."""
    table = sl.Table(uri)
    for use in (
        lambda: table.scan().to_arrow(),
        lambda: table.scan(where="id > 1 AND p = 'a'").count(),
        lambda: table.history(),
        lambda: table.changes(1),
        lambda: table.vacuum(),
        lambda: table.files(),
        lambda: repr(table.snapshot),
    ):
        try:
            use()
        except sl.ShredlakeError:
            continue


def opens_or_says_why(uri: str, what: str) -> str | None:
    try:
        uses(uri)
    except sl.ShredlakeError as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{what} ends in a raw {type(error).__name__}: {error}") from error
    return None


@pytest.mark.slow
def test_hostile_entries(log: dict[str, list[dict[str, Any]]]) -> None:
    everything = list(hostile(log))
    chosen = random.Random(SEED).sample(everything, 1200)
    template = Storage("memory://hostile/template")
    data = {e.path: template.get(e.path) for e in template.list() if not e.path.startswith("_delta_log")}
    refused = 0
    for what, file, number, text in chosen:
        storage = Storage(f"memory://hostile/{next(_numbers)}")
        for path, content in data.items():
            storage.put(path, content)
        for path, lines in log.items():
            texts = [json.dumps(line) for line in lines]
            if path == file:
                texts[number] = text
            storage.put(path, "\n".join(texts).encode("utf-8", "surrogatepass"))
        message = opens_or_says_why(storage.uri, what)
        storage.delete([entry.path for entry in storage.list()])
        refused += message is not None
        if message is not None and "line" in message:
            assert file in message, what
    assert refused > len(chosen) // 3


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that is the same in every run, so that the damage is too; its files do not exist."""
    root = tmp_path_factory.mktemp("checkpoints") / "t"
    stats = '{"numRecords":1,"minValues":{"id":1},"maxValues":{"id":1},"nullCount":{"id":0}}'
    adds = [add(f"part-{number}.parquet", stats=stats, tags={"a": "b"}) for number in range(3)]
    txn = {"txn": {"appId": "app", "version": 7, "lastUpdated": 1}}
    write_commit(root, 0, [PROTOCOL, metadata(), txn, *adds])
    sl.Table(root).checkpoint()
    for path in root.glob("_delta_log/*.json"):
        path.unlink()
    return root


@pytest.mark.slow
def test_damaged_checkpoints(checkpoint: Path) -> None:
    """Single bytes, cut ends and zeroed stretches anywhere in the file."""
    [path] = checkpoint.glob("_delta_log/*.checkpoint.parquet")
    whole = path.read_bytes()
    chance = random.Random(SEED)
    for number in range(240):
        damaged = bytearray(whole)
        at = chance.randrange(len(damaged))
        if number % 4 == 0:
            del damaged[at:]
        elif number % 4 == 1:
            damaged[at : at + 16] = bytes(len(damaged[at : at + 16]))
        else:
            damaged[at] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(damaged))
        message = opens_or_says_why(str(checkpoint), f"byte {at}, case {number}")
        path.write_bytes(whole)
        assert message is None or str(checkpoint) in message or path.name in message, message
    assert sl.Table(checkpoint).scan().count() == 3


@pytest.mark.parametrize("field", ["path", "size", "partitionValues", "deletionVector", "stats"])
def test_checkpoints_of_other_types(checkpoint: Path, field: str) -> None:
    """A checkpoint that is sound Parquet, with a column that is not what the protocol says."""
    [path] = checkpoint.glob("_delta_log/*.checkpoint.parquet")
    whole = path.read_bytes()
    table = pq.read_table(path, columns=["add", "metaData", "protocol"])
    try:
        for values in (
            lambda n: [[1.5]] * n,
            lambda n: [True] * n,
            lambda n: [None] * n,
            lambda n: [b"\xff"] * n,
        ):
            adds = table.column("add").combine_chunks()
            names = [item.name for item in adds.type if not item.name.endswith("_parsed")]
            children = [pa.array(values(len(adds))) if n == field else adds.field(n) for n in names]
            struct = pa.StructArray.from_arrays(children, names=names, mask=adds.is_null())
            pq.write_table(table.set_column(0, "add", struct), path)
            opens_or_says_why(str(checkpoint), field)
        for name in ("add", "metaData", "protocol"):
            broken = table.set_column(
                table.schema.get_field_index(name), name, pa.array([1] * table.num_rows)
            )
            pq.write_table(broken, path)
            assert opens_or_says_why(str(checkpoint), name) is not None or name == "add"
    finally:
        path.write_bytes(whole)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    table.append(pa.table({"id": [2]}))
    return tmp_path / "t"


@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: raw[: len(raw) // 2], lambda raw: raw[:-1]])
def test_a_half_written_checkpoint_is_not_needed_while_the_commits_are_there(
    small: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    table = sl.Table(small)
    table.checkpoint()
    [path] = small.glob("_delta_log/*.checkpoint.parquet")
    path.write_bytes(damage(path.read_bytes()))
    assert ids(sl.Table(small)) == [1, 2]
    assert path.name in caplog.text
    assert [finding.rule for finding in sl.check_table(small, repair=True).repaired] == ["checkpoint"]
    caplog.clear()
    table.append(pa.table({"id": [3]}))
    assert ids(sl.Table(small)) == [1, 2, 3]
    assert not caplog.text
    path.write_bytes(b"")
    (small / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(sl.CorruptLog, match=path.name):
        sl.Table(small)


def test_files_of_others_in_the_log_do_not_matter(small: Path) -> None:
    log = small / "_delta_log"
    for name in (
        "note.json", "3.json", f"{3:020}.json.bak", f".{3:020}.json.swp", f"{3:020}.checkpoint.parquet.tmp",
        f"{3:021}.json", f"{3:019}.json", f"{3:020}.JSON", "_commits",
        "\N{ARABIC-INDIC DIGIT ZERO}" * 19 + "\N{ARABIC-INDIC DIGIT THREE}.json",
    ):  # fmt: skip
        (log / name).write_text("x")
    (log / f"{3:020}.json.d").mkdir()
    table = sl.Table(small)
    table.append(pa.table({"id": [3]}))
    assert (table.version, ids(sl.Table(small))) == (3, [1, 2, 3])


@pytest.mark.parametrize("cut", ["empty", "blank", "in a line", "between lines"])
def test_a_commit_that_lost_its_end(small: Path, cut: str) -> None:
    file = small / "_delta_log" / "00000000000000000002.json"
    text = file.read_text()
    ends = {
        "empty": "",
        "blank": "\n \n",
        "in a line": text[:-40],
        "between lines": text.split("\n")[0] + "\n",
    }
    file.write_text(ends[cut])
    with pytest.raises(
        sl.CorruptLog, match=r"00000000000000000002\.json.*delete the file; otherwise"
    ) as caught:
        sl.Table(small)
    assert "backup" in str(caught.value)
    with pytest.raises(sl.CorruptLog):
        sl.Table(small, version=1).refresh()


@pytest.mark.parametrize("line", ['{"add":"x"}', '{"remove":[{}]}', '{"metaData":7}', '{"protocol":true}'])
def test_actions_are_objects(small: Path, line: str) -> None:
    (small / "_delta_log" / "00000000000000000003.json").write_text(line)
    with pytest.raises(sl.CorruptLog, match=r"0003\.json, line 1: an? .* action must be an object"):
        sl.Table(small)


def test_actions_of_the_future_pass(small: Path) -> None:
    text = '{"commitInfo":{"operation":7}}\n{"hologram":[1]}\n{"txn":null,"laser":{"on":true}}\n'
    (small / "_delta_log" / "00000000000000000003.json").write_text(text)
    table = sl.Table(small)
    assert table.version == 3
    assert table.history(1)[0]["parameters"] == {}


def test_a_compaction_that_ends_before_it_begins(small: Path) -> None:
    (small / "_delta_log" / "00000000000000000001.00000000000000000000.compacted.json").write_text("{}")
    assert sl.Table(small).scan().count() == 2


@pytest.mark.parametrize(
    "hint",
    [
        "",
        "{",
        "[]",
        '{"version": 1e999}',
        '{"version": -3}',
        '{"version": "1"}',
        "[" * 9999,
        '{"version": 99}',
    ],
)
def test_a_broken_hint_does_not_matter(small: Path, hint: str) -> None:
    (small / "_delta_log" / "_last_checkpoint").write_text(hint)
    assert sl.Table(small).version == 2


def test_a_hint_that_is_not_a_file_does_not_matter(small: Path) -> None:
    (small / "_delta_log" / "_last_checkpoint").mkdir()
    assert sl.Table(small).version == 2


@pytest.mark.parametrize("name", ["00000000000000000003.json", "00000000000000000002.checkpoint.parquet"])
def test_pipes_are_refused(small: Path, name: str) -> None:
    os.mkfifo(small / "_delta_log" / name)
    with pytest.raises(sl.TableError, match=rf"{name}.*it is a pipe, not a regular file"):
        sl.Table(small)


def test_a_pipe_in_place_of_a_data_file(small: Path) -> None:
    table = sl.Table(small)
    file = small / table.files().column("path").to_pylist()[0]
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(sl.ShredlakeError, match="is a pipe or device, but a Parquet file"):
        table.scan().to_arrow()


def test_what_is_not_a_table(small: Path) -> None:
    file = small / "_delta_log" / "00000000000000000000.json"
    with pytest.raises(sl.NotATable, match=r"it is a file\. Pass the table's folder"):
        sl.Table(file)
    with pytest.raises(sl.TableError, match="Not a directory"):
        sl.Table.create(file, pa.schema([("id", pa.int64())]))
    with pytest.raises(sl.WrongType, match="a version is a whole number such as 3, not '1'"):
        sl.Table(small, version="1")  # type: ignore[arg-type]
    with pytest.raises(sl.WrongType, match="a version is a whole number"):
        sl.Table(small).restore(1.5)  # type: ignore[arg-type]
    with pytest.raises(sl.WrongType, match="a timestamp is a datetime"):
        sl.Table(small, timestamp=1.5)  # type: ignore[arg-type]
    with pytest.raises(sl.WrongType, match="a table's address is"):
        sl.Table(7)  # type: ignore[arg-type]
    for address in ("", "a\0b", "~no-such-user/t", "s3://[::1/t"):
        with pytest.raises(sl.TableError):
            sl.Table(address)
    with pytest.raises(sl.TableError, match="File name too long"):
        sl.Table.create(small.parent / ("x" * 300), pa.schema([("id", pa.int64())]))


def _table_with(root: Path, **actions: dict[str, Any]) -> str:
    """A table of one row whose log says something else."""
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", sl.variant())])
    table = sl.Table.create(root, schema, partition_by=["p"])
    table.append(pa.table({"id": [1], "p": ["a"], "v": sl.from_json(['{"a":1}'])}, schema))
    for path in sorted((root / "_delta_log").glob("*.json")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            for name, fields in actions.items():
                if name in line:
                    line[name] |= fields
        if path.name == f"{1:020}.json" and "domainMetadata" in actions:
            lines.append({"domainMetadata": actions["domainMetadata"]})
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(root)


CLUSTERING = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[[1]]}', "removed": False}


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"metaData": {"partitionColumns": ["v"]}}, "is not a plain column"),
        ({"metaData": {"partitionColumns": ["p", "p"]}}, "is not a plain column"),
        ({"domainMetadata": CLUSTERING}, "delta.clustering can't be read"),
    ],
)
def test_writers_refuse_what_a_log_can_not_mean(tmp_path: Path, actions: Any, message: str) -> None:
    place = _table_with(tmp_path / "t", **actions)
    rows = pa.table({"id": [2], "p": ["b"], "v": sl.from_json(["{}"])})
    for act in (lambda: sl.Table(place).append(rows), lambda: sl.Table(place).optimize(threads=1)):
        with pytest.raises(sl.CorruptLog, match=message):
            act()


def test_a_report_survives_statistics_without_an_end(tmp_path: Path) -> None:
    place = _table_with(tmp_path / "t", add={"stats": "[" * 5000})
    assert "t" in str(sl.Table(place).report())


def test_a_retention_is_a_number(tmp_path: Path) -> None:
    table = sl.Table(_table_with(tmp_path / "t"))
    for odd in ("x", float("nan"), -1, [1]):
        with pytest.raises(sl.TableError, match="a retention is a number of hours"):
            table.vacuum(retention_hours=odd)  # type: ignore[arg-type]
