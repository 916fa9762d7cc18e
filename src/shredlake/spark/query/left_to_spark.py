"""Expressions of `read` that shredlake can't evaluate: Spark does, above a scan of their paths.

```
columns  upper(v:kind::string) AS k              scan   v:kind::string AS __path0, id
where    v:n::int > 5 AND length(v:s::string) = id      v:s::string AS __path1  WHERE v:n::int > 5
                                                 Spark  WHERE length(__path1) = id SELECT upper(__path0) AS k
```

The parts of the condition that shredlake understands prune files as always.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlglot import Token, TokenType

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.schema.names import resolve
from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr import Column, Expr, Get, Projection, all_of, join_name, name_parts
from shredlake.expr.parse import parse_columns, parse_value, split_columns, understood
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.columns import users_text
from shredlake.spark.query.explain import SparkExplain
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.text.clauses import conjuncts_of, has_name
from shredlake.sql.path_tokens import match_path, tokenize
from shredlake.variant.identifiers import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVERYTHING: Final = "*"


def scan_of(
    spark: SparkSession,
    snapshot: Snapshot,
    columns: str | Sequence[str] | None,
    where: str | None,
    options: CastOptions,
) -> SparkScan:
    """The scan of a query, and what Spark has to evaluate above it, if anything."""
    if not _has_everything(columns):
        try:
            return SparkScan(spark, snapshot, columns, where, options=options)
        except UnsupportedExpression as reason:
            return ScanBelowSpark(spark, snapshot, columns, where, options=options, reason=reason)
    return ScanBelowSpark(spark, snapshot, columns, where, options=options)


def _has_everything(columns: Any) -> bool:
    """Whether `*` is one of the columns."""
    if isinstance(columns, str):
        return EVERYTHING in columns and EVERYTHING in split_columns(columns)
    return isinstance(columns, Sequence) and EVERYTHING in columns


class ScanBelowSpark(SparkScan):
    """A scan of the columns and paths that a query needs, and the rest of the query above it."""

    def __init__(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        columns: str | Sequence[str] | None,
        where: str | None,
        *,
        options: CastOptions,
        reason: UnsupportedExpression | None = None,
    ) -> None:
        self._reason = reason
        inner = _Below(snapshot, options)
        self._above = [inner.column(text) for text in inner.items(columns)]
        below: list[Expr] = []
        self._left: dict[str, str] = {}
        for part in conjuncts_of(where) if isinstance(where, str) else ():
            condition = understood(part, partial(parse_value, options=options))
            if isinstance(condition, UnsupportedExpression):
                self._left[part] = inner.rewritten(part)
            else:
                below.append(condition)
        super().__init__(spark, snapshot, inner.projections(), all_of(below), options=options)

    def frame(self, select: Any = None) -> DataFrame:
        from pyspark.errors import AnalysisException, ParseException
        from pyspark.sql import functions as F

        rows = super().frame()
        try:
            for text in self._left.values():
                rows = rows.where(F.expr(users_text(text)))
            found = rows.select(*(F.expr(users_text(text)) for text in self._above))
            _ = found.schema  # raises over Connect too
            return found
        except (AnalysisException, ParseException) as error:
            raise InvalidExpression(f"Spark does not accept the query: {error}") from self._reason

    def explain(self) -> SparkExplain:
        found = super().explain()
        left = (f"{text} rules out nothing: only Spark understands it" for text in self._left)
        return replace(found, predicates=(*found.predicates, *left))


class _Below:
    """Collects the columns and paths that expressions need, and gives each a name below Spark's part."""

    def __init__(self, snapshot: Snapshot, options: CastOptions) -> None:
        self._options = options
        self._schema = snapshot.schema
        self._names = {field.name.casefold(): field.name for field in snapshot.schema.fields}
        self._paths: dict[Get, str] = {}
        self._used: dict[str, None] = {}
        self._known: list[Projection] = []

    def items(self, columns: str | Sequence[str] | None) -> Iterator[str]:
        """The columns of a query one by one. Without columns, and for `*`, those of the table."""
        given = split_columns(columns) if isinstance(columns, str) else columns
        for item in [EVERYTHING] if given is None else given:
            if item == EVERYTHING:
                yield from map(quote, self._names.values())
            else:
                yield item

    def column(self, text: str) -> str:
        """A column of the query over the names below; named after its text if it has no other name."""
        known = understood(text, lambda text: parse_columns([text], self._options)[0])
        if isinstance(known, UnsupportedExpression):
            return self.rewritten(text) + ("" if has_name(tokenize(text)) else f" AS {quote(text.strip())}")
        name = self._free(f"__column{len(self._known)}")
        self._known.append(Projection(name, known.expr))
        return f"{quote(name)} AS {quote(known.name)}"

    def rewritten(self, text: str) -> str:
        """An expression with plain columns in place of its paths."""
        tokens = tokenize(text)
        pieces: list[str] = []
        copied = index = 0
        while index < len(tokens):
            found = match_path(text, tokens, index, scalar=False)
            column = None if found is None else self._variant(found.column)
            if found is None or column is None:
                if not index or tokens[index - 1].token_type != TokenType.ALIAS:
                    self._use(tokens[index])
                index += 1
                continue
            name = self._path_name(replace(found.get, column=column))
            pieces += [text[copied : tokens[index].start], quote(name)]
            index = found.end
            copied = tokens[index - 1].end + 1
        return "".join([*pieces, text[copied:]])

    def projections(self) -> list[Projection]:
        """The columns of the scan."""
        plain = [Projection(name, Column(join_name((name,)))) for name in self._used]
        return [*plain, *self._known, *(Projection(name, get) for get, name in self._paths.items())]

    def _use(self, token: Token) -> None:
        name = self._names.get(token.text.casefold())
        if name is not None and token.token_type != TokenType.STRING:
            self._used[name] = None

    def _variant(self, spelled: str) -> str | None:
        """The name of a Variant column; None if this is not one."""
        name = join_name(name_parts(spelled))
        try:
            return name if resolve(self._schema, name)[-1].type == "variant" else None
        except InvalidExpression:
            return None

    def _path_name(self, get: Get) -> str:
        if get not in self._paths:
            self._paths[get] = self._free(f"__path{len(self._paths)}")
        return self._paths[get]

    def _free(self, name: str) -> str:
        while name in self._names:
            name = f"_{name}"
        return name
