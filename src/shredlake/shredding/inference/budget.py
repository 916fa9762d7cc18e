"""Chooses which leaves get a column if there are more than the budget allows.

Leaves that queries request come first. The others are chosen object by object: siblings that occur together
stay together, because queries use them together, and because two samples agree more on an object than on each
of its fields. Objects whose leaves are worth about the same (within a factor of two) are ordered by path, so
that noise does not decide between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final

from shredlake.shredding.schema import Scalar, Steps, Untyped, node_path

TOGETHER: Final = 0.7
"""The least ratio of row counts, most frequent first, for siblings to count as occurring together."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A path that could be a column."""

    steps: Steps
    node: Scalar | Untyped
    rows: int
    worth: float
    hinted: bool = False


def within_budget(leaves: Sequence[Leaf], budget: int) -> list[Leaf]:
    """The leaves that get a column.

    >>> from shredlake.variant.types import VariantType
    >>> number = Scalar(VariantType.INT64)
    >>> rare, common = Leaf(("a", "b"), number, 10, 0.5), Leaf(("c",), number, 100, 5.0)
    >>> within_budget([rare, common], 1) == [common]
    True
    """
    if len(leaves) <= budget:
        return list(leaves)
    asked = sorted((leaf for leaf in leaves if leaf.hinted), key=_by_path)
    groups = list(_groups(leaf for leaf in leaves if not leaf.hinted))
    best = max((_density(group) for group in groups), default=1.0)
    groups.sort(key=lambda group: (round(math.log2(best / _density(group))), _by_path(group[0])))
    return list(chain(asked, *groups))[:budget]


def _groups(leaves: Iterable[Leaf]) -> Iterable[list[Leaf]]:
    """Siblings that occur in about as many rows, ordered by path."""
    parents = sorted(leaves, key=lambda leaf: (node_path(leaf.steps[:-1]), -leaf.rows, _by_path(leaf)))
    for _, siblings in groupby(parents, key=lambda leaf: leaf.steps[:-1]):
        group: list[Leaf] = []
        for leaf in siblings:
            if group and leaf.rows < TOGETHER * group[0].rows:
                yield sorted(group, key=_by_path)
                group = []
            group.append(leaf)
        yield sorted(group, key=_by_path)


def _density(group: Sequence[Leaf]) -> float:
    return max(sum(leaf.worth for leaf in group) / len(group), 1e-9)


def _by_path(leaf: Leaf) -> str:
    return node_path(leaf.steps)
