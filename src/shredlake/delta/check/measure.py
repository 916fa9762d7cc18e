"""The true statistics of a file, measured from its rows, to compare with those in the log or replace them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.schema.types import Struct
from shredlake.delta.stats.collect import Leaf, leaf_columns, python_value
from shredlake.delta.stats.columns import JsonPiece, Side, widened
from shredlake.delta.stats.parsed import SIDES, shredding_of
from shredlake.kernels import get, shred
from shredlake.parquet.leaves import LeafStatistics
from shredlake.parquet.read.counts import VARIANT_NULL
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.parquet.write.writer import FileFacts, VariantFacts
from shredlake.shredding.schema import ARRAY_ELEMENT, Object, Scalar, ShreddingSchema, node_path
from shredlake.variant.path import Path


@dataclass
class Measure:
    """Nulls, values and bounds of a column or path, over the batches seen so far."""

    nulls: int = 0
    values: int = 0
    has_nan: bool = False
    others: int = 0
    """Values of another type than the path's; only paths of Variants have any."""
    extremes: list[pa.Scalar] = field(default_factory=list)

    def add(self, array: pa.Array) -> None:
        """Counts one more batch."""
        self.nulls += array.null_count
        self.values += len(array) - array.null_count
        kind = array.type
        if pa.types.is_null(kind) or pa.types.is_nested(kind) or isinstance(kind, pa.ExtensionType):
            return  # without an order
        if pa.types.is_floating(kind):
            nan = pc.fill_null(pc.is_nan(array), False)
            self.has_nan |= bool(nan.true_count)
            array = array.filter(pc.invert(nan))
        found = pc.min_max(array)
        self.extremes += [found[name] for name in ("min", "max") if found[name].is_valid]

    def bound(self, side: Side) -> pa.Scalar | None:
        """The least or greatest value other than NaN."""
        if not self.extremes:
            return None
        found = pc.min_max(pa.array(self.extremes, self.extremes[0].type))
        return found["min" if side == "minValues" else "max"]

    def statistics(self) -> LeafStatistics:
        """The same in the form that the writer of a file has."""
        lower, upper = (self.bound(side) for side in SIDES)
        return LeafStatistics(
            lower, upper, self.values, self.nulls, self.has_nan, compressed_size=0, uncompressed_size=0
        )


