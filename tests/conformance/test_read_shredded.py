"""Shredded files that other engines wrote, read by `read_parquet`: the values they are known to hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shredlake.errors import ShredlakeError
from shredlake.parquet.read.scan import read_parquet, scan_parquet
from shredlake.variant.metadata import metadata_size
from shredlake.variant.value import Variant

CASES = [number for number in range(1, 139) if number != 3]


@pytest.fixture(scope="module")
def folder(conformance: Path) -> Path:
    return conformance / "parquet-testing" / "shredded_variant"


@pytest.fixture(scope="module")
def cases(folder: Path) -> dict[int, Any]:
    return {case["case_number"]: case for case in json.loads((folder / "cases.json").read_text())}


def expected(folder: Path, case: Any) -> list[Variant | None]:
    names = case["variant_files"] if "variant_files" in case else [case["variant_file"]]
    return [None if name is None else stored(folder / name) for name in names]


def stored(path: Path) -> Variant:
    data = path.read_bytes()
    split = metadata_size(data)
    return Variant(data[:split], data[split:])


def variants(column: pa.ChunkedArray) -> list[Variant | None]:
    return [None if row is None else Variant(row["metadata"], row["value"]) for row in column.to_pylist()]


def exactly(variant: Variant | None) -> object:
    """A value with its types, because 1 as int8 equals 1 as int64."""
    if variant is None:
        return None
    if variant.type.name == "OBJECT":
        return {key: exactly(value) for key, value in variant.items()}
    if variant.type.name == "ARRAY":
        return [exactly(element) for element in variant]
    return variant.type, variant.to_python()


@pytest.mark.parametrize("number", CASES)
def test_case(number: int, folder: Path, cases: dict[int, Any]) -> None:
    case = cases[number]
    path = folder / case["parquet_file"]
    if "error_message" in case:
        with pytest.raises(ShredlakeError, match=r"case-\d+\.parquet"):
            read_parquet(path, columns=["var"])
        return
    if "notes" in case:
        with pytest.raises(ShredlakeError, match=r"case-\d+-INVALID\.parquet"):
            read_parquet(path, columns=["var"], strict=True)
    want = expected(folder, case)
    table = read_parquet(path, strict="notes" not in case)
    assert table.column_names == ["id", "var"]
    found = variants(table["var"])
    assert list(map(exactly, found)) == list(map(exactly, want))
    texts = read_parquet(path, columns=["var"], variants="json")["var"].to_pylist()
    assert texts == [None if value is None else value.to_json() for value in want]


def test_the_cases_are_all_there(cases: dict[int, Any]) -> None:
    assert {number for number, case in cases.items() if len(case) > 1} == set(CASES)


def test_the_files_of_one_shape_are_one_data_set(folder: Path, cases: dict[int, Any]) -> None:
    """Files of conflicting layouts, some unshredded, give one Variant column."""
    good = [case for case in cases.values() if "variant_file" in case and "notes" not in case]
    table = read_parquet([folder / case["parquet_file"] for case in good], columns=["var"])
    want = [value for case in good for value in expected(folder, case)]
    assert list(map(exactly, variants(table["var"]))) == list(map(exactly, want))


def test_a_path_reads_its_leaf_alone(folder: Path, cases: dict[int, Any]) -> None:
    """Every field of every shredded object is found by its path, with its value in the whole object."""
    paths = 0
    for case in cases.values():
        if "variant_file" not in case or "notes" in case:
            continue
        [want] = expected(folder, case)
        if want is None or want.type.name != "OBJECT":
            continue
        for key, value in want.items():
            scan = scan_parquet(folder / case["parquet_file"], columns=[f"var:['{key}'] AS found"])
            assert list(map(exactly, variants(scan.to_arrow()["found"]))) == [exactly(value)]
            paths += 1
    assert paths > 10
