"""Columns whose offsets, views, indices and parts lie, and every layout that Arrow has for one thing."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shredlake import (
    CastError,
    InvalidValue,
    MalformedVariant,
    ShreddingSchema,
    from_arrow,
    from_json,
    get,
    infer_schema,
    profile,
    read_parquet,
    shred,
    to_json,
    to_python,
    unshred,
    validate,
    write_parquet,
)
from shredlake.kernels.arrow.normalize import as_list, checked, unencoded
from shredlake.kernels.checksum import checksum
from shredlake.kernels.reshred import reshred

pytestmark = pytest.mark.usefixtures("kernels")

BIGINT = ShreddingSchema.parse("bigint")
METADATA = pa.array([b"\x01\0\0"] * 2, pa.binary())
OFFSETS = {
    "far beyond": (0, 2_000_000_000, 2),
    "just beyond": (0, 5000, 2),
    "negative": (0, -2_000_000_000, 2),
}


def lying(type_: pa.DataType, offsets: tuple[int, ...]) -> pa.Array:
    wide = pa.types.is_large_binary(type_) or pa.types.is_large_string(type_)
    packed = struct.pack("<3q" if wide else "<3i", *offsets)
    return pa.Array.from_buffers(type_, 2, [None, pa.py_buffer(packed), pa.py_buffer(b"\x0c\x01")])


def struct_of(**parts: pa.Array) -> pa.StructArray:
    type_ = pa.struct([pa.field(name, part.type) for name, part in parts.items()])
    return pa.Array.from_buffers(type_, 2, [None], children=list(parts.values()))


FUNCTIONS: dict[str, Callable[[pa.Array], Any]] = {
    "to_json": to_json,
    "to_python": to_python,
    "validate": validate,
    "checksum": checksum,
    "profile": profile,
    "infer_schema": infer_schema,
    "from_arrow": from_arrow,
    "shred": lambda column: shred(column, BIGINT),
    "get": lambda column: get(column, "$", pa.int64()),
    "get string": lambda column: get(column, "$", pa.string()),
    "get variant": lambda column: get(column, "$.a"),
    "get list": lambda column: get(column, "$", pa.list_(pa.int64())),
}
SHREDDED: dict[str, Callable[[pa.Array], Any]] = {
    **{name: FUNCTIONS[name] for name in ("to_json", "validate", "from_arrow", "shred", "get string")},
    "unshred": unshred,
    "reshred": lambda column: reshred(column, BIGINT),
}


@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("layout", [pa.binary(), pa.large_binary()], ids=str)
def test_lying_offsets_of_variants(function: str, offsets: str, layout: pa.DataType) -> None:
    bad = lying(layout, OFFSETS[offsets])
    for column in (struct_of(metadata=METADATA, value=bad), struct_of(metadata=bad, value=METADATA)):
        for given in (column, column.slice(0, 1), column.slice(1), pa.chunked_array([column])):
            with pytest.raises(InvalidValue):
                FUNCTIONS[function](given)


@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize("function", SHREDDED)
@pytest.mark.parametrize("layout", [pa.string(), pa.large_string()], ids=str)
def test_lying_offsets_of_shredded_columns(function: str, offsets: str, layout: pa.DataType) -> None:
    nothing = pa.nulls(2, pa.binary())
    column = struct_of(metadata=METADATA, value=nothing, typed_value=lying(layout, OFFSETS[offsets]))
    if function == "get string" and layout == pa.string():
        assert get(column, "$", pa.string()) is not None  # handed on unread
        return
    with pytest.raises(InvalidValue):
        SHREDDED[function](column)


@pytest.mark.parametrize("offsets", OFFSETS)
def test_lying_offsets_of_texts_and_lists(offsets: str) -> None:
    for layout in (pa.string(), pa.binary(), pa.large_string()):
        bad = lying(layout, OFFSETS[offsets])
        for work in (from_arrow, from_json, lambda column: from_json(column, on_error="null")):
            with pytest.raises(InvalidValue):
                work(bad)
    packed = pa.py_buffer(struct.pack("<3i", *OFFSETS[offsets]))
    lists = pa.Array.from_buffers(pa.list_(pa.int64()), 2, [None, packed], children=[pa.array([1, 2])])
    maps = pa.Array.from_buffers(
        pa.map_(pa.string(), pa.int64()),
        2,
        [None, packed],
        children=[pa.StructArray.from_arrays([pa.array(["a", "b"]), pa.array([1, 2])], ["key", "value"])],
    )
    for column in (lists, maps, struct_of(a=lists)):
        with pytest.raises(InvalidValue):
            from_arrow(column)


def test_lying_views_indices_and_list_views() -> None:
    _, views, data = pa.array(["x" * 30, "y"], pa.string_view()).buffers()
    moved = bytearray(views.to_pybytes())
    moved[12:16] = struct.pack("<i", 100_000)
    texts = pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(bytes(moved)), data])
    indices = pa.DictionaryArray.from_arrays(pa.array([0, 5]), pa.array(["1"]), safe=False)
    for column in (texts, indices):
        for work in (from_json, from_arrow):
            with pytest.raises(InvalidValue):
                work(column)
    places = pa.array([0, 100], pa.int32()), pa.array([1, 2], pa.int32())
    with pytest.raises(InvalidValue):
        from_arrow(pa.ListViewArray.from_arrays(*places, pa.array([1, 2])))


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name != "validate"])
def test_null_metadata_names_the_row(function: str) -> None:
    metadata = pa.array([b"\x01\0\0", None], pa.binary())
    column = struct_of(metadata=metadata, value=pa.array([b"\x0c\x01"] * 2, pa.binary()))
    for given, row in ((column, 1), (pa.chunked_array([column.slice(0, 1), column]), 2)):
        with pytest.raises(MalformedVariant, match=f"row {row}: the metadata is null"):
            FUNCTIONS[function](given)
    absent = pa.StructArray.from_arrays(column.flatten(), ["metadata", "value"], mask=pa.array([False, True]))
    FUNCTIONS[function](absent)


def test_null_metadata_is_a_violation() -> None:
    value = pa.array([b"\x0c\x01"] * 2, pa.binary())
    column = struct_of(metadata=pa.array([b"\x01\0\0", None], pa.binary()), value=value)
    assert [(found["row"], found["part"]) for found in validate(column).to_pylist()] == [(1, "metadata")]


def runs(values: pa.Array) -> pa.Array:
    """Each value of an array twice."""
    ends = pa.array(range(2, 2 * len(values) + 1, 2), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, values)


LAYOUTS = [
    pa.array(["a", None, "b" * 30], pa.string_view()),
    pa.array([b"a", None], pa.large_binary()),
    pa.array([["x"], None, ["y", None]], pa.list_view(pa.string_view())),
    pa.array([["x"], None, ["y", None]], pa.large_list_view(pa.string())),
    pa.array([["x"], None, []], pa.large_list(pa.string())),
    pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
    pa.array(["a", "b", None, "a"]).dictionary_encode(),
    pa.array([1.5, None], pa.float16()),
    runs(pa.array(["a", None], pa.string_view())),
    runs(pa.array(["a", "b", "a"]).dictionary_encode()),
    runs(pa.array([[1], None])),
    runs(pa.array([{"a": 1}, None])),
]


@pytest.mark.parametrize("array", LAYOUTS, ids=lambda array: str(array.type))
def test_every_layout_and_its_slices(array: pa.Array) -> None:
    for cut in (array, array.slice(1), array.slice(1, 1), array.slice(1, 0)):
        assert checked(cut) is cut
        assert unencoded(cut).to_pylist() == cut.to_pylist()
        if "list" in str(unencoded(cut).type):
            assert as_list(cut).to_pylist() == cut.to_pylist()
        assert to_python(from_arrow(cut)) == [_as_python(row) for row in cut.to_pylist()]


def _as_python(row: Any) -> Any:
    return float(row) if "float" in type(row).__name__ else row


class Wrapped(pa.ExtensionType):
    """The canonical extension type of Variants, as other libraries make it."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "arrow.parquet.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


