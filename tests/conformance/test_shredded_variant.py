"""The shredded files of parquet-testing, read by pyarrow and reconstructed by kernels: one test per case."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shredlake.errors import InvalidSchema, ShreddingConflict, ShredlakeError
from shredlake.kernels import unshred
from shredlake.variant import Variant
from shredlake.variant.metadata import metadata_size

pytestmark = pytest.mark.usefixtures("kernels")

FOLDER = (
    Path(os.environ.get("SHREDLAKE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))
    / "parquet-testing"
    / "shredded_variant"
)


def cases() -> list[dict[str, Any]]:
    if not (FOLDER / "cases.json").is_file():
        return []
    return [case for case in json.loads((FOLDER / "cases.json").read_text()) if "parquet_file" in case]


def case_id(case: dict[str, Any]) -> str:
    return f"{case['case_number']:03}-{case['test']}"


def each(found: list[dict[str, Any]]) -> list[Any]:
    """One parameter per case, named after it; without the data, one that names the missing folder."""
    missing = pytest.mark.skip(reason=f"no conformance data at {FOLDER}: set SHREDLAKE_CONFORMANCE")
    return [pytest.param(case, id=case_id(case)) for case in found] or [pytest.param({}, marks=missing)]


FAILING = [case for case in cases() if "error_message" in case]
INVALID = [case for case in cases() if "INVALID" in case["parquet_file"]]
READABLE = [case for case in cases() if "error_message" not in case]

# What is wrong in each of the files that can't be read.
REASONS: dict[int, tuple[type[ShredlakeError], str]] = {
    40: (ShreddingConflict, r"row 0, \$\[0\]: conflict: a value .* beside a typed_value"),
    42: (ShreddingConflict, r"row 0, \$: conflict: a value .* beside a typed_value"),
    87: (ShreddingConflict, r"row 0, \$: conflict: a non-object value beside a typed_value"),
    127: (InvalidSchema, r"\$: uint32 is not a type that a Variant can be shredded as"),
    128: (ShreddingConflict, r"row 0, \$: conflict: a non-object value beside a typed_value"),
    137: (InvalidSchema, r"\$: fixed_size_binary\[4\] is not a type that a Variant can be shredded as"),
}


def column(case: dict[str, Any]) -> pa.ChunkedArray:
    return pq.read_table(FOLDER / case["parquet_file"]).column("var")


def expected(case: dict[str, Any]) -> list[Variant | None]:
    files = case.get("variant_files") or [case["variant_file"]]
    contents = [None if name is None else (FOLDER / name).read_bytes() for name in files]
    return [each and Variant(each[: metadata_size(each)], each[metadata_size(each) :]) for each in contents]


def typed_form(variant: Variant | None) -> str | None:
    """The value as objects whose repr shows the encoded type."""
    return None if variant is None else repr(variant.to_python(exact=True))


def test_all_cases_are_there() -> None:
    if not cases():
        pytest.skip(f"no conformance data at {FOLDER}: set SHREDLAKE_CONFORMANCE")
    assert (len(READABLE), len(FAILING), len(INVALID)) == (131, 6, 3)
    assert {case["case_number"] for case in FAILING} == REASONS.keys()


@pytest.mark.parametrize("case", each(READABLE))
def test_reads_the_expected_values_and_types(case: dict[str, Any]) -> None:
    read = unshred(column(case))
    read.validate(full=True)
    variants = [row and Variant(row["metadata"], row["value"]).validate() for row in read.to_pylist()]
    assert variants == expected(case)
    assert [typed_form(variant) for variant in variants] == [
        typed_form(variant) for variant in expected(case)
    ]


@pytest.mark.parametrize("case", each(FAILING))
@pytest.mark.parametrize("strict", [False, True])
def test_fails_and_says_why(case: dict[str, Any], strict: bool) -> None:
    error, reason = REASONS[case["case_number"]]
    with pytest.raises(error, match=reason):
        unshred(column(case), strict=strict)


@pytest.mark.parametrize("case", each(INVALID))
def test_strict_reading_fails_on_invalid_files(case: dict[str, Any]) -> None:
    with pytest.raises(ShreddingConflict, match=r"row 0, \$\['[abd]'\]"):
        unshred(column(case), strict=True)


@pytest.mark.parametrize("case", each([case for case in READABLE if case not in INVALID]))
def test_strict_reading_takes_all_others(case: dict[str, Any]) -> None:
    read = unshred(column(case), strict=True).to_pylist()
    assert [row and Variant(row["metadata"], row["value"]) for row in read] == expected(case)
