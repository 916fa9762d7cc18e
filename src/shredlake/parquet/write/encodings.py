"""Chooses the encoding of each leaf column by trying candidates on a sample of the first row group.

Repeated values get a dictionary; others the smallest of the type's candidates. Spark's vectorised reader,
DuckDB and Arrow read all of them. Measured on 131,072 rows, zstd 3, kB (dictionary, plain, best):

| column | dictionary | plain | best |
|---|---|---|---|
| time in microseconds, nearly sorted | 577 | 328 | 282, DELTA_BINARY_PACKED, and decoded 3x faster |
| order number, sorted | 248 | 35 | 2, DELTA_BINARY_PACKED |
| revision, nearly sorted text | 649 | 531 | 392, DELTA_BYTE_ARRAY |
| free text | 1614 | 1577 | 1493, DELTA_LENGTH_BYTE_ARRAY |
| price with cents, double | 804 | 566 | 566, PLAIN |
| ship mode, seven names | 46 | 138 | 46, dictionary |

BYTE_STREAM_SPLIT is smaller for random doubles but is excluded: the vectorised reader of Spark 4.2, and so
delta-spark, does not support it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.parquet.leaves import leaf_arrays, leaves

SAMPLE_FOR_DISTINCT: Final = 1 << 16
SAMPLE_BYTES: Final = 4 << 20
"""Distinct values are counted on a sample, since counting copies them and a few thousand are enough."""
SAMPLE_FOR_TRIAL: Final = 1 << 12
PAGE_ROWS: Final = 12_288
PAGE_BYTES: Final = 320 << 10
"""The page size to sample for the zstd level; with less than 256 kB, zstd uses other parameters."""
REPEATING: Final = 0.3
"""The largest share of distinct values for a dictionary; above it, a dictionary costs more than it saves. A
dictionary of the users in Bluesky's events, most of whom appear once, would make files 2.2% smaller. But
reading one page would require the whole dictionary, and in Spark the benchmark's top-n query took 1.44x the
relational time instead of 1.21x.
"""
REPEATING_INTEGERS: Final = 0.02
"""The same share for integers, which DELTA_BINARY_PACKED packs nearly as well and decodes faster."""
FEW: Final = 1 << 10
BLOCKS: Final = 4
"""The number of runs, spread over the sample, from which a few values are taken: neighbours stay together,
and the start of a sorted column does not represent all of it.
"""
UNIQUE: Final = 0.98
"""If a few values have this share of distinct values, the whole column has too many as well."""
WORTHWHILE: Final = 0.98
"""A candidate must be this much smaller than the previous one in its list, which decodes faster."""
SMALL: Final = 1 << 16
"""Samples below this size in bytes are too small for a trial."""
LEVELS: Final = (1, 2, 3, 9)
"""Levels of zstd, the fastest first. At level 1, hashes and keys are 2% to 3% smaller than at 3 or 9 and take
half the time; prose is 8% larger. Data encoded by a dictionary or DELTA_BINARY_PACKED is 0.1% larger at level
1. At level 9, Bluesky's events are 1.2% smaller and GitHub's 3.7%; level 9 for all columns gains nothing for
Bluesky. Level 6 instead of 9 gives half of that.
"""
QUICK_LEVELS: Final = (1, 2, 3)
"""The levels without the one that takes up to twice the time to write."""
CLOSE: Final = 1.01
"""The fastest level within this factor of the smallest size is chosen. With 1.02, GitHub's events are 1.1%
larger and take the same time to write.
"""

INTEGERS: Final = ("DELTA_BINARY_PACKED",)
FLOATS: Final = ("PLAIN",)
BYTES: Final = ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
FIXED_BYTES: Final = ("PLAIN",)


@dataclass(frozen=True)
class Encodings:
    """The writer's settings for pyarrow: columns with a dictionary, encodings of the others, zstd levels."""

    dictionary: list[str]
    others: dict[str, str]
    levels: dict[str, int]


def choose_encodings(
    table: pa.Table, chosen: Mapping[str, str], among: tuple[int, ...] = LEVELS
) -> Encodings:
    """Chooses encodings of a file's leaf columns from its first row group; `chosen` ones are kept.

    zstd levels are chosen from `among`, the fastest first.

    >>> table = pa.table({"n": range(1000), "s": ["a", "b"] * 500})
    >>> choose_encodings(table, {})
    Encodings(dictionary=['s'], others={'n': 'DELTA_BINARY_PACKED'}, levels={'n': 1, 's': 1})
    """
    dictionary, others, undecided = [], dict(chosen), {}
    levels: dict[str, int] = {}
    for name, leaf in _leaves(table):
        candidates = _candidates(leaf.type)
        levels[name] = among[0]
        if name in chosen:
            levels[name] = among[-1]
        elif not candidates or _repeats(leaf):
            dictionary.append(name)
        else:
            others[name] = candidates[0]
            if candidates != INTEGERS:
                # A copy, because a slice would keep the whole column in memory.
                values = pa.concat_arrays([_first(leaf.drop_null()[:PAGE_ROWS], PAGE_BYTES)])
                levels[name] = _level(values, among)
                if len(candidates) > 1 and values.nbytes >= SMALL:
                    undecided[name] = values[:SAMPLE_FOR_TRIAL]
    others |= _try(undecided)
    return Encodings(dictionary, others, levels)


