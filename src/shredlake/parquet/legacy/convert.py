"""Reads, writes and converts files in the older draft layout.

`shredding/legacy.py` defines the layout. A column in the draft layout is recognised by its shape.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake import kernels
from shredlake.errors import InvalidFile, InvalidSchema
from shredlake.kernels.arrow.nested import Names
from shredlake.kernels.arrow.types import is_variant, shredded_type, variant
from shredlake.parquet.io.destination import destination
from shredlake.parquet.io.source import Location, Source, open_input
from shredlake.parquet.io.stores import Store
from shredlake.parquet.legacy.columns import from_draft, to_draft
from shredlake.parquet.legacy.types import draft_schema, draft_type, draft_types
from shredlake.parquet.nested import Replacement, find_types, replace_columns
from shredlake.parquet.read.stream import batches, parquet_file
from shredlake.parquet.write.writer import FileFacts, ParquetWriter, WriteOptions
from shredlake.shredding.legacy import DraftNode, current_node, draft_node
from shredlake.shredding.request import Shredding
from shredlake.shredding.schema import ShreddingSchema

Progress: TypeAlias = Callable[[int, int], None]

BATCH_ROWS = 65_536


def write_draft(
    table: pa.Table,
    where: str | os.PathLike[str],
    shredding: Mapping[str, DraftNode | ShreddingSchema | str],
    *,
    spelling: str = "untyped_value",
    store: Store | None = None,
) -> None:
    """Writes a file in the draft layout, for readers that support only that layout.

    `shredding` maps each Variant column, by dotted name, to a draft level or to a current schema.

    >>> import shredlake as sl, tempfile
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"a": 1, "b": 2}']))})
    >>> path = tempfile.mkdtemp() + "/draft.parquet"
    >>> write_draft(table, path, {"v": "struct<a bigint>"})
    >>> sl.to_json(read_draft(path)["v"]).to_pylist()
    ['{"a":1,"b":2}']
    """
    found = {".".join(names): names for names in find_types(table.schema, is_variant)}
    replacements = {}
    for name, wanted in shredding.items():
        if name not in found:
            known = ", ".join(found) or "none"
            raise InvalidSchema(f"there is no Variant column {name!r}; the Variant columns are: {known}")
        parsed = ShreddingSchema.parse(wanted) if isinstance(wanted, str) else wanted
        node = parsed if isinstance(parsed, DraftNode) else draft_node(parsed, spelling)
        replacements[found[name]] = Replacement(draft_type(node), partial(to_draft, node=node))
    target = destination(where, store)
    try:
        pq.write_table(
            replace_columns(table, replacements),
            str(target.temporary),
            compression="zstd",
            store_schema=False,
            store_decimal_as_integer=True,
        )
        target.commit()
    except BaseException:
        target.abort()
        raise


def read_draft(path: Location, *, reject_conflicts: bool = False, store: Store | None = None) -> pa.Table:
    """Reads a file in the draft layout as a table of Variant columns; other columns are unchanged.

    Parts that contradict each other are an error; with `reject_conflicts`, so are fields that are both
    shredded and in the residual, and missing array elements.
    """
    with open_input(path, store) as source, parquet_file(source) as file:
        columns = _columns(source, file.schema_arrow)
        nothing = pa.Table.from_batches([], file.schema_arrow)
        tables = [replace_columns(nothing, _replacements(columns, unshredded=True))]
        for first_row, batch in batches(source, file, file.schema_arrow.names, BATCH_ROWS):
            replacements = _replacements(columns, reject_conflicts, first_row, unshredded=True)
            tables.append(replace_columns(pa.Table.from_batches([batch]), replacements))
        return pa.concat_tables(tables)


def convert_draft(
    path: Location,
    where: str | os.PathLike[str],
    *,
    shredding: Shredding = "infer",
    keep_schemas: bool = True,
    options: WriteOptions | None = None,
    reject_conflicts: bool = False,
    store: Store | None = None,
    progress: Progress | None = None,
) -> FileFacts:
    """Rewrites a draft-layout file in the current layout; every value stays the same.

    `shredding` means the same as for `write_parquet`: by default, columns are shredded as they were. With
    `keep_schemas=False` the draft's schemas are forgotten, so that "infer" chooses from the data.

    >>> import shredlake as sl, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> table = pa.table({"v": sl.from_json(pa.array(['{"a": 1, "b": 2}']))})
    >>> write_draft(table, folder + "/draft.parquet", {"v": "struct<a bigint>"})
    >>> facts = convert_draft(folder + "/draft.parquet", folder + "/current.parquet")
    >>> str(facts.variants["v"].schema)
    'struct<a bigint>'
    """
    with open_input(path, store) as source, parquet_file(source) as file:
        columns = _columns(source, file.schema_arrow)
        nothing = pa.Table.from_batches([], file.schema_arrow)
        schema = replace_columns(nothing, _replacements(columns, unshredded=not keep_schemas)).schema
        with ParquetWriter(where, schema, shredding=shredding, options=options, store=store) as writer:
            for first_row, batch in batches(source, file, file.schema_arrow.names, BATCH_ROWS):
                replacements = _replacements(
                    columns, reject_conflicts, first_row, unshredded=not keep_schemas
                )
                writer.write(replace_columns(pa.Table.from_batches([batch]), replacements))
                if progress is not None:
                    progress(first_row + batch.num_rows, file.metadata.num_rows)
    return writer.facts


def _columns(source: Source, schema: pa.Schema) -> dict[Names, DraftNode]:
    found = draft_types(schema)
    if not found:
        raise InvalidFile(
            f"{source.name} has no column in the draft layout, so there is nothing to migrate; "
            f"it has {', '.join(schema.names)}"
        )
    try:
        return {names: draft_schema(type_) for names, type_ in found.items()}
    except InvalidSchema as error:
        raise InvalidSchema(f"{source.name}: {error}") from error


def _replacements(
    columns: Mapping[Names, DraftNode],
    reject_conflicts: bool = False,
    first_row: int = 0,
    *,
    unshredded: bool = False,
) -> dict[Names, Replacement]:
    """Converts draft columns to the current layout, shredded as they were or not at all."""

    def make(array: pa.Array) -> pa.Array:
        shredded = from_draft(array, reject_conflicts=reject_conflicts, first_row=first_row)
        return kernels.unshred(shredded) if unshredded else shredded

    def type_of(node: DraftNode) -> pa.DataType:
        return variant() if unshredded else shredded_type(ShreddingSchema(current_node(node)))

    return {names: Replacement(type_of(node), make) for names, node in columns.items()}
