"""Chooses a layout from the profile of the data, with a reason for every path.

```
profile ── propose ──▶ paths that could be columns ── choose ──▶ those that pay, within the budget ──▶ schema
              │                                        │
              └ too rare, null, mixed, map-like: left  └ over the budget: left
```

A table's layout is kept unless a change is worth it (`previous`), so that its files agree. Every decision
depends on shares, never on absolute counts, so a sample leads to the layout of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from shredlake.shredding.inference import MAX_LEAVES
from shredlake.shredding.inference.budget import Leaf, within_budget
from shredlake.shredding.inference.cost import column_bytes, left_bytes, residual_bytes, worth
from shredlake.shredding.inference.fit import classes, dominant, fitting, scalar_of
from shredlake.shredding.inference.profile import Look, PathProfile, Profile
from shredlake.shredding.inference.report import Decision, Estimate, InferredSchema, Outcome
from shredlake.shredding.schema import (
    ARRAY_ELEMENT,
    Array,
    Node,
    Object,
    Scalar,
    ShreddingSchema,
    Steps,
    Untyped,
    node_ddl,
    node_path,
)
from shredlake.variant.path import Path
from shredlake.variant.types import VariantType

MAX_DEPTH: Final = 30
"""The maximum depth of objects and arrays: an array takes three levels of a Parquet schema, and readers built
on Arrow support 100 levels.
"""

MIN_SHARE: Final = 0.1
"""A path in fewer of the rows does not get typed columns. Approximate; see `rare_below`."""

FILLED: Final = 0.1
"""The least share of a path's values that must not be null, and of its arrays that must not be empty."""

VARIANT_SHARE: Final = 0.02
"""The least share of bytes for which a path that can't be typed gets its own binary column."""

HEAVY: Final = 0.1
"""The same share for a rare path."""

MAP_KEYS: Final = 200
MAP_PRESENCE: Final = 0.02
"""Objects with at least this many different keys, each in few of the objects, are maps: their keys are data.
"""

GAIN: Final = 0.05
"""The least share of the size saved, or of values typed in addition, for which a table's layout changes."""

SORTED: Final = 0.9


@dataclass(frozen=True, slots=True)
class _Fields:
    steps: Steps
    children: tuple[tuple[str, _Proposal], ...]


@dataclass(frozen=True, slots=True)
class _Elements:
    steps: Steps
    element: _Proposal


_Proposal: TypeAlias = Leaf | _Fields | _Elements


def infer_schema(
    profile: Profile,
    *,
    queries: Iterable[str | Path] = (),
    max_leaves: int = MAX_LEAVES,
    max_depth: int = MAX_DEPTH,
    min_share: float = MIN_SHARE,
    previous: ShreddingSchema | str | None = None,
) -> InferredSchema:
    """Chooses a layout for data with this profile.

    `queries` are paths that queries use: they get columns however rare they are. `previous` is the table's
    layout, which is kept unless another one is worth the change. Objects and arrays deeper than `max_depth`,
    at most 30 levels, are not shredded. The root of the result is `variant` if nothing is worth a column.

    >>> from shredlake.shredding.inference.profile_reference import profile_values
    >>> from shredlake.variant.value import Variant
    >>> rows = [{"id": n, "price": 1.5 * n, "status": n if n % 50 else "n/a"} for n in range(1000)]
    >>> str(infer_schema(profile_values(Variant.of(row) for row in rows)))
    'struct<id bigint, price double, status bigint>'
    """
    max_depth = min(max_depth, MAX_DEPTH)
    proposer = _Proposer(profile, _hints(queries), max_depth, min_share)
    proposal = proposer.propose((), profile.root, max_depth)
    leaves = list(_leaves(proposal))
    chosen = {leaf.steps for leaf in within_budget(leaves, max_leaves)}
    root = _assemble(proposal, chosen) or Untyped()
    for leaf in leaves:
        if leaf.steps not in chosen:
            proposer.left[leaf.steps] = f"over the budget of {max_leaves} leaves"
    fresh = ShreddingSchema(root)
    kept = None if previous is None else _as_schema(previous)
    if kept is not None and fresh != kept and not _worth_a_change(profile, kept, fresh, proposer.hints):
        return described(profile, kept, "the table's layout is kept", max_leaves)
    return _described(profile, fresh, proposer.reasons, proposer.left, max_leaves)


def described(
    profile: Profile, schema: ShreddingSchema, reason: str, max_leaves: int = MAX_LEAVES
) -> InferredSchema:
    """Describes a given layout with the figures of some data; every decision has the same reason."""
    reasons = {steps: reason for steps, _ in schema.nodes()}
    return _described(profile, schema, reasons, {}, max_leaves)


