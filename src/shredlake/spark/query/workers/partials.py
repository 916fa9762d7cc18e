"""Partial aggregates: what a worker computes of its files, and Spark merges.

```
batches ─ functions of columns ─ group ─▶ k0 k1 │ d │ p0 p1    one row per group and task
                                          ──────┼───┼──────
                                           keys │ │ │ parts    Spark: group by k0, k1, count distinct d,
                                             distinct value    and merge p0, p1
```

Only functions and aggregates for which Arrow gives exactly Spark's result are here: no sums of floating-point
numbers, whose digits depend on the order, and no functions that change strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.expr.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTEGRALS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)
from shredlake.kernels.casts.invalid_utf8 import characters

COMPARABLE: Final = (BOOLEAN, *INTEGRALS, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ)
"""Types that Arrow compares as Spark does: no floating-point numbers, which have NaN and -0.0."""

MOST_GROUPS: Final = 1 << 20
"""The most groups that a worker keeps before it sends them."""
ENOUGH_TO_MERGE: Final = 1 << 16
"""The least number of groups to merge at once, unless more were merged before."""
MANY: Final = 0.05
"""The number of groups per row from which on the rows of several batches are grouped together."""
BYTES_AT_ONCE: Final = 128 << 20
"""The most bytes of such rows, and of the groups that a worker keeps."""
ROWS_OF_A_BATCH: Final = 1 << 16
"""Rows of an output batch: Spark turns one batch into rows while the worker prepares the next."""
ROWS: Final = "rows"
"""A column of nulls, for queries that only count rows."""

DISTINCT: Final = "d"
LARGEST: Final = (1 << 63) - 1
LARGEST_INT: Final = 1 << 31


@dataclass(frozen=True)
class Function:
    """A function of one value: its argument and result types, and how Arrow computes it."""

    takes: DataType
    gives: DataType
    apply: Callable[[pa.Array], pa.Array]
    few: bool = False
    """Whether it has few distinct results, so that there are few groups by it."""


def _in_utc(values: pa.Array) -> pa.Array:
    """Drops the time zone, which is UTC: Arrow is ten times as fast if it does not look one up."""
    return values.view(pa.timestamp("us"))


FUNCTIONS: Final[Mapping[str, Function]] = {
    "Length": Function(STRING, INT, characters),
    "MicrosToTimestamp": Function(BIGINT, TIMESTAMP, lambda values: values.cast(TIMESTAMP.arrow)),
    "Hour": Function(TIMESTAMP, INT, lambda values: pc.hour(_in_utc(values)).cast(pa.int32()), few=True),
    "Minute": Function(TIMESTAMP, INT, lambda values: pc.minute(_in_utc(values)).cast(pa.int32()), few=True),
}
"""By the name of Spark's class. Functions of time work in UTC."""


@dataclass(frozen=True)
class Value:
    """A column of the batches, and the functions applied to it, the innermost first."""

    column: str
    type: DataType
    """The column's type."""
    functions: tuple[str, ...] = ()

    @property
    def result(self) -> DataType | None:
        """The type of the value; None if a function does not accept its argument."""
        kind = self.type
        for name in self.functions:
            if FUNCTIONS[name].takes != kind:
                return None
            kind = FUNCTIONS[name].gives
        return kind

    def of(self, batch: pa.RecordBatch) -> pa.Array:
        """The value of each row.

        Dictionary-encoded strings stay so, unless there are functions: these run once per dictionary entry.
        """
        column = batch.column(self.column)
        by_index = bool(self.functions) and pa.types.is_dictionary(column.type)
        values = column.dictionary if by_index else column
        for name in self.functions:
            values = FUNCTIONS[name].apply(values)
        return values.take(column.indices) if by_index else values


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function: its name in Arrow, and how Arrow and Spark merge its parts."""

    part: str
    merged: str
    final: str
    """SQL with `{}` in place of the part's column."""
    takes: tuple[DataType, ...] | None = None
    """The types for which it is exact; None for all."""
    gives: DataType | None = None
    """The type of a part; None for the type of the value."""


