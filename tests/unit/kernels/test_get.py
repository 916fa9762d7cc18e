"""`get`, case by case: what it gives, what it shares with its input, what it refuses."""

from __future__ import annotations

import datetime as dt
import random
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import (
    CastError,
    InvalidExpression,
    InvalidPath,
    InvalidSchema,
    MalformedVariant,
    WrongType,
)
from shredlake.kernels import from_json, get, shred, shredded_type, to_json, variant
from shredlake.shredding import ShreddingSchema
from shredlake.variant import Path, Variant

EVENTS = [
    '{"user": {"id": 7, "name": "Ada"}, "tags": ["x", 5, null], "ts": "2024-02-29T12:00:00Z"}',
    '{"user": {"id": "8", "name": null}, "tags": [], "ts": 1709208000}',
    '{"user": "n/a", "tags": "none"}',
    "null",
    None,
    '{"user": {"id": 9.0}, "tags": [{"y": [1]}]}',
]
LAYOUTS = [
    None,
    "struct<user struct<id bigint>>",
    "struct<user struct<id bigint, name string>, tags array<string>, ts timestamp>",
    "struct<user struct<id string>, tags array<struct<y array<int>>>, ts string>",
    "struct<user variant, tags variant>",
    "bigint",
    "array<bigint>",
]


@pytest.fixture(params=LAYOUTS, ids=str)
def column(request: pytest.FixtureRequest) -> pa.StructArray:
    whole = from_json(pa.array(EVENTS))
    return whole if request.param is None else shred(whole, ShreddingSchema.parse(request.param))


@pytest.mark.parametrize(
    ("path", "type_", "expected"),
    [
        ("$.user.id", pa.int64(), [7, 8, None, None, None, 9]),
        ("$.user.id", pa.string(), ["7", "8", None, None, None, "9"]),
        ("$.user.id", pa.decimal128(5, 1), [Decimal(7), Decimal(8), None, None, None, Decimal(9)]),
        ("user.name", pa.string(), ["Ada", None, None, None, None, None]),
        ("$.user", pa.string(),
         ['{"id":7,"name":"Ada"}', '{"id":"8","name":null}', "n/a", None, None, '{"id":9}']),
        ("$.tags[0]", pa.string(), ["x", None, None, None, None, '{"y":[1]}']),
        ("$.tags[1]", pa.int8(), [5, None, None, None, None, None]),
        ("$.tags[0].y[0]", pa.int32(), [None, None, None, None, None, 1]),
        ("$.tags", pa.list_(pa.string()), [["x", "5", None], [], None, None, None, ['{"y":[1]}']]),
        ("$.ts", pa.timestamp("us", "UTC"), [dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)] * 2 + [None] * 4),
        ("$.user.id.deeper", pa.string(), [None] * 6),
        ("$.nowhere[3].at['all']", pa.bool_(), [None] * 6),
        ("$.user", pa.struct([("id", pa.int64()), ("age", pa.int8())]),
         [{"id": 7, "age": None}, {"id": 8, "age": None}, None, None, None, {"id": 9, "age": None}]),
        ("$.user", pa.map_(pa.string(), pa.string()),
         [[("id", "7"), ("name", "Ada")], [("id", "8"), ("name", None)], None, None, None, [("id", "9")]]),
    ],
)  # fmt: skip
def test_values(column: pa.StructArray, path: str, type_: pa.DataType, expected: list[object]) -> None:
    result = get(column, path, type_)
    assert result.type == type_
    assert result.to_pylist() == expected


def test_without_a_type_it_stays_a_variant(column: pa.StructArray) -> None:
    assert to_json(get(column, "$.tags[0]")).to_pylist() == ['"x"', None, None, None, None, '{"y":[1]}']
    assert to_json(get(column, "$.user.name")).to_pylist() == ['"Ada"', "null", None, None, None, None]
    assert to_json(get(column, "$")).to_pylist()[2:5] == ['{"tags":"none","user":"n/a"}', "null", None]
    assert get(column, "$.user", variant()).type == variant()


def test_strict_names_row_path_and_value(column: pa.StructArray) -> None:
    with pytest.raises(CastError) as error:
        get(column, "$.user.name", pa.int64(), strict=True)
    message = str(error.value)
    assert message.startswith("row 0, $['user']['name']: ")
    assert "Ada" in message
    assert "can't be cast to bigint; without strict=True it is null" in message