class _Proposer:
    """Traverses a profile and records which paths could be columns, and why the others could not."""

    def __init__(self, profile: Profile, hints: frozenset[Steps], max_depth: int, min_share: float) -> None:
        self.profile = profile
        self.hints = hints
        self.max_depth = max_depth
        self.min_share = rare_below(profile, min_share)
        self.leads_to_hint = {hint[:depth] for hint in hints for depth in range(len(hint) + 1)}
        self.reasons: dict[Steps, str] = {}
        self.left: dict[Steps, str] = {}

    def propose(self, steps: Steps, path: PathProfile, depth: int) -> _Proposal | None:
        asked = steps in self.leads_to_hint
        if steps and not asked and self.share(path) < self.min_share:
            return self.whole(steps, path, f"in {self.share(path):.1%} of the rows", HEAVY)
        filled = path.count - path.nulls
        if filled == 0:
            return self.leave(steps, "only nulls" if path.count else "no values")
        if filled < FILLED * path.count and not asked:
            return self.leave(steps, f"null in {path.nulls / path.count:.1%}")
        kind = dominant(path)
        if kind is None:
            return self.whole(steps, path, f"mixed: {_mixture(path)}")
        if kind is VariantType.OBJECT:
            return self.propose_object(steps, path, depth)
        if kind is VariantType.ARRAY:
            return self.propose_array(steps, path, depth)
        leaf = self.leaf(steps, path, scalar_of(path, kind), _rest(path, kind))
        return leaf if leaf.worth > 0 else self.leave(steps, "a column would cost more than it saves")

    def propose_object(self, steps: Steps, path: PathProfile, depth: int) -> _Proposal | None:
        if depth == 0:
            return self.whole(steps, path, f"deeper than {self.max_depth} levels")
        fields = [child for child in path.children if isinstance(child.name, str)]
        if not fields and not path.other_count:
            return self.leave(steps, "empty objects")
        if is_map_like(path):
            presence = _fields_per_object(path) / path.distinct_keys
            reason = (
                f"map-like: about {_about(path.distinct_keys)} keys, each in {presence:.2%} of the objects"
            )
            fields = [child for child in fields if (*steps, child.name) in self.leads_to_hint]
        else:
            reason = "no field is worth a column"
        proposals = []
        for child in fields:
            name = str(child.name)
            if not _is_unicode(name):
                self.leave((*steps, name), "its name is not valid Unicode")
            elif (proposal := self.propose((*steps, name), child, depth - 1)) is not None:
                proposals.append((name, proposal))
        if not proposals:
            return self.whole(steps, path, reason)
        self.reasons[steps] = _rest(path, VariantType.OBJECT)
        return _Fields(steps, tuple(proposals))

    def propose_array(self, steps: Steps, path: PathProfile, depth: int) -> _Proposal | None:
        element = path.by_name.get(ARRAY_ELEMENT)
        inside = (*steps, ARRAY_ELEMENT)
        if element is None:
            return self.leave(steps, "empty arrays" if path.elements == 0 else "arrays too deep or too many")
        if element.rows < FILLED * path.rows and inside not in self.leads_to_hint:
            return self.leave(steps, f"{1 - element.rows / path.rows:.1%} of the arrays are empty")
        proposal = self.propose(inside, element, depth - 1) if depth else None
        if proposal is None or (isinstance(proposal, Leaf) and isinstance(proposal.node, Untyped)):
            return self.whole(steps, path, f"array, elements {self.left.pop(inside, 'untyped')}")
        self.reasons[steps] = _rest(path, VariantType.ARRAY)
        return _Elements(steps, proposal)

    def whole(
        self, steps: Steps, path: PathProfile, reason: str, weight: float = VARIANT_SHARE
    ) -> _Proposal | None:
        """A binary column, if the path has enough bytes: queries on other paths then do not read it."""
        in_array = bool(steps) and steps[-1] is ARRAY_ELEMENT
        if steps in self.hints or (self.weight(path) >= weight and not in_array):
            return self.leaf(steps, path, Untyped(), reason)
        return self.leave(steps, reason)

    def leaf(self, steps: Steps, path: PathProfile, node: Scalar | Untyped, reason: str) -> Leaf:
        hinted = steps in self.hints
        self.reasons[steps] = "; ".join(filter(None, ("used by queries" if hinted else "", reason)))
        return Leaf(steps, node, path.rows, worth(self.profile, path, node, hinted), hinted)

    def leave(self, steps: Steps, reason: str) -> _Proposal | None:
        """Records that this path gets no column."""
        self.left[steps] = reason
        return None

    def share(self, path: PathProfile) -> float:
        return path.rows / max(self.profile.rows - self.profile.nulls, 1)

    def weight(self, path: PathProfile) -> float:
        return path.size / max(self.profile.root.size, 1)


