"""Data skipping: determines which files of a table may hold rows that match a predicate.

The statistics of all files are Arrow columns, and `expr.prune` evaluates the predicate on them. How a bound
can be used depends on its type, and the bounds of a Variant path can differ in type from file to file. Each
type is therefore evaluated in a pass of its own, in which bounds of other types count as unknown. A file is
skipped if any pass rules it out; each pass is sound by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import LruCache
from shredlake.delta.log.checkpoint_read import Mask
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.schema import partitions
from shredlake.delta.schema.names import resolve
from shredlake.delta.schema.type_widening import TYPE_CHANGES
from shredlake.delta.schema.types import Struct
from shredlake.delta.stats.collect import Leaf, clashing, leaf_columns
from shredlake.delta.stats.columns import Piece, pieces_of, widened
from shredlake.delta.storage.storage import Storage
from shredlake.expr import Column, Expr, Get, all_of, conjuncts, join_name, may_match, name_parts, references
from shredlake.expr.prune import Bounds
from shredlake.kernels import get
from shredlake.kernels.arrow.types import is_variant
from shredlake.kernels.cast_options import DEFAULT, CastOptions
from shredlake.variant.path import Path

# Maps the type id of a primitive (the upper six bits of its first byte) to the type that we read its bounds
# as. Integers of any width form one class. Decimals form another, which keeps all their digits.
_CLASSES: dict[int, pa.DataType] = {
    1: pa.bool_(),
    2: pa.bool_(),
    3: pa.int64(),
    4: pa.int64(),
    5: pa.int64(),
    6: pa.int64(),
    7: pa.float64(),
    8: pa.decimal128(38, 0),
    9: pa.decimal128(38, 0),
    10: pa.decimal128(38, 0),
    11: pa.date32(),
    12: pa.timestamp("us", tz="UTC"),
    13: pa.timestamp("us"),
    14: pa.float32(),
    16: pa.string(),
}


FEW_FILES: Final = 10_000
"""The maximum number of files for which a table's statistics are cached: a few MB per table."""


@dataclass(frozen=True)
class Verdict:
    """The files to read, and how many files partition values and statistics ruled out."""

    keep: Mask
    by_partition: int
    by_statistics: int


@dataclass(frozen=True)
class BoundsOfType:
    """The statistics for one pass of `expr.prune`: for each reference, the bounds of one type by rank."""

    statistics: FileStatistics
    rank: int

    @property
    def length(self) -> int:
        return self.statistics.length

    def bounds(self, ref: Column | Get) -> Bounds | None:
        found = self.statistics.bounds(ref)
        return found[self.rank] if self.rank < len(found) else None


