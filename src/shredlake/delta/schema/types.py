"""A table's schema: Spark's JSON form, as Python objects, and as Arrow types.

```
{"name": "raw", "type": "variant", "nullable": true, "metadata": {}}
{"type": "array", "elementType": "variant", "containsNull": true}
```

`variant` may stand anywhere in the tree. The protocol's own example writes the element of an array as
`{"type": "variant"}`; no engine writes that and Spark can't read it, so we read both and write the name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from shredlake.delta.protocol.action_types import COUNT, NAME, OBJECT, OBJECTS, TEXT
from shredlake.errors import CorruptLog, InvalidSchema, WrongType
from shredlake.formatting import kind_of
from shredlake.kernels.arrow.extension import marked
from shredlake.kernels.arrow.types import is_variant, variant

PHYSICAL_NAME = "delta.columnMapping.physicalName"
COLUMN_ID = "delta.columnMapping.id"

FIELD_ID: Final = b"PARQUET:field_id"
"""Where an Arrow field keeps the column id of a Parquet file."""

VARIANT = "variant"


@dataclass(frozen=True)
class Field:
    """A column, or a field of a struct."""

    name: str
    type: DeltaType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def physical_name(self) -> str:
        """The name in data files, statistics and partition values."""
        return str(self.metadata.get(PHYSICAL_NAME, self.name))

    @property
    def id(self) -> int | None:
        value = self.metadata.get(COLUMN_ID)
        try:
            return None if value is None else int(value)
        except (ValueError, TypeError, OverflowError):
            raise CorruptLog(f"column {self.name}: {COLUMN_ID} is {value!r}, not a whole number") from None


@dataclass(frozen=True)
class Struct:
    """An ordered group of fields; the schema of a table is one."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def get(self, name: str) -> Field | None:
        """The field of that name. An exact match wins over one that differs in case."""
        exact = self._exact.get(name)
        return exact if exact is not None else self._folded.get(name.casefold())

    @cached_property
    def _exact(self) -> dict[str, Field]:
        return {item.name: item for item in reversed(self.fields)}

    @cached_property
    def _folded(self) -> dict[str, Field | None]:
        """By names in lower case; None where several fields share one."""
        found: dict[str, Field | None] = {}
        for item in self.fields:
            folded = item.name.casefold()
            found[folded] = None if folded in found else item
        return found

    @property
    def names(self) -> list[str]:
        return [item.name for item in self.fields]


@dataclass(frozen=True)
class Array:
    """A list of values of one type."""

    element: DeltaType
    contains_null: bool = True


@dataclass(frozen=True)
class Map:
    """Keys and values."""

    key: DeltaType
    value: DeltaType
    value_contains_null: bool = True


# A primitive is its name: "long", "decimal(10,2)", "variant".
DeltaType = str | Struct | Array | Map

_ARROW_OF: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}