def rare_below(profile: Profile, min_share: float) -> float:
    """The share of rows below which a path is rare: near `min_share`, in the widest gap between paths.

    Two samples of the same data differ slightly. A path just at the limit would be shredded after one sample
    and not after the other, so the limit stays away from all paths.

    >>> paths = tuple(PathProfile(name, rows=rows) for name, rows in (("a", 100), ("b", 98), ("c", 900)))
    >>> round(rare_below(Profile(1000, 0, 0, 0, PathProfile(None, rows=1000, children=paths)), 0.1), 3)
    0.12
    """
    rows = max(profile.rows - profile.nulls, 1)
    low, high = min_share * 0.7, min_share / 0.7
    shares = sorted({path.rows / rows for _, path in profile.paths() if low < path.rows / rows < high})
    edges = [low, *shares, high]
    before, after = max(pairwise(edges), key=lambda gap: gap[1] / gap[0] if gap[0] else 0.0)
    return math.sqrt(before * after)


def is_map_like(path: PathProfile) -> bool:
    """Whether the keys of the objects at a path are data: very many of them, each very rare.

    >>> is_map_like(PathProfile("x", count=10, types={VariantType.OBJECT: 10}))
    False
    """
    keys = path.distinct_keys
    return keys >= MAP_KEYS and _fields_per_object(path) / keys < MAP_PRESENCE


def _fields_per_object(path: PathProfile) -> float:
    fields = sum(child.count for child in path.children if isinstance(child.name, str)) + path.other_count
    return fields / max(path.types.get(VariantType.OBJECT, 0), 1)


def _worth_a_change(
    profile: Profile, kept: ShreddingSchema, fresh: ShreddingSchema, hints: frozenset[Steps]
) -> bool:
    """Returns whether the new layout is enough of an improvement to differ from existing files."""
    before, after = _size(profile, kept), _size(profile, fresh)
    served, now_served = _typed_share(profile, kept), _typed_share(profile, fresh)
    old, new = dict(kept.nodes()), dict(fresh.nodes())
    asked = any(hint in new and hint not in old for hint in hints)
    return asked or after < before * (1 - GAIN) or now_served > served + GAIN


def _size(profile: Profile, schema: ShreddingSchema) -> float:
    """Expected bytes per row under a layout."""
    found = dict(profile.paths())
    size = residual_bytes(profile)
    for steps, node in schema.leaves():
        path = found.get(steps)
        if path is not None and steps:
            size -= left_bytes(profile, path) - column_bytes(profile, path, _leaf_node(node))
    return size


def _typed_share(profile: Profile, schema: ShreddingSchema) -> float:
    """The share of all scalars that are in typed columns."""
    found = dict(profile.paths())
    scalars = sum(sum(classes(path).values()) for path in found.values() if not _is_container(path))
    typed = sum(
        fitting(found[steps], node)
        for steps, node in schema.leaves()
        if isinstance(node, Scalar) and steps in found
    )
    return typed / max(scalars, 1)


def _is_container(path: PathProfile) -> bool:
    return dominant(path) in (VariantType.OBJECT, VariantType.ARRAY)


def _leaf_node(node: Node) -> Scalar | Untyped:
    return node if isinstance(node, Scalar) else Untyped()


def _leaves(proposal: _Proposal | None) -> Iterable[Leaf]:
    match proposal:
        case Leaf():
            yield proposal
        case _Fields(_, children):
            for _, child in children:
                yield from _leaves(child)
        case _Elements(_, element):
            yield from _leaves(element)


def _assemble(proposal: _Proposal | None, chosen: set[Steps]) -> Node | None:
    match proposal:
        case Leaf(steps, node):
            return node if steps in chosen else None
        case _Fields(_, children):
            nodes = ((name, _assemble(child, chosen)) for name, child in children)
            fields = tuple((name, node) for name, node in nodes if node is not None)
            return Object(fields) if fields else None
        case _Elements(_, element):
            inside = _assemble(element, chosen)
            return Array(inside) if inside is not None else None
    return None


