"""`make fuzz`: damaged Variants through `get`, and casts of texts, compiled against the table."""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import time

import pyarrow as pa

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from cast_values import STRINGS
from mutations import mutated
from shredlake import MalformedVariant, Path, Variant
from shredlake.kernels import get, variant
from shredlake.kernels.arrow.raw_arrays import scalars
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.casts.table import cast_value
from shredlake.kernels.casts.targets import target_of
from shredlake.shredding.schema import Scalar

TYPES = [
    pa.bool_(), pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(9, 2), pa.decimal128(38, 10),
    pa.string(), pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us", "UTC"), pa.timestamp("us"),
    pa.timestamp("ns", "UTC"), pa.uuid(),
]  # fmt: skip
PATHS = [Path(), Path(("a",)), Path(("a", "b", "c")), Path((3,)), Path((2, "tags", 1)), Path(("key 7",))]


def damaged(count: int, seed: int) -> tuple[int, int]:
    """Reads every buffer; how many gave a value, and how many MalformedVariant, the only error allowed."""
    source = random.Random(seed)
    values = errors = 0
    for metadata, value in mutated(count, seed):
        column = pa.array([{"metadata": metadata, "value": value}], variant())
        type_ = source.choice([None, *TYPES])
        try:
            get(column, source.choice(PATHS), type_, threads=1).validate(full=True)
            values += 1
        except MalformedVariant:
            errors += 1
        except Exception:
            print(f"metadata {metadata.hex()}\nvalue {value.hex()}\ntype {type_}", file=sys.stderr)
            raise
    return values, errors


def texts(count: int, seed: int) -> int:
    """Texts that are nearly numbers or dates: compiled casts must judge them as the table does."""
    source = random.Random(seed)
    rows = [Variant.of(_edited(source, source.choice(STRINGS))) for _ in range(count)]
    column = pa.array([{"metadata": row.metadata, "value": row.value} for row in rows], variant())
    for type_ in TYPES:
        target = target_of(type_)
        assert isinstance(target, Scalar)
        for zone in ("UTC", "America/Los_Angeles"):
            want = scalars([cast_value(row, target, CastOptions(timezone=zone)) for row in rows], target)
            found = get(column, "$", type_, timezone=zone)
            for row, ours, theirs in zip(rows, _plain(found), _plain(want), strict=True):
                assert repr(ours) == repr(theirs), (row, type_, zone, ours, theirs)
    return count * len(TYPES) * 2


def _plain(array: pa.Array) -> list[object]:
    """Counts in place of dates and times: Python can't hold them all."""
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    return array.to_pylist()


def _edited(source: random.Random, text: str) -> str:
    """A text with a few characters cut, doubled or exchanged."""
    for _ in range(source.randrange(3)):
        at = source.randrange(len(text) + 1)
        text = text[:at] + source.choice(["", *"0159-+:. TZeE\tnaif\x7f"]) + text[at + source.randrange(2) :]
    return text


def main(count: int, seed: int) -> None:
    started = time.perf_counter()
    values, errors = damaged(count, seed)
    pairs = texts(count // 20, seed)
    print(
        f"get: {count} mutated buffers, {values} read, {errors} MalformedVariant, nothing else; {pairs} "
        f"casts of texts as the table has them; {time.perf_counter() - started:.0f} s in all (seed {seed})"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    main(**vars(arguments.parse_args()))