SQL_NAMES: Final = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""The names in SQL of types that have other names in schemas, as Delta and Spark write them."""

SCHEMA_NAMES: Final = {sql: name for name, sql in SQL_NAMES.items()}

# Further Arrow types of the same meaning; all others are looked up in the table above, reversed.
_SAME_AS: list[tuple[Callable[[pa.DataType], bool], str]] = [
    (pa.types.is_large_string, "string"),
    (pa.types.is_string_view, "string"),
    (pa.types.is_large_binary, "binary"),
    (pa.types.is_binary_view, "binary"),
    (pa.types.is_fixed_size_binary, "binary"),
    (pa.types.is_date64, "date"),
]
_NAME_OF = {arrow: name for name, arrow in _ARROW_OF.items()}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(-?\d+)\s*\)")


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────


def parse_schema(text: str) -> Struct:
    """The schema of a table from its `schemaString`.

    >>> parse_schema('{"type":"struct","fields":[{"name":"v","type":"variant","nullable":true}]}').names
    ['v']
    """
    try:
        parsed = _parse_type(json.loads(text), "")
    except RecursionError:
        raise CorruptLog("the table's schemaString is nested too deeply") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptLog(f"the table's schemaString can't be parsed ({error!r}): {text[:200]}") from None
    if not isinstance(parsed, Struct):
        raise CorruptLog(f"the table's schemaString is not a struct: {text[:200]}")
    return parsed


MAX_DEPTH = 100
"""How deep columns may be nested."""


def _parse_type(raw: Any, where: str, depth: int = 0) -> DeltaType:
    if depth > MAX_DEPTH:
        raise ValueError(f"a column is nested more than {MAX_DEPTH} levels deep")
    if isinstance(raw, str):
        digits = _DECIMAL.fullmatch(raw)
        if digits and not (1 <= int(digits[1][:9]) <= 38 and abs(int(digits[2][:9])) <= 38):
            raise ValueError(f"there is no type {raw[:40]}: a decimal has 1 to 38 digits")
        if raw in _ARROW_OF or raw == VARIANT or raw == "decimal" or _DECIMAL.fullmatch(raw):
            return "decimal(10,0)" if raw == "decimal" else raw.replace(" ", "")
        raise InvalidSchema(f"column {where or '(root)'} has the type {raw!r}, which shredlake does not know")
    match raw["type"]:
        case "struct":
            return Struct(
                tuple(
                    Field(
                        _column_name(item["name"]),
                        _parse_type(item["type"], f"{where}.{item['name']}".lstrip("."), depth + 1),
                        bool(item.get("nullable", True)),
                        _column_metadata(item.get("metadata"), item["name"]),
                    )
                    for item in raw["fields"]
                )
            )
        case "array":
            return Array(
                _parse_type(raw["elementType"], f"{where}.element", depth + 1),
                bool(raw.get("containsNull", True)),
            )
        case "map":
            return Map(
                _parse_type(raw["keyType"], f"{where}.key", depth + 1),
                _parse_type(raw["valueType"], f"{where}.value", depth + 1),
                bool(raw.get("valueContainsNull", True)),
            )
        case name:
            return _parse_type(name, where, depth + 1)  # {"type": "variant"}, as in the protocol's example


def _column_name(name: Any) -> str:
    if not TEXT.fits(name):
        raise ValueError(f"a column is called {ascii(name)[:60]}, which is not text")
    return str(name)


def _column_metadata(metadata: Any, column: str) -> dict[str, Any]:
    """Checks the types of the metadata that describe a column's physical form."""
    if metadata is None:
        return {}
    expected = {COLUMN_ID: COUNT, PHYSICAL_NAME: NAME, "delta.typeChanges": OBJECTS}
    for key, kind in expected.items():
        if not OBJECT.fits(metadata) or (metadata.get(key) is not None and not kind.fits(metadata[key])):
            raise ValueError(f"the metadata of column {column!r} must be an object, with {key} {kind.name}")
    return dict(metadata)


def _type_json(kind: DeltaType) -> Any:
    match kind:
        case Struct():
            return {"type": "struct", "fields": [_field_json(item) for item in kind.fields]}
        case Array():
            return {
                "type": "array",
                "elementType": _type_json(kind.element),
                "containsNull": kind.contains_null,
            }
        case Map():
            return {
                "type": "map",
                "keyType": _type_json(kind.key),
                "valueType": _type_json(kind.value),
                "valueContainsNull": kind.value_contains_null,
            }
        case _:
            return kind


def _field_json(item: Field) -> dict[str, Any]:
    return {
        "name": item.name,
        "type": _type_json(item.type),
        "nullable": item.nullable,
        "metadata": dict(item.metadata),
    }


def schema_json(schema: Struct) -> str:
    """The `schemaString` of a schema.

    >>> schema_json(Struct((Field("v", "variant"),)))
    '{"type":"struct","fields":[{"name":"v","type":"variant","nullable":true,"metadata":{}}]}'
    """
    return json.dumps(_type_json(schema), separators=(",", ":"), ensure_ascii=False)