def test_rows_are_counted_over_chunks() -> None:
    column = from_json(pa.chunked_array([["1"], ["2", '"x"']]))
    with pytest.raises(CastError, match=r"^row 2, \$: \"x\""):
        get(column, "$", pa.int64(), strict=True)


def test_a_leaf_of_the_right_type_is_not_copied() -> None:
    column = shred(
        from_json(pa.array(['{"a": 1}', '{"a": 2}', "{}"])), ShreddingSchema.parse("struct<a bigint>")
    )
    leaf = column.field("typed_value").field("a").field("typed_value")
    result = get(column, "$.a", pa.int64())
    assert result.to_pylist() == [1, 2, None]
    assert result.buffers()[1].address == leaf.buffers()[1].address


def test_nulls_of_ancestors_count() -> None:
    """A null object may hide anything in its children."""
    type_ = shredded_type(ShreddingSchema.parse("struct<a bigint, b uuid>"))
    group = type_.field("typed_value").type
    fields = [
        pa.StructArray.from_arrays([pa.nulls(3, pa.binary()), leaf], fields=list(group.field(name).type))
        for name, leaf in (
            ("a", pa.array([1, 2, 3])),
            ("b", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 3, pa.binary(16)))),
        )
    ]
    typed = pa.StructArray.from_arrays(fields, fields=list(group), mask=pa.array([False, True, False]))
    metadata = pa.array([Variant.of({"a": 1, "b": 2}).metadata] * 3)
    column = pa.StructArray.from_arrays(
        [metadata, pa.nulls(3, pa.binary()), typed], fields=list(type_), mask=pa.array([False, False, True])
    )
    assert get(column, "$.a", pa.int64()).to_pylist() == [1, None, None]
    assert get(column, "$.a", pa.string()).to_pylist() == ["1", None, None]
    assert get(column, "$.b", pa.uuid()).to_pylist() == [uuid.UUID(int=0), None, None]
    assert to_json(get(column, "$.a")).to_pylist() == ["1", None, None]


def test_typed_value_wins_over_value() -> None:
    type_ = shredded_type(ShreddingSchema.parse("bigint"))
    row = {"metadata": b"\x01\x00\x00", "value": Variant.of(5).value, "typed_value": 7}
    assert get(pa.array([row], type_), "$", pa.int64()).to_pylist() == [7]


@pytest.mark.parametrize("layout", ["large", "view", "no value", "reversed", "dictionary"])
def test_layouts_of_other_writers(layout: str) -> None:
    column = shred(
        from_json(pa.array(['{"a": "x"}', '{"a": "y"}'])), ShreddingSchema.parse("struct<a string>")
    )
    leaf = column.field("typed_value").field("a").field("typed_value")
    text = {"large": pa.large_string(), "view": pa.string_view()}.get(layout)
    if text is not None:
        leaf = leaf.cast(text)
    if layout == "dictionary":
        leaf = leaf.dictionary_encode()
    parts = {"value": pa.nulls(2, pa.binary()), "typed_value": leaf}
    if layout == "no value":
        del parts["value"]
    if layout == "reversed":
        parts = dict(reversed(parts.items()))
    group = pa.StructArray.from_arrays(list(parts.values()), list(parts))
    typed = pa.StructArray.from_arrays([group], ["a"])
    whole = pa.StructArray.from_arrays([typed, column.field("metadata")], ["typed_value", "metadata"])
    assert get(whole, "$.a", pa.string()).to_pylist() == ["x", "y"]
    assert get(whole, "$.a", pa.binary()).to_pylist() == [b"x", b"y"]
    assert get(whole, "$.b", pa.string()).to_pylist() == [None, None]


def test_nanoseconds_times_and_uuids() -> None:
    rows = [
        Variant.of(dt.time(1, 2, 3)),
        Variant.of(uuid.UUID(int=5)),
        Variant.of("00:00:01"),
        Variant.of(None),
    ]
    column = pa.array([{"metadata": row.metadata, "value": row.value} for row in rows], variant())
    assert get(column, "$", pa.time64("us")).to_pylist() == [dt.time(1, 2, 3), None, dt.time(0, 0, 1), None]
    assert get(column, "$", pa.uuid()).to_pylist() == [None, uuid.UUID(int=5), None, None]
    assert get(column, "$", pa.string()).to_pylist()[:2] == ["01:02:03", str(uuid.UUID(int=5))]


