"""Columns that are constant in a row group, and conditions that all its rows meet, are not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl

ROWS = 4000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four row groups: `kind` is constant in the first three, and mixed, null or odd in the last."""

    def text(n: int) -> str:
        if n < 3000:
            return f'{{"kind": "k{n // 1000}", "n": {n}}}'
        odd = ('"k3"', "null", "7")[n % 3]
        return f'{{"kind": {odd}, "n": {n}}}'

    table = pa.table({"v": sl.from_json(pa.array([text(n) for n in range(ROWS)]))})
    place = tmp_path_factory.mktemp("constants") / "f.parquet"
    options = sl.WriteOptions(row_group_rows=1000, page_rows=100)
    sl.write_parquet(table, place, shredding={"v": "struct<kind string, n bigint>"}, options=options)
    return place


def test_a_constant_is_not_read(path: Path) -> None:
    scan = sl.scan_parquet(path, ["v:kind::string AS k"], "v:n::bigint < 2000L")
    assert scan.to_arrow().column("k").to_pylist() == ["k0"] * 1000 + ["k1"] * 1000
    assert scan.explain().columns == ()


def test_a_condition_that_all_rows_meet_is_not_evaluated(path: Path) -> None:
    scan = sl.scan_parquet(path, ["v:n::bigint AS n"], "v:kind::string = 'k1' and v:n::bigint < 3000L")
    assert scan.to_arrow().column("n").to_pylist() == list(range(1000, 2000))
    assert scan.explain().columns == ("v.typed_value.n.typed_value",)


MEETS: dict[str, Callable[[str | None], bool]] = {
    "v:kind::string = 'k3'": lambda kind: kind == "k3",
    "v:kind::string <> 'k0'": lambda kind: kind not in (None, "k0"),
    "v:kind::string is not null": lambda kind: kind is not None,
}


@pytest.mark.parametrize("where", MEETS)
def test_nulls_and_values_of_another_type_are_still_seen(path: Path, where: str) -> None:
    kinds = [f"k{n // 1000}" if n < 3000 else ("k3", None, "7")[n % 3] for n in range(ROWS)]
    expected = [n for n, kind in enumerate(kinds) if MEETS[where](kind)]
    assert sl.read_parquet(path, ["v:n::bigint AS n"], where).column("n").to_pylist() == expected