# ── Arrow ───────────────────────────────────────────────────────────────────────────────────────────────


def arrow_type(kind: DeltaType, *, physical: bool = False) -> pa.DataType:
    """The Arrow type of a Delta type, with logical or physical field names.

    In files every nested field is nullable, as in Spark, because a NOT NULL field of a struct has no value
    where the struct is null. Constraints enforce the rest.

    >>> str(arrow_type(Array("long")))
    'list<element: int64>'
    """
    match kind:
        case Struct():
            fields = [arrow_field(item, physical=physical) for item in kind.fields]
            return pa.struct([item.with_nullable(True) for item in fields] if physical else fields)
        case Array():
            element = Field("element", kind.element, physical or kind.contains_null)
            return pa.list_(arrow_field(element, physical=physical))
        case Map():
            value = Field("value", kind.value, physical or kind.value_contains_null)
            return pa.map_(arrow_type(kind.key, physical=physical), arrow_field(value, physical=physical))
        case "variant":
            return variant()
        case _ if found := _DECIMAL.fullmatch(kind):
            return pa.decimal128(int(found[1]), int(found[2]))
        case _:
            return _ARROW_OF[kind]


def arrow_field(item: Field, *, physical: bool = False) -> pa.Field:
    """The Arrow field of a column.

    A logical field of a Variant has the extension type; a physical field has the column id that Parquet
    files must record.
    """
    kind = arrow_type(item.type, physical=physical)
    if not physical:
        field = pa.field(item.name, kind, nullable=item.nullable)
        return marked(field) if item.type == VARIANT else field
    metadata = None if item.id is None else {FIELD_ID: str(item.id).encode()}
    return pa.field(item.physical_name, kind, nullable=item.nullable, metadata=metadata)


def field_id(item: pa.Field) -> int | None:
    """The column id that a Parquet file records for a field."""
    raw = (item.metadata or {}).get(FIELD_ID)
    return None if raw is None else int(raw)


def arrow_schema(schema: Struct, *, physical: bool = False) -> pa.Schema:
    """The Arrow schema of a table."""
    return pa.schema([arrow_field(item, physical=physical) for item in schema.fields])


def from_arrow(schema: pa.Schema) -> Struct:
    """The Delta schema for an Arrow schema.

    >>> from_arrow(pa.schema([("id", pa.int64()), ("v", variant())])).get("v").type
    'variant'
    """
    if not isinstance(schema, pa.Schema):
        raise WrongType(
            f"a schema is an Arrow schema such as pa.schema([('id', pa.int64()), ('v', sl.variant())]), "
            f"not {kind_of(schema)}"
        )
    fields = tuple(_field_from_arrow(item, item.name) for item in schema)
    _check_names(fields, "")
    return Struct(fields)


def _field_from_arrow(item: pa.Field, where: str) -> Field:
    metadata = _delta_metadata(item)
    return Field(item.name, _type_from_arrow(item.type, where), item.nullable, metadata)


_BY_WRITERS = ("delta.columnMapping.", "delta.typeChanges")
"""Column metadata that describes the files of one table. Schemas that other libraries read from a table may
carry it, but in a new table or column it would be wrong."""


def _delta_metadata(item: pa.Field) -> dict[str, Any]:
    """Column metadata given with the Arrow field: `comment`, and keys of Delta that users may set."""
    raw = item.metadata or {}
    kept = {key.decode(): value.decode() for key, value in raw.items()}
    return {
        key: value
        for key, value in kept.items()
        if (key.startswith("delta.") and not key.startswith(_BY_WRITERS))
        or key in ("comment", "CURRENT_DEFAULT", "EXISTS_DEFAULT")
    }


