"""The seal of a file of ours: checksums of its footer and page indexes, which Parquet itself has none for.

Pages have checksums of their own. A bit that flips in the footer or in a page index can still make another
number of a bound or an offset, and rows are then skipped that match. So our files carry one more entry of
key-value metadata, of a length that is known before the numbers are:

```
shredlake.seal   1 000000012345 0000004321 89abcdef AAAA...
                 │ │            │          │        └─ per column chunk: CRC-32 of its offset and column index
                 │ │            │          └─ CRC-32 of the footer, with zeros in this place
                 │ │            └─ length of the footer
                 │ └─ where the footer starts
                 └─ version
```

Programs that rewrite a file may copy its metadata. A copied seal names another footer and is ignored, as is
one of a later version.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shredlake.errors import InvalidFile

KEY: Final = "shredlake.seal"
_VERSION: Final = 1
_ENTRY: Final = re.compile(rb"(\d{3}) (\d{15}) (\d{10}) ([0-9a-f]{8}) ([A-Za-z0-9+/=]*)")
_NO_SUM: Final = b"00000000"
_INDEXES: Final = 2  # checksums per column chunk


@dataclass(frozen=True)
class Seal:
    """The checksums of the page indexes, by row group and column: offset index, then column index."""

    sums: bytes

    def of(self, chunk: int) -> tuple[int, int]:
        """The checksums of a column chunk, by its number in the file."""
        at = 4 * _INDEXES * chunk
        return int.from_bytes(self.sums[at : at + 4], "little"), int.from_bytes(
            self.sums[at + 4 : at + 8], "little"
        )


def blank(chunks: int) -> str:
    """A seal for a file of so many column chunks, to be filled in when the footer is known."""
    return _text(0, 0, _NO_SUM.decode(), bytes(4 * _INDEXES * chunks))


def _text(start: int, length: int, checksum: str, sums: bytes) -> str:
    return f"{_VERSION:03} {start:015} {length:010} {checksum} {base64.b64encode(sums).decode()}"


def sealed(raw: bytes, start: int, sums: Sequence[int]) -> bytes:
    """A footer with its blank seal filled in; the same footer if it has none."""
    packed = b"".join(number.to_bytes(4, "little") for number in sums)
    empty = blank(len(sums) // _INDEXES).encode()
    place = raw.find(empty)
    if place < 0:
        return raw
    entry = _text(start, len(raw), _NO_SUM.decode(), packed).encode()
    unsigned = raw[:place] + entry + raw[place + len(empty) :]
    signed = _text(start, len(raw), f"{zlib.crc32(unsigned):08x}", packed).encode()
    return raw[:place] + signed + raw[place + len(empty) :]


def check_seal(raw: bytes, start: int, name: str) -> Seal | None:
    """Compares a footer with its seal; None if it has none of this version and for this footer.

    >>> raw = sealed(f"footer {KEY} {blank(1)}".encode(), 40, [7, 8])
    >>> check_seal(raw, 40, "f.parquet").of(0)
    (7, 8)
    >>> check_seal(raw.replace(b"foot", b"fool"), 40, "f.parquet")
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidFile: f.parquet is damaged: its footer does not match its checksum
    """
    place = raw.find(KEY.encode())
    while place >= 0:
        found = _ENTRY.search(raw, place)
        if found is None:
            return None
        version, at, length, checksum, sums = found.groups()
        if int(version) == _VERSION and int(at) == start and int(length) == len(raw):
            _compare(raw, found.start(4), int(checksum, 16), name)
            return Seal(_decoded(sums, name))
        place = raw.find(KEY.encode(), found.end())
    return None


def _decoded(sums: bytes, name: str) -> bytes:
    try:
        return base64.b64decode(sums)
    except ValueError as error:
        raise InvalidFile(f"{name}: its checksums of page indexes can't be read: {error}") from None


def _compare(raw: bytes, place: int, checksum: int, name: str) -> None:
    view = memoryview(raw)
    found = zlib.crc32(view[:place])
    found = zlib.crc32(_NO_SUM, found)
    found = zlib.crc32(view[place + len(_NO_SUM) :], found)
    if found != checksum:
        raise InvalidFile(f"{name} is damaged: its footer does not match its checksum")
