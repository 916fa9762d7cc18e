"""A flipped bit in a table's log, in a deletion vector or in a change file: the right answer or an error.

Parquet files and deletion vectors have checksums: checkpoints, sidecars, vectors and change files therefore
never give another answer. Commits, manifests in JSON and `_last_checkpoint` have none in the format of Delta;
for those, only the kinds of damage that the format can't show may change an answer. docs/reliability.md lists
them. SHREDLAKE_FLIPS is the number of flips per kind of file.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from deletion_vectors import stored, with_vector
from shredlake.errors import ShredlakeError

FLIPS = int(os.environ.get("SHREDLAKE_FLIPS", "40"))
ROWS = pa.table({"id": range(12), "s": [f"text {number % 5}" for number in range(12)]})
FEED = {"delta.enableChangeDataFeed": "true", "delta.checkpointInterval": "1000"}


def plain_table(root: Path) -> Path:
    """Three versions: two appends."""
    table = sl.Table.create(root, ROWS.schema, properties=FEED)
    table.append(ROWS.slice(0, 6))
    table.append(ROWS.slice(6))
    return root / "_delta_log" / f"{1:020}.json"


def without_commits(root: Path, pattern: str) -> Path:
    """Only the newest checkpoint is left, so that nothing else can give the answer."""
    for commit in (root / "_delta_log").glob("0*.json"):
        if ".checkpoint." not in commit.name:
            commit.unlink()
    [found] = (root / "_delta_log").glob(pattern)
    return found


def checkpoint(root: Path) -> Path:
    plain_table(root)
    sl.Table(root).checkpoint()
    return without_commits(root, "*.checkpoint.parquet")


def hint(root: Path) -> Path:
    plain_table(root)
    sl.Table(root).checkpoint()
    return root / "_delta_log" / "_last_checkpoint"


def manifest(root: Path) -> Path:
    plain_table(root)
    sl.Table(root).set_properties({"delta.checkpointPolicy": "v2"})
    sl.Table(root).checkpoint()
    return without_commits(root, "*.checkpoint.*.json")


def sidecar(root: Path) -> Path:
    manifest(root)
    [found] = (root / "_delta_log" / "_sidecars").iterdir()
    return found


def vector(root: Path) -> Path:
    root.mkdir()
    with_vector(root, stored(root, [1, 4, 7]))
    [found] = root.glob("ab/*.bin")
    return found


def change_file(root: Path) -> Path:
    plain_table(root)
    sl.Table(root).delete("id IN (2, 3)")
    [found] = (root / "_change_data").rglob("*.parquet")
    return found


def rows(root: Path) -> Any:
    scan = sl.Table(root).scan(["id"], threads=1)
    return sorted(scan.to_arrow()["id"].to_pylist()), scan.count()


def selected(root: Path) -> Any:
    return sorted(sl.Table(root).scan(["id"], where="id > 3", threads=1).to_arrow()["id"].to_pylist())


def changes(root: Path) -> Any:
    found = sl.Table(root).changes(3, 3).select(["id", "_change_type"]).to_pylist()
    return sorted(map(str, found))


QUESTIONS: list[Callable[[Path], Any]] = [rows, selected]
KINDS: dict[str, tuple[Callable[[Path], Path], list[Callable[[Path], Any]]]] = {
    "commit": (plain_table, QUESTIONS),
    "checkpoint": (checkpoint, QUESTIONS),
    "last checkpoint": (hint, QUESTIONS),
    "manifest": (manifest, QUESTIONS),
    "sidecar": (sidecar, QUESTIONS),
    "deletion vector": (vector, QUESTIONS),
    "change file": (change_file, [changes]),
}
WITHOUT_CHECKSUM = ("commit", "manifest")


def outcomes_of(kind: str, folder: Path, flips: int) -> Counter[str]:
    """Flips bits of a file one at a time, each in a fresh copy of the file."""
    make, questions = KINDS[kind]
    damaged = make(folder / "t")
    raw, dice = damaged.read_bytes(), random.Random(kind)
    expected = [question(folder / "t") for question in questions]
    found = Counter[str]()
    for _ in range(flips):
        at = dice.randrange(len(raw))
        data = bytearray(raw)
        data[at] ^= 1 << dice.randrange(8)
        damaged.unlink()
        damaged.write_bytes(data)
        outcome = "same"
        for question, wanted in zip(questions, expected, strict=True):
            try:
                answer = question(folder / "t")
            except ShredlakeError:
                outcome = "error" if outcome == "same" else outcome
                continue
            if answer != wanted:
                outcome = "another"
                if kind not in WITHOUT_CHECKSUM:
                    pytest.fail(f"{kind}, byte {at}: {answer} instead of {wanted}")
        found[outcome] += 1
    shutil.rmtree(folder)
    print(f"{kind}: {dict(found)}")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_never_another_answer(kind: str, tmp_path: Path) -> None:
    found = outcomes_of(kind, tmp_path, FLIPS)
    assert found["same"] if kind == "last checkpoint" else found["error"]
    if kind in WITHOUT_CHECKSUM:
        assert found["another"] < FLIPS / 4