@dataclass
class FileStatistics:
    """The statistics of a snapshot's files, each read once."""

    snapshot: Snapshot
    pieces: list[Piece]
    _cache: dict[Column | Get, list[Bounds]] = field(default_factory=dict)
    _row_counts: pa.Array | None = None

    @staticmethod
    def of(snapshot: Snapshot) -> FileStatistics:
        """Returns the statistics of a version, which are cached unless the table is large."""
        found = _remembered.find(snapshot.storage)
        if found is not None and _same_files(found.snapshot, snapshot):
            return found
        found = FileStatistics(snapshot, list(pieces_of(snapshot.files)))
        return _remembered.put(snapshot.storage, found) if snapshot.files.places <= FEW_FILES else found

    @property
    def length(self) -> int:
        return self.snapshot.files.places

    def ranks(self, predicate: Expr) -> int:
        """Returns the maximum number of types that the bounds of a reference in the predicate have."""
        return max((len(self.bounds(ref)) for ref in references(predicate)), default=0)

    def bounds(self, ref: Column | Get) -> list[Bounds]:
        """Returns the bounds of a reference, one set per type that occurs."""
        if ref not in self._cache:
            self._cache[ref] = self._find(ref)
        return self._cache[ref]

    def _find(self, ref: Column | Get) -> list[Bounds]:
        name = ref.column if isinstance(ref, Get) else ref.name
        leaf = find_leaf(self.snapshot.schema, name_parts(name))
        if leaf is None or leaf.physical[0] in clashing(self.snapshot.schema):
            return []
        if leaf.names[0] in self.snapshot.metadata.partition_columns:
            return [self._partition_bounds(leaf)]
        if isinstance(ref, Get):
            return self._path_bounds(leaf, ref) if leaf.type == "variant" else []
        if not isinstance(leaf.type, str):
            return [self._presence(leaf)]
        return [self._presence(leaf) if leaf.type == "variant" else self._column_bounds(leaf)]

    # ── Ordinary columns ────────────────────────────────────────────────────────────────────────────────

    def _column_bounds(self, leaf: Leaf) -> Bounds:
        minimum, maximum, nulls = self._gathered(
            lambda piece: piece.bound("minValues", leaf),
            lambda piece: piece.bound("maxValues", leaf),
            lambda piece: piece.null_count(leaf),
        )
        minimum, maximum = _joined(minimum), _joined(maximum)
        if self._was_float(leaf):
            minimum, maximum = (
                _loosened(minimum, pc.min_element_wise),
                _loosened(maximum, pc.max_element_wise),
            )
        return Bounds(
            minimum=minimum,
            maximum=_raised(widened(maximum, leaf.type)),
            null_count=self._trusted(_joined(nulls)),
            row_count=self.row_counts,
            may_be_nan=self._may_be_nan(maximum),
        )

    def _was_float(self, leaf: Leaf) -> bool:
        """Whether a double column was a float column before, so that old bounds may be floats."""
        field = resolve(self.snapshot.schema, join_name(leaf.names))[-1]
        changes = field.metadata.get(TYPE_CHANGES) or ()
        return leaf.type == "double" and any(change.get("fromType") == "float" for change in changes)

    def _presence(self, leaf: Leaf) -> Bounds:
        """Returns bounds that hold null counts only, for Variants, lists and maps."""
        unknown = pa.nulls(self.length, pa.int64())
        [nulls] = self._gathered(lambda piece: piece.null_count(leaf))
        return Bounds(unknown, unknown, self._trusted(_joined(nulls)), self.row_counts)

    @property
    def row_counts(self) -> pa.Array:
        if self._row_counts is None:
            self._gathered()
        return self._row_counts

    def _gathered(self, *questions: Callable[[Piece], pa.Array]) -> list[list[pa.Array]]:
        """Applies every function to every piece. Each piece is read once and then released."""
        answers: list[list[pa.Array]] = [[] for _ in questions]
        counts = []
        for piece in self.pieces:
            for found, question in zip(answers, questions, strict=True):
                found.append(question(piece))
            if self._row_counts is None:
                counts.append(piece.num_records())
            piece.release()
        if self._row_counts is None:
            self._row_counts = _joined(counts)
        return answers

    def _trusted(self, found: pa.Array) -> pa.Array:
        """Returns the null counts that still hold: for files with deleted rows, only "none" and "all"."""
        deleted = self._has_vector
        if deleted is None:
            return found
        firm = pc.or_kleene(pc.equal(found, 0), pc.equal(found, self.row_counts))
        trusted = pc.or_(pc.invert(deleted), pc.fill_null(firm, False))
        return pc.if_else(trusted, found, pa.scalar(None, pa.int64()))

    @cached_property
    def _has_vector(self) -> pa.Array | None:
        files = self.snapshot.files
        if "deletionVectors" not in (self.snapshot.protocol.reader_features or ()):
            return None
        return pc.is_valid(files.column("deletionVector")).combine_chunks()

    def _may_be_nan(self, maximum: pa.Array) -> pa.Array | None:
        """Whether a file may hold NaN. If so, our own files have no maximum; other writers may ignore NaN."""
        if not pa.types.is_floating(maximum.type):
            return None
        return pc.invert(pc.and_(self._written_by_us, pc.is_valid(maximum)))

    @cached_property
    def _written_by_us(self) -> pa.Array:
        tags = self.snapshot.files.column("tags")
        layout = pc.map_lookup(tags, pa.scalar(LAYOUT_TAG), "first")
        return pc.is_valid(layout).combine_chunks()

    # ── Partition columns ───────────────────────────────────────────────────────────────────────────────

    def _partition_bounds(self, leaf: Leaf) -> Bounds:
        """Returns bounds as if each file had one row, as all rows of a file share the partition value."""
        values = self._partition_values(leaf)
        one = pa.array(np.ones(self.length, dtype=np.int64))
        return Bounds(values, values, pc.cast(pc.is_null(values), pa.int64()), one)

    def _partition_values(self, leaf: Leaf) -> pa.Array:
        maps = self.snapshot.files.column("partitionValues")
        texts = pc.map_lookup(maps, pa.scalar(leaf.physical[0]), "first")
        assert isinstance(leaf.type, str)
        found = partitions.parse_values(texts, leaf.type)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    # ── Paths of Variants ───────────────────────────────────────────────────────────────────────────────

    def _path_bounds(self, leaf: Leaf, ref: Get) -> list[Bounds]:
        """Returns one set of bounds per type that occurs, the most frequent type first."""
        path = ref.path.normalized()
        lower, upper = self._gathered(
            lambda piece: piece.variant_bound("minValues", leaf, path),
            lambda piece: piece.variant_bound("maxValues", leaf, path),
        )
        minima, maxima = _by_class(lower), _by_class(upper)
        kinds = sorted(
            minima.keys() | maxima.keys(),
            key=lambda kind: -sum(_valid(side.get(kind)) for side in (minima, maxima)),
        )
        unknown = pa.nulls(self.length, pa.int64())
        found = []
        for kind in kinds:
            nothing = pa.nulls(self.length, kind)
            minimum, maximum = minima.get(kind, nothing), _raised(maxima.get(kind, nothing))
            # Statistics do not record how many rows lack a path.
            found.append(Bounds(minimum, maximum, unknown, self.row_counts, self._may_be_nan(maximum)))
        return found


