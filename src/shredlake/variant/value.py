"""The Variant class: a frozen, lazy view over two byte strings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NoReturn

from shredlake.errors import MalformedVariant, NoSuchElement, WrongType
from shredlake.variant.builder import VariantBuilder
from shredlake.variant.decode import meaning, python_value
from shredlake.variant.json.parse import parse
from shredlake.variant.json.render import MAX_LENGTH, beginning, render
from shredlake.variant.layout import Container, basic_type, container_at, type_at, value_end
from shredlake.variant.metadata import Dictionary
from shredlake.variant.path import Path
from shredlake.variant.types import ARRAY, OBJECT, PRIMITIVE, PRIMITIVES, VariantType
from shredlake.variant.validate import validate
from shredlake.variant.walk import Walk

_REPR_LENGTH = 100


class Variant:
    """A single Variant: the dictionary of names and the value, as bytes.

    A view: nothing is decoded before it is needed, and a nested value shares its parent's bytes. Equality is
    by meaning: int8 1 equals decimal 1.00, a short string equals a long one, and the order of fields and the
    layout of the dictionary do not matter; float, double and exact numbers differ. A Variant is always true:
    `if v.get(path):` tests whether the path exists.

    The constructor checks the headers, the version, and that both buffers end where they should (`validate()`
    checks the rest).

    >>> v = Variant.of({"a": 1, "b": [True, None]})
    >>> v["b"][0], v.get("$.b[7]")
    (Variant(true), None)
    >>> Variant(v.metadata, v.value) == v
    True
    """

    __slots__ = ("_dictionary", "_end", "_start", "buffer")

    _dictionary: Dictionary
    buffer: bytes
    _start: int
    _end: int

    def __init__(self, metadata: bytes, value: bytes) -> None:
        dictionary = Dictionary(_as_bytes(metadata))
        buffer = _as_bytes(value)
        end = value_end(buffer, 0, len(buffer))
        if end != len(buffer):
            raise MalformedVariant(f"{len(buffer) - end} bytes follow the value", offset=end)
        self._fill(dictionary, buffer, 0, end)

    @classmethod
    def of(cls, value: object) -> Variant:
        """Builds a Variant from Python objects; docs/value.md lists the types.

        >>> from decimal import Decimal
        >>> Variant.of({"price": Decimal("1.10"), "sizes": (1, 2)}).to_json()
        '{"price":1.1,"sizes":[1,2]}'
        """
        return VariantBuilder().append(value).build()

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        *,
        duplicate_keys: Literal["error", "last_wins"] = "error",
        max_depth: int = 1000,
        max_size: int = 128 << 20,
    ) -> Variant:
        """Parses JSON text to a Variant, with the same bytes as Spark's parse_json.

        docs/value.md lists the types that numbers get, and what is refused.

        >>> Variant.from_json('{"a": 1.10}')["a"].to_python()
        Decimal('1.10')
        """
        return parse(text, duplicate_keys=duplicate_keys, max_depth=max_depth, max_size=max_size)

    @classmethod
    def _view(cls, dictionary: Dictionary, buffer: bytes, start: int, end: int) -> Variant:
        view = object.__new__(cls)
        view._fill(dictionary, buffer, start, end)
        return view

    def _fill(self, dictionary: Dictionary, buffer: bytes, start: int, end: int) -> None:
        object.__setattr__(self, "_dictionary", dictionary)
        object.__setattr__(self, "buffer", buffer)
        object.__setattr__(self, "_start", start)
        object.__setattr__(self, "_end", end)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Variant is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Variant is immutable")

    def __reduce__(self) -> tuple[type[Variant], tuple[bytes, bytes]]:
        return Variant, (self.metadata, self.value)

    # The bytes

    @property
    def metadata(self) -> bytes:
        """The dictionary of names, which nested values share."""
        return self._dictionary.metadata

    @property
    def value(self) -> bytes:
        """The value's own bytes."""
        if self._start == 0 and self._end == len(self.buffer):
            return self.buffer
        return self.buffer[self._start : self._end]

    @property
    def dictionary(self) -> Dictionary:
        """The names, read on demand."""
        return self._dictionary

    @property
    def type(self) -> VariantType:
        """The physical type.

        >>> Variant.of(300).type
        <VariantType.INT16: 'int16'>
        """
        return type_at(self.buffer, self._start, self._end)

    # Navigation

    def get(self, path: str | Path) -> Variant | None:
        """The value at a path, or None if it does not exist. Variant null is a value.

        >>> Variant.of({"a": [{"b": None}]}).get("$.a[0].b")
        Variant(null)
        """
        value = self
        path = Path.parse(path) if isinstance(path, str) else path
        for depth, step in enumerate(path.steps):
            try:
                found = value._step(step)
            except MalformedVariant as error:
                where = Path(path.steps[: depth + 1]).normalized()
                raise MalformedVariant(
                    error.problem, part=error.part, offset=error.offset, path=where
                ) from None
            if found is None:
                return None
            value = found
        return value

    def __getitem__(self, step: str | int) -> Variant:
        """The field named `step` or the element at `step`; a negative index counts from the end.

        >>> Variant.of([1, 2])[-1]
        Variant(2)
        """
        from_end = isinstance(step, int) and step < 0 and self.type is VariantType.ARRAY
        found = self._step(step + len(self) if from_end else step)  # type: ignore[operator]
        if found is None:
            kind = self.type.value
            if isinstance(step, str):
                what = f"no key {step!r}" if kind == "object" else f"a value of type {kind} has no keys"
            else:
                what = f"no index {step}" if kind == "array" else f"a value of type {kind} has no indexes"
            raise NoSuchElement(what)
        return found

    def __len__(self) -> int:
        """Number of fields or elements."""
        return self._container("length").count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the keys of an object or the elements of an array, like dict and list.

        >>> list(Variant.of({"b": 1, "a": 2})), list(Variant.of([3]))
        (['a', 'b'], [Variant(3)])
        """
        container = self._container("elements")
        if container.is_object:
            return iter(self.keys())
        return (self._child(container, index) for index in range(container.count))

    def keys(self) -> list[str]:
        """The names of an object's fields, in the order in which they are listed, which is sorted.

        >>> Variant.of({"b": 1, "a": 2}).keys()
        ['a', 'b']
        """
        container = self._container("keys", kinds=(OBJECT,))
        return [
            self._dictionary.name(container.field_id(self.buffer, index)) for index in range(container.count)
        ]

    def items(self) -> Iterator[tuple[str, Variant]]:
        """Names and values of an object's fields.

        >>> dict(Variant.of({"a": 2}).items())
        {'a': Variant(2)}
        """
        container = self._container("items", kinds=(OBJECT,))
        for index in range(container.count):
            name = self._dictionary.name(container.field_id(self.buffer, index))
            yield name, self._child(container, index)

    def walk(self, *, decode: bool = True, by_name: bool = False) -> Walk:
        """The events of the whole value, for code that processes all of it."""
        return Walk(self._dictionary, self.buffer, self._start, self._end, decode=decode, by_name=by_name)

    # Conversion

    def to_python(self, *, exact: bool = False) -> Any:
        """Plain Python objects; with `exact`, numbers as Int8, Float32, Decimal4 and so on.

        >>> Variant.of([1, 1.5]).to_python(), Variant.of([1, 1.5]).to_python(exact=True)
        ([1, 1.5], [Int8(1), 1.5])
        """
        return python_value(self.walk(), exact=exact)

    def to_json(self, *, pretty: bool = False, max_length: int = MAX_LENGTH) -> str:
        """Renders JSON text of at most `max_length` characters; docs/value.md lists the formats.

        >>> Variant.of({"a": b"hi"}).to_json()
        '{"a":"aGk="}'
        """
        return render(self, pretty=pretty, max_length=max_length)

    def validate(self) -> Variant:
        """Checks every byte that a reader can reach; returns the Variant itself, so that calls can be
        chained.

        The constructor guarantees the two headers, the version, and that both buffers end where they should.
        After this call, a reader can also rely on:

        - the dictionary: offsets in order and in bounds, names in UTF-8, sorted and unique if flagged so;
        - containers: counts, ids and offsets in bounds, values that neither overlap nor leave their parent;
        - objects: ids that the dictionary has, names in unsigned UTF-8 order, no name twice;
        - scalars: known types with all their bytes, strings in UTF-8, decimals within the digits of their
          width and a scale of at most 38, times within a day.

        Anything else raises a MalformedVariant with offset and path. Reserved bits are ignored and gaps
        between values are allowed, as in the specification.

        >>> Variant.of([1]).validate()
        Variant([1])
        """
        validate(self._dictionary, self.walk())
        return self

    # Meaning

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variant):
            return NotImplemented
        names: dict[str, str] = {}
        return meaning(self.walk(by_name=True), names) == meaning(other.walk(by_name=True), names)

    def __hash__(self) -> int:
        return hash(tuple(meaning(self.walk(by_name=True), {})))

    def __repr__(self) -> str:
        try:
            return f"Variant({beginning(self, _REPR_LENGTH)})"
        except MalformedVariant as error:
            return f"Variant(<malformed: {error}>)"

    # Steps

    def _container(self, what: str, *, kinds: tuple[int, ...] = (OBJECT, ARRAY)) -> Container:
        if basic_type(self.buffer, self._start, self._end) in kinds:
            return container_at(self.buffer, self._start, self._end)
        raise WrongType(f"a value of type {self.type.value} has no {what}")

    def _step(self, step: str | int) -> Variant | None:
        """The child at a key or an index, or None."""
        basic = basic_type(self.buffer, self._start, self._end)
        if basic != (OBJECT if isinstance(step, str) else ARRAY):
            return None
        container = container_at(self.buffer, self._start, self._end)
        index = self._find(container, step) if isinstance(step, str) else step
        return self._child(container, index) if index is not None and 0 <= index < container.count else None

    def _find(self, container: Container, name: str) -> int | None:
        """Finds a field by name: binary search in UTF-8 order, then linear search.

        Spark sorts keys by their UTF-16 units, and DuckDB does not sort all of them.
        """
        wanted = name.encode(errors="surrogatepass")
        found = self._bisect(container, wanted)
        if found is not None:
            return found
        return next((at for at in range(container.count) if self._name(container, at) == wanted), None)

    def _bisect(self, container: Container, name: bytes) -> int | None:
        low, high = 0, container.count
        while low < high:
            middle = (low + high) // 2
            probe = self._name(container, middle)
            if probe == name:
                return middle
            if probe < name:
                low = middle + 1
            else:
                high = middle
        return None

    def _name(self, container: Container, index: int) -> bytes:
        return self._dictionary.name_bytes(container.field_id(self.buffer, index))

    def _child(self, container: Container, index: int) -> Variant:
        start = container.child_start(self.buffer, index)
        limit = container.end
        if self.buffer[start] & 0b11 == PRIMITIVE and self.buffer[start] >> 2 >= len(PRIMITIVES):
            limit = container.child_limit(self.buffer, index)  # only its neighbours tell where it ends
        end = value_end(self.buffer, start, limit)
        return Variant._view(self._dictionary, self.buffer, start, end)


def _as_bytes(buffer: bytes) -> bytes:
    if isinstance(buffer, str):
        raise WrongType(
            "metadata and value are bytes; Variant.from_json parses text, Variant.of takes any value"
        )
    return buffer if type(buffer) is bytes else bytes(memoryview(buffer))