AGGREGATES: Final[Mapping[str, Aggregate]] = {
    "Count": Aggregate("count", "sum", "coalesce(sum({}), 0L)", None, BIGINT),
    "Sum": Aggregate("sum", "sum", "sum({})", INTEGRALS, BIGINT),
    "Min": Aggregate("min", "min", "min({})", COMPARABLE),
    "Max": Aggregate("max", "max", "max({})", COMPARABLE),
}
"""By the name of Spark's class."""


@dataclass(frozen=True)
class Part:
    """An aggregate of a query: of a value, or of rows for a count."""

    aggregate: str
    value: Value | None = None

    @property
    def type(self) -> DataType | None:
        """The type of the part; None if workers do not compute it."""
        facts = AGGREGATES[self.aggregate]
        if self.value is None:
            return facts.gives if self.aggregate == "Count" else None
        kind = self.value.result
        if kind is None or (facts.takes is not None and kind not in facts.takes):
            return None
        return facts.gives or kind

    def alone(self, batch: pa.RecordBatch) -> pa.Array:
        """The part of each single row."""
        if self.value is None:
            return pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows)
        values = _plain(self.value.of(batch))
        if self.aggregate == "Count":
            return values.is_valid().cast(pa.int64())
        return values.cast(pa.int64()) if self.aggregate == "Sum" else values


