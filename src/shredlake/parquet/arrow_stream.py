"""`ArrowStream`: what every scan offers to other libraries.

A scan is an Arrow stream: it has the methods of Arrow's PyCapsule interface, so pyarrow, Polars, DuckDB,
pandas and others read it directly. Each reader starts a new run of the scan.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self

import pyarrow as pa

from shredlake.errors import MissingDependency, WrongType
from shredlake.formatting import html_facts
from shredlake.kernels.arrow.types import is_variant

if TYPE_CHECKING:
    import polars


class ArrowData(Protocol):
    """Anything with an Arrow stream: Arrow tables and readers, Polars and pandas frames, scans."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ArrowStream(ABC):
    """A lazy result with a known schema, read batch by batch."""

    _limit: int | None = None

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns and types of the result."""

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, or at least the first `_limit`."""

    @abstractmethod
    def plan(self) -> dict[str, str]:
        """How the result is read, as the lines of its `repr`. The first entry names the source."""

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches, in the order of the files. A few batches are read ahead."""
        batches = self._batches()
        return batches if self._limit is None else first_rows(batches, self._limit)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches that can be read once."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def to_arrow(self) -> pa.Table:
        """All rows, as one table."""
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def to_polars(self) -> polars.DataFrame:
        """All rows, as a Polars frame."""
        frame: polars.DataFrame = library("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> Any:
        """All rows, as a pandas frame."""
        library("pandas")
        return self.to_arrow().to_pandas()

    def to_duckdb(self, connection: Any = None) -> Any:
        """A DuckDB relation over the rows. Variant columns are DuckDB's VARIANT.

        DuckDB runs the scan whenever the relation is executed. `connection` is a DuckDB connection; without
        it, the relation belongs to the default connection.
        """
        duckdb = library("duckdb")
        return (connection or duckdb).from_arrow(self)

    def limit(self, rows: int) -> Self:
        """This scan, limited to some rows. Files and pages behind them are not read."""
        if not isinstance(rows, int) or rows < 0:
            raise WrongType(f"limit takes a number of rows, 0 or more; found {rows!r}")
        limited = copy.copy(self)
        limited._limit = rows if self._limit is None else min(rows, self._limit)
        return limited

    def head(self, rows: int = 5) -> pa.Table:
        """The first rows, as a table."""
        return self.limit(rows).to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a C stream in a capsule, by Arrow's PyCapsule interface."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema as a C schema in a capsule, by Arrow's PyCapsule interface."""
        return self.schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return "\n".join(f"{name:<10} {text}" for name, text in self._facts().items())

    def _repr_html_(self) -> str:
        return html_facts(self._facts())

    def _facts(self) -> dict[str, str]:
        limit = {} if self._limit is None else {"limit": f"{self._limit:,}"}
        return {**self.plan(), **limit}


def columns_text(schema: pa.Schema) -> str:
    """The columns of a schema with their types; a Variant is called by its name.

    >>> from shredlake.kernels.arrow.types import variant
    >>> columns_text(pa.schema([("id", pa.int64()), ("v", variant())]))
    'id int64, v variant'
    """
    return ", ".join(
        f"{field.name} {'variant' if is_variant(field.type) else field.type}" for field in schema
    )


def first_rows(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    """Cuts a stream after some rows and ends it.

    >>> batch = pa.record_batch({"id": [1, 2]})
    >>> [part.num_rows for part in first_rows(iter([batch, batch, batch]), 3)]
    [2, 1]
    """
    left = limit
    try:
        while left and (batch := next(batches, None)) is not None:
            yield batch.slice(0, left)
            left -= min(left, batch.num_rows)
    finally:
        if close := getattr(batches, "close", None):
            close()


def library(name: str) -> Any:
    """Imports a library that need not be installed.

    >>> library("no_such_library")
    Traceback (most recent call last):
    ...
    shredlake.errors.MissingDependency: no_such_library is not installed; run pip install no_such_library
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise MissingDependency(f"{name} is not installed; run pip install {name}") from None