def _type_from_arrow(kind: pa.DataType, where: str) -> DeltaType:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if is_variant(kind):
        return VARIANT
    if pa.types.is_struct(kind):
        fields = tuple(_field_from_arrow(item, f"{where}.{item.name}") for item in kind)
        _check_names(fields, where)
        return Struct(fields)
    if pa.types.is_map(kind):
        return Map(
            _type_from_arrow(kind.key_type, f"{where}.key"),
            _type_from_arrow(kind.item_type, f"{where}.value"),
            kind.item_field.nullable,
        )
    if any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
        return Array(_type_from_arrow(kind.value_type, f"{where}.element"), kind.value_field.nullable)
    if pa.types.is_dictionary(kind):
        return _type_from_arrow(kind.value_type, where)
    if pa.types.is_decimal(kind) and kind.precision <= 38:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    for test, name in _SAME_AS:
        if test(kind):
            return name
    if kind in _NAME_OF:
        return _NAME_OF[kind]
    raise InvalidSchema(
        f"column {where} has the Arrow type {kind}, which a Delta table can't hold; cast it first "
        "(unsigned integers to the next wider signed type, times and intervals to integers)"
    )


def _check_names(fields: Sequence[Field], where: str) -> None:
    seen: dict[str, str] = {}
    for item in fields:
        folded = item.name.casefold()
        if folded in seen:
            raise InvalidSchema(
                f"{where or 'the table'} has two columns called {seen[folded]!r} and {item.name!r}: "
                "names must differ in more than case"
            )
        seen[folded] = item.name


# ── Questions about a schema ────────────────────────────────────────────────────────────────────────────


def walk(schema: Struct) -> Iterator[tuple[str, Field]]:
    """Every struct field in the tree with its dotted name, parents first."""

    def visit(kind: DeltaType, where: str) -> Iterator[tuple[str, Field]]:
        match kind:
            case Struct():
                for item in kind.fields:
                    name = f"{where}.{item.name}".lstrip(".")
                    yield name, item
                    yield from visit(item.type, name)
            case Array():
                yield from visit(kind.element, f"{where}.element")
            case Map():
                yield from visit(kind.key, f"{where}.key")
                yield from visit(kind.value, f"{where}.value")

    yield from visit(schema, "")


def contains(kind: DeltaType, primitive: str) -> bool:
    """Whether a primitive occurs anywhere in a type.

    >>> contains(Struct((Field("a", Array("variant")),)), "variant")
    True
    """
    match kind:
        case Struct():
            return any(contains(item.type, primitive) for item in kind.fields)
        case Array():
            return contains(kind.element, primitive)
        case Map():
            return contains(kind.key, primitive) or contains(kind.value, primitive)
        case _:
            return kind == primitive


def features_of(schema: Struct) -> set[str]:
    """Table features that the types and column metadata of a schema need."""
    needed = {
        feature
        for primitive, feature in (("variant", "variantType"), ("timestamp_ntz", "timestampNtz"))
        if contains(schema, primitive)
    }
    for _, item in walk(schema):
        needed.update(feature for key, feature in _FEATURE_OF_METADATA.items() if key in item.metadata)
    return needed


_FEATURE_OF_METADATA = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "CURRENT_DEFAULT": "allowColumnDefaults",
    "delta.identity.start": "identityColumns",
}


def map_fields(schema: Struct, change: Callable[[Field], Field]) -> Struct:
    """The schema with every struct field of the tree changed, children before parents."""

    def visit(kind: DeltaType) -> DeltaType:
        match kind:
            case Struct():
                return Struct(tuple(change(replace(item, type=visit(item.type))) for item in kind.fields))
            case Array():
                return replace(kind, element=visit(kind.element))
            case Map():
                return replace(kind, key=visit(kind.key), value=visit(kind.value))
            case _:
                return kind

    result = visit(schema)
    assert isinstance(result, Struct)
    return result


def physical_type(kind: DeltaType) -> DeltaType:
    """A type whose fields are called by their physical names."""
    if isinstance(kind, str):
        return kind
    named = map_fields(Struct((Field("", kind),)), lambda item: replace(item, name=item.physical_name or ""))
    return named.fields[0].type
