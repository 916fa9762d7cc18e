"""Changes to inputs: of bytes, of texts by their tokens, of JSON by its tree, of parts by themselves."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

Mutate = Callable[[bytes, random.Random], bytes]

NASTY = bytes([0x00, 0x01, 0x02, 0x03, 0x0F, 0x40, 0x7F, 0x80, 0xC0, 0xFE, 0xFF])
NUMBERS = [0, 1, -1, 2, 127, 128, 255, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), 2**64, 10**40]
HOSTILE: list[Any] = [
    None, True, False, "", "x", "\x00", "\ud800", "é😀", "NaN", "null", "../x", "a" * 500, [], {}, [None],
    {"a": 1},
    *NUMBERS, 0.5, 1e308, float("nan"), float("inf"), [[[[[]]]]], {"": {"": {}}}, "1" * 400, "{",
    "2024-01-01",
]  # fmt: skip
DEEP = 1500


def change_bytes(data: bytes, dice: random.Random) -> bytes:
    """Changes one to eight places."""
    changed = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 4, 8])):
        _change_place(changed, data, dice)
    return bytes(changed)


def _change_place(changed: bytearray, data: bytes, dice: random.Random) -> None:
    at = dice.randint(0, len(changed))
    if dice.random() < 0.4:  # headers matter most, and they come first
        at = min(int(dice.expovariate(0.1)), len(changed))
    kind = dice.randrange(8)
    if kind == 0 and at < len(changed):
        changed[at] ^= 1 << dice.randrange(8)
    elif kind == 1 and at < len(changed):
        changed[at] = dice.choice(NASTY)
    elif kind == 2 and at < len(changed):
        changed[at] = dice.randrange(256)
    elif kind == 3:
        changed[at:at] = dice.randbytes(dice.choice([1, 1, 2, 4, 9]))
    elif kind == 4:
        del changed[at : at + dice.choice([1, 1, 2, 4, 9])]
    elif kind == 5 and data:
        start = dice.randrange(len(data))
        changed[at : at + dice.choice([0, 4, 20])] = data[start : start + dice.choice([4, 20, 80])]
    elif kind == 6 and dice.random() < 0.1:
        del changed[at:]
    elif kind == 7:
        size = dice.choice([1, 2, 4, 8])
        number = dice.choice([0, 1, -1, 2 ** (8 * size - 1) - 1, -(2 ** (8 * size - 1)), len(data), 65535])
        order = dice.choice(["little", "big"])
        changed[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, order)


def change_text(tokens: Sequence[str]) -> Mutate:
    """Changes the tokens of a language: inserts, deletes, doubles, swaps or deeply nests them."""
    pieces = [token.encode("utf-8", "surrogatepass") for token in tokens]

    def change(data: bytes, dice: random.Random) -> bytes:
        changed = bytearray(data)
        for _ in range(dice.choice([1, 1, 2, 4])):
            at = dice.randint(0, len(changed))
            kind = dice.randrange(10)
            if kind < 4:
                changed[at : at + dice.choice([0, 0, 1, 3])] = dice.choice(pieces)
            elif kind < 6:
                del changed[at : at + dice.choice([1, 2, 8])]
            elif kind < 8:
                start = dice.randint(0, len(changed))
                changed[at:at] = changed[start : start + dice.choice([1, 4, 20])]
            elif kind == 8:
                return change_bytes(bytes(changed), dice)
            elif dice.random() < 0.05:
                changed[at:at] = dice.choice(pieces) * dice.choice([10, 100, DEEP])
        return bytes(changed)

    return change


def change_json(data: bytes, dice: random.Random) -> bytes:
    """A JSON text, or lines of JSON, with changes to the tree of one line; texts that hold JSON included."""
    if dice.random() < 0.1:
        return change_bytes(data, dice)
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    if dice.random() < 0.1:
        place = dice.randrange(len(lines))
        lines[at], lines[place] = lines[place], lines[at]
        if dice.random() < 0.5:
            lines.insert(at, lines[place])
        return b"\n".join(lines)
    try:
        tree = json.loads(lines[at])
        for _ in range(dice.choice([1, 1, 2, 3])):
            tree = changed_tree(tree, dice)
        text = json.dumps(tree, ensure_ascii=dice.random() < 0.7)
    except (ValueError, RecursionError):
        return change_bytes(data, dice)
    lines[at] = text.encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def changed_tree(tree: Any, dice: random.Random) -> Any:
    """Changes one place of a JSON value."""
    if isinstance(tree, dict) and tree and dice.random() < 0.93:
        key = dice.choice(list(tree))
        kind = dice.randrange(12)
        if kind == 0:
            tree.pop(key)
        elif kind == 1:
            tree[dice.choice(["", "x", "\ud800", key + "x", key.upper()])] = deepcopy(tree[key])
        elif kind == 2:
            other = dice.choice(list(tree))
            tree[key], tree[other] = tree[other], tree[key]
        else:
            tree[key] = changed_tree(tree[key], dice)
        return tree
    if isinstance(tree, list) and tree and dice.random() < 0.85:
        at = dice.randrange(len(tree))
        kind = dice.randrange(6)
        if kind == 0:
            tree.pop(at)
        elif kind == 1:
            tree.append(deepcopy(tree[at]))
        else:
            tree[at] = changed_tree(tree[at], dice)
        return tree
    if isinstance(tree, str):
        return _changed_string(tree, dice)
    if isinstance(tree, int) and not isinstance(tree, bool) and dice.random() < 0.6:
        return dice.choice([tree + 1, tree - 1, -tree, 2 * tree, float(tree), str(tree), *NUMBERS])
    if dice.random() < 0.02:
        return json.loads("[" * 900 + "]" * 900)
    return deepcopy(dice.choice(HOSTILE))


def _changed_string(text: str, dice: random.Random) -> Any:
    if text[:1] in ("{", "[") and dice.random() < 0.9:
        try:
            return json.dumps(changed_tree(json.loads(text), dice))
        except (ValueError, RecursionError):
            pass
    if dice.random() < 0.5:
        return deepcopy(dice.choice(HOSTILE))
    raw = change_bytes(text.encode("utf-8", "surrogatepass"), dice)
    return raw.decode("utf-8", "replace")


# ── Several parts in one input ──────────────────────────────────────────────────────────────────────────


def pack(*parts: bytes) -> bytes:
    """Joins several byte strings into one input.

    >>> unpack(pack(b"ab", b"", b"c"))
    [b'ab', b'', b'c']
    """
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def unpack(data: bytes) -> list[bytes]:
    """The parts of any input; a length beyond the end means the rest."""
    parts, at = [], 0
    while at + 4 <= len(data):
        [size] = struct.unpack_from("<I", data, at)
        parts.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return parts


def change_parts(*changes: Mutate) -> Mutate:
    """Changes one part by its own rule; the last rule is for all further parts."""

    def change(data: bytes, dice: random.Random) -> bytes:
        parts = unpack(data)
        if not parts or dice.random() < 0.02:
            return change_bytes(data, dice)
        if dice.random() < 0.05:
            at, other = dice.randrange(len(parts)), dice.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        for _ in range(dice.choice([1, 1, 2])):
            at = dice.randrange(len(parts))
            parts[at] = changes[min(at, len(changes) - 1)](parts[at], dice)
        return pack(*parts)

    return change


def text_of(data: bytes) -> str:
    """Any bytes as a text; what is not UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")