def test_deep_paths_and_far_indexes() -> None:
    column = from_json(pa.array(["[" * 900 + "7" + "]" * 900]))
    assert get(column, Path((0,) * 900), pa.int64()).to_pylist() == [7]
    assert get(column, Path((2**40,)), pa.int64()).to_pylist() == [None]


def test_types_that_a_variant_does_not_cast_to() -> None:
    column = from_json(pa.array(["1"]))
    for type_ in (
        pa.uint8(),
        pa.duration("s"),
        pa.timestamp("ms"),
        pa.map_(pa.int64(), pa.string()),
        pa.struct([]),
    ):
        with pytest.raises(CastError, match="a Variant can't be cast to"):
            get(column, "$", type_)


def test_mistakes() -> None:
    column = from_json(pa.array(["1"]))
    with pytest.raises(InvalidPath):
        get(column, "$.a..b", pa.int64())
    with pytest.raises(InvalidSchema, match="not a Variant column"):
        get(pa.array([1]), "$.a", pa.int64())
    with pytest.raises(InvalidExpression, match="there is no time zone 'Mars'"):
        get(column, "$", pa.date32(), timezone="Mars")
    with pytest.raises(WrongType, match=r"such as pa.int64\(\) .* not 'bigint'"):
        get(column, "$", "bigint")


def test_damage_names_the_row() -> None:
    good = Variant.of({"a": 1})
    rows = [
        {"metadata": good.metadata, "value": good.value},
        {"metadata": good.metadata, "value": good.value[:-1]},
    ]
    with pytest.raises(MalformedVariant, match="row 1: "):
        get(pa.array(rows, variant()), "$.a", pa.int64())


def test_no_rows() -> None:
    for column in (pa.array([], variant()), pa.chunked_array([], variant())):
        assert get(column, "$.a", pa.int64()).to_pylist() == []
        assert get(column, "$.a").to_pylist() == []


def without_parts() -> pa.StructArray:
    """Rows [1, <nothing>] and [], shredded as array<bigint>."""
    made = sl.shred(sl.from_json(pa.array(["[1, 2]", "[]"])), ShreddingSchema.parse("array<bigint>"))
    lists = made.field("typed_value")
    kinds = lists.values.type
    elements = pa.StructArray.from_arrays(
        [pa.nulls(2, kinds.field("value").type), pa.array([1, None], kinds.field("typed_value").type)],
        fields=list(kinds),
    )
    typed = pa.ListArray.from_arrays(lists.offsets, elements, type=lists.type)
    parts = [made.field(n) if made.type.field(n).name != "typed_value" else typed for n in range(3)]
    return pa.StructArray.from_arrays(parts, fields=list(made.type))


def test_an_element_without_parts_is_a_variant_null() -> None:
    column = without_parts()
    assert sl.to_json(sl.unshred(column)).to_pylist() == ["[1,null]", "[]"]
    assert sl.to_json(sl.get(column, "$[1]")).to_pylist() == ["null", None]
    assert sl.to_json(sl.get(column, "$[0]")).to_pylist() == ["1", None]
    assert sl.get(column, "$[2]").null_count == 2
    assert sl.get(column, "$[1]", pa.int64()).to_pylist() == [None, None]


def metadata_of(names: list[str]) -> bytes:
    offsets = [0]
    for name in names:
        offsets.append(offsets[-1] + len(name.encode()))
    header = bytes([0x41]) + len(names).to_bytes(2, "little")
    return header + b"".join(o.to_bytes(2, "little") for o in offsets) + "".join(names).encode()


def object_of(ids: list[int], numbers: list[int]) -> bytes:
    """An object with its fields in this order; ids of two bytes, one byte for each offset."""
    offsets = bytes(2 * place for place in range(len(ids) + 1))
    head = bytes([0b0_0_01_00_10, len(ids)]) + b"".join(i.to_bytes(2, "little") for i in ids)
    return head + offsets + b"".join(bytes([0x0C, number]) for number in numbers)


