"""Lets installed engines read a row of a table or file. Their outcome takes precedence over the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

from shredlake.diagnosis.facts import Facts

Probe = Callable[[str, Mapping[str, Any]], None]
"""Reads from an address with storage options, and raises if it can't."""


@dataclass(frozen=True)
class Probed:
    """The outcome of a probe."""

    version: str
    error: str | None
    """None if it read the rows."""


def _deltalake_table(address: str, options: Mapping[str, Any]) -> None:
    from deltalake import DeltaTable

    texts = {key: str(value) for key, value in options.items()}
    DeltaTable(address, storage_options=texts or None).to_pyarrow_dataset().head(1)


def _polars_table(address: str, options: Mapping[str, Any]) -> None:
    import polars

    texts = {key: str(value) for key, value in options.items()}
    polars.scan_delta(address, storage_options=texts or None).head(1).collect()


def _polars_file(address: str, options: Mapping[str, Any]) -> None:
    import polars

    polars.read_parquet(address, n_rows=1)


def _duckdb_file(address: str, options: Mapping[str, Any]) -> None:
    import duckdb

    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        connection.execute("select * from read_parquet(?) limit 1", [address]).fetchall()


def _pyarrow_file(address: str, options: Mapping[str, Any]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(address) as file:
        next(file.iter_batches(batch_size=1), None)


def _spark_file(address: str, options: Mapping[str, Any]) -> None:
    from shredlake.spark.session import session

    spark = session(master="local[1]")
    try:
        spark.read.parquet(address).limit(1).collect()
    finally:
        spark.stop()


PROBES: Final[Mapping[tuple[str, str], Probe]] = {
    ("deltalake", "table"): _deltalake_table,
    ("polars", "table"): _polars_table,
    ("polars", "file"): _polars_file,
    ("duckdb", "file"): _duckdb_file,
    ("pyarrow", "file"): _pyarrow_file,
}
"""The probe of each engine. DuckDB reads tables with an extension that it would download."""

SLOW_PROBES: Final[Mapping[tuple[str, str], Probe]] = {("spark", "file"): _spark_file}
"""Engines that take seconds to start."""

PACKAGES: Final = {"spark": "pyspark"}
"""Names of packages that differ from the engine's."""


def probe(engine: str, facts: Facts, options: Mapping[str, Any], *, slow: bool = False) -> Probed | None:
    """Asks an engine to read; None if it is not installed, or there is no way to ask it.

    Engines that are slow to start are asked only with `slow`.
    """
    key = engine, facts.subject
    run = PROBES.get(key) or (SLOW_PROBES.get(key) if slow else None)
    if run is None:
        return None
    try:
        version = metadata.version(PACKAGES.get(engine, engine))
    except metadata.PackageNotFoundError:
        return None
    try:
        run(facts.address, options)
    except BaseException as error:  # engines written in Rust panic with exceptions of their own
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        if isinstance(error, ImportError):
            return None
        return Probed(version, str(error).strip().partition("\n")[0] or type(error).__name__)
    return Probed(version, None)
