"""`shredlake convert`, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from command_line import invoke

TEXTS = ['{"n": 1}', "{", None, '{"n": 2, "n": 3}', '{"n": 4}']


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    table = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64()), ("payload", pa.string())]))
    table.append([{"id": n, "payload": text} for n, text in enumerate(TEXTS)])
    return tmp_path / "t"


def values(table: Path) -> dict[int, str | None]:
    rows = sl.Table(table).scan().to_arrow()
    return dict(zip(rows["id"].to_pylist(), sl.to_json(rows["payload"]).to_pylist(), strict=True))


def test_a_copy(texts: Path, tmp_path: Path) -> None:
    said = invoke("convert", str(texts), "-c", "payload", "--to", str(tmp_path / "c")).stdout
    assert "5 = 3 rows + 2 rejects" in said
    assert values(tmp_path / "c") == {0: '{"n":1}', 2: None, 4: '{"n":4}'}
    assert sl.Table(texts).scan().to_arrow()["payload"].to_pylist() == TEXTS
    bad = sl.Table(tmp_path / "c_rejects").scan(["id"]).to_arrow()["id"].to_pylist()
    assert sorted(bad) == [1, 3]


def test_in_place_with_options(texts: Path, tmp_path: Path) -> None:
    said = invoke(
        "convert", str(texts), "-c", "payload", "--duplicate-keys", "last_wins", "--rejects",
        str(tmp_path / "bad"), "--shredding", "struct<n bigint>", "--max-rejects", "20%", "--json",
    ).stdout  # fmt: skip
    facts = json.loads(said)
    assert (facts["rows"], facts["rejects"]) == (4, 1)
    assert values(texts) == {0: '{"n":1}', 2: None, 3: '{"n":3}', 4: '{"n":4}'}
    assert sl.Table(tmp_path / "bad").scan(["id"]).to_arrow()["id"].to_pylist() == [1]


def test_too_many_rejects_change_nothing(texts: Path, tmp_path: Path) -> None:
    said = str(invoke("convert", str(texts), "-c", "payload", "--max-rejects", "1", code=1).exception)
    assert "max_rejects" in said
    assert sl.Table(texts).scan().to_arrow()["payload"].to_pylist() == TEXTS


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-c", "nope"], 1, "has no column 'nope'; it has id, payload"),
        (["-c", "id"], 1, "id"),
        ([], 2, "Missing option '--column'"),
        (["-c", "payload", "--max-rejects", "lots"], 2, "--max-rejects"),
        (["-c", "payload", "--file-size", "0"], 2, "expected 1 or more"),
    ],
)
def test_mistakes(texts: Path, arguments: list[str], code: int, message: str) -> None:
    result = invoke("convert", str(texts), *arguments, code=code)
    assert message in f"{' '.join(result.stderr.split())}{result.exception}"
    assert sl.Table(texts).scan().to_arrow()["payload"].to_pylist() == TEXTS


def test_a_target_that_is_a_file(texts: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = invoke("convert", str(texts), "-c", "payload", "--to", str(tmp_path / "file"), code=1)
    assert "is a file; name the folder of a table" in str(said.exception)