def _same_files(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots describe the same files. Those of one version may differ: one may hold fewer."""
    if one is other:
        return True
    ours, theirs = one.files, other.files
    return (
        (one.protocol, one.metadata) == (other.protocol, other.metadata)
        and len(ours.parts) == len(theirs.parts)
        and all(mine is its for mine, its in zip(ours.parts, theirs.parts, strict=True))
        and ours.superseded.equals(theirs.superseded)
        and ours.recent.equals(theirs.recent)
    )


_remembered: LruCache[Storage, FileStatistics] = LruCache(8, "statistics of tables")


def find_leaf(schema: Struct, parts: tuple[str, ...]) -> Leaf | None:
    """Returns the leaf column that a dotted name refers to, with its names as the schema spells them.

    >>> from shredlake.delta.schema.types import Field
    >>> find_leaf(Struct((Field("s", Struct((Field("Id", "long"),))),)), ("S", "id")).names
    ('s', 'Id')
    """
    for leaf in leaf_columns(schema):
        if tuple(name.casefold() for name in leaf.names) == tuple(part.casefold() for part in parts):
            return leaf
    return None


def _joined(arrays: list[pa.Array]) -> pa.Array:
    kinds = {array.type for array in arrays}
    if len(kinds) > 1:  # a checkpoint may hold int32 where the JSON of later commits is read as int64
        widest = pa.float64() if any(pa.types.is_floating(kind) for kind in kinds) else arrays[-1].type
        arrays = [array.cast(widest) for array in arrays]
    return pa.concat_arrays(arrays)


def _raised(maxima: pa.Array) -> pa.Array:
    """Raise maxima of text that another writer may have truncated to something smaller than the text.

    Delta truncates by UTF-16 code units. Half a surrogate pair becomes a question mark. Older versions, and
    writers like them, append U+FFFD, which is smaller than an emoji; later versions append U+10FFFF.
    """
    if not pa.types.is_string(maxima.type):
        return maxima
    return pc.replace_substring_regex(maxima, "[?]?[\ufffd\U0010ffff]$", "\U0010ffff")


def _loosened(bounds: pa.Array, outer: Callable[..., pa.Array]) -> pa.Array:
    """Returns bounds that hold whether a text such as 0.1 is the double or the slightly greater float."""
    return outer(bounds, bounds.cast(pa.float32()).cast(pa.float64()))


def _valid(array: pa.Array | None) -> int:
    return 0 if array is None else len(array) - array.null_count


def _by_class(pieces: list[pa.Array]) -> dict[pa.DataType, pa.Array]:
    """Returns one column of bounds per type that occurs, with null for files whose bound has another type."""
    scale = max((_largest_scale(piece) for piece in pieces), default=0)
    typed = [_classes_of(piece, scale) for piece in pieces]
    kinds = {kind for found in typed for kind in found}
    return {
        kind: pa.concat_arrays(
            [found.get(kind, pa.nulls(len(piece), kind)) for found, piece in zip(typed, pieces, strict=True)]
        )
        for kind in kinds
    }


def _classes_of(bounds: pa.Array, scale: int) -> dict[pa.DataType, pa.Array]:
    if bounds.null_count == len(bounds):
        return {}
    if not is_variant(bounds.type):
        kind = _widest(bounds.type, scale)
        try:
            return {kind: bounds.cast(kind)}
        except pa.ArrowException:
            return {}  # too many digits for a decimal128, so the bounds count as unknown
    headers = bytes_at(bounds, 0)
    found = {}
    for kind in {class_of(header) for header in np.unique(headers).tolist()} - {None}:
        of_kind = np.array([class_of(header) == kind for header in range(256)])[headers]
        values = get(bounds, Path(), _widest(kind, scale))
        found[_widest(kind, scale)] = pc.if_else(pa.array(of_kind), values, pa.scalar(None, values.type))
    return found


def class_of(header: int) -> pa.DataType | None:
    """Returns the type that the first byte of a value encodes, or None if it has no order here.

    The byte `ttttttbb` has two bits for the basic type (0 primitive, 1 short string) and six for the
    primitive type or the length.
    """
    basic, kind = header & 0b11, header >> 2
    if basic == 1:
        return pa.string()
    return _CLASSES.get(kind) if basic == 0 else None


def _widest(kind: pa.DataType, scale: int) -> pa.DataType:
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.decimal128(38, scale) if pa.types.is_decimal(kind) else kind


def _largest_scale(bounds: pa.Array) -> int:
    """Returns the largest scale of the decimals among the bounds, so that no digit is rounded away."""
    if pa.types.is_decimal(bounds.type):
        return int(bounds.type.scale)
    if not is_variant(bounds.type) or bounds.null_count == len(bounds):
        return 0
    headers = bytes_at(bounds, 0)
    decimals = (headers & 0b11 == 0) & np.isin(headers >> 2, (8, 9, 10))
    scales = bytes_at(bounds, 1)[decimals]
    return min(int(scales.max()), 38) if len(scales) else 0


def bytes_at(bounds: pa.StructArray, position: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Returns the byte at a position of every value, or 0 for rows that are null or too short."""
    values = pc.struct_field(bounds, ["value"]).cast(pa.binary())
    _, offsets, data = values.buffers()
    starts = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    inside = values.is_valid().to_numpy(zero_copy_only=False) & (np.diff(starts) > position)
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    found = np.zeros(len(values), dtype=np.uint8)
    found[inside] = content[starts[:-1][inside] + position]
    return found


def prune(snapshot: Snapshot, predicate: Expr | None, options: CastOptions = DEFAULT) -> Verdict:
    """Returns the files that a predicate can't rule out. It must spell names as the schema does.

    >>> from shredlake.example import example_table
    >>> from shredlake.expr import parse_predicate
    >>> snapshot = example_table("prune").snapshot
    >>> prune(snapshot, parse_predicate("v:a::bigint > 20")).keep.tolist()
    [False]
    """
    places = snapshot.files.places
    everything: Mask = np.ones(places, dtype=bool)
    if predicate is None or places == 0:
        return Verdict(everything, 0, 0)
    live = snapshot.files.live
    alive = everything if live is None else live
    statistics = FileStatistics.of(snapshot)
    in_partitions = everything
    parts = conjuncts(predicate)
    for part in _together(part for part in parts if _only_partitions(part, snapshot)):
        in_partitions = in_partitions & _judge(part, statistics, options)
    keep = in_partitions
    for part in _together(part for part in parts if not _only_partitions(part, snapshot)):
        keep = keep & _judge(part, statistics, options)
    return Verdict(
        keep=keep,
        by_partition=int((alive & ~in_partitions).sum()),
        by_statistics=int((alive & in_partitions & ~keep).sum()),
    )


def _together(parts: Iterable[Expr]) -> Iterator[Expr]:
    """Join conjuncts that read the same columns, so that their statistics are looked up once."""
    found: dict[frozenset[Column | Get], list[Expr]] = {}
    for part in parts:
        found.setdefault(frozenset(references(part)), []).append(part)
    for same in found.values():
        whole = all_of(same)
        if whole is not None:
            yield whole


def _judge(part: Expr, statistics: FileStatistics, options: CastOptions) -> Mask:
    keep: Mask = np.ones(statistics.length, dtype=bool)
    for rank in range(max(statistics.ranks(part), 1)):
        keep = keep & may_match(part, BoundsOfType(statistics, rank), options).to_numpy(zero_copy_only=False)
    return keep


def _only_partitions(part: Expr, snapshot: Snapshot) -> bool:
    columns = {name.casefold() for name in snapshot.metadata.partition_columns}
    used = references(part)
    return bool(used) and all(isinstance(ref, Column) and ref.name.casefold() in columns for ref in used)
