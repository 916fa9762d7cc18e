"""Variants as text in a commit's statistics: the metadata and value bytes, encoded as z85.

```
metadata ─┐                    4 bytes, big-endian
value ────┼─ zero bytes up ─▶  [b0 b1 b2 b3] ─▶ 5 digits of base 85 ─▶ "0rJlc"
          └─ to a multiple of 4
```

The protocol's own example strings hold the value before the metadata and end with a short group;
`decode_variant` reads them too. `decode_variants` decodes a whole column at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import MalformedVariant
from shredlake.kernels.arrow.types import variant
from shredlake.variant import Variant

ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

_BAD = 255
_DIGIT = np.full(256, _BAD, dtype=np.uint8)
_DIGIT[np.frombuffer(ALPHABET, dtype=np.uint8)] = np.arange(85, dtype=np.uint8)
_POWERS = np.array([85**4, 85**3, 85**2, 85, 1], dtype=np.uint64)


def encode(data: bytes) -> str:
    """Encodes bytes as z85, padded with zero bytes to a multiple of 4.

    >>> encode(bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B]))
    'HelloWorld'
    """
    padded = data + bytes(-len(data) % 4)
    words = np.frombuffer(padded, dtype=">u4").astype(np.uint64)
    digits = (words[:, None] // _POWERS) % np.uint64(85)
    return np.frombuffer(ALPHABET, dtype=np.uint8)[digits.astype(np.intp)].tobytes().decode()


def decode(text: str) -> bytes:
    """Decodes a z85 string. A short last group of n characters encodes n - 1 bytes.

    >>> decode("HelloWorld").hex()
    '864fd26fb559f75b'
    """
    if not text.isascii():
        position = next(index for index, character in enumerate(text) if not character.isascii())
        raise MalformedVariant(f"z85 text has the character {text[position]!r}", offset=position)
    raw = text.encode()
    short = -len(raw) % 5
    if short == 4:
        raise MalformedVariant(
            f"z85 text of {len(text)} characters: a last group of one character encodes no byte"
        )
    # Padding a short group with the digit 84 rounds it up, so that its leading bytes are exact.
    digits = _DIGIT[np.frombuffer(raw + b"#" * short, dtype=np.uint8)]
    if (digits == _BAD).any():
        position = int(np.argmax(digits == _BAD))
        raise MalformedVariant(f"z85 text has the character {text[position]!r}", offset=position)
    words = digits.reshape(-1, 5).astype(np.uint64) @ _POWERS
    if (words > 0xFFFFFFFF).any():
        raise MalformedVariant("z85 text has a group of five that exceeds 32 bits")
    data = words.astype(">u4").tobytes()
    return data[: len(data) - short]


def encode_variant(value: Variant) -> str:
    """Encodes a Variant as a statistics string.

    >>> decode_variant(encode_variant(Variant.of({"$['a']": 1}))).to_python()
    {"$['a']": 1}
    """
    return encode(value.metadata + value.value)


def decode_variant(text: str) -> Variant:
    """Decodes the Variant in a statistics string.

    >>> decode_variant("0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K").to_python()
    {"$['a']": 'variant', "$['b']['c']": 100}
    """
    data = decode(text)
    try:
        return _split(data)
    except MalformedVariant:
        if len(text) % 5 == 0:
            raise
        return _split_reversed(data)


def _split(data: bytes) -> Variant:
    """Splits bytes into metadata and value, which up to 3 zero bytes of padding follow."""
    size = _metadata_size(data)
    metadata, value = data[:size], data[size:]
    for padding in range(4):
        if padding and (len(value) < padding or value[-padding] != 0):
            break
        try:
            found = Variant(metadata, value[: len(value) - padding])
            found.validate()
        except MalformedVariant:
            continue
        return found
    raise MalformedVariant(f"{len(data)} bytes of z85 are not metadata followed by a value")


def _split_reversed(data: bytes) -> Variant:
    """Splits bytes that hold the value before the metadata, as in the protocol's example."""
    for start in range(1, len(data) - 2):
        if _metadata_size(data[start:], required=False) != len(data) - start:
            continue
        try:
            found = Variant(data[start:], data[:start])
            found.validate()
        except MalformedVariant:
            continue
        return found
    raise MalformedVariant(f"{len(data)} bytes of z85 are neither metadata and value nor the reverse")


