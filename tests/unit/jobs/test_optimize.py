"""Optimize without Spark: files get the wanted size, and a second run finds nothing to do."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.jobs.data_files import ordered
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.optimize import optimize_table

WORDS = [f"word{n}" for n in range(2000)]


def documents(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    return [
        json.dumps({"id": seed * count + n, "text": " ".join(source.choices(WORDS, k=12)), "k": n % 7})
        for n in range(count)
    ]


def sizes(table: Path) -> list[int]:
    return list(sl.Table(table).files().column("size").to_pylist())


@pytest.fixture
def many_small_files(tmp_path: Path) -> Path:
    table = tmp_path / "t"
    for number in range(14):
        source = tmp_path / f"{number}.ndjson"
        source.write_text("\n".join(documents(number, 2000)) + "\n")
        ingest_text(LocalEngine(), str(source), str(table), IngestOptions())
    return table


@pytest.mark.slow
@pytest.mark.parametrize("shredding", ["infer", None])
def test_optimize_converges(many_small_files: Path, shredding: str | None) -> None:
    wanted = int(sum(sizes(many_small_files)) / 2.7)
    first = optimize_table(LocalEngine(), str(many_small_files), file_bytes=wanted, shredding=shredding)
    assert first.files_before == 14
    assert 2 <= first.files_after <= 4
    assert first.rows == 14 * 2000
    found = sizes(many_small_files)
    assert max(found) < 1.3 * wanted
    assert sum(size >= 0.6 * wanted for size in found) >= len(found) - 1, "all but the last are large"
    for _ in range(2):
        again = optimize_table(LocalEngine(), str(many_small_files), file_bytes=wanted, shredding=shredding)
        assert (again.files_before, again.files_after) == (0, 0)


@pytest.mark.slow
def test_small_files_join_and_large_ones_stay(many_small_files: Path, tmp_path: Path) -> None:
    wanted = int(sum(sizes(many_small_files)) / 2.7)
    optimize_table(LocalEngine(), str(many_small_files), file_bytes=wanted)
    before = set(sl.Table(many_small_files).files().column("path").to_pylist())
    for number in (20, 21):
        source = tmp_path / f"{number}.ndjson"
        source.write_text("\n".join(documents(number, 100)) + "\n")
        ingest_text(LocalEngine(), str(source), str(many_small_files), IngestOptions())
    report = optimize_table(LocalEngine(), str(many_small_files), file_bytes=wanted)
    assert report.files_before in (2, 3), "the two new ones, and the last of the others if it is small"
    assert report.files_after == 1
    assert len(before & set(sl.Table(many_small_files).files().column("path").to_pylist())) >= len(before) - 1


def test_a_large_file_is_cut_evenly(tmp_path: Path) -> None:
    table = sl.Table.create(
        tmp_path, pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    texts = [text for seed in range(10) for text in documents(seed, 2000)]
    table.append(pa.table({"v": sl.from_json(pa.array(texts))}), shredding={"v": "struct<k int>"})
    report = optimize_table(LocalEngine(), str(tmp_path), file_bytes=sizes(tmp_path)[0] // 4)
    found = sizes(tmp_path)
    assert (report.files_before, report.rows) == (1, 20_000)
    assert 3 <= len(found) <= 5
    assert max(found) < 1.2 * min(found)


@pytest.mark.slow
def test_sorted_files_are_equally_large_and_do_not_overlap(many_small_files: Path) -> None:
    wanted = sum(sizes(many_small_files)) // 4
    optimize_table(LocalEngine(), str(many_small_files), file_bytes=wanted, sort_by=["v:id::bigint"])
    found = sizes(many_small_files)
    assert 3 <= len(found) <= 5
    assert max(found) < 1.2 * min(found)
    table = sl.Table(many_small_files)
    assert table.scan(where="v:id::bigint = 5").files().num_rows == 1
    assert table.scan().count() == 14 * 2000


def test_two_sort_keys_may_end_in_the_same_name() -> None:
    texts = ['{"a": {"id": 2}, "id": 1}', '{"a": {"id": 1}, "id": 2}', '{"a": {"id": 1}, "id": 1}']
    found = ordered(pa.table({"v": sl.from_json(pa.array(texts))}), ("v:a.id::int", "v:id::int"))
    assert sl.to_json(found.column("v")).to_pylist() == [text.replace(" ", "") for text in reversed(texts)]


def test_ingested_files_have_the_wanted_size(tmp_path: Path) -> None:
    source = tmp_path / "a.ndjson"
    source.write_text("\n".join(text for seed in range(20) for text in documents(seed, 2000)) + "\n")
    whole = tmp_path / "whole"
    ingest_text(LocalEngine(), str(source), str(whole), IngestOptions())
    assert len(sizes(whole)) == 1
    parts = tmp_path / "parts"
    wanted = sizes(whole)[0] // 4
    ingest_text(LocalEngine(), str(source), str(parts), IngestOptions(file_bytes=wanted))
    found = sizes(parts)
    assert sum(size >= 0.5 * wanted for size in found[:-1]) == len(found) - 1, found