@dataclass(frozen=True)
class Grouping:
    """The keys to group by, and the aggregates to compute.

    >>> grouping = Grouping((Value("k", STRING),), (Part("Count"), Part("Sum", Value("n", BIGINT))))
    >>> batch = pa.record_batch({"k": ["a", "b", "a"], "n": pa.array([1, 2, 3], pa.int64())})
    >>> [parts] = grouping.parts_of([batch, batch])
    >>> parts.to_pylist()
    [{'k0': 'a', 'p0': 4, 'p1': 8}, {'k0': 'b', 'p0': 2, 'p1': 4}]
    """

    keys: tuple[Value, ...]
    parts: tuple[Part, ...]
    distinct: Value | None = None
    """The value whose distinct values are counted. Spark counts them, so for workers it is one more key."""

    @property
    def names(self) -> list[str]:
        return [*self.grouped_names, *self.part_names]

    @property
    def grouped(self) -> tuple[Value, ...]:
        """The keys that a worker groups by."""
        return self.keys if self.distinct is None else (*self.keys, self.distinct)

    @property
    def grouped_names(self) -> list[str]:
        return self.key_names if self.distinct is None else [*self.key_names, DISTINCT]

    @property
    def key_names(self) -> list[str]:
        return [f"k{number}" for number in range(len(self.keys))]

    @property
    def part_names(self) -> list[str]:
        return [f"p{number}" for number in range(len(self.parts))]

    def parts_of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The parts of all batches: one row per group, or more where there are many groups."""
        rows: list[pa.Table] = []
        groups: list[pa.Table] = []
        at_once = merged = bound = 0
        for batch in batches:
            bound += self._bound(batch)
            if bound > LARGEST:  # a sum may overflow: Spark decides, row by row
                yield from _batches(self._merged([*groups, *self._grouped(rows)]))
                yield self._rows(batch)
                rows, groups, merged, bound = [], [], 0, 0
                continue
            rows.append(self._columns(batch))
            if sum(table.nbytes for table in rows) < at_once:
                continue
            found = self._grouped(rows)
            # If each batch has many of the groups, grouping several batches at once saves most of the work.
            are_many = sum(map(len, found)) > MANY * sum(map(len, rows))
            at_once = BYTES_AT_ONCE if are_many else 0
            groups, rows = [*groups, *found], []
            waiting = sum(table.nbytes for table in groups)
            if sum(map(len, groups)) > 2 * max(merged, ENOUGH_TO_MERGE) or waiting > 2 * BYTES_AT_ONCE:
                whole = self._merged(groups)
                assert whole is not None
                groups, merged = [whole], len(whole)
                if merged > MOST_GROUPS or whole.nbytes > BYTES_AT_ONCE:
                    yield from _batches(whole)
                    groups, merged, bound = [], 0, 0
        yield from _batches(self._merged([*groups, *self._grouped(rows)]))

    def _bound(self, batch: pa.RecordBatch) -> int:
        """An upper bound of the absolute value of any sum over the batch."""
        largest = 0
        for part in self.parts:
            if part.aggregate == "Sum" and part.value is not None:
                if part.value.result == BIGINT:
                    low, high = (end.as_py() or 0 for end in pc.min_max(part.value.of(batch)).values())
                    largest = max(largest, -low, high)
                else:
                    largest = max(largest, LARGEST_INT)
        return int(largest * batch.num_rows)

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [_plain(key.of(batch)) for key in self.grouped] + [part.alone(batch) for part in self.parts]
        return pa.RecordBatch.from_arrays(columns, names=self.names)

    def groups_of(self, batch: pa.RecordBatch) -> pa.Table:
        """The parts of one batch: one row per group."""
        return self._groups(self._columns(batch))

    def _columns(self, batch: pa.RecordBatch) -> pa.Table:
        """Keys, which may be dictionary-encoded, and values to aggregate, which are not."""
        columns = {name: key.of(batch) for name, key in zip(self.grouped_names, self.grouped, strict=True)}
        for name, part in zip(self.part_names, self.parts, strict=True):
            if part.value is not None:
                columns[name] = _plain(part.value.of(batch))
        return pa.table(columns or {ROWS: pa.nulls(batch.num_rows)})

    def _grouped(self, rows: list[pa.Table]) -> list[pa.Table]:
        """Groups of rows. Tables with dictionary-encoded keys are grouped apart from the others."""
        alike: dict[pa.Schema, list[pa.Table]] = {}
        for table in rows:
            alike.setdefault(table.schema, []).append(table)
        return [self._groups(pa.concat_tables(tables)) for tables in alike.values()]

    def _merged(self, groups: list[pa.Table]) -> pa.Table | None:
        if len(groups) < 2:
            return groups[0] if groups else None
        merges = [AGGREGATES[part.aggregate].merged for part in self.parts]
        return self._aggregated(pa.concat_tables(groups), list(zip(self.part_names, merges, strict=True)))

    def _groups(self, rows: pa.Table) -> pa.Table:
        asked: list[tuple[object, ...]] = [
            ([], "count_all") if part.value is None else (name, AGGREGATES[part.aggregate].part)
            for name, part in zip(self.part_names, self.parts, strict=True)
        ]
        if ROWS in rows.column_names:  # nothing to group by
            return pa.table(dict.fromkeys(self.names, pa.array([len(rows)], pa.int64())))
        rows = rows.unify_dictionaries()
        texts: dict[str, pa.Array] = {}
        for place, name in enumerate(self.grouped_names):
            column = rows.column(place)
            if pa.types.is_dictionary(column.type):
                texts[name] = column.chunk(0).dictionary
                indexes = pa.chunked_array([chunk.indices for chunk in column.chunks])
                rows = rows.set_column(place, name, indexes)
        found = self._aggregated(rows, asked)
        for name, dictionary in texts.items():
            place = found.column_names.index(name)
            found = found.set_column(place, name, dictionary.take(found.column(place)))
        return found

    def _aggregated(self, table: pa.Table, asked: list[tuple[object, ...]]) -> pa.Table:
        grouped = table.group_by(self.grouped_names, use_threads=False).aggregate(asked)
        return grouped.rename_columns(self.names)


def _plain(values: pa.Array) -> pa.Array:
    """Decodes dictionary-encoded strings."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _batches(table: pa.Table | None) -> Iterator[pa.RecordBatch]:
    if table is not None:
        yield from table.combine_chunks().to_batches(max_chunksize=ROWS_OF_A_BATCH)
