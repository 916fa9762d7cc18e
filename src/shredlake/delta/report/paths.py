"""How the files of a table shred each path of its Variants, and what queries can skip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shredlake.delta.stats.ranges import Ranges
from shredlake.parquet.variant_columns import ColumnLayout
from shredlake.shredding.schema import ARRAY_ELEMENT, Scalar, Steps, node_ddl, node_path
from shredlake.variant.path import Path


@dataclass(frozen=True)
class PathFacts:
    """One path of a Variant column over all files."""

    path: str
    name: str
    """The normalised path: `$['a']`."""
    types: Mapping[str, int]
    """Types of the path, each with the number of files that have it; the most frequent one comes first."""
    mixed: int
    """Number of files in which some values of the path are in `value`."""
    with_statistics: int
    files_per_value: float | None
    """Number of files that a query for one value reads, on average."""

    @property
    def typed(self) -> int:
        """Number of files in which the path is typed."""
        return sum(self.types.values())


def path_facts(
    layouts: Sequence[ColumnLayout | None], column: str, bounds: Mapping[str, Sequence[Ranges]]
) -> tuple[PathFacts, ...]:
    """The paths of a column, those in most files first."""
    types: dict[Steps, Counter[str]] = {}
    mixed: Counter[Steps] = Counter()
    for layout, files in Counter(layout for layout in layouts if layout is not None).items():
        for steps, node in layout.schema.leaves():
            if isinstance(node, Scalar):
                types.setdefault(steps, Counter())[node_ddl(node)] += files
                mixed[steps] += files * (node_path(steps) in layout.residual)
    found = []
    for steps, kinds in types.items():
        path = short_path(steps)
        known = bounds.get(f"{column}:{path}" if path else column, [])
        found.append(
            PathFacts(
                path=path,
                name=node_path(steps),
                types=dict(kinds.most_common()),
                mixed=mixed[steps],
                with_statistics=sum(item.bounded for item in known),
                files_per_value=(
                    round(max(known, key=lambda item: item.bounded).mean_depth(), 3) if known else None
                ),
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.typed, one.path)))


def short_path(steps: Steps) -> str:
    """A path as written after the colon; `[*]` stands for all elements of an array.

    >>> short_path(("user", "x.y", ARRAY_ELEMENT))
    "user['x.y'][*]"
    """
    parts: list[str] = []
    for step in steps:
        text = "[*]" if step is ARRAY_ELEMENT else str(Path((str(step),))).removeprefix("$")
        parts.append(text)
    return "".join(parts).removeprefix(".")
