"""The dictionary of field names that every value of one Variant shares.

```
  7     6   5   4   3   2   1   0
+-------+---+---+---------------+
| width | R | S |  version = 1  |   width: bytes per offset minus one; S: names sorted and unique; R: ignored
+-------+---+---+---------------+
| number of names, n            |   `width` bytes, little-endian, as are the offsets
| n + 1 offsets into the names  |   the first is 0, the last is the length of all names
| the names, UTF-8, concatenated|
+-------------------------------+
```
"""

from __future__ import annotations

from typing import Final

from shredlake.errors import MalformedVariant

VERSION: Final = 1
SORTED_FLAG: Final = 0b1_0000

EMPTY_METADATA: Final = b"\x01\x00\x00"
"""The empty dictionary, which still has one offset."""


class Dictionary:
    """The names of one metadata buffer, read on demand and cached.

    >>> names = Dictionary(b"\\x01\\x02\\x00\\x01\\x03abc")
    >>> len(names), names.name(1)
    (2, 'bc')
    """

    __slots__ = (
        "_names",
        "_offsets_at",
        "_ranks",
        "_start",
        "_text_at",
        "_width",
        "count",
        "end",
        "metadata",
    )

    def __init__(self, metadata: bytes, start: int = 0, *, exact: bool = True) -> None:
        """Checks the header and the extents; with `exact`, also that nothing follows the names."""
        self.metadata = metadata
        self._start = start
        if len(metadata) <= start:
            raise self._malformed("the metadata is empty", start)
        header = metadata[start]
        if header & 0x0F != VERSION:
            raise self._malformed(f"found metadata version {header & 0x0F}, expected 1", start)
        self._width = (header >> 6) + 1
        self._offsets_at = start + 1 + self._width
        if self._offsets_at > len(metadata):
            raise self._malformed("the metadata ends within its header", len(metadata))
        self.count = int.from_bytes(metadata[start + 1 : self._offsets_at], "little")
        self._text_at = self._offsets_at + (self.count + 1) * self._width
        if self._text_at > len(metadata):
            raise self._malformed(f"the metadata can't hold the offsets of {self.count} names", start + 1)
        self.end = self._text_at + self._offset(self.count)
        if self.end > len(metadata) or (exact and self.end < len(metadata)):
            raise self._malformed(
                f"the names end at byte {self.end}, but the metadata ends at byte {len(metadata)}",
                self._text_at - self._width,
            )
        self._names: list[str | None] | None = None
        self._ranks: list[int] | None = None

    def __len__(self) -> int:
        return self.count

    @property
    def is_sorted(self) -> bool:
        """Whether the writer flagged the names as sorted and unique."""
        return bool(self.metadata[self._start] & SORTED_FLAG)

    def name_bytes(self, id_: int) -> bytes:
        """The UTF-8 of one name.

        >>> Dictionary(b"\\x01\\x01\\x00\\x01a").name_bytes(0)
        b'a'
        """
        self.check_id(id_)
        first, last = self._offset(id_), self._offset(id_ + 1)
        if first > last or self._text_at + last > self.end:
            raise self._malformed(
                f"name {id_} has the offsets {first} and {last}", self._offsets_at + id_ * self._width
            )
        return self.metadata[self._text_at + first : self._text_at + last]

    def check_id(self, id_: int) -> None:
        """Raises unless the dictionary has a name with this id."""
        if not 0 <= id_ < self.count:
            raise self._malformed(f"field id {id_} in a dictionary of {self.count} names", self._start + 1)

    def name(self, id_: int) -> str:
        """One name as text.

        >>> Dictionary(b"\\x01\\x01\\x00\\x01a").name(0)
        'a'
        """
        if self._names is None:
            self._names = [None] * self.count
        known = self._names[id_] if 0 <= id_ < self.count else None
        if known is None:
            known = self._names[id_] = self._decoded(id_)
        return known

    def names(self) -> list[str]:
        """All names, in the order of their ids.

        >>> Dictionary(b"\\x01\\x02\\x00\\x01\\x02ba").names()
        ['b', 'a']
        """
        return [self.name(id_) for id_ in range(self.count)]

    def ranks(self) -> list[int]:
        """For each id, the rank of its name in unsigned UTF-8 order; equal names have equal ranks.

        Comparing ranks instead of names keeps hostile dictionaries (long names that differ only at the end,
        used by a hundred thousand objects) as cheap as others.

        >>> Dictionary(b"\\x01\\x03\\x00\\x01\\x02\\x03bab").ranks()
        [1, 0, 1]
        """
        if self._ranks is None:
            names = [self.name_bytes(id_) for id_ in range(self.count)]
            place = {name: rank for rank, name in enumerate(sorted(set(names)))}
            self._ranks = [place[name] for name in names]
        return self._ranks

    def validate(self) -> None:
        """Checks every offset, every name's UTF-8, and the order if the header promises it.

        >>> Dictionary(b"\\x11\\x02\\x00\\x01\\x02ba").validate()
        Traceback (most recent call last):
        ...
        shredlake.errors.MalformedVariant: names 0 and 1 are not in order, though the header says they are ...
        """
        if self._offset(0) != 0:
            raise self._malformed("the first name does not start at offset 0", self._offsets_at)
        self.names()
        ranks = self.ranks()
        if self.is_sorted:
            for id_ in range(1, self.count):
                if ranks[id_ - 1] >= ranks[id_]:
                    raise self._malformed(
                        f"names {id_ - 1} and {id_} are not in order, though the header says they are",
                        self._offsets_at + id_ * self._width,
                    )

    def _decoded(self, id_: int) -> str:
        encoded = self.name_bytes(id_)
        try:
            return encoded.decode()
        except UnicodeDecodeError as error:
            at = self._text_at + self._offset(id_) + error.start
            raise self._malformed(f"name {id_} is not UTF-8", at) from None

    def _offset(self, index: int) -> int:
        at = self._offsets_at + index * self._width
        return int.from_bytes(self.metadata[at : at + self._width], "little")

    def _malformed(self, problem: str, at: int) -> MalformedVariant:
        return MalformedVariant(problem, part="metadata", offset=at - self._start)


def encode_metadata(names: list[bytes]) -> bytes:
    """Encodes the metadata for these names, in this order, with the narrowest offsets; not flagged as sorted.

    >>> encode_metadata([]) == EMPTY_METADATA
    True
    >>> encode_metadata([b"a", b"bc"])
    b'\\x01\\x02\\x00\\x01\\x03abc'
    """
    text = b"".join(names)
    width = byte_width(max(len(text), len(names)))
    parts = [bytes([VERSION | (width - 1) << 6]), len(names).to_bytes(width, "little"), bytes(width)]
    end = 0
    for name in names:
        end += len(name)
        parts.append(end.to_bytes(width, "little"))
    parts.append(text)
    return b"".join(parts)


def metadata_size(buffer: bytes, start: int = 0) -> int:
    """The size of the metadata at `start`, for buffers in which something follows it.

    >>> metadata_size(b"\\x01\\x00\\x00" + b"\\x0c\\x05")
    3
    """
    return Dictionary(buffer, start, exact=False).end - start


def byte_width(number: int) -> int:
    """The number of bytes, 1 to 4, that hold the number.

    >>> byte_width(255), byte_width(256), byte_width(1 << 24)
    (1, 2, 4)
    """
    return max(1, (number.bit_length() + 7) // 8)
