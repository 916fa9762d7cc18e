"""Sort keys, as written after ORDER BY: `v:ts::bigint DESC NULLS FIRST`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr.ast import Expr
from shredlake.expr.evaluate import Data, evaluate
from shredlake.expr.parse import parse_value, split_columns, understood
from shredlake.expr.types import VARIANT, from_arrow

_ORDER: Final = re.compile(
    r"(?P<text>.*?)(?:\s+(?P<order>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?\s*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class SortKey:
    """One key to sort rows by. Nulls come last unless specified otherwise, in both directions."""

    text: str
    descending: bool = False
    nulls_first: bool = False

    @property
    def expr(self) -> Expr:
        """The expression, for engines other than Spark."""
        return parse_value(self.text)

    @property
    def needs_spark(self) -> bool:
        """Whether only Spark may be able to evaluate the key."""
        return isinstance(understood(self.text, parse_value), UnsupportedExpression)


def parse_sort_keys(texts: Iterable[str]) -> list[SortKey]:
    """Parses sort keys; each text holds one key or several separated by commas.

    >>> parse_sort_keys(["v:a::int DESC, id", "b asc nulls first"])[0]
    SortKey(text='v:a::int', descending=True, nulls_first=False)
    """
    keys = []
    for text in texts:
        for part in split_columns(text):
            found = _ORDER.fullmatch(part)
            assert found is not None
            order, nulls = (found["order"] or "asc").lower(), (found["nulls"] or "last").lower()
            key = SortKey(found["text"].strip(), order == "desc", nulls == "first")
            if not key.text:
                raise InvalidExpression(
                    "a sort key is missing its expression: write one such as v:ts::bigint DESC"
                )
            understood(key.text, parse_value)  # refuses what is not an expression
            keys.append(key)
    return keys


def sort_indices(keys: Iterable[SortKey], data: Data) -> pa.Array:
    """Returns the order of the rows; NaN is the greatest number, as in Spark.

    >>> sort_indices(parse_sort_keys(["a desc"]), pa.table({"a": [1, None, 3]})).to_pylist()
    [2, 0, 1]
    """
    columns, orders = key_columns(keys, data)
    return pc.sort_indices(columns, sort_keys=orders)


def key_columns(keys: Iterable[SortKey], data: Data) -> tuple[pa.Table, list[tuple[str, str]]]:
    """Returns the values of sort keys as columns that Arrow can sort, and the order of each column."""
    columns: dict[str, pa.Array] = {}
    orders: list[tuple[str, str]] = []
    for key in keys:
        for values, descending in _columns(key, data):
            columns[str(len(columns))] = values
            orders.append((str(len(orders)), "descending" if descending else "ascending"))
    return pa.table(columns), orders


def _columns(key: SortKey, data: Data) -> Iterator[tuple[pa.Array, bool]]:
    """Converts a key to columns that Arrow can sort: whether it is null, whether it is NaN, and its value."""
    values = evaluate(key.expr, data)
    if from_arrow(values.type) == VARIANT:
        raise InvalidExpression(
            f"{key.text} is a Variant, which has no order. Add its type, as in v:a::bigint"
        )
    yield pc.is_null(values), key.nulls_first
    if pa.types.is_floating(values.type):
        yield pc.fill_null(pc.is_nan(values), False), key.descending
    yield values, key.descending
