"""Values of thousands of entries or levels, in a process whose kernels have worked before.

Kernels keep blocks of memory for the next call. Their stacks grow into kept blocks only from about 1,000
entries on, and only once a block of that size is there: so each test runs after other work, and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from shredlake import (
    ShreddingSchema,
    from_arrow,
    from_json,
    get,
    shred,
    to_json,
    to_python,
    unshred,
    validate,
)

pytestmark = pytest.mark.usefixtures("kernels")

SIZES = (999, 1000, 1001, 1200, 1300, 2100, 2500, 4200, 9000)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Leaves blocks of all sizes behind."""
    for size in (10, 100, 400, 700, 1000, 1500, 2500, 4000, 9000):
        to_json(from_json(pa.array(['{"a":' * 99 + f"[{','.join(map(str, range(size)))}]" + "}" * 99])))
    for size in (900, 1100, 2000, 3000, 5000):
        from_arrow(pa.array([list(range(size))]))


def _list(size: int) -> pa.Array:
    return pa.array([list(range(size))])


def _struct(size: int) -> pa.Array:
    return pa.array([{f"k{i}": i for i in range(size)}])


def _map(size: int) -> pa.Array:
    return pa.array([[(f"k{i}", i) for i in range(size)]], pa.map_(pa.string(), pa.int64()))


def _variant_array(size: int) -> pa.Array:
    return from_json(pa.array([f"[{','.join(map(str, range(size)))}]"]))


def _variant_object(size: int) -> pa.Array:
    return from_json(pa.array(["{" + ",".join(f'"k{i}":{i}' for i in range(size)) + "}"]))


def _elements(size: int) -> list[Any]:
    return [list(range(size))]


def _fields(size: int) -> list[Any]:
    return [{f"k{i}": i for i in range(size)}]


KINDS: dict[str, tuple[Callable[[int], pa.Array], Callable[[int], list[Any]]]] = {
    "list": (_list, _elements),
    "struct": (_struct, _fields),
    "map": (_map, _fields),
    "variant array": (_variant_array, _elements),
    "variant object": (_variant_object, _fields),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_entries(kind: str) -> None:
    column, wanted = KINDS[kind]
    for size in SIZES:
        variants = from_arrow(column(size))
        assert validate(variants).num_rows == 0, size
        assert to_python(variants) == wanted(size), size


def test_many_entries_within_others() -> None:
    """Entries of a container that is still open lie in the stacks while those within it push them to grow."""
    row = {f"k{i}": [{"x": i, "y": list(range(i))}] for i in range(90)}
    for _ in range(4):
        variants = from_arrow(pa.array([row, None, row]))
        assert to_python(variants) == [row, None, row]


@pytest.mark.parametrize("depth", [60, 100, 300, 1000])
def test_deep_variants(depth: int) -> None:
    objects, arrays = '{"a":' * depth + "1" + "}" * depth, "[" * depth + "1" + "]" * depth
    column = from_json(pa.array([objects, arrays, objects]))
    for _ in range(3):
        for again in (from_arrow(column), from_arrow(pa.StructArray.from_arrays([column], ["v"]))):
            assert validate(again).num_rows == 0
        assert to_json(from_arrow(column)).to_pylist() == [objects, arrays, objects]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1100, 5000])
def test_shredded_and_back(size: int) -> None:
    text = "{" + ",".join(f'"k{i}":[{i},"{i}"]' for i in range(size)) + "}"
    column = from_json(pa.array([text, "1", text]))
    schema = ShreddingSchema.parse(f"struct<k7 array<bigint>, k{size - 1} variant>")
    for _ in range(3):
        shredded = shred(column, schema)
        assert to_python(unshred(shredded)) == to_python(column)
        assert get(shredded, f"$.k{size - 1}[0]", pa.int64()).to_pylist() == [size - 1, None, size - 1]
