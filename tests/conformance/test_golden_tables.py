"""Tables that released versions wrote must stay readable: one folder of `tests/golden` per version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.delta.log.files import as_adds
from shredlake.delta.protocol.layout_tag import layout_text
from shredlake.delta.write.layout import newest_layout
from shredlake.kernels.profile import merge_profiles
from shredlake.parquet.format.seal import KEY

GOLDEN = Path(__file__).parents[1] / "golden"
SEALED = "0.1.0-sealed"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if (path / "rows.json").is_file())


def rows_of(table: sl.Table, where: str | None = None) -> list[dict[str, object]]:
    found = table.scan(["id", "day", "v"], where).to_arrow()
    texts = sl.to_json(found["v"]).to_pylist()
    plain = found.select(["id", "day"]).to_pylist()
    rows = [row | {"v": text} for row, text in zip(plain, texts, strict=True)]
    return sorted(rows, key=lambda row: int(str(row["id"])))


def test_there_is_a_table_of_this_version() -> None:
    assert sl.__version__ in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_paths_and_counts(version: str) -> None:
    wanted = json.loads((GOLDEN / version / "rows.json").read_text())
    table = sl.Table(GOLDEN / version / "table")
    assert rows_of(table) == wanted
    assert table.scan().count() == len(wanted)
    assert [row["id"] for row in rows_of(table, "day = 'tue'")] == [3, 4]
    assert [row["id"] for row in rows_of(table, "v:a::bigint >= 2")] == [3]
    assert table.scan(["v:t[1]::string AS t"], "id = 1").to_arrow()["t"].to_pylist() == ["y"]
    assert rows_of(sl.Table(GOLDEN / version / "table", version=1))[1]["v"] == '{"a":"odd","deep":{"b":2.5}}'


@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_has_what_it_is_there_for(version: str) -> None:
    root = GOLDEN / version / "table"
    table = sl.Table(root)
    assert table.files().column("deletionVector").null_count == table.files().num_rows - 1
    assert list((root / "_delta_log").glob("*.checkpoint.parquet"))
    files = [pq.read_schema(path).names for path in root.glob("day=*/*.parquet")]
    assert all(name.startswith("col-") for names in files for name in names), "columns are mapped"
    assert {str(schema) for schema in newest_layout(table.snapshot).values()} == {
        "struct<a bigint, t array<string>>"
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_can_be_written_to(version: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / version / "table", tmp_path / "t")
    table = sl.Table(tmp_path / "t")
    table.append(pa.table({"id": [7], "day": ["mon"], "v": sl.from_json(pa.array(['{"a":7}']))}))
    table.delete("id = 1")
    assert [row["id"] for row in rows_of(sl.Table(tmp_path / "t"))] == [3, 4, 5, 6, 7]


def test_a_layout_tag_of_a_later_version_is_ignored(tmp_path: Path) -> None:
    """The file is read according to its footer, and new files get their own layout."""
    shutil.copytree(GOLDEN / VERSIONS[-1] / "table", tmp_path / "t")
    last = sorted((tmp_path / "t" / "_delta_log").glob("*.json"))[-1]
    actions = [json.loads(line) for line in last.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["tags"]["shredlake.layout"] = '{"version":2,"groups":["unknown"]}'
    last.write_text("".join(json.dumps(action) + "\n" for action in actions))
    table = sl.Table(tmp_path / "t")
    assert newest_layout(table.snapshot) == {}
    assert rows_of(table) == json.loads((GOLDEN / VERSIONS[-1] / "rows.json").read_text())
    table.delete("id = 6")
    table.append(pa.table({"id": [7], "day": ["mon"], "v": sl.from_json(pa.array(['{"a":7}']))}))
    assert [row["id"] for row in rows_of(table)] == [1, 3, 4, 5, 7]


def test_a_profile_of_a_later_version_is_refused_by_name() -> None:
    data = sl.profile(sl.from_json(pa.array(['{"a":1}']))).to_bytes()
    later = data[:3] + b"2" + data[4:]
    with pytest.raises(sl.InvalidValue, match="the format SLP2, written by another version of shredlake"):
        sl.Profile.from_bytes(later)
    with pytest.raises(sl.InvalidValue, match="another version"):
        merge_profiles([later, later])


def test_every_versioned_part_is_in_a_golden_table() -> None:
    """Layout tags, seals and profiles, which later versions must read."""
    adds = as_adds(sl.Table(GOLDEN / SEALED / "table").snapshot.files.table())
    assert all(layout_text(add) is not None for add in adds)
    for path in (GOLDEN / SEALED / "table").glob("day=*/*.parquet"):
        assert pq.read_metadata(path).metadata[KEY.encode()].startswith(b"001 "), path
    kept = sl.Profile.from_bytes((GOLDEN / SEALED / "profile.bin").read_bytes())
    assert kept == sl.profile(sl.Table(GOLDEN / SEALED / "table").scan(["v"]).to_arrow()["v"])


def test_a_seal_of_a_later_version_is_ignored(tmp_path: Path) -> None:
    """A seal of this version that is wrong is an error; the same one of version 2 is not looked at."""
    [source] = (GOLDEN / SEALED / "table").glob("day=mon/*.parquet")
    data = source.read_bytes()
    at = data.index(b"001 ", data.index(KEY.encode()))
    footer = bytearray(data)
    footer[at + 2] = ord("2")
    later = tmp_path / "later.parquet"
    later.write_bytes(footer)
    assert sl.read_parquet(later).equals(sl.read_parquet(source))
    assert list(sl.check(later)) == []


def test_optimize_passes_over_a_tag_that_it_does_not_know(tmp_path: Path) -> None:
    for number, text in enumerate(['{"version":2,"groups":["unknown"]}', "{", "[]", '{"v":1}']):
        shutil.copytree(GOLDEN / VERSIONS[-1] / "table", tmp_path / str(number))
        last = sorted((tmp_path / str(number) / "_delta_log").glob("*.json"))[-1]
        actions = [json.loads(line) for line in last.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["tags"]["shredlake.layout"] = text
        last.write_text("".join(json.dumps(action) + "\n" for action in actions))
        table = sl.Table(tmp_path / str(number))
        table.optimize(threads=1, shredding={"v": "struct<a bigint>"} if number % 2 else "infer")
        assert rows_of(table) == json.loads((GOLDEN / VERSIONS[-1] / "rows.json").read_text())