@pytest.mark.parametrize("schema", [None, "struct<a bigint>"])
def test_variants_in_an_extension_type(schema: str | None, tmp_path: Path) -> None:
    column = from_json(pa.array(['{"a":1}', None, '"x"']))
    given = column if schema is None else shred(column, ShreddingSchema.parse(schema))
    wrapped = pa.ExtensionArray.from_storage(Wrapped(given.type), given)
    for each in (wrapped, pa.chunked_array([wrapped])):
        assert to_json(each).to_pylist() == to_json(column).to_pylist()
        assert get(each, "$.a", pa.int64()).to_pylist() == [1, None, None]
        assert to_python(from_arrow(each)) == to_python(column)
    write_parquet(pa.table({"v": wrapped}), tmp_path / "f.parquet", shredding="infer")
    assert to_json(read_parquet(tmp_path / "f.parquet")["v"]).to_pylist() == to_json(column).to_pylist()


@pytest.mark.parametrize("array", LAYOUTS, ids=lambda array: str(array.type))
def test_plain_columns_of_every_layout_are_written(array: pa.Array, tmp_path: Path) -> None:
    write_parquet(pa.table({"c": array, "s": struct_of_one(array)}), tmp_path / "f.parquet")
    found = read_parquet(tmp_path / "f.parquet")
    assert found["c"].to_pylist() == array.to_pylist()
    assert found["s"].to_pylist() == [{"c": row} for row in array.to_pylist()]


def struct_of_one(array: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays([array], ["c"])


def test_get_of_layouts() -> None:
    column = from_json(pa.array(['{"x":["a","b"]}', '{"x":[]}', '{"x":null}', '{"x":["c"]}']))
    for type_ in (pa.list_view(pa.string()), pa.large_list_view(pa.string_view())):
        found = get(column, "$.x", type_)
        assert (found.type, found.to_pylist()) == (type_, [["a", "b"], [], None, ["c"]])
    required = pa.struct([pa.field("x", pa.list_(pa.string()), nullable=False)])
    with pytest.raises(CastError, match="does not fit"):
        get(column, "$", required)


def test_get_through_views() -> None:
    values = pa.array([{"value": None, "typed_value": text} for text in ("a", "b", "c")], VIEWS)
    starts, sizes = pa.array([0, 2, 2], pa.int32()), pa.array([2, 0, 1], pa.int32())
    lists = pa.ListViewArray.from_arrays(starts, sizes, values)
    metadata = pa.array([b"\x01\0\0"] * 3, pa.binary_view())
    column = pa.StructArray.from_arrays(
        [metadata, pa.nulls(3, pa.binary_view()), lists], ["metadata", "value", "typed_value"]
    )
    assert get(column, "$[0]", pa.string()).to_pylist() == ["a", None, "c"]
    assert to_json(column).to_pylist() == ['["a","b"]', "[]", '["c"]']


VIEWS = pa.struct([("value", pa.binary_view()), ("typed_value", pa.string_view())])
