"""The wire type of every footer field, as the format's Thrift definition declares it.

Thrift readers skip a field whose wire type is not the declared one. A reader that accepts it would see a
different file: an optional column instead of a required one. `check_types` rejects such a footer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from shredlake.errors import InvalidFile
from shredlake.parquet.format import thrift
from shredlake.parquet.format.thrift import BINARY, DOUBLE, I8, I16, I32, I64, TRUE, List, Struct


@dataclass(frozen=True)
class StructType:
    """A Thrift struct with the declared types of its fields. Unknown fields are ignored."""

    fields: Mapping[int, FieldType] = field(default_factory=dict)


@dataclass(frozen=True)
class ListType:
    """A Thrift list, by the type of its elements."""

    element: FieldType


FieldType: TypeAlias = int | StructType | ListType

_EMPTY: Final = StructType()
_KEY_VALUE: Final = StructType({1: BINARY, 2: BINARY})
_TIME: Final = StructType({1: TRUE, 2: StructType({1: _EMPTY, 2: _EMPTY, 3: _EMPTY})})
_LOGICAL: Final = StructType(
    dict.fromkeys(range(1, 19), _EMPTY)
    | {
        5: StructType({1: I32, 2: I32}),
        7: _TIME,
        8: _TIME,
        10: StructType({1: I8, 2: TRUE}),
        16: StructType({1: I8}),
        17: StructType({1: BINARY}),
        18: StructType({1: BINARY, 2: I32}),
    }
)
_ELEMENT: Final = StructType(dict.fromkeys(range(1, 10), I32) | {4: BINARY, 10: _LOGICAL})
_STATISTICS: Final = StructType(
    {1: BINARY, 2: BINARY, 3: I64, 4: I64, 5: BINARY, 6: BINARY, 7: TRUE, 8: TRUE}
)
_SIZE_STATISTICS: Final = StructType({1: I64, 2: ListType(I64), 3: ListType(I64)})
_GEOSPATIAL: Final = StructType({1: StructType(dict.fromkeys(range(1, 9), DOUBLE)), 2: ListType(I32)})
_COLUMN: Final = StructType(
    {
        1: I32,
        2: ListType(I32),
        3: ListType(BINARY),
        4: I32,
        5: I64,
        6: I64,
        7: I64,
        8: ListType(_KEY_VALUE),
        9: I64,
        10: I64,
        11: I64,
        12: _STATISTICS,
        13: ListType(StructType({1: I32, 2: I32, 3: I32})),
        14: I64,
        15: I32,
        16: _SIZE_STATISTICS,
        17: _GEOSPATIAL,
    }
)
_CHUNK: Final = StructType(
    {1: BINARY, 2: I64, 3: _COLUMN, 4: I64, 5: I32, 6: I64, 7: I32, 8: _EMPTY, 9: BINARY}
)
_ROW_GROUP: Final = StructType(
    {
        1: ListType(_CHUNK),
        2: I64,
        3: I64,
        4: ListType(StructType({1: I32, 2: TRUE, 3: TRUE})),
        5: I64,
        6: I64,
        7: I16,
    }
)
FILE_METADATA: Final = StructType(
    {
        1: I32,
        2: ListType(_ELEMENT),
        3: I64,
        4: ListType(_ROW_GROUP),
        5: ListType(_KEY_VALUE),
        6: BINARY,
        7: ListType(StructType({1: _EMPTY})),
        8: _EMPTY,
        9: BINARY,
    }
)


def check_types(tree: Struct, declared: StructType = FILE_METADATA, place: str = "FileMetaData") -> None:
    """Raises if a field has another wire type than declared.

    >>> check_types(thrift.read_struct(bytes.fromhex("15 02 00")))
    >>> check_types(thrift.read_struct(bytes.fromhex("14 02 00")))
    Traceback (most recent call last):
    shredlake.errors.InvalidFile: FileMetaData.1 has the Thrift type 4, not 5
    """
    for number, (wire, value) in tree.fields.items():
        type_ = declared.fields.get(number)
        if type_ is not None and type_ != wire:  # most fields are plain, and as declared
            _check(wire, value, type_, place, number)


def _check(wire: int, value: object, declared: FieldType, place: str, number: int) -> None:
    expected = wire_type(declared)
    # A boolean field stores its value in its wire type.
    if (thrift.TRUE if wire == thrift.FALSE else wire) != expected:
        raise InvalidFile(f"{place}.{number} has the Thrift type {wire}, not {expected}")
    if isinstance(declared, StructType) and isinstance(value, Struct):
        check_types(value, declared, f"{place}.{number}")
    elif isinstance(declared, ListType) and isinstance(value, List):
        element = wire_type(declared.element)
        if value.items and value.kind != element:
            raise InvalidFile(f"{place}.{number} lists the Thrift type {value.kind}, not {element}")
        if isinstance(declared.element, StructType):
            for item in value.items:
                if isinstance(item, Struct):
                    check_types(item, declared.element, f"{place}.{number}")


def wire_type(declared: FieldType) -> int:
    """The wire type of a declared type.

    >>> wire_type(FILE_METADATA) == thrift.STRUCT, wire_type(ListType(I64)) == thrift.LIST
    (True, True)
    """
    if isinstance(declared, int):
        return declared
    return thrift.STRUCT if isinstance(declared, StructType) else thrift.LIST
