"""Advice: from any source, on an even sample, whose size is measured with and without the schema."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from shredlake.errors import InvalidFile, InvalidSchema, NotATable
from shredlake.jobs.advise import RUN_ROWS, SAMPLE_RUNS, Data, Sample, advice_on, open_data
from shredlake.shredding.schema import ShreddingSchema

ROWS = [{"id": n, "status": "n/a" if n % 50 == 0 else 200, "at": "2024-01-05T10:00:00Z"} for n in range(500)]
LAYOUT = "struct<at string, id bigint, status bigint>"


def lines() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


@pytest.mark.parametrize(
    "kind", ["glob", "folder", "open file", "text file", "objects", "texts", "variants", "bytes"]
)
def test_every_kind_of_source_of_ingest(tmp_path: Path, kind: str) -> None:
    (tmp_path / "rows.ndjson").write_bytes(lines())
    texts = lines().splitlines()
    given: dict[str, Any] = {
        "glob": lambda: tmp_path / "*.ndjson",
        "folder": lambda: str(tmp_path),
        "open file": lambda: (tmp_path / "rows.ndjson").open("rb"),
        "text file": lambda: (tmp_path / "rows.ndjson").open(),
        "objects": lambda: iter(ROWS),
        "texts": lambda: [text.decode() for text in texts],
        "variants": lambda: map(sl.Variant.of, ROWS),
        "bytes": lambda: texts,
    }
    advice = sl.advise(given[kind]())
    assert (str(advice.schema), advice.rows) == (LAYOUT, 500)


@pytest.mark.parametrize("given", [None, 3, {"a": 1}, b"{}"])
def test_what_is_not_a_source_is_refused(given: Any) -> None:
    with pytest.raises(sl.WrongType, match="is not a source: pass a path"):
        sl.advise(given)


# ── Sources ─────────────────────────────────────────────────────────────────────────────────────────────

TWO = pa.schema([("v", sl.variant()), ("w w", sl.variant())])


def variants_of(data: Data) -> list[str | None]:
    return [text for batch in data.batches for text in sl.to_json(batch).to_pylist()]


def test_a_column_must_be_chosen_where_there_are_several(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path / "t", TWO)
    table.append([{"v": 1, "w w": 2}])
    for column, message in ((None, "there are 2 Variant columns"), ("x", "there is no Variant column 'x'")):
        with pytest.raises(InvalidSchema, match=f"{message}. Choose one with --column: v, w w"):
            open_data(table.uri, column)
    found = open_data(str(tmp_path / "t"), "w w")
    assert (found.column, variants_of(found)) == ("w w", ["2"])


@pytest.mark.parametrize("name", ["a.b", "a`b", "v:x", "select"])
def test_a_column_of_a_table_may_have_any_name(tmp_path: Path, name: str) -> None:
    table = sl.Table.create(tmp_path, pa.schema([(name, sl.variant())]))
    table.append(pa.table({name: sl.from_json(['{"a":1}'])}))
    assert variants_of(open_data(tmp_path, None)) == ['{"a":1}']


def test_the_layout_of_the_newest_file_is_the_previous_one(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, TWO.remove(1))
    table.append([{"v": {"a": 1}}], shredding={"v": "struct<b string>"})
    table.append([{"v": {"a": 2}}], shredding={"v": "struct<a bigint>"})
    found = open_data(tmp_path, None)
    assert str(found.previous) == "struct<a bigint>"
    assert sorted(map(str, variants_of(found))) == ['{"a":1}', '{"a":2}']


def test_texts_of_a_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["1", "{", None], "other": ["x"] * 3}), path)
    assert variants_of(open_data(path, "text")) == ["1", None, None]
    with pytest.raises(InvalidSchema, match="has no Variant column; convert turns columns of JSON text"):
        open_data(path, None)
    pq.write_table(pa.table({"text": ["[1]"]}), path)
    assert variants_of(open_data(path, None)) == ["[1]"]


def test_a_folder_is_a_table_or_holds_documents(tmp_path: Path) -> None:
    with pytest.raises(NotATable):
        open_data(tmp_path, None)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(NotATable):
        open_data(tmp_path, None)
    (tmp_path / "b.ndjson").write_text('{"b": 1}\n')
    assert variants_of(open_data(tmp_path, None)) == ['{"b":1}']


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"none\.ndjson does not exist"):
        open_data(tmp_path / "none.ndjson", None)


def test_texts_that_are_not_json_count_as_null() -> None:
    assert variants_of(open_data(io.BytesIO(b'{"a":1}\n{\n'), None)) == ['{"a":1}', None]
    assert variants_of(open_data(["1", "{", {"a": 1}], None)) == ["1", None, '{"a":1}']


# ── Sample and advice ───────────────────────────────────────────────────────────────────────────────────


def numbers(start: int, stop: int) -> pa.Array:
    return sl.from_json([str(n) for n in range(start, stop)])


def test_small_data_are_kept_whole() -> None:
    sample = Sample()
    sample.take(numbers(0, 0))
    sample.take(numbers(0, RUN_ROWS + 1))
    assert (sample.rows, sample.every) == (RUN_ROWS + 1, 1)


def test_large_data_are_sampled_evenly() -> None:
    sample = Sample()
    batch = numbers(0, RUN_ROWS)
    for _ in range(5 * SAMPLE_RUNS):
        sample.take(batch)
    assert SAMPLE_RUNS // 2 <= len(sample.runs) <= SAMPLE_RUNS
    assert sample.seen == 5 * SAMPLE_RUNS
    assert sample.seen // sample.every + 1 >= len(sample.runs) >= sample.seen // sample.every


def test_the_runs_of_a_sample_are_as_far_apart_as_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shredlake.jobs.advise.RUN_ROWS", 1)
    monkeypatch.setattr("shredlake.jobs.advise.SAMPLE_RUNS", 4)
    sample = Sample()
    sample.take(numbers(0, 23))
    kept = [int(text) for run in sample.runs for text in sl.to_json(run).to_pylist()]
    assert kept == [n * sample.every for n in range(len(kept))]
    assert 3 <= len(kept) <= 4


def test_a_sample_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shredlake.jobs.advise.SAMPLE_BYTES", 1)
    sample = Sample()
    sample.take(numbers(0, 3 * RUN_ROWS))
    assert len(sample.runs) <= 1


def test_sizes_are_those_of_files(tmp_path: Path) -> None:
    sample = Sample()
    sample.take(sl.from_json([json.dumps(row) for row in ROWS]))
    plain, shredded = sample.size(None), sample.size(ShreddingSchema.parse(LAYOUT))
    assert plain == sample.size(ShreddingSchema.parse("variant")) != shredded
    assert min(plain, shredded) > 100


def test_data_without_rows_have_no_advice() -> None:
    for batches in ([], [numbers(0, 0)]):
        with pytest.raises(InvalidFile, match=r"^here has no rows to profile$"):
            advice_on(Data("here", "", iter(batches)), (), 10)


def test_an_advice_says_what_was_measured() -> None:
    found = advice_on(Data("here", "v", iter([numbers(0, 10), numbers(10, 12)])), (), 10)
    assert (str(found.schema), found.column, found.rows) == ("bigint", "v", 12)
    assert found.sample() == {
        "rows": 12,
        "bytes_before": found.bytes_before,
        "bytes_after": found.bytes_after,
    }
    assert str(found).splitlines()[-1].startswith("sample of 12 rows: ")
    assert "sample of 12 rows" in found._repr_html_()


def test_a_source_that_gives_a_mapping_is_not_one_of_documents() -> None:
    given: Any = {"a": 1}
    with pytest.raises(sl.WrongType, match="a dict is not a source"):
        open_data(given, None)
