"""`inspect`: describes a file path by path, with types, fill, bytes and bounds.

Nearly everything comes from the footer: null counts, and the level histograms that current writers keep (a
list or an object has no column of its own to count). Rows are read only to tell Variant nulls from other
residuals, to find partly shredded objects, and in files without histograms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from shredlake.formatting import bytes_text, counted, html_text, plain_fields
from shredlake.garbage import CollectorPaused
from shredlake.parquet.format.footer import FILE_CREATED_BY
from shredlake.parquet.format.schema import SchemaNode
from shredlake.parquet.io.source import Location, open_input
from shredlake.parquet.io.stores import Store
from shredlake.parquet.leaves import LeafStatistics, leaf_statistics
from shredlake.parquet.read.counts import LevelCounts, count_levels
from shredlake.parquet.read.stream import parquet_file
from shredlake.parquet.variant_columns import Level, VariantColumn, variant_columns
from shredlake.shredding.schema import Array, Object, node_ddl

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class PathReport:
    """One level of a Variant column."""

    path: str
    """Normalised; `[*]` for the elements of an array."""
    type: str
    """The type of `typed_value`: a DDL type, `object` or `array`; `variant` if there is no `typed_value`."""
    places: int
    """The number of places for a value: Variants for the root, objects for a field, or array elements."""
    typed: int
    """Places with a `typed_value`."""
    residual: int
    """Places with only a `value`, other than Variant null."""
    null: int
    """Places that hold Variant null."""
    missing: int
    partial: int
    """The number of typed objects with further fields in `value`."""
    bytes: int
    """The size in the file of the level's own columns, `value` and a scalar `typed_value`."""
    file_share: float
    minimum: pa.Scalar | None
    maximum: pa.Scalar | None
    """Bounds of a scalar `typed_value`, if the file has them."""
    children: tuple[PathReport, ...]
    files: int = 1
    """Number of files that have the path, where the reports of several are added up."""

    def walk(self) -> Iterator[PathReport]:
        """Yields this level and all levels below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class ColumnReport:
    """One Variant column."""

    name: str
    annotated: bool
    shredding: str | None
    """The DDL of its shredding; None if it is not shredded."""
    variants: int
    nulls: int
    metadata_bytes: int
    bytes: int
    """The size of all its columns together."""
    file_share: float
    root: PathReport


@dataclass(frozen=True)
class FileReport:
    """A file: its size, its Variant columns path by path, and the bytes of its other columns."""

    path: str
    bytes: int
    rows: int
    row_groups: int
    created_by: str
    variants: tuple[ColumnReport, ...]
    others: Mapping[str, int]
    """Compressed bytes of every other leaf column, by dotted name."""

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {counted(self.rows, 'row')}, {counted(self.row_groups, 'row group')}, "
            f"{bytes_text(self.bytes)}"
        ]
        for column in self.variants:
            paths = [(f"{column.name} {path.path}", path) for path in column.root.walk()]
            width = max(len(name) for name, _ in paths)
            lines += [
                f"{name:<{width}}  {path.type:<12} {bytes_text(path.bytes):>10} {path.file_share:>6.1%}"
                for name, path in paths
            ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Converts the report to dicts, lists, numbers and strings, ready for JSON."""
        return plain_fields(self)

    def html(self) -> str:
        """The report as an HTML page: one file that needs no network."""
        from shredlake.parquet.inspect.page import file_page

        return file_page(self)


@CollectorPaused()
def inspect(path: Location, *, store: Store | None = None, progress: Progress | None = None) -> FileReport:
    """Describes the Variants of a file: layout, fill and bytes per path.

    >>> import pyarrow as pa, shredlake as sl, tempfile
    >>> rows = ['{"a": 1}', '{"a": "x"}', '{"a": null}', '{"b": 5}', None]
    >>> path = tempfile.mkdtemp() + "/f.parquet"
    >>> table = pa.table({"v": sl.from_json(pa.array(rows))})
    >>> facts = sl.write_parquet(table, path, shredding={"v": "struct<a bigint>"})
    >>> [column] = inspect(path).variants
    >>> column.variants, column.nulls, column.root.typed, column.root.partial
    (4, 1, 4, 1)
    >>> [a] = column.root.children
    >>> a.path, a.type, a.typed, a.residual, a.null, a.missing, a.maximum.as_py()
    ("$['a']", 'bigint', 1, 1, 1, 1, 1)
    """
    with ExitStack() as opened:
        source = opened.enter_context(open_input(path, store))
        footer = source.footer()
        file = opened.enter_context(parquet_file(source, footer))
        columns = variant_columns(footer.schema)
        metadata = file.metadata
        leaves = leaf_statistics(metadata, file.schema_arrow, set())
        counts = count_levels(source, file, footer, columns, progress)
        inside = {leaf.column for column in columns for leaf in column.group.leaves()}
        return FileReport(
            path=source.name,
            bytes=source.size,
            rows=metadata.num_rows,
            row_groups=metadata.num_row_groups,
            created_by=footer.tree.text(FILE_CREATED_BY) or "",
            variants=tuple(_Column(column, leaves, counts, source.size).report() for column in columns),
            others={
                leaf.dotted: leaves[leaf.column].compressed_size
                for leaf in footer.schema.leaves()
                if leaf.column is not None and leaf.column not in inside
            },
        )


class _Column:
    """Builds the report of one column."""

    def __init__(
        self,
        column: VariantColumn,
        leaves: list[LeafStatistics],
        counts: Mapping[tuple[str, str], LevelCounts],
        file_size: int,
    ) -> None:
        self.column = column
        self.leaves = leaves
        self.counts = counts
        self.file_size = file_size

    def report(self) -> ColumnReport:
        column = self.column
        size = sum(leaf.compressed_size for leaf in self.statistics(*column.group.leaves()))
        [metadata] = self.statistics(column.metadata)
        return ColumnReport(
            name=column.name,
            annotated=column.annotated,
            shredding=None if column.schema is None else str(column.schema),
            variants=metadata.value_count,
            nulls=metadata.null_count,
            metadata_bytes=metadata.compressed_size,
            bytes=size,
            file_share=size / self.file_size,
            root=self.level(column.root),
        )

    def level(self, level: Level) -> PathReport:
        counts = self.counts[self.column.name, level.path]
        size = sum(leaf.compressed_size for leaf in self.statistics(level.value, level.typed))
        scalar = next(iter(self.statistics(level.typed)), None)
        below = [*level.fields.values(), *([] if level.element is None else [level.element])]
        return PathReport(
            path=level.path,
            type=type_name(level),
            places=counts.places,
            typed=counts.typed,
            residual=counts.residual - counts.null - counts.partial,
            null=counts.null,
            missing=counts.places - counts.typed - counts.residual + counts.partial,
            partial=counts.partial,
            bytes=size,
            file_share=size / self.file_size,
            minimum=None if scalar is None else scalar.minimum,
            maximum=None if scalar is None else scalar.maximum,
            children=tuple(self.level(child) for child in below),
        )

    def statistics(self, *nodes: SchemaNode | None) -> list[LeafStatistics]:
        """The statistics of those nodes that are leaves."""
        return [self.leaves[node.column] for node in nodes if node is not None and node.column is not None]


def type_name(level: Level) -> str:
    """A level's type as one word: the DDL of a scalar, or object, array, variant."""
    match level.node:
        case Object():
            return "object"
        case Array():
            return "array"
        case scalar:
            return node_ddl(scalar)
