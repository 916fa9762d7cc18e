"""Every cell of docs/compare.md that says yes or no is tried with the engine that is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl

PAGE = Path(__file__).parents[2] / "docs" / "compare.md"
DOCUMENTS = ['{"kind": "like", "n": 1}', '{"kind": "post", "n": 2}']


def claims() -> dict[tuple[str, str], str]:
    """The table of the page: (row, engine) to yes, no or something else."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    engines = [name.rpartition(" ")[0] for name in cells[0][1:]]
    return {
        (row[0], engine): claim for row in cells[2:] for engine, claim in zip(engines, row[1:], strict=True)
    }


def table(place: Path, shredded: bool) -> str:
    made = sl.Table.create(
        place / "table",
        pa.schema([("v", sl.variant())]),
        properties={"delta.enableVariantShredding": str(shredded).lower()},
    )
    made.append(pa.table({"v": DOCUMENTS}))
    return str(place / "table")


def file(place: Path) -> str:
    path = place / "file.parquet"
    sl.write_parquet(pa.table({"v": sl.from_json(pa.array(DOCUMENTS))}), path, shredding="infer")
    return str(path)


# ── What each engine is asked to do ─────────────────────────────────────────────────────────────────────


def shredlake_reads_a_table(place: Path, shredded: bool) -> list[Any]:
    return sl.Table(table(place, shredded)).scan(columns=["v:n::int AS n"]).to_arrow().to_pylist()


def deltalake_reads_a_table(place: Path, shredded: bool) -> list[Any]:
    import deltalake

    return deltalake.DeltaTable(table(place, shredded)).to_pyarrow_table().to_pylist()


def polars_reads_a_table(place: Path, shredded: bool) -> list[Any]:
    import polars

    return polars.read_delta(table(place, shredded)).to_dicts()


def deltalake_appends(place: Path) -> Any:
    import deltalake

    return deltalake.write_deltalake(table(place, True), pa.table({"v": DOCUMENTS}), mode="append")


def polars_appends(place: Path) -> Any:
    import polars

    return polars.DataFrame({"v": DOCUMENTS}).write_delta(table(place, True), mode="append")


def duckdb(query: str) -> list[Any]:
    import duckdb as engine

    with engine.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        return connection.sql(query).fetchall()


def polars_reads_a_file(place: Path) -> list[Any]:
    import polars

    return polars.read_parquet(file(place)).to_dicts()


def pyarrow_reads_values(place: Path) -> Any:
    """Raises unless the Variant comes back as documents, not as a struct of encoded bytes."""
    import pyarrow.parquet as pq

    [first, *_] = pq.read_table(file(place)).column("v").to_pylist()
    assert first["kind"] == "like"
    return first


def pyiceberg_has_variants() -> Any:
    """PyIceberg reads files only as tables, whose columns need one of its types."""
    from pyiceberg import types

    return types.VariantType


def wrote_shredded(place: Path) -> None:
    import pyarrow.parquet as pq

    path = place / "written.parquet"
    documents = " union all ".join(f"select '{one}'::json::variant as v" for one in DOCUMENTS)
    duckdb(f"copy ({documents}) to '{path}' (format parquet)")
    assert sl.read_parquet(path, columns=["v:kind::string AS kind"]).column("kind").to_pylist() == [
        "like",
        "post",
    ]
    assert "typed_value" in str(pq.read_schema(path))


SHREDDED_TABLE = "read a Delta table with shredded Variants"
UNSHREDDED_TABLE = "read a Delta table with unshredded Variants"
A_FILE = "read a Parquet file with a shredded Variant as values"
A_PATH = "read one path of a Variant"
FROM_JSON = "turn JSON text into Variants"
WRITE_FILE = "write a Parquet file with a shredded Variant"
APPEND = "append to a Delta table with shredded Variants"

ATTEMPTS: dict[tuple[str, str], Callable[[Path], Any]] = {
    (SHREDDED_TABLE, "shredlake"): lambda place: shredlake_reads_a_table(place, True),
    (SHREDDED_TABLE, "deltalake"): lambda place: deltalake_reads_a_table(place, True),
    (SHREDDED_TABLE, "Polars"): lambda place: polars_reads_a_table(place, True),
    (UNSHREDDED_TABLE, "shredlake"): lambda place: shredlake_reads_a_table(place, False),
    (UNSHREDDED_TABLE, "deltalake"): lambda place: deltalake_reads_a_table(place, False),
    (A_FILE, "shredlake"): lambda place: sl.read_parquet(file(place)).num_rows,
    (A_FILE, "DuckDB"): lambda place: duckdb(f"select v from '{file(place)}'"),
    (A_FILE, "Polars"): polars_reads_a_file,
    (A_FILE, "pyarrow"): pyarrow_reads_values,
    (A_FILE, "PyIceberg"): lambda place: pyiceberg_has_variants(),
    (A_PATH, "shredlake"): lambda place: sl.read_parquet(file(place), columns=["v:kind::string"]).num_rows,
    (A_PATH, "DuckDB"): lambda place: duckdb(f"select v.kind::varchar from '{file(place)}'"),
    (A_PATH, "Polars"): polars_reads_a_file,
    (A_PATH, "pyarrow"): pyarrow_reads_values,
    (FROM_JSON, "shredlake"): lambda place: sl.from_json(pa.array(DOCUMENTS)),
    (FROM_JSON, "DuckDB"): lambda place: duckdb(f"select '{DOCUMENTS[0]}'::json::variant"),
    (WRITE_FILE, "shredlake"): file,
    (WRITE_FILE, "DuckDB"): wrote_shredded,
    (APPEND, "shredlake"): lambda place: table(place, True),
    (APPEND, "deltalake"): deltalake_appends,
    (APPEND, "Polars"): polars_appends,
}
"""How each claim is tried."""

TRIED = ("shredlake", "deltalake", "DuckDB", "Polars", "pyarrow", "PyIceberg")
PACKAGES = {name: name.lower() for name in TRIED}


@pytest.mark.parametrize(("row", "engine"), ATTEMPTS, ids=str)
def test_the_page_says_what_happens(tmp_path: Path, row: str, engine: str) -> None:
    try:
        metadata.version(PACKAGES[engine])
    except metadata.PackageNotFoundError:
        pytest.skip(f"{engine} is not installed: pip install {PACKAGES[engine]}")
    claim = claims()[row, engine]
    assert claim in ("yes", "no"), "an attempt needs a claim"
    try:
        answer = ATTEMPTS[row, engine](tmp_path)
    except BaseException as error:  # engines written in Rust panic with exceptions of their own
        if claim == "yes" or isinstance(error, KeyboardInterrupt):
            raise
    else:
        assert claim == "yes", f"{engine} can do it now: {answer}"


def test_every_yes_and_no_is_tried() -> None:
    said = {key for key, claim in claims().items() if claim in ("yes", "no") and key[1] in PACKAGES}
    assert said == set(ATTEMPTS)
