"""Validates every byte that a value refers to."""

from __future__ import annotations

from shredlake.errors import MalformedVariant
from shredlake.variant.metadata import Dictionary
from shredlake.variant.walk import Event, Walk


def validate(dictionary: Dictionary, walk: Walk) -> None:
    """Validates dictionary and value; `Variant.validate` lists the guarantees.

    The walk itself finds parts that are out of bounds, overlap, or can't be decoded. This function checks the
    dictionary as a whole, and the order of names.

    >>> from shredlake.variant.value import Variant
    >>> Variant(b"\\x01\\x02\\x00\\x01\\x02ab", b"\\x02\\x02\\x01\\x00\\x00\\x01\\x02\\x00\\x00").validate()
    Traceback (most recent call last):
    ...
    shredlake.errors.MalformedVariant: the keys 'b' and 'a' are not in order (value byte 0, at $)
    """
    dictionary.validate()
    ranks = dictionary.ranks()
    last_ids: list[int | None] = []  # the id of the latest key of each open object
    for event, detail in walk:
        if event is Event.KEY:
            previous = last_ids[-1]
            if previous is not None and ranks[previous] >= ranks[detail]:
                raise _misplaced(dictionary.name(previous), dictionary.name(detail), walk)
            last_ids[-1] = detail
        elif event is Event.OBJECT:
            last_ids.append(None)
        elif event is Event.END and detail:
            last_ids.pop()


def _misplaced(before: str, after: str, walk: Walk) -> MalformedVariant:
    where = walk.parent_path().normalized()
    if before == after:
        problem = f"there are two fields named {after!r}"
    else:
        problem = f"the keys {before!r} and {after!r} are not in order"
    if before != after and before.encode("utf-16-be") < after.encode("utf-16-be"):
        problem += ": they are in UTF-16 order, as Spark 4.3 sorts them, not in UTF-8 order"
    return MalformedVariant(problem, offset=walk.container_start, path=where, rule="key-order")