def _described(
    profile: Profile,
    schema: ShreddingSchema,
    reasons: Mapping[Steps, str],
    left: Mapping[Steps, str],
    max_leaves: int,
) -> InferredSchema:
    """The schema with a decision for each of its nodes and each path that was not shredded, parents first."""
    nodes, found = dict(schema.nodes()), dict(profile.paths())
    order = {steps: index for index, steps in enumerate(found)}
    nowhere = len(order)
    decisions = []
    for steps in sorted({*nodes, *left}, key=lambda steps: (order.get(steps, nowhere), node_path(steps))):
        path = found.get(steps, PathProfile(steps[-1] if steps else None))
        node = nodes.get(steps)
        reason = left[steps] if node is None else reasons.get(steps, "")
        decisions.append(_decision(profile, steps, path, node, reason))
    rows = profile.rows
    estimate = Estimate(residual_bytes(profile) * rows, _size(profile, schema) * rows)
    return InferredSchema(schema.root, tuple(decisions), rows, max_leaves, estimate)


def _decision(profile: Profile, steps: Steps, path: PathProfile, node: Node | None, reason: str) -> Decision:
    fits = saved = 0.0
    kind = ""
    match node:
        case None:
            outcome = Outcome.LEFT
        case Scalar():
            outcome, kind, note = Outcome.TYPED, node_ddl(node), ""
            fits = fitting(path, node) / max(path.count, 1)
            saved = left_bytes(profile, path) - column_bytes(profile, path, node)
        case Untyped():
            outcome, kind = Outcome.VARIANT, "variant"
            saved = left_bytes(profile, path) - column_bytes(profile, path, node)
        case Object():
            outcome, kind = Outcome.OBJECT, "object"
            fits = path.types.get(VariantType.OBJECT, 0) / max(path.count, 1)
        case Array():
            outcome, kind = Outcome.ARRAY, "array"
            fits = path.types.get(VariantType.ARRAY, 0) / max(path.count, 1)
    share = path.rows / max(profile.rows - profile.nulls, 1)
    weight = path.size / max(profile.root.size, 1)
    note = _note(path) if outcome in (Outcome.TYPED, Outcome.LEFT) else ""
    return Decision(
        steps, outcome, kind, reason, share=share, fits=fits, bytes_share=weight, saved=saved, note=note
    )


def _note(path: PathProfile) -> str:
    """A remark about the values besides their type; it does not affect the layout."""
    notes = []
    strings = path.types.get(VariantType.STRING, 0) - path.looks.get(Look.EMPTY, 0)
    for look, plural in _PLURALS.items():
        if strings and path.looks.get(look, 0) == strings:
            notes.append(f"strings that are all {plural}")
    sortedness = path.sortedness
    if sortedness is not None and abs(sortedness) >= SORTED:
        notes.append(f"{'ascending' if sortedness > 0 else 'descending'} in the file")
    return ", ".join(notes)


_PLURALS: Final = {
    Look.DATE: "dates",
    Look.TIMESTAMP: "timestamps",
    Look.UUID: "uuids",
    Look.NUMBER: "numbers",
}


def _mixture(path: PathProfile) -> str:
    counts = classes(path)
    total = max(sum(counts.values()), 1)
    return ", ".join(
        f"{count / total:.0%} {_CLASS_NAMES.get(kind, kind.value)}" for kind, count in counts.items()
    )


_CLASS_NAMES: Final = {VariantType.INT64: "number"}


def _rest(path: PathProfile, kind: VariantType) -> str:
    """The values that stay in `value`, outside the dominant class."""
    counts = {other: count for other, count in classes(path).items() if other is not kind}
    if path.nulls:
        counts[VariantType.NULL] = path.nulls
    if not counts:
        return ""
    parts = [
        f"{count / path.count:.1%} {_CLASS_NAMES.get(other, other.value)}" for other, count in counts.items()
    ]
    return f"{', '.join(parts)} in value"


def _about(number: float) -> str:
    digits = len(str(int(number)))
    return f"{round(number, -max(digits - 2, 0)):,.0f}"


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _hints(queries: Iterable[str | Path]) -> frozenset[Steps]:
    """Converts paths to steps; any index means the elements of the array."""
    paths = [Path.parse(query) if isinstance(query, str) else query for query in queries]
    return frozenset(
        tuple(ARRAY_ELEMENT if isinstance(step, int) else step for step in path.steps) for path in paths
    )


def _as_schema(schema: ShreddingSchema | str) -> ShreddingSchema:
    return ShreddingSchema.parse(schema) if isinstance(schema, str) else schema
