"""Arrow data as a table of a query, and the kernel that counts its rows.

An input chooses the types, values and lies of the columns, and the query. Dictionaries have indices of
any size, and texts and lists have offsets that may point outside their buffers.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from fuzz.contract import Door
from fuzz.damage import change_bytes
from fuzz.doors.columns import Choices, any_array
from shredlake import InvalidValue, sql
from shredlake.kernels.arrow.normalize import normal_table
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.fallback import tally as fallback
from shredlake.sql.runs import merge_rows

QUERIES = [
    "select * from t",
    "select a, count(*) from t group by a",
    "select a, b, count(*), min(n), max(n) from t group by a, b",
    "select count(*) from t where a is not null and n > 1",
    "select distinct b from t",
]
OFFSETS = [0, 1, 2, 5000, -1, 1 << 30]
INDICES = [0, 0, 1, 1, 2, -1, 4095, 4096, 30_000, -30_000, 1 << 30]


def lying(choices: Choices, rows: int) -> pa.Array:
    """A dictionary with indices of any size, or texts with offsets of any size."""
    if choices.below(2):
        kind = [pa.int8(), pa.int16(), pa.int32(), pa.int64()][choices.below(4)]
        indices = [INDICES[choices.below(len(INDICES))] for _ in range(rows)]
        limit = 1 << kind.bit_width - 1
        kept = pa.array([index if -limit <= index < limit else 1 for index in indices], kind)
        return pa.DictionaryArray.from_arrays(kept, pa.array(["a", "b"]), safe=False)
    inner = [OFFSETS[choices.below(len(OFFSETS))] for _ in range(rows - 1)]
    offsets = pa.array([0, *inner, 6], pa.int32())  # pyarrow itself looks at the first and the last
    buffers = [None, offsets.buffers()[1], pa.py_buffer(b"abcdef")]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


def some_table(choices: Choices) -> pa.Table:
    rows = 2 + choices.below(40)
    makers: list[Callable[[], pa.Array]] = [
        lambda: lying(choices, rows),
        lambda: any_array(choices, rows, 2),
        lambda: pa.array([["x", "y", None][choices.below(3)] for _ in range(rows)]).dictionary_encode(),
        lambda: pa.array([choices.below(5) for _ in range(rows)], pa.int8()),
    ]
    columns = {name: makers[choices.below(len(makers))]() for name in "ab"}
    return pa.table(columns | {"n": pa.array(range(rows))}).slice(choices.below(2))


def enter_sql(data: bytes) -> None:
    choices = Choices(data)
    query = QUERIES[choices.below(len(QUERIES))]
    sql(query, t=some_table(choices), threads=1).to_arrow().validate()


def enter_merge(data: bytes) -> None:
    """Each batch as a query merges it, without DuckDB: fast, and so also under AddressSanitizer."""
    batch = normal_table(some_table(Choices(data))).combine_chunks().to_batches()[0]
    keys = [batch.column(name) for name in "ab"]
    merged = merge_rows(keys, [], batch.num_rows)
    weights = merged.weights()
    assert sum(weights.to_pylist()) == batch.num_rows
    for key in keys:
        assert len(merged.pick(key)) == len(weights)


def enter_tally(data: bytes) -> None:
    """Any codes, of which some are out of range: as in the fallback."""
    size, *rest = data or b"\0"
    raw = bytes(rest)[: len(rest) // 2 * 2]
    codes = np.frombuffer(raw, np.int16)
    column = pa.array(np.where(codes % 7 == 0, codes, codes % (size + 1))).slice(size % 2)
    results: list[list[object]] = []
    refused: InvalidValue | None = None
    for kernel in (dispatch("tally"), fallback):
        try:
            results.append([found.to_pylist() for found in kernel.count_codes(column, size)])
        except InvalidValue as error:
            refused = error
            results.append([str(error)])
    assert results[0] == results[1]
    if refused is not None:
        raise refused


def seeds() -> list[bytes]:
    dice = random.Random(11)
    return [dice.randbytes(dice.choice([20, 100, 400])) for _ in range(200)]


DOORS = [
    Door("arrow-sql", "kernels", seeds, enter_sql, change_bytes),
    Door("arrow-merge", "kernels", seeds, enter_merge, change_bytes),
    Door("arrow-tally", "kernels", seeds, enter_tally, change_bytes),
]