def _leaves(table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
    """The name and first values of each leaf column, with nulls; the first chunk represents the column."""
    names = (name for name, _ in leaves(table.schema))
    for column in table.columns:
        first = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
        for leaf in leaf_arrays(first):
            yield next(names), _first(_storage(leaf[:SAMPLE_FOR_DISTINCT]), SAMPLE_BYTES)


def _first(array: pa.Array, size: int) -> pa.Array:
    """The first rows of an array, of about `size` bytes."""
    return array[: max(1, len(array) * size // max(array.nbytes, 1))]


def _storage(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        return array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _candidates(type_: pa.DataType) -> tuple[str, ...]:
    """Encodings for values of a type that do not repeat, the fastest to decode first."""
    if pa.types.is_decimal(type_):
        return INTEGERS if type_.precision <= 18 else FIXED_BYTES
    if pa.types.is_integer(type_) or pa.types.is_temporal(type_):
        return INTEGERS
    if pa.types.is_floating(type_):
        return FLOATS
    if pa.types.is_fixed_size_binary(type_):
        return FIXED_BYTES
    if pa.types.is_boolean(type_) or pa.types.is_null(type_):
        return ()
    return BYTES


def _repeats(leaf: pa.Array) -> bool:
    values = int(len(leaf) - leaf.null_count)
    if values == 0:
        return True
    share = REPEATING_INTEGERS if _candidates(leaf.type) == INTEGERS else REPEATING
    limit = max(1, share * values)
    # A few values decide most columns, and counting all is expensive.
    length = max(1, FEW // BLOCKS * len(leaf) // values)
    starts = range(0, len(leaf), max(length, -(-len(leaf) // BLOCKS)))
    few = pa.concat_arrays([leaf[start : start + length] for start in starts])
    size, distinct = int(len(few) - few.null_count), _distinct(few)
    if distinct > limit or (size >= FEW // 2 and distinct > UNIQUE * size):
        return False
    return distinct <= share * size or _distinct(leaf) <= limit


def _distinct(array: pa.Array) -> int:
    return int(pc.count_distinct(array).as_py())


def _level(values: pa.Array, among: tuple[int, ...]) -> int:
    """The fastest zstd level that comes close to the smallest size, for values that do not repeat."""
    data = values.buffers()[-1]
    if data is None or data.size < SMALL or len(among) == 1:
        return among[-1]
    sizes = {level: pa.Codec("zstd", compression_level=level).compress(data).size for level in among}
    return next(level for level in among if sizes[level] <= CLOSE * min(sizes.values()))


def _try(columns: Mapping[str, pa.Array]) -> dict[str, str]:
    """Writes a sample of each column in each of its candidate encodings, and chooses the smallest."""
    best: dict[str, tuple[float, str]] = {}
    for rank in range(max((len(_candidates(array.type)) for array in columns.values()), default=0)):
        trial = {name: _candidates(array.type)[rank] for name, array in columns.items()}
        sizes = _encoded_sizes(columns, trial)
        for name, encoding in trial.items():
            if name not in best or sizes[name] < best[name][0] * WORTHWHILE:
                best[name] = (sizes[name], encoding)
    return {name: encoding for name, (_, encoding) in best.items()}


def _encoded_sizes(columns: Mapping[str, pa.Array], encodings: Mapping[str, str]) -> dict[str, int]:
    """The compressed size of each column's sample in the given encoding."""
    length = max((len(array) for array in columns.values()), default=0)
    table = pa.table({str(i): _padded(array, length) for i, array in enumerate(columns.values())})
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        use_dictionary=False,
        column_encoding={str(i): encodings[name] for i, name in enumerate(columns)},
        store_decimal_as_integer=True,
        write_statistics=False,
    )
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    return {name: group.column(i).total_compressed_size for i, name in enumerate(columns)}


def _padded(array: pa.Array, length: int) -> pa.Array:
    return pa.concat_arrays([array, pa.nulls(length - len(array), array.type)])