def _metadata_size(data: bytes, *, required: bool = True) -> int:
    """Returns the size of the dictionary at the start of `data`. If there is none, raises, or returns -1.

    The header `oo0sVVVV` holds the offset size minus one, the sorted flag and the version, 1. The number of
    keys follows, then one more offset than there are keys, then the bytes of the keys.
    """
    header = data[0] if data else 0
    width = (header >> 6) + 1
    if header & 0x0F == 1 and len(data) >= 1 + width:
        keys = int.from_bytes(data[1 : 1 + width], "little")
        end = 1 + width * (keys + 2)
        if end <= len(data):
            size = end + int.from_bytes(data[end - width : end], "little")
            if size <= len(data):
                return size
    if required:
        raise MalformedVariant("the statistics do not start with a Variant's metadata", part="metadata")
    return -1


def decode_variants(texts: pa.Array) -> pa.StructArray:
    """Decodes a column of statistics strings to a Variant column. Strings that are not Variants become null.

    Strings in the usual form are decoded all at once. The value keeps its padding, because a Variant value
    encodes its own length.

    >>> column = decode_variants(pa.array([encode_variant(Variant.of(7)), None, "?"]))
    >>> [None if row is None else row["value"][:2].hex() for row in column.to_pylist()]
    ['0c07', None, None]
    """
    texts = texts.cast(pa.string())
    count = len(texts)
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32, count=count + 1, offset=texts.offset * 4)
    offsets = offsets.astype(np.int64)
    lengths = np.diff(offsets)
    usable = texts.is_valid().to_numpy(zero_copy_only=False) & (lengths > 0) & (lengths % 5 == 0)
    if not usable.any():
        return _rare_forms(texts, np.zeros(count, dtype=bool), [], [])
    characters = np.frombuffer(texts.buffers()[2], dtype=np.uint8)
    chosen = characters[_ranges(offsets[:-1][usable], lengths[usable])]
    digits = _DIGIT[chosen].reshape(-1, 5)
    words = digits.astype(np.uint64) @ _POWERS
    wrong = (digits == _BAD).any(axis=1) | (words > 0xFFFFFFFF)
    data = words.astype(">u4").view(np.uint8)
    ends = np.cumsum(lengths[usable] // 5) * 4
    starts = ends - lengths[usable] // 5 * 4
    bad_before = np.concatenate([[0], np.cumsum(wrong)])
    fine = bad_before[ends // 4] == bad_before[starts // 4]
    sizes = _metadata_sizes(data, starts, ends)
    fine &= sizes > 0
    good = np.flatnonzero(usable)[fine]
    is_good = np.zeros(count, dtype=bool)
    is_good[good] = True
    starts, ends, sizes = starts[fine], ends[fine], sizes[fine]
    return _rare_forms(
        texts,
        is_good,
        _binary(data, starts, sizes),
        _binary(data, starts + sizes, ends - starts - sizes),
    )


def _rare_forms(texts: pa.Array, is_good: np.ndarray[Any, Any], metadata: Any, value: Any) -> pa.StructArray:
    """Put the decoded rows in place, and decode rows in an unusual form one by one."""
    kind = variant()
    decoded = pa.nulls(0, kind)
    if len(metadata):
        decoded = pa.StructArray.from_arrays([metadata, value], fields=list(kind))
    places = np.where(is_good, np.cumsum(is_good) - 1, -1)
    unusual = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False) & ~is_good)
    rare: list[dict[str, bytes]] = []
    for row in unusual.tolist():
        try:
            found = decode_variant(texts[row].as_py())
        except MalformedVariant:
            continue
        places[row] = len(decoded) + len(rare)
        rare.append({"metadata": found.metadata, "value": found.value})
    if rare:
        decoded = pa.concat_arrays([decoded, pa.array(rare, kind)])
    if (places >= 0).all():
        return decoded if not rare else decoded.take(pa.array(places))
    absent = places < 0
    taken = decoded.take(pa.array(places, mask=absent))
    children = [pc.fill_null(taken.field(0), b""), taken.field(1)]  # metadata is never null
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=pa.array(absent))