def row(random_: random.Random, names: list[str], shuffled: bool) -> tuple[bytes, bytes]:
    ids = random_.sample(range(len(names)), random_.randint(0, len(names)))
    ids.sort(key=lambda id: names[id])
    if shuffled:
        random_.shuffle(ids)
    return metadata_of(names), object_of(ids, [id % 100 for id in ids])


def column_of(rows: list[tuple[bytes, bytes]]) -> pa.StructArray:
    metadata, value = pa.array([m for m, _ in rows], pa.binary()), pa.array([v for _, v in rows], pa.binary())
    return pa.StructArray.from_arrays([metadata, value], fields=list(sl.variant()))


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_rows_agree_with_the_reference(seed: int, shuffled: bool) -> None:
    random_ = random.Random(seed)
    dictionaries = [
        random_.sample([f"k{number}" for number in range(60)], random_.randint(0, 50)) for _ in range(3)
    ]
    rows: list[tuple[bytes, bytes]] = []
    for _ in range(200):
        repeats = rows and random_.random() < 0.4
        rows.append(rows[-1] if repeats else row(random_, random_.choice(dictionaries), shuffled))
    column = column_of(rows)
    for name in ("k0", "k1", "k59", "nowhere", ""):
        path = f"$['{name}']"
        found = [Variant(m, v).get(path) for m, v in rows]
        expected = [None if variant is None else variant.to_python() for variant in found]
        assert sl.get(column, path, pa.int64(), threads=1).to_pylist() == expected


def test_a_name_of_a_nested_object_is_missing_beside_it() -> None:
    texts = ['{"a":1,"b":1,"c":1,"d":1,"e":1,"x":{"y":7}}'] * 3 + ['{"a":1,"b":1,"c":1,"d":1,"x":{},"y":8}']
    column = sl.from_json(pa.array(texts))
    assert sl.get(column, "$.y", pa.int64()).to_pylist() == [None, None, None, 8]
    assert sl.get(column, "$.x.y", pa.int64()).to_pylist() == [7, 7, 7, None]


def test_a_damaged_dictionary_is_named() -> None:
    names = [f"k{number}" for number in range(10, 20)]
    metadata = bytearray(metadata_of(names))
    metadata[3 + 2 * 5 : 3 + 2 * 6] = b"\xff\xff"
    rows = [(bytes(metadata), object_of(list(range(10)), list(range(10))))]
    with pytest.raises(MalformedVariant, match="row 0"):
        sl.get(column_of(rows), "$.nowhere", pa.int64())


DAY = 86_400_000_000


def shredded_times(*micros: int | None) -> pa.StructArray:
    """Rows {"t": …}, with these numbers in the typed leaf."""
    rows = pa.array([{"t": dt.time(1)}] * len(micros))
    made = sl.shred(sl.from_arrow(rows), ShreddingSchema.parse("struct<t time>"))
    leaf_type = made.type.field("typed_value").type.field("t").type
    numbers = pa.array(micros, pa.int64()).view(pa.time64("us"))
    leaf = pa.StructArray.from_arrays([pa.nulls(len(micros), pa.binary()), numbers], fields=list(leaf_type))
    typed = pa.StructArray.from_arrays([leaf], fields=list(made.type.field("typed_value").type))
    parts = [made.field("metadata"), made.field("value"), typed]
    return pa.StructArray.from_arrays(parts, fields=list(made.type))


@pytest.mark.parametrize("wrong", [-1, DAY, DAY + 1_000_000, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("target", [pa.time64("us"), pa.string(), None])
def test_a_time_outside_the_day_is_refused(wrong: int, target: pa.DataType | None) -> None:
    column = shredded_times(0, None, wrong)
    with pytest.raises(MalformedVariant, match=f"row 2.*a time of day of {wrong} microseconds"):
        sl.get(column, "$.t", target)
    with pytest.raises(MalformedVariant, match=f"row 2.*a time of day of {wrong} microseconds"):
        sl.unshred(column)


def test_all_times_of_the_day_are_read() -> None:
    column = shredded_times(0, None, DAY - 1)
    assert sl.get(column, "$.t", pa.time64("us")).to_pylist() == [
        dt.time(),
        None,
        dt.time(23, 59, 59, 999999),
    ]
