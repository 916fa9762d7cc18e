"""Finds aggregates over one table that stay the same if its scan merges equal rows.

```
select kind, count(*), min(ts) from t group by kind
select kind, sum(weight), min(least) from merged t group by kind       merged: kind, weight, least of ts
```

A scan merges neighbouring rows that agree in all columns that the query reads. In a sorted table few
rows are left. An aggregate that repeated rows do not change (`min`, `max`, `count(DISTINCT …)`) is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from shredlake.sql.references import Reference, References, own_nodes, sources_of
from shredlake.sql.text import AGGREGATES, MARK, MarkedQuery

UNCHANGED = (exp.Min, exp.Max)
"""Aggregates that repeated rows do not change."""
OBSTACLES = (exp.Window, exp.Filter, exp.WithinGroup, exp.Pivot, exp.TableSample, exp.Lateral, exp.Columns)


@dataclass(frozen=True)
class EngineFunctions:
    """Names of functions of the engine that tell repeated rows apart."""

    aggregates: frozenset[str]
    volatile: frozenset[str]


def merging_reference(
    select: exp.Select, scope: Scope, references: References, query: MarkedQuery, functions: EngineFunctions
) -> Reference | None:
    """The only table of a SELECT, if its scan may merge equal rows."""
    sources = list(sources_of(scope).values())
    reference = references.reference(sources[0]) if len(sources) == 1 else None
    if reference is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    if select.args.get("distinct") or select.args.get("qualify") or select.args.get("sample"):
        return None
    if any(node is not select for node in select.find_all(exp.Query)):
        return None
    if references.is_closed(scope, reference.alias):
        return None
    aggregates = False
    for node in own_nodes(select):
        if isinstance(node, OBSTACLES):
            return None
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Anonymous):
            return None
        if isinstance(node, exp.Anonymous) and node.name.startswith(MARK):
            aggregates |= query.marks[mark_number(node)].kind in AGGREGATES
        elif isinstance(node, exp.Func) and not isinstance(node, UNCHANGED):
            names = {node.key, node.name.lower(), *map(str.lower, node.sql_names())}
            if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
                aggregates = True
            elif isinstance(node, exp.AggFunc) or names & (functions.aggregates | functions.volatile):
                return None
        elif isinstance(node, UNCHANGED):
            aggregates = True
    return reference if aggregates or select.args.get("group") else None


def mark_number(node: exp.Anonymous) -> int:
    """The number of the mark that a call in the copy of the query stands for."""
    return int(node.name[len(MARK) :])
