"""`make fuzz`: damaged Variants through shred, and shredded columns with damaged parts through unshred.

Only ShredlakeErrors may come out. What does go through must be a valid Arrow column, and go back again.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import time

import pyarrow as pa

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from mutations import large_texts, mutated
from shredlake import (
    ShreddingSchema,
    ShredlakeError,
    from_json,
    reshred,
    shred,
    shredded_type,
    to_python,
    unshred,
    variant,
)

SCHEMAS = [
    ShreddingSchema.parse(ddl)
    for ddl in (
        "bigint",
        "string",
        "array<variant>",
        "array<decimal(9,2)>",
        "array<struct<id bigint, name string, tags array<string>>>",
        "struct<a struct<b struct<c array<array<bigint>>>>, `\uffff` int>",
        "struct<`key 7` int, `key 100` string, `key 299` variant>",
        "struct<price decimal(9,2), `` struct<`` variant>>",
        f"struct<{', '.join(f'`field {number}` string' for number in range(27))}>",
        "struct<`field 3` bigint, `field 7` double, `field 9` decimal(5,2), `field 20` uuid>",
    )
]
ROWS = 8


def damage(buffer: bytes, dice: random.Random) -> bytes:
    """A few bytes changed."""
    changed = bytearray(buffer)
    for _ in range(dice.randrange(1, 4)):
        if changed:
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 2, 3, 127, 255, dice.randrange(256)])
    return bytes(changed)


def damaged_column(array: pa.Array, dice: random.Random) -> pa.Array:
    """A shredded column with some of its binary parts damaged, some nulls moved, all still valid Arrow."""
    if pa.types.is_struct(array.type):
        children = [damaged_column(array.field(index), dice) for index in range(len(array.type))]
        nulls = pa.array(
            [dice.random() < 0.1 or not valid for valid in array.is_valid().to_pylist()], pa.bool_()
        )
        fields = [pa.field(field.name, child.type) for field, child in zip(array.type, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)
    if pa.types.is_list(array.type):
        values = damaged_column(array.values, dice)
        type_ = pa.list_(pa.field("element", values.type))
        return pa.Array.from_buffers(
            type_, len(array), array.buffers()[:2], -1, array.offset, children=[values]
        )
    if pa.types.is_binary(array.type):
        cells = [damage(cell, dice) if cell and dice.random() < 0.3 else cell for cell in array.to_pylist()]
        filler = next((cell for cell in cells if cell), b"\x00")
        return pa.array(
            [filler if cell is None and dice.random() < 0.1 else cell for cell in cells], pa.binary()
        )
    return array


def through_shred(rows: list[tuple[bytes, bytes]], schema: ShreddingSchema) -> bool:
    column = pa.array([{"metadata": metadata, "value": value} for metadata, value in rows], variant())
    try:
        shredded = shred(column, schema)
    except ShredlakeError:
        return False
    shredded.validate(full=True)
    assert shredded.type == shredded_type(schema)
    try:
        unshred(shredded).validate(full=True)
    except ShredlakeError:
        return False
    return True


def through_unshred(rows: list[tuple[bytes, bytes]], schema: ShreddingSchema, dice: random.Random) -> bool:
    column = pa.array([{"metadata": metadata, "value": value} for metadata, value in rows], variant())
    try:
        column = damaged_column(shred(column, schema), dice)
    except ShredlakeError:
        return False
    passed = True
    for work in (
        unshred,
        lambda each: unshred(each, strict=True),
        lambda each: reshred(each, dice.choice(SCHEMAS)),
    ):
        try:
            work(column).validate(full=True)
        except ShredlakeError:
            passed = False
    return passed


def through_large(dice: random.Random) -> int:
    """Large and deep values, whole and damaged, next to each other: how many of three ways went through."""
    column = from_json(pa.array(large_texts(dice)))
    rows = [(row["metadata"], row["value"]) for row in column.to_pylist()]
    schema = dice.choice(SCHEMAS)
    assert to_python(unshred(shred(column, schema))) == to_python(column)
    metadata, value = dice.choice(rows)
    broken = [*rows, (metadata, damage(value, dice))]
    return 1 + through_unshred(rows, schema, dice) + through_shred(broken, schema)


def main(count: int, seed: int) -> None:
    dice = random.Random(seed)
    started, tried, passed = time.perf_counter(), 0, 0
    batch: list[tuple[bytes, bytes]] = []
    for number, pair in enumerate(mutated(count, seed)):
        if number % 250 == 0:
            tried += 3
            passed += through_large(dice)
        schema = dice.choice(SCHEMAS)
        # Alone, so that each damage is met; and with others, so that caches and offsets carry over.
        tried += 2
        passed += through_shred([pair], schema) + through_unshred([pair], schema, dice)
        if through_shred([pair], SCHEMAS[0]):
            batch.append(pair)
        if len(batch) == ROWS:
            tried += 2
            passed += through_shred(batch, schema) + through_unshred(batch, schema, dice)
            batch.clear()
    print(
        f"shredding: {tried} damaged columns, {passed} read, {tried - passed} ShredlakeErrors, nothing else; "
        f"{time.perf_counter() - started:.0f} s (seed {seed})"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    main(**vars(arguments.parse_args()))
