"""The values of the markers in a query: `?` by position, or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from shredlake.errors import WrongType
from shredlake.formatting import kind_of

Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any] | None
"""A dict for markers with names (`$name` without Spark, `:name` on Spark), a list for `?`."""


def as_given(args: Parameters) -> dict[str, Any] | list[Any] | None:
    """The parameters as a plain dict or list, which is what engines accept; None if there are none.

    >>> as_given(("a", 1)), as_given({}), as_given(None)
    (['a', 1], None, None)
    """
    if isinstance(args, Mapping):
        return dict(args) or None
    if args is None or (isinstance(args, Sequence) and not isinstance(args, str | bytes)):
        return list(args or ()) or None
    raise WrongType(f"args= takes a dict or a list of values, not {kind_of(args)}")
