"""Which encoding a leaf column gets, decided by trying on a sample of its first row group.

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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shredlake.parquet.leaves import leaf_arrays, leaves

SAMPLE_FOR_DISTINCT: Final = 1 << 16
SAMPLE_BYTES: Final = 8 << 20
"""Counting distinct values copies them: a few thousand long texts tell as much as all of them."""
SAMPLE_FOR_TRIAL: Final = 1 << 12
REPEATING: Final = 0.3
"""Distinct values per value up to which a dictionary is taken; more, and it costs more than it saves."""
REPEATING_INTEGERS: Final = 0.02
"""The same for integers, which DELTA_BINARY_PACKED packs nearly as tight and decodes faster."""
FEW: Final = 1 << 10
UNIQUE: Final = 0.98
"""With this share of different values among the first few, there are too many among all of them as well."""
WORTHWHILE: Final = 0.98
"""A candidate must be this much smaller than the one before it in its list, which decodes faster."""
SMALL: Final = 1 << 14
"""Bytes of a sample below which a column is too small for a trial to pay."""
SAMPLE_FOR_LEVEL: Final = 1 << 17
LEVELS: Final = (1, 2, 3)
"""Levels of zstd, from the fastest. Hashes and keys come out 2% to 3% smaller at 1 than at 3, and in half the
time; prose 8% larger."""
CLOSE: Final = 1.01
"""The fastest level is taken whose size is within this factor of the smallest."""

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


def choose_encodings(table: pa.Table, chosen: Mapping[str, str]) -> Encodings:
    """Encodings for the leaf columns of a file, from its first row group; `chosen` ones are kept.

    >>> table = pa.table({"n": range(1000), "s": ["a", "b"] * 500})
    >>> choose_encodings(table, {})
    Encodings(dictionary=['s'], others={'n': 'DELTA_BINARY_PACKED'}, levels={'n': 3, 's': 3})
    """
    dictionary, others, undecided = [], dict(chosen), {}
    levels: dict[str, int] = {}
    for name, array in _sampled_leaves(table):
        candidates = _candidates(array.type)
        levels[name] = LEVELS[-1]
        if name in chosen:
            continue
        if not candidates or _repeats(array):
            dictionary.append(name)
        elif len(candidates) == 1 or array.nbytes < SMALL:
            others[name] = candidates[0]
        else:
            # A copy: a slice would keep the whole sample of every such column in memory.
            undecided[name] = pa.concat_arrays([array[:SAMPLE_FOR_TRIAL]])
            levels[name] = _level(array)
    others |= _try(undecided)
    return Encodings(dictionary, others, levels)


def _sampled_leaves(table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
    """Each leaf column's name and first values, nulls left out."""
    names = (name for name, _ in leaves(table.schema))
    for column in table.slice(0, SAMPLE_FOR_DISTINCT).columns:
        # Leaf by leaf over all chunks, so that no more than one leaf is copied at a time.
        chunks = column.chunks or [pa.nulls(0, column.type)]
        for parts in zip(*map(leaf_arrays, chunks), strict=True):
            values = list(_first_values(parts)) or [_storage(parts[0])[:0]]
            yield next(names), values[0] if len(values) == 1 else pa.concat_arrays(values)


def _first_values(parts: Sequence[pa.Array]) -> Iterator[pa.Array]:
    """Values up to the sample's bounds."""
    rows, size = SAMPLE_FOR_DISTINCT, SAMPLE_BYTES
    for part in map(_storage, parts):
        if part.null_count == len(part):
            continue
        fitting = max(1, len(part) * size // max(part.nbytes, 1))
        values = part[: min(rows, fitting)].drop_null()
        yield values
        rows, size = rows - len(values), size - values.nbytes
        if rows <= 0 or size <= 0:
            return


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


def _repeats(array: pa.Array) -> bool:
    limit = REPEATING_INTEGERS if _candidates(array.type) == INTEGERS else REPEATING
    few = array[:FEW]
    if pc.count_distinct(few).as_py() > UNIQUE * max(len(few), FEW):
        return False  # most columns that do not repeat show it at once, and counting them all is dear
    return len(array) == 0 or pc.count_distinct(array).as_py() <= max(1, limit * len(array))


def _level(texts: pa.Array) -> int:
    """The fastest level of zstd that comes close to the smallest, for texts that do not repeat."""
    fitting = max(1, len(texts) * SAMPLE_FOR_LEVEL // max(texts.nbytes, 1))
    data = pa.concat_arrays([texts[:fitting]]).buffers()[-1]
    if data is None or data.size < SAMPLE_FOR_LEVEL // 4:
        return LEVELS[-1]
    sizes = {level: pa.Codec("zstd", compression_level=level).compress(data).size for level in LEVELS}
    return next(level for level in LEVELS if sizes[level] <= CLOSE * min(sizes.values()))


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
    length = max((min(len(array), SAMPLE_FOR_TRIAL) for array in columns.values()), default=0)
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
    array = array[:length]
    return (
        array
        if len(array) == length
        else pa.concat_arrays([array, pa.nulls(length - len(array), array.type)])
    )
