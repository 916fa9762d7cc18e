"""Unwrapping a nested array and wrapping it again gives the same rows, also for slices."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.kernels.arrow.nested import MAP_KEY, children, unwrap, with_children

ARRAYS = {
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": None}]),
    "list": pa.array([[1], None, [], [2, None, 3]]),
    "large list": pa.array([[1], None, [], [2, None, 3]], pa.large_list(pa.int8())),
    "fixed list": pa.array([[1, 2], None, [3, None], [5, 6]], pa.list_(pa.int8(), 2)),
    "map": pa.array([[("a", 1)], None, [], [("b", None), ("c", 3)]], pa.map_(pa.string(), pa.int8())),
    "sorted map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8(), keys_sorted=True)),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("start", [0, 1])
def test_what_is_unwrapped_is_wrapped_again(name: str, start: int) -> None:
    array = ARRAYS[name].slice(start)
    inner, wrap = unwrap(array)
    below = children(array.type)
    assert [one.type for one in inner] == [field.type for _, field in below]
    same = with_children(array.type, [field for _, field in below])
    assert same == array.type
    assert same.equals(array.type, check_metadata=True)
    again = wrap(inner, same)
    again.validate(full=True)
    assert again.to_pylist() == array.to_pylist()


def test_a_map_keeps_the_order_of_its_keys() -> None:
    type_ = ARRAYS["sorted map"].type
    assert with_children(type_, [field for _, field in children(type_)]).keys_sorted
    assert children(type_)[0][0] == MAP_KEY


def test_a_leaf_has_no_children() -> None:
    assert [children(type_) for type_ in (pa.int8(), pa.string_view(), pa.uuid())] == [[], [], []]
