"""Single values: Variant bytes, z85 texts, profiles, deletion vectors."""

from __future__ import annotations

import random
import struct

import pyarrow as pa
from pyroaring import BitMap64

from fuzz.contract import Door
from fuzz.damage import change_bytes, change_parts, change_text, pack, text_of, unpack
from mutations import SEEDS
from shredlake import (
    MalformedVariant,
    Path,
    Profile,
    Variant,
    VariantBuilder,
    VariantType,
    infer_schema,
    merge_profiles,
    profile_bytes,
)
from shredlake.delta.protocol.actions import DeletionVector
from shredlake.delta.read.deletion_vectors import NATIVE, PORTABLE, check_inside, live_mask, read_vector
from shredlake.delta.stats import z85
from shredlake.delta.storage.storage import Storage
from variant_columns import column


def _two(data: bytes) -> tuple[bytes, bytes]:
    parts = [*unpack(data), b"", b""]
    return parts[0], parts[1]


# ── Variant ─────────────────────────────────────────────────────────────────────────────────────────────


def enter_variant(data: bytes) -> None:
    """Runs every operation on one value."""
    variant = Variant(*_two(data))
    repr(variant)
    try:
        variant.validate()
    except MalformedVariant:
        for read in (Variant.to_python, Variant.to_json, hash, _visit):
            try:
                read(variant)
            except MalformedVariant:
                continue
        raise
    variant.to_python(exact=True)
    variant.to_json(pretty=True)
    _visit(variant)
    assert VariantBuilder().append_variant(variant).build() == variant


def _visit(variant: Variant) -> None:
    """Every child of the root, listed and looked up; keys out of order may well not be found."""
    if variant.type is VariantType.OBJECT:
        for key, child in variant.items():
            child.to_python()
            variant.get(Path((key,)))
    elif variant.type is VariantType.ARRAY:
        for index, child in enumerate(variant):
            child.to_python()
            variant.get(Path((index,)))


def variant_seeds() -> list[bytes]:
    return [pack(seed.metadata, seed.value) for seed in SEEDS]


# ── z85 ─────────────────────────────────────────────────────────────────────────────────────────────────


def enter_z85(data: bytes) -> None:
    """One text alone, as a Variant, and in a column, which must agree."""
    text = text_of(data)
    decoded = z85.decode(text)
    assert text.isascii()
    assert z85.decode(z85.encode(decoded)) == decoded + bytes(-len(decoded) % 4)
    try:
        alone = z85.decode_variant(text)
    except MalformedVariant:
        alone = None
    texts = pa.array([text, None, z85.encode_variant(SEEDS[0])], pa.string())
    found = z85.without_damaged(z85.decode_variants(texts)).to_pylist()
    assert found[1] is None
    assert found[2] is not None
    if alone is None or found[0] is None:
        raise MalformedVariant("not a Variant")
    assert Variant(found[0]["metadata"], found[0]["value"]) == alone


def z85_seeds() -> list[bytes]:
    return [z85.encode_variant(seed).encode() for seed in SEEDS] + [b"", b"HelloWorld"]


# ── Profiles ────────────────────────────────────────────────────────────────────────────────────────────


def enter_profile(data: bytes) -> None:
    """Decodes, encodes and merges a profile, and infers a schema from it."""
    one = Profile.from_bytes(data)
    again = one.to_bytes()
    assert Profile.from_bytes(again).to_bytes() == again
    merged = merge_profiles([data, again])
    infer_schema(merged if isinstance(merged, Profile) else Profile.from_bytes(merged))
    one.merge(one)
    for _, path in one.paths():
        _ = path.distinct, path.sortedness, path.nulls


def profile_seeds() -> list[bytes]:
    columns = [column(SEEDS), column(SEEDS[27:30]), column([None]), column(SEEDS[:3] * 50)]
    return [profile_bytes(each) for each in columns]


# ── Deletion vectors ────────────────────────────────────────────────────────────────────────────────────

_STORE = Storage("memory://fuzz/vectors")


def enter_vector(data: bytes) -> None:
    """In the log and in a file, used on a file of 5,000 rows."""
    head, bitmap = _two(data)
    size, cardinality, offset, form = struct.unpack("<iqib", head[:17].ljust(17, b"\0"))
    size, cardinality = size or len(bitmap), cardinality or _cardinality(bitmap)
    if form & 1:
        _STORE.put("deletion_vector_00000000-0000-0000-0000-000000000000.bin", bitmap)
        vector = DeletionVector("u", "00000000000000000000", size, cardinality, offset)
    else:
        vector = DeletionVector("i", z85.encode(bitmap), size, cardinality)
    rows = read_vector(_STORE, vector)
    check_inside(rows, 5000, "f.parquet")
    assert 5000 - live_mask(rows, 0, 5000).to_pylist().count(True) == cardinality


def _cardinality(bitmap: bytes) -> int:
    """The cardinality that a log would record, so that most inputs pass that check."""
    try:
        return len(BitMap64.deserialize(bitmap[4:]))
    except Exception:
        return 0


def vector_seeds() -> list[bytes]:
    seeds = []
    for rows in ([1, 7], range(3000), range(0, 5000, 3), [], [2**40]):
        portable = struct.pack("<i", PORTABLE) + BitMap64(rows).serialize()
        seeds.append(pack(bytes(17), portable))
        body = BitMap64(rows).serialize()
        if list(rows) and max(rows) < 2**32:
            native = struct.pack("<iii", NATIVE, 1, len(body) - 12) + body[12:]
            seeds.append(pack(struct.pack("<iqib", len(native), len(list(rows)), 0, 0), native))
    return seeds


def change_vector(data: bytes, dice: random.Random) -> bytes:
    return change_parts(change_bytes, change_bytes)(data, dice)


_Z85_TOKENS = ["0", "00000", "%nSc0", "#", "~", "\x00", "é", " ", "\n", "A" * 80]

DOORS = [
    Door("variant", "values", variant_seeds, enter_variant, change_parts(change_bytes)),
    Door("z85", "values", z85_seeds, enter_z85, change_text(_Z85_TOKENS)),
    Door("profile", "values", profile_seeds, enter_profile, change_bytes),
    Door("deletion-vector", "delta", vector_seeds, enter_vector, change_vector),
]
