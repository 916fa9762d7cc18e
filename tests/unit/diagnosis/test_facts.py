"""The features that a table or a file needs of its readers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from deletion_vectors import inline_vector, with_vector
from shredlake.diagnosis.facts import file_facts, table_facts

SHREDDED = {"delta.enableVariantShredding": "true"}


def table(where: Path, properties: dict[str, str], shredding: str | None = None) -> sl.Table:
    made = sl.Table.create(where, pa.schema([("id", pa.int64()), ("v", sl.variant())]), properties=properties)
    rows = pa.table({"id": range(4), "v": sl.from_json([f'{{"a":{n}}}' for n in range(4)])})
    made.append(rows, shredding={"v": shredding} if shredding else None)
    return made


def test_a_table_without_variants_needs_nothing(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    made.append([{"id": 1}])
    facts = table_facts(made.snapshot)
    assert (facts.subject, facts.needs) == ("table", frozenset())
    assert facts.address.endswith("/t")


def test_an_empty_table_needs_what_its_schema_says(tmp_path: Path) -> None:
    made = sl.Table.create(tmp_path / "t", pa.schema([("v", sl.variant())]))
    needs = table_facts(made.snapshot).needs
    assert "variant" in needs
    assert "shredded" not in needs


def test_shredded_paths_are_needs_by_their_type(tmp_path: Path) -> None:
    needs = table_facts(table(tmp_path / "t", SHREDDED, "struct<a decimal(9,2), b string>").snapshot).needs
    assert {"variant", "shredded", "shredded decimal", "shredded string"} <= needs
    assert any(need.startswith("feature variant") for need in needs)


def test_deletion_vectors_are_needs_once_a_file_has_one(tmp_path: Path) -> None:
    made = with_vector(tmp_path / "t", inline_vector([1]))
    assert "deletion vectors" in table_facts(made.snapshot).needs
    before = sl.Table(tmp_path / "t", version=0)
    assert "deletion vectors" not in table_facts(before.snapshot).needs


@pytest.mark.parametrize("annotated", [True, False])
@pytest.mark.parametrize("shredding", [None, "struct<a bigint, l array<date>>"])
def test_needs_of_a_file(tmp_path: Path, annotated: bool, shredding: str | None) -> None:
    path = str(tmp_path / "f.parquet")
    column = sl.from_json(['{"a": 1}'])
    if annotated:
        sl.write_parquet({"v": column, "id": [1]}, path, shredding={"v": shredding})
    else:
        stored = sl.shred(column, sl.ShreddingSchema.parse(shredding)) if shredding else column
        pq.write_table(pa.table({"v": stored}), path)
    types = {"shredded", "shredded bigint", "shredded date"} if shredding else set()
    expected = {"variant", "annotated" if annotated else "not annotated"} | types
    assert file_facts(path).needs == expected


def test_a_file_without_variants_needs_nothing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "f.parquet")
    assert file_facts(str(tmp_path / "f.parquet")).needs == frozenset()
