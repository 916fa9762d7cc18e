"""`check`: finds every violation of the specification in a file's Variants, with row, path and rule.

A file is read a few thousand rows at a time, so it may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

from shredlake.errors import InvalidSchema
from shredlake.parquet.entries import groups_in
from shredlake.parquet.inspect.check_draft import draft_violations
from shredlake.parquet.inspect.check_rows import DataCheck
from shredlake.parquet.inspect.check_structure import check_structure
from shredlake.parquet.inspect.rules import Violation
from shredlake.parquet.io.source import Location, Source, open_input
from shredlake.parquet.io.stores import Store
from shredlake.parquet.read.stream import BATCH_ROWS, batches, parquet_file
from shredlake.parquet.variant_columns import VariantColumn, variant_column, variant_groups

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of rows done and the total."""


def check(
    path: Location, *, store: Store | None = None, limit: int | None = None, progress: Progress | None = None
) -> list[Violation]:
    """Checks the Variants of a Parquet file; returns at most `limit` violations, none if the file conforms.

    Columns in the older draft layout are checked against its own rules. `progress` is called with the number
    of rows done and the total.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from shredlake.kernels.arrow.types import shredded_type
    >>> from shredlake.shredding.schema import ShreddingSchema
    >>> row = {"metadata": bytes([1, 0, 0]), "value": bytes([0]), "typed_value": 34}
    >>> column = pa.array([row], shredded_type(ShreddingSchema.parse("bigint")))
    >>> path = tempfile.mkdtemp() + "/f.parquet"
    >>> pq.write_table(pa.table({"v": column}), path)
    >>> for violation in check(path):
    ...     print(violation)
    v, $: no VARIANT annotation [annotation]
    v, row 0, $: value 00 beside typed_value 34 [conflict]
    """
    return list(islice(violations(path, store=store, progress=progress), limit))


def violations(
    path: Location, *, store: Store | None = None, progress: Progress | None = None
) -> Iterator[Violation]:
    """Yields the violations of a file as they are found: those of the footer first, then of the rows."""
    with open_input(path, store) as source:
        columns = []
        for group in variant_groups(source.footer().schema):
            yield from check_structure(group)
            try:
                columns.append(variant_column(group))
            except InvalidSchema:  # reported above; the rows of the column can't be read
                continue
        if columns:
            yield from _rows(source, columns, progress)
        yield from draft_violations(source, progress)


def _rows(source: Source, columns: list[VariantColumn], progress: Progress | None) -> Iterator[Violation]:
    with parquet_file(source) as file:
        names = [column.name for column in columns]
        for first_row, batch in batches(source, file, names, BATCH_ROWS):
            for column in columns:
                yield from DataCheck(column, *groups_in(batch, column.group.path, first_row)).run()
            if progress is not None:
                progress(first_row + batch.num_rows, file.metadata.num_rows)
