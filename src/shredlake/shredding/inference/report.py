"""An inferred schema with the reason for every decision."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shredlake.formatting import html_text
from shredlake.shredding.schema import ShreddingSchema, Steps, node_path


class Outcome(enum.Enum):
    """The decision about a path."""

    TYPED = "typed"
    """A column of one type; values that do not fit stay in its `value`."""
    OBJECT = "object"
    ARRAY = "array"
    VARIANT = "variant"
    """A separate binary column."""
    LEFT = "left"
    """Not shredded: the path stays in the `value` of its parent."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one path, its reason, and the figures behind it."""

    steps: Steps
    outcome: Outcome
    type: str
    """The DDL type, without fields and elements; empty if the path is not shredded."""
    reason: str
    share: float
    """The share of rows that have the path, nulls excluded."""
    fits: float
    """The share of the path's values that go to the typed column."""
    bytes_share: float
    """The path's share of the column's bytes."""
    saved: float
    """Estimated bytes per row that the decision saves; negative if it costs some."""
    note: str = ""
    """Remarks: strings that are all timestamps, values sorted in the file."""

    @property
    def path(self) -> str:
        """The normalised path; `[*]` for the elements of an array."""
        return node_path(self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Converts to a dict for JSON."""
        return {
            "path": self.path,
            "outcome": self.outcome.value,
            "type": self.type,
            "reason": self.reason,
            "share": round(self.share, 4),
            "fits": round(self.fits, 4),
            "bytes_share": round(self.bytes_share, 4),
            "saved": round(self.saved, 2),
            "note": self.note,
        }


@dataclass(frozen=True)
class Estimate:
    """The expected compressed size of the column in bytes, unshredded and shredded."""

    before: float
    after: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class InferredSchema(ShreddingSchema):
    """A shredding schema with the decisions behind it. Equal to any schema with the same tree.

    >>> from shredlake.shredding.inference.profile_reference import profile_values
    >>> from shredlake.shredding.inference.infer import infer_schema
    >>> from shredlake.variant.value import Variant
    >>> schema = infer_schema(profile_values([Variant.of({"id": n, "tags": []}) for n in range(50)]))
    >>> schema == ShreddingSchema.parse("struct<id bigint>")
    True
    >>> print(schema.report())
    50 rows, 1 leaf of 300, ...
    $                object    100.0% of rows
      id             bigint    100.0% of rows  ...
      tags           left      100.0% of rows  ...  empty arrays
    """

    decisions: tuple[Decision, ...] = ()
    rows: int = 0
    max_leaves: int = 0
    estimate: Estimate = field(default=Estimate(0, 0))

    def __eq__(self, other: object) -> bool:
        return self.root == other.root if isinstance(other, ShreddingSchema) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.root,))

    def __repr__(self) -> str:
        return f"InferredSchema({str(self)!r})"

    def report(self) -> str:
        """Each decision with its reason and its figures, as text."""
        return render(self)

    def _repr_html_(self) -> str:
        return html_text(self.report())

    def to_dict(self) -> Mapping[str, Any]:
        """The schema, the estimates and all decisions, for JSON."""
        return {
            "shredding": str(self),
            "rows": self.rows,
            "leaves": sum(1 for _ in self.leaves()),
            "max_leaves": self.max_leaves,
            "expected_bytes_before": round(self.estimate.before),
            "expected_bytes_after": round(self.estimate.after),
            "decisions": [decision.to_dict() for decision in self.decisions],
        }


def render(schema: InferredSchema) -> str:
    """The report of a schema as lines of text."""
    leaves = sum(1 for _ in schema.leaves())
    plural = "leaf" if leaves == 1 else "leaves"
    change = schema.estimate.after / schema.estimate.before - 1 if schema.estimate.before else 0.0
    lines = [f"{schema.rows} rows, {leaves} {plural} of {schema.max_leaves}, expected size {change:+.0%}"]
    names = [_indented(decision.steps) for decision in schema.decisions]
    width = min(max((len(name) for name in names), default=0), 60)
    for name, decision in zip(names, schema.decisions, strict=True):
        words = [
            f"{name:{width}}",
            f"{decision.type or decision.outcome.value:14}",
            f"{decision.share:6.1%} of rows",
        ]
        words += [part for part in (_figures(decision), decision.reason, decision.note) if part]
        lines.append("  ".join(words).rstrip())
    return "\n".join(lines)


def _figures(decision: Decision) -> str:
    share = f"{decision.bytes_share:5.1%} of bytes"
    if decision.outcome is Outcome.TYPED:
        return f"{decision.fits:6.1%} fit, {share}, saves {decision.saved:.1f} a row"
    if decision.outcome in (Outcome.VARIANT, Outcome.LEFT):
        return share
    return ""


def _indented(steps: Steps) -> str:
    if not steps:
        return "$"
    return "  " * len(steps) + (steps[-1] if isinstance(steps[-1], str) else "[*]")