class Measured:
    """The statistics of one file: of its columns, and of the paths of its Variants that may have bounds.

    Paths are those with recorded bounds, and the scalars of the file's layout.
    """

    def __init__(
        self,
        schema: Struct,
        partitions: tuple[str, ...],
        stats: str | None,
        layout: Mapping[str, ColumnLayout],
    ) -> None:
        self.leaves = list(leaf_columns(schema, partitions))
        self.recorded = JsonPiece.of(pa.array([stats], pa.string()))
        self.layout = layout
        self.rows = 0
        self.columns: dict[Leaf, Measure] = {leaf: Measure() for leaf in self.leaves}
        self.paths: dict[Leaf, dict[str, tuple[Scalar, Measure]]] = {
            leaf: {path: (node, Measure()) for path, node in self._paths(leaf)}
            for leaf in self.leaves
            if leaf.type == "variant"
        }

    def _paths(self, leaf: Leaf) -> Iterator[tuple[str, Scalar]]:
        column = self.layout.get(".".join(leaf.physical))
        found: dict[str, Scalar] = {}
        if column is not None:
            found |= {
                node_path(steps): node
                for steps, node in column.schema.leaves()
                if isinstance(node, Scalar) and ARRAY_ELEMENT not in steps
            }
        bounds = shredding_of([self.recorded], [leaf]).get(leaf)
        if bounds is not None:
            found |= _scalars(bounds.root)
        yield from found.items()

    def add(self, batch: pa.RecordBatch) -> None:
        """Counts the rows of a batch, which has all columns of the table."""
        self.rows += batch.num_rows
        for leaf in self.leaves:
            column = _column(batch, leaf.names)
            self.columns[leaf].add(column)
            for path, (node, measure) in self.paths.get(leaf, {}).items():
                shredded = shred(get(column, Path.parse(path)), ShreddingSchema(node), threads=1)
                measure.add(shredded.field("typed_value"))
                other = shredded.field("value").drop_null()
                measure.others += pc.sum(pc.not_equal(other, VARIANT_NULL)).as_py() or 0

    # ── Against the log ─────────────────────────────────────────────────────────────────────────────────

    def problems(self, *, exact_nulls: bool) -> Iterator[str]:
        """How the recorded statistics contradict the rows. Absent ones contradict nothing."""
        for leaf, measure in self.columns.items():
            name = ".".join(leaf.names)
            nulls = self.recorded.null_count(leaf)[0].as_py()
            if exact_nulls and nulls is not None and nulls != measure.nulls:
                yield f"{name} has {measure.nulls:,} nulls, the statistics say {nulls:,}"
            if isinstance(leaf.type, str) and leaf.type not in ("variant", "void"):
                for side in SIDES:
                    bound = self.recorded.bound(side, leaf)
                    yield from _outside(
                        name, measure, side, widened(bound, leaf.type) if side == "maxValues" else bound
                    )
        for leaf, paths in self.paths.items():
            for path, (node, measure) in paths.items():
                name = f"{'.'.join(leaf.names)}, path {path}"
                for side in SIDES:
                    bound = self.recorded.variant_bound(side, leaf, path)
                    if bound.null_count:
                        continue
                    if measure.others:
                        yield f"{name} has bounds, and values of another type than they"
                        break
                    yield from _outside(
                        name, measure, side, shred(bound, ShreddingSchema(node)).field("typed_value")
                    )

    # ── For the log ─────────────────────────────────────────────────────────────────────────────────────

    def facts(self, path: str, size: int) -> FileFacts:
        """As the writer would have described the file."""
        return FileFacts(
            path=path,
            size=size,
            num_rows=self.rows,
            variants={".".join(leaf.physical): self._variant(leaf) for leaf in self.paths},
            leaves={
                ".".join(leaf.physical): measure.statistics()
                for leaf, measure in self.columns.items()
                if isinstance(leaf.type, str) and leaf.type not in ("variant", "void")
            },
        )

    def container_nulls(self) -> dict[tuple[str, ...], int]:
        """The number of null lists and maps per column."""
        return {
            leaf.physical: measure.nulls
            for leaf, measure in self.columns.items()
            if not isinstance(leaf.type, str)
        }

    def _variant(self, leaf: Leaf) -> VariantFacts:
        paths = self.paths[leaf]
        column = self.layout.get(".".join(leaf.physical))
        return VariantFacts(
            None if column is None else column.schema,
            frozenset(path for path, (_, measure) in paths.items() if measure.others),
            frozenset(),
            self.columns[leaf].nulls,
            {path: measure.statistics() for path, (_, measure) in paths.items()},
        )


def _scalars(root: object) -> dict[str, Scalar]:
    fields = root.fields if isinstance(root, Object) else ()
    return {name: node for name, node in fields if isinstance(node, Scalar)}


def _column(batch: pa.RecordBatch, names: tuple[str, ...]) -> pa.Array:
    column = batch.column(names[0])
    for name in names[1:]:
        column = pc.struct_field(column, [name])  # null where the struct is
    return column


def _outside(name: str, measure: Measure, side: Side, recorded: pa.Array) -> Iterator[str]:
    """Whether a value lies beyond its recorded bound."""
    [bound] = recorded
    actual = measure.bound(side)
    lower = side == "minValues"
    if not bound.is_valid:
        return
    if measure.has_nan and not lower:
        yield f"{name} has NaN, the greatest value, and a recorded maximum"
    elif actual is not None and pc.call_function("less" if lower else "greater", [actual, bound]).as_py():
        word, beyond = ("minimum", "smaller") if lower else ("maximum", "greater")
        yield f"{name} has a value {beyond} than the recorded {word} {repr(python_value(bound))[:60]}"
