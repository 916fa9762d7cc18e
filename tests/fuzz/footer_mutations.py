"""Damage that keeps a Parquet footer parseable.

One or two of its numbers, texts, lists, fields or wire types change, or one bit flips.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from functools import partial

from shredlake.parquet.format import thrift
from shredlake.parquet.format.thrift import List, Struct

Change = Callable[[random.Random], None]
NUMBERS = (-1, 0, 1, 2, 3, 7, 15, 127, 1 << 16, (1 << 31) - 1, 1 << 40, (1 << 62) - 1, -(1 << 62))
CHUNK_ENCRYPTION = {8: (thrift.STRUCT, Struct({2: (thrift.STRUCT, Struct())}))}
INTEGERS = (thrift.I16, thrift.I32, thrift.I64)  # all written as the same bytes
BIT_FLIPS = 0.2
FOOTER_KEY_SIGNED = {8: (thrift.STRUCT, Struct({1: (thrift.STRUCT, Struct())}))}


def mutated_footer(raw: bytes, dice: random.Random) -> bytes:
    """A Parquet file with a changed footer."""
    length = int.from_bytes(raw[-8:-4], "little")
    start = len(raw) - 8 - length
    if dice.random() < BIT_FLIPS:
        return _flip_bit(raw, start, length, dice)
    tree = thrift.read_struct(raw[start : start + length])
    for _ in range(dice.randrange(1, 3)):
        dice.choice(_changes(tree))(dice)
    footer = thrift.write_struct(tree)
    return raw[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def changed_struct(tree: Struct, dice: random.Random) -> Struct:
    """Changes one place of a Thrift struct, in place."""
    dice.choice(_changes(tree))(dice)
    return tree


def _flip_bit(raw: bytes, start: int, length: int, dice: random.Random) -> bytes:
    data = bytearray(raw)
    data[start + dice.randrange(length)] ^= 1 << dice.randrange(8)
    return bytes(data)


def _changes(tree: Struct) -> list[Change]:
    """Every place at which something can change."""
    found: list[Change] = []
    waiting = [tree]
    while waiting:
        struct = waiting.pop()
        found += (partial(_drop_field, struct), partial(_encrypt, struct))
        for number, (kind, value) in struct.fields.items():
            if isinstance(value, Struct):
                waiting.append(value)
            elif isinstance(value, List):
                found.append(partial(_change_list, value))
                waiting += (item for item in value.items if isinstance(item, Struct))
            else:
                found.append(partial(_change_field, struct, number, kind))
                if kind in INTEGERS:
                    found.append(partial(_change_type, struct, number))
    return found


def _drop_field(tree: Struct, dice: random.Random) -> None:
    if tree.fields:
        tree.remove(dice.choice(list(tree.fields)))


def _encrypt(tree: Struct, dice: random.Random) -> None:
    # Copied: a later change may be inside it.
    tree.fields |= deepcopy(dice.choice([CHUNK_ENCRYPTION, FOOTER_KEY_SIGNED]))


def _change_field(tree: Struct, number: int, kind: int, dice: random.Random) -> None:
    if number not in tree.fields:
        return  # dropped by another change
    value = tree.fields[number][1]
    if isinstance(value, bool):
        tree.set(number, thrift.TRUE, not value)
    elif isinstance(value, int):
        changed = dice.choice([*NUMBERS, value + 1, value - 1, 2 * value])
        tree.fields[number] = kind, changed % 127 if kind == thrift.I8 else changed
    elif isinstance(value, bytes):
        tree.fields[number] = kind, dice.choice([b"", value[:-1], value + b"x", b"\xff" + value, value[:1]])


def _change_type(tree: Struct, number: int, dice: random.Random) -> None:
    """Declares another type for the same bytes: some readers then skip the field."""
    if number in tree.fields:
        tree.fields[number] = dice.choice(INTEGERS), tree.fields[number][1]


def _change_list(items: List, dice: random.Random) -> None:
    if not items.items:
        return
    place = dice.randrange(len(items.items))
    what = dice.randrange(4)
    if what == 0:
        del items.items[place]
    elif what == 1:
        items.items.append(deepcopy(items.items[place]))
    elif what == 2:
        items.items.clear()
    elif isinstance(items.items[place], int) and not isinstance(items.items[place], bool):
        items.items[place] = dice.choice(NUMBERS)
