"""Translates the filters that DuckDB pushes into a scan.

DuckDB hands over a pyarrow expression, which can't be inspected in Python. Its serialised form can: Arrow
writes it as a record batch with the constants in columns and the structure in the schema's metadata:

```
call: and_kleene, call: greater, field_ref: ts, literal: 0, end: greater, call: is_valid, ... end: and_kleene
```

An expression that has another form is not translated: the scan then prunes nothing by it, and the dataset
applies the expression itself.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidExpression
from shredlake.expr.ast import (
    And,
    Column,
    Compare,
    ComparisonOp,
    Expr,
    Get,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from shredlake.expr.constants import literal_value
from shredlake.expr.types import BOOLEAN, from_arrow

COMPARISONS: Final[Mapping[str, ComparisonOp]] = {
    "equal": "=", "not_equal": "<>", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip


def predicate_of(filter_: pc.Expression, columns: Mapping[str, Column | Get]) -> Expr | None:
    """The filter over what the columns read; None if it can't be translated.

    >>> filter_ = (pc.field("a") > 5) & pc.field("b").is_valid()
    >>> predicate_of(filter_, {"a": Column("a"), "b": Column("b")})  # doctest: +ELLIPSIS
    And(operands=(Compare(op='>', left=Column(name='a'), ...), Not(value=IsNull(value=Column(name='b')))))
    """
    try:
        [buffer] = filter_.__reduce__()[1]
        batch = pa.ipc.open_file(buffer).get_batch(0)
        return _Decoder(batch, columns).expression()
    except (pa.ArrowException, InvalidExpression, KeyError, IndexError, ValueError, StopIteration):
        return None


def fields_of(filter_: pc.Expression) -> set[str] | None:
    """The columns that a filter reads; None if that can't be told.

    >>> sorted(fields_of((pc.field("a") > 5) & pc.field("b").is_valid()))
    ['a', 'b']
    """
    try:
        [buffer] = filter_.__reduce__()[1]
        pairs = metadata_pairs(pa.ipc.open_file(buffer).get_batch(0).schema)
    except (pa.ArrowException, IndexError, ValueError):
        return None
    if not {kind for kind, _ in pairs} <= {"call", "end", "field_ref", "literal", "options"}:
        return None
    return {value for kind, value in pairs if kind == "field_ref"}


class _ArrowSchema(ctypes.Structure):
    """The start of the C struct that Arrow exports a schema to."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


def metadata_pairs(schema: pa.Schema) -> list[tuple[str, str]]:
    """All keys and values of a schema's metadata, in order and with repeated keys, which pyarrow merges.

    >>> metadata_pairs(pa.schema([], metadata={"a": "1"}))
    [('a', '1')]
    """
    exported = _ArrowSchema()
    schema._export_to_c(ctypes.addressof(exported))
    try:
        if not exported.metadata:
            return []
        return list(_pairs(exported.metadata))
    finally:
        pa.Schema._import_from_c(
            ctypes.addressof(exported)
        )  # takes ownership of the exported schema, and releases it


def _pairs(address: int) -> Iterator[tuple[str, str]]:
    """Reads the C data interface's metadata: a count, then lengths and bytes of keys and values."""

    def number() -> int:
        nonlocal address
        [found] = struct.unpack("i", ctypes.string_at(address, 4))
        address += 4
        return int(found)

    def text() -> str:
        nonlocal address
        size = number()
        found = ctypes.string_at(address, size)
        address += size
        return found.decode()

    for _ in range(number()):
        yield text(), text()


class _Decoder:
    """Reads the serialised form from its start to its end."""

    def __init__(self, batch: pa.RecordBatch, columns: Mapping[str, Column | Get]) -> None:
        self._items = iter(metadata_pairs(batch.schema))
        self._constants = batch
        self._columns = columns

    def expression(self) -> Expr:
        kind, value = next(self._items)
        match kind:
            case "field_ref":
                return self._columns[value]
            case "literal":
                return self._literal(int(value))
            case "call":
                return self._call(value)
            case _:
                raise ValueError(kind)

    def _literal(self, place: int) -> Literal:
        return _constant(self._constants.column(place)[0])

    def _call(self, name: str) -> Expr:
        arguments: list[Expr] = []
        options: pa.Scalar | None = None
        while True:
            kind, value = next(self._items)
            if kind == "end":
                break
            if kind == "options":
                options = self._constants.column(int(value))[0]
            elif kind == "call":
                arguments.append(self._call(value))
            elif kind == "literal":
                arguments.append(self._literal(int(value)))
            elif kind == "field_ref":
                arguments.append(self._columns[value])
            else:
                raise ValueError(kind)
        return _made(name, arguments, options)


def _made(name: str, arguments: list[Expr], options: pa.Scalar | None) -> Expr:
    if name in COMPARISONS:
        left, right = arguments
        if left == right:
            raise ValueError("a test for NaN")
        return Compare(COMPARISONS[name], left, right)
    if name == "is_in":
        [value], held = arguments, options["value_set"] if options is not None else pa.scalar([])
        if not all(one.is_valid for one in held):
            raise ValueError("is_in is true for null if the values have one")
        # is_in is false for null, where IN is null.
        return And((Not(IsNull(value)), In(value, tuple(_constant(one) for one in held))))
    if name == "is_null" and options is not None and options["nan_is_null"].as_py():
        raise ValueError("is_null is true for NaN")
    return _CALLS[name](*arguments)


def _chosen(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """`if_else(is_valid(x), is_in(x, ...), null)`, which DuckDB's IN becomes, is IN itself."""
    match then, otherwise:
        case And((valid, In() as found)), Literal(None) if valid == condition:
            return found
        case _:
            raise ValueError("if_else")


_CALLS: Final[Mapping[str, Callable[..., Expr]]] = {
    "and_kleene": lambda left, right: And((left, right)),
    "or_kleene": lambda left, right: Or((left, right)),
    "invert": Not,
    "is_valid": lambda value: Not(IsNull(value)),
    "is_null": IsNull,
    "if_else": _chosen,
}


def _constant(scalar: Any) -> Literal:
    kind = from_arrow(scalar.type)
    if not scalar.is_valid:
        return Literal(None, BOOLEAN if pa.types.is_boolean(scalar.type) else kind)
    return Literal(literal_value(scalar), kind)