def without_damaged(column: pa.StructArray) -> pa.StructArray:
    """Replace malformed Variants with null.

    >>> column = decode_variants(pa.array([encode_variant(Variant.of(7)), encode(b"\\x01\\0\\0\\x14")]))
    >>> without_damaged(column).is_valid().to_pylist()
    [True, False]
    """
    rows: list[dict[str, bytes] | None] = []
    for row in column.to_pylist():
        try:
            found = None if row is None else _split(row["metadata"] + row["value"])
        except MalformedVariant:
            found = None
        rows.append(None if found is None else {"metadata": found.metadata, "value": found.value})
    return pa.array(rows, variant())


def encode_variants(column: pa.StructArray) -> pa.StringArray:
    """Encodes a column of unshredded Variants as statistics strings, like `encode_variant`.

    >>> column = pa.array([{"metadata": b"\\x01\\x00\\x00", "value": b"\\x0c\\x07"}, None], variant())
    >>> encode_variants(column).to_pylist() == [encode_variant(Variant.of(7)), None]
    True
    """
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    parts = [_pieces(column.field(name), valid) for name in ("metadata", "value")]
    sizes = parts[0][2] + parts[1][2]
    padded = -(-sizes // 4) * 4
    ends = np.cumsum(padded)
    joined = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    at = ends - padded
    for data, starts, lengths in parts:
        joined[_ranges(at, lengths)] = data[_ranges(starts, lengths)]
        at = at + lengths
    words = joined.view(">u4").astype(np.uint64)
    digits = (words[:, None] // _POWERS) % np.uint64(85)
    characters = np.frombuffer(ALPHABET, dtype=np.uint8)[digits.astype(np.intp)]
    offsets = np.concatenate([[0], ends // 4 * 5]).astype(np.int32)
    mask = pa.array(valid).buffers()[1]
    return pa.StringArray.from_buffers(
        len(column), pa.py_buffer(offsets), pa.py_buffer(characters.tobytes()), mask, int((~valid).sum())
    )


def _pieces(
    values: pa.Array, valid: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns the bytes of a binary column, and each row's start and length; invalid rows have length 0."""
    values = values.cast(pa.binary())
    _, raw, data = values.buffers()
    offsets = np.frombuffer(raw, dtype=np.int32, count=len(values) + 1, offset=values.offset * 4)
    content = np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    offsets = offsets.astype(np.int64)
    return content, offsets[:-1], np.where(valid, np.diff(offsets), 0)


def _ranges(starts: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns the positions in several ranges, concatenated."""
    shift = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return np.repeat(starts - shift, lengths) + np.arange(int(lengths.sum()))


def _metadata_sizes(
    data: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], ends: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Returns the size of the dictionary at each start, or -1 if there is none, like `_metadata_size`."""
    header = data[starts]
    width = (header >> 6).astype(np.int64) + 1
    keys = _integers(data, starts + 1, width, ends)
    last = starts + 1 + width * (keys + 1)
    size = 1 + width * (keys + 2) + _integers(data, last, width, ends)
    sound = (header & 0x0F == 1) & (keys >= 0) & (last + width <= ends) & (starts + size <= ends)
    return np.where(sound, size, -1)


def _integers(
    data: np.ndarray[Any, Any],
    at: np.ndarray[Any, Any],
    width: np.ndarray[Any, Any],
    ends: np.ndarray[Any, Any],
) -> np.ndarray[Any, Any]:
    """Reads little-endian integers of 1 to 4 bytes. Bytes past the end of a row count as zero."""
    total = np.zeros(len(at), dtype=np.int64)
    for byte in range(4):
        inside = (byte < width) & (at + byte < ends) & (at >= 0)
        positions = np.where(inside, at + byte, 0)
        total += np.where(inside, data[positions].astype(np.int64) << (8 * byte), 0)
    return total


def _binary(
    data: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]
) -> pa.BinaryArray:
    """Builds a binary column from ranges of `data`."""
    chosen = data[_ranges(starts, lengths)]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(chosen))]
    )
