"""The bytes of a profile. The compiled kernel writes and merges the same ones.

```
profile   "SLP1"  rows  nulls  metadata bytes  missed  number of paths  path...
path      parent  name  count  rows  bytes  missed  types  flags  section...

parent    index of the parent, which stands before it; 0 for the root, which is first
name      0: root, or the elements of an array; else length + 1 and the UTF-8 bytes
types     a mask of the types met, in the order of VariantType, then a count for each
flags     one byte: which sections follow, in this order
   1      numbers    how many, lowest, highest (8-byte doubles)
   2      exact      scales, digits: how many pairs, then (byte, count) pairs
   4      texts      bytes in all, longest, how many of each Look
   8      arrays     elements in all, shortest, longest
  16      order      up, down, same, first key, last key: byte 1 and a double, or byte 2, a length byte, bytes
  32      values     registers
  64      keys       other count, other bytes, registers
registers how many are not 0; below 128 (index, rank) pairs of bytes, else all 256
```

Numbers are varints: seven bits a byte, low ones first, the top bit says that more follow.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from shredlake.shredding.inference.hyperloglog import REGISTERS
from shredlake.shredding.inference.profile import Look, Order, OrderKey, PathProfile, Profile
from shredlake.shredding.schema import ARRAY_ELEMENT, ArrayElement
from shredlake.variant.types import VariantType

MAGIC: Final = b"SLP1"
TYPES: Final = tuple(VariantType)
RANGE, EXACT, TEXT, ARRAY, ORDER, VALUES, KEYS = 1, 2, 4, 8, 16, 32, 64


def encode(profile: Profile) -> bytes:
    """The bytes of a profile."""
    paths: list[tuple[int, PathProfile]] = []
    waiting = [(0, profile.root)]
    while waiting:
        parent, path = waiting.pop()
        waiting.extend((len(paths), child) for child in reversed(path.children))
        paths.append((parent, path))
    out = bytearray(MAGIC)
    for number in (profile.rows, profile.nulls, profile.metadata_bytes, profile.missed, len(paths)):
        _put(out, number)
    for parent, path in paths:
        _put_path(out, parent, path)
    return bytes(out)


def decode(data: bytes) -> Profile:
    """The profile behind the bytes; a ValueError where they are not one."""
    reader = _Reader(data)
    magic = reader.take(4)
    if magic[:3] == MAGIC[:3] and magic != MAGIC:
        raise ValueError(
            f"this profile has the format {magic.decode('ascii', 'replace')}, written by another version of "
            f"shredlake; this version reads {MAGIC.decode()}"
        )
    if magic != MAGIC:
        raise ValueError("these bytes are not a profile")
    rows, nulls, metadata_bytes, missed, count = (reader.number() for _ in range(5))
    stored = [reader.path() for _ in range(count)]
    # Children come after their parents: going backwards, a node's own children are complete.
    children: list[list[PathProfile]] = [[] for _ in stored]
    for index in range(count - 1, 0, -1):
        parent, name, facts = stored[index]
        if parent >= index:
            raise ValueError(f"path {index} comes before its parent {parent}")
        children[parent].append(PathProfile(name, **facts, children=_sorted(children[index])))
    root = PathProfile(None, **stored[0][2], children=_sorted(children[0]))
    return Profile(rows, nulls, metadata_bytes, missed, root)


def _sorted(children: list[PathProfile]) -> tuple[PathProfile, ...]:
    if len({child.name for child in children}) < len(children):
        raise ValueError("two paths have the same name")
    return tuple(sorted(children, key=lambda child: (child.name is ARRAY_ELEMENT, str(child.name))))


def _put(out: bytearray, number: int) -> None:
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def _put_counts(out: bytearray, counts: Mapping[int, int]) -> None:
    _put(out, len(counts))
    for key in sorted(counts):
        out.append(key)
        _put(out, counts[key])


def _put_registers(out: bytearray, registers: bytes) -> None:
    used = [(index, rank) for index, rank in enumerate(registers) if rank]
    _put(out, len(used))
    out += registers if len(used) >= REGISTERS // 2 else bytes(byte for pair in used for byte in pair)


def _put_key(out: bytearray, key: OrderKey) -> None:
    out += struct.pack("<Bd", 1, key) if isinstance(key, float) else bytes((2, len(key))) + key


def _put_path(out: bytearray, parent: int, path: PathProfile) -> None:
    name = path.name.encode("utf-8", "surrogateescape") if isinstance(path.name, str) else None
    _put(out, parent)
    _put(out, 0 if name is None else len(name) + 1)
    out += name or b""
    for number in (path.count, path.rows, path.size, path.missed):
        _put(out, number)
    _put(out, sum(1 << bit for bit, kind in enumerate(TYPES) if kind in path.types))
    for kind in TYPES:
        if kind in path.types:
            _put(out, path.types[kind])
    sections = {
        RANGE: path.ranged > 0,
        EXACT: bool(path.scales),
        TEXT: VariantType.STRING in path.types or VariantType.BINARY in path.types,
        ARRAY: VariantType.ARRAY in path.types,
        ORDER: path.order is not None,
        VALUES: any(path.values),
        KEYS: VariantType.OBJECT in path.types,
    }
    out.append(sum(flag for flag, there in sections.items() if there))
    if sections[RANGE]:
        _put(out, path.ranged)
        out += struct.pack("<dd", path.low, path.high)
    if sections[EXACT]:
        _put_counts(out, path.scales)
        _put_counts(out, path.digits)
    if sections[TEXT]:
        for number in (path.text_bytes, path.longest_text, *(path.looks.get(look, 0) for look in Look)):
            _put(out, number)
    if sections[ARRAY]:
        for number in (path.elements, path.shortest, path.longest):
            _put(out, number)
    if path.order is not None:
        for number in (path.order.up, path.order.down, path.order.same):
            _put(out, number)
        _put_key(out, path.order.first)
        _put_key(out, path.order.last)
    if sections[VALUES]:
        _put_registers(out, path.values)
    if sections[KEYS]:
        _put(out, path.other_count)
        _put(out, path.other_bytes)
        _put_registers(out, path.keys)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        taken = self.data[self.position : self.position + size]
        self.position += size
        if len(taken) < size:
            raise ValueError("these bytes are not a profile: they are cut off")
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def counts(self) -> dict[int, int]:
        return {self.byte(): self.number() for _ in range(self.number())}

    def registers(self) -> bytes:
        used = self.number()
        if used >= REGISTERS // 2:
            return self.take(REGISTERS)
        registers = bytearray(REGISTERS)
        for _ in range(used):
            index, rank = self.take(2)
            registers[index] = rank
        return bytes(registers)

    def key(self) -> OrderKey:
        if self.byte() == 1:
            return float(struct.unpack("<d", self.take(8))[0])
        return self.take(self.byte())

    def path(self) -> tuple[int, str | ArrayElement, dict[str, Any]]:
        """(index of the parent, name, the fields of a PathProfile)."""
        parent, size = self.number(), self.number()
        name = self.take(size - 1).decode("utf-8", "surrogateescape") if size else ARRAY_ELEMENT
        facts: dict[str, Any] = {key: self.number() for key in ("count", "rows", "size", "missed")}
        mask = self.number()
        facts["types"] = {kind: self.number() for bit, kind in enumerate(TYPES) if mask >> bit & 1}
        flags = self.byte()
        if flags & RANGE:
            facts["ranged"] = self.number()
            facts["low"], facts["high"] = struct.unpack("<dd", self.take(16))
            if not facts["low"] <= facts["high"]:
                raise ValueError(f"the lowest number is {facts['low']}, the highest {facts['high']}")
        if flags & EXACT:
            facts["scales"], facts["digits"] = self.counts(), self.counts()
        if flags & TEXT:
            facts["text_bytes"], facts["longest_text"] = self.number(), self.number()
            looks = {look: self.number() for look in Look}
            facts["looks"] = {look: count for look, count in looks.items() if count}
        if flags & ARRAY:
            facts.update({key: self.number() for key in ("elements", "shortest", "longest")})
        if flags & ORDER:
            up, down, same = self.number(), self.number(), self.number()
            facts["order"] = Order(up, down, same, self.key(), self.key())
        if flags & VALUES:
            facts["values"] = self.registers()
        if flags & KEYS:
            facts["other_count"], facts["other_bytes"] = self.number(), self.number()
            facts["keys"] = self.registers()
        return parent, name, facts
