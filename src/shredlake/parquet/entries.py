"""The raw groups of a Variant column, level by level, with the row and array position of each entry.

```
batch     v.typed_value.tags                    Entries of $['tags'][*]     Place
row 100   ["x"]                                 {typed_value: "x"}          row 100, [0]
row 101   null                                  {typed_value: "y"}          row 102, [0]
row 102   ["y", 5]                              {value: 0c 05}              row 102, [1]
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.caches import cached
from shredlake.parquet.variant_columns import Level

OBJECT, ARRAY = 2, 3  # basic types: the lowest two bits of a value's header


@dataclass(frozen=True)
class Place:
    """The origin of the entries of an array: row and array positions.

    >>> lists = pa.array([["a"], None, ["b", "c"]])
    >>> values, place = Place(100).inside(lists)
    >>> values.to_pylist(), [place.find(i) for i in range(3)]
    (['a', 'b', 'c'], [(100, (0,)), (102, (0,)), (102, (1,))])
    """

    first_row: int
    above: Place | None = None
    parents: pa.Array | None = None
    """For each entry, the index of the parent entry whose list contains it."""

    def inside(self, lists: pa.Array) -> tuple[pa.Array, Place]:
        """The concatenated entries of the lists, and their place."""
        return list_values(lists), Place(self.first_row, self, pc.list_parent_indices(lists))

    def find(self, index: int) -> tuple[int, tuple[int, ...]]:
        """The row of the file, and the index in each list on the way."""
        if self.above is None or self.parents is None:
            return self.first_row + index, ()
        parent = self.parents[index]
        row, outer = self.above.find(parent.as_py())
        return row, (*outer, index - pc.index(self.parents, parent).as_py())

    def owners(self, top: Place) -> pa.Array | None:
        """For each entry, the index of the containing entry of `top`, an outer place; None if `top` is this
        place.
        """
        if self is top or self.above is None or self.parents is None:
            return None
        outer = self.above.owners(top)
        return self.parents if outer is None else outer.take(self.parents)


def list_values(lists: pa.Array) -> pa.Array:
    """Concatenates the values of all lists, as `flatten()`, which pyarrow lacks for extension types.

    >>> list_values(pa.array([[1], None, [2, 3]])).to_pylist()
    [1, 2, 3]
    """
    if pa.types.is_fixed_size_list(lists.type):
        return lists.flatten()
    start, end = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    if (pc.sum(pc.list_value_length(lists)).as_py() or 0) == end - start:
        return lists.values.slice(start, end - start)
    # A null list may still cover values, so pyarrow flattens their positions instead.
    positions = pa.array(range(len(lists.values)), pa.int64())
    kind = pa.large_list if pa.types.is_large_list(lists.type) else pa.list_
    numbered = pa.Array.from_buffers(
        kind(pa.int64()),
        len(lists),
        lists.buffers()[:2],
        lists.null_count,
        lists.offset,
        children=[positions],
    )
    return lists.values.take(numbered.flatten())


@dataclass(frozen=True)
class Entries:
    """One level of a Variant column in one batch: its concatenated groups, and their place."""

    level: Level
    group: pa.StructArray
    place: Place
    active: pa.Array
    """Where the group is meaningful: neither below a null nor in the fields of a non-object."""

    def part(self, name: str) -> pa.Array | None:
        """Returns `value` or `typed_value`, if it was read."""
        index = self.group.type.get_field_index(name)
        return None if index < 0 else self.group.field(index)

    def has(self, name: str) -> pa.Array:
        """Where the part exists and is not null."""
        part = self.part(name)
        return pc.and_(self.active, pc.is_valid(part if part is not None else pa.nulls(len(self.group))))

    def walk(self) -> Iterator[Entries]:
        """These entries and those of all levels below that were read, parents first."""
        yield self
        typed = self.part("typed_value")
        if typed is None:
            return
        has_typed = self.has("typed_value")
        if self.level.element is not None:
            elements, place = self.place.inside(typed)
            yield from Entries(self.level.element, elements, place, has_typed.take(place.parents)).walk()
        for name, level in self.level.fields.items():
            index = typed.type.get_field_index(name)
            if index >= 0:
                yield from Entries(level, typed.field(index), self.place, has_typed).walk()


def groups_in(batch: pa.RecordBatch, path: Sequence[str], first_row: int) -> tuple[pa.StructArray, Place]:
    """The raw groups of one column in a batch, at any depth of structs, lists and maps.

    An entry under a null parent is null.
    """
    array: pa.Array = batch.column(path[0])
    place = Place(first_row)
    names = list(path[1:])
    while names:
        if pa.types.is_map(array.type):
            keys, items = map_lists(array)
            array, place = place.inside(keys if names[1] == "key" else items)
            names = names[2:]
        elif pa.types.is_struct(array.type):
            array = array.flatten()[array.type.get_field_index(names.pop(0))]
        else:
            array, place = place.inside(array)
            # A map whose keys or values alone were read arrives as a list of structs.
            names = names[1:] if names[0] == "key_value" else names[2:]
    return array, place


def map_lists(array: pa.MapArray) -> list[pa.ListArray]:
    """Returns the keys and the values of maps, each as lists."""
    return [
        pa.Array.from_buffers(
            pa.list_(part.type),
            len(array),
            array.buffers()[:2],
            null_count=array.null_count,
            offset=array.offset,
            children=[part],
        )
        for part in (array.keys, array.items)
    ]


@cached(4, "headers of basic types")
def _headers(basic_type: int) -> pa.Array:
    """All header bytes of a basic type, which is stored in the lowest two bits."""
    return pa.array([bytes([header]) for header in range(basic_type, 256, 4)], pa.binary())


def objects_and_arrays(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Masks of the values that are objects and of those that are arrays, by their headers.

    >>> values = pa.array([bytes([2, 0]), bytes([3, 0]), None])
    >>> [found.to_pylist() for found in objects_and_arrays(values)]
    [[True, False, False], [False, True, False]]
    """
    header = pc.binary_slice(values, 0, 1)
    return pc.is_in(header, _headers(OBJECT)), pc.is_in(header, _headers(ARRAY))
