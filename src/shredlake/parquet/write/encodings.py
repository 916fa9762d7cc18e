"""Chooses the encoding of each leaf column by trying candidates on a sample of the first row group.

A dictionary where values repeat; else the smallest of the type's candidates. All of them are read by Spark's
vectorised reader, by DuckDB and by Arrow. Measured on 131,072 rows, zstd 3, kB (dictionary, plain, best):

| column | dictionary | plain | best |
|---|---|---|---|
| time in microseconds, nearly sorted | 577 | 328 | 282, DELTA_BINARY_PACKED, and decoded 3x faster |
| order number, sorted | 248 | 35 | 2, DELTA_BINARY_PACKED |
| revision, nearly sorted text | 649 | 531 | 392, DELTA_BYTE_ARRAY |
| free text | 1614 | 1577 | 1493, DELTA_LENGTH_BYTE_ARRAY |
| price with cents, double | 804 | 566 | 566, PLAIN |
| ship mode, seven names | 46 | 138 | 46, dictionary |

BYTE_STREAM_SPLIT, which is smaller for random doubles, can't be among them: the vectorised reader of Spark
4.2, and so delta-spark, refuses it.
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
"""Counting distinct values copies them: a few thousand long texts tell as much as all of them."""
SAMPLE_FOR_TRIAL: Final = 1 << 12
PAGE_ROWS: Final = 12_288
PAGE_BYTES: Final = 320 << 10
"""For the level of zstd, what a page may hold; with less than 256 kB before it, zstd works in another way."""
REPEATING: Final = 0.3
"""Distinct values per value up to which a dictionary is taken; more, and it costs more than it saves. One for
the users of Bluesky's events, most of whom come once, would make files 2.2% smaller; but to read one page one
would have to read it too, and on Spark the benchmark's top n took 1.44x the relational time, not 1.21x."""
REPEATING_INTEGERS: Final = 0.02
"""The same for integers, which DELTA_BINARY_PACKED packs nearly as tight and decodes faster."""
FEW: Final = 1 << 10
BLOCKS: Final = 4
"""A few values are taken in so many runs, spread over the sample: neighbours stay together, and the beginning
of a sorted column does not speak for all of it."""
UNIQUE: Final = 0.98
"""With this share of different values among a few, there are too many among all of them as well."""
WORTHWHILE: Final = 0.98
"""A candidate must be this much smaller than the one before it in its list, which decodes faster."""
SMALL: Final = 1 << 16
"""Bytes of a sample below which a column is too small for a trial to pay."""
LEVELS: Final = (1, 2, 3, 9)
"""Levels of zstd, from the fastest. Hashes and keys come out 2% to 3% smaller at 1 than at 3 or 9, and in
half the time; prose 8% larger. What a dictionary or DELTA_BINARY_PACKED has packed is 0.1% larger at 1. At 9
Bluesky's events are 1.2% smaller and GitHub's 3.7%; 9 for all columns would gain Bluesky nothing. Six
in its place gives half of that."""
QUICK_LEVELS: Final = (1, 2, 3)
"""Without the one that takes up to twice the time of writing."""
CLOSE: Final = 1.01
"""The fastest level is taken whose size is within this factor of the smallest. With 1.02 GitHub's events are
1.1% larger and written in the same time."""

INTEGERS: Final = ("DELTA_BINARY_PACKED",)
FLOATS: Final = ("PLAIN",)
BYTES: Final = ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
FIXED_BYTES: Final = ("PLAIN",)


@dataclass(frozen=True)
class Encodings:
    """What pyarrow's writer takes: the columns with a dictionary, the encodings of the others, and at which
    level zstd compresses each."""

    dictionary: list[str]
    others: dict[str, str]
    levels: dict[str, int]


def choose_encodings(
    table: pa.Table, chosen: Mapping[str, str], among: tuple[int, ...] = LEVELS
) -> Encodings:
    """Encodings for the leaf columns of a file, from its first row group; `chosen` ones are kept. Levels
    of zstd are taken from `among`, the fastest first.

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
                # A copy: a slice would keep the whole column in memory.
                values = pa.concat_arrays([_first(leaf.drop_null()[:PAGE_ROWS], PAGE_BYTES)])
                levels[name] = _level(values, among)
                if len(candidates) > 1 and values.nbytes >= SMALL:
                    undecided[name] = values[:SAMPLE_FOR_TRIAL]
    others |= _try(undecided)
    return Encodings(dictionary, others, levels)


def _leaves(table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
    """Each leaf column's name and first places, nulls among them; the first chunk speaks for a column."""
    names = (name for name, _ in leaves(table.schema))
    for column in table.columns:
        first = column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)
        for leaf in leaf_arrays(first):
            yield next(names), _first(_storage(leaf[:SAMPLE_FOR_DISTINCT]), SAMPLE_BYTES)


def _first(array: pa.Array, size: int) -> pa.Array:
    """The first rows of an array, about that many bytes."""
    return array[: max(1, len(array) * size // max(array.nbytes, 1))]


def _storage(array: pa.Array) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        return array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _candidates(type_: pa.DataType) -> tuple[str, ...]:
    """Encodings for values of a type that do not repeat, those that decode fastest first."""
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
    # Most columns show it at once, and counting them all is expensive.
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
    """The fastest level of zstd that comes close to the smallest, for values that do not repeat."""
    data = values.buffers()[-1]
    if data is None or data.size < SMALL or len(among) == 1:
        return among[-1]
    sizes = {level: pa.Codec("zstd", compression_level=level).compress(data).size for level in among}
    return next(level for level in among if sizes[level] <= CLOSE * min(sizes.values()))


def _try(columns: Mapping[str, pa.Array]) -> dict[str, str]:
    """Writes a sample of each column in each of its candidates, and takes the smallest."""
    best: dict[str, tuple[float, str]] = {}
    for rank in range(max((len(_candidates(array.type)) for array in columns.values()), default=0)):
        trial = {name: _candidates(array.type)[rank] for name, array in columns.items()}
        sizes = _encoded_sizes(columns, trial)
        for name, encoding in trial.items():
            if name not in best or sizes[name] < best[name][0] * WORTHWHILE:
                best[name] = (sizes[name], encoding)
    return {name: encoding for name, (_, encoding) in best.items()}


def _encoded_sizes(columns: Mapping[str, pa.Array], encodings: Mapping[str, str]) -> dict[str, int]:
    """Compressed bytes of each column's sample in the encoding given."""
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
