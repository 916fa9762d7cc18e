"""Shows what the rules of other engines would shred, next to our own choice.

python benchmarks/compare.py events.ndjson
python benchmarks/compare.py table/ --column v
"""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from rivals import RIVALS, Rules, infer_by, typed_by, with_decimals
from shredlake.formatting import bytes_text
from shredlake.jobs.advise import Data, Sample, open_data
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.shredding.inference.fit import classes
from shredlake.shredding.inference.infer import infer_schema
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.report import InferredSchema
from shredlake.shredding.schema import Scalar
from shredlake.variant.types import VariantType

MOST_COLUMNS = 2000
"""A layout with more columns is not written for comparison: that takes minutes."""


def compare(data: Data) -> list[dict[str, Any]]:
    """One line of figures per engine, ours first."""
    parts: list[bytes] = []
    seen: dict[Rules, list[bytes]] = {rules: [] for rules in RIVALS}
    sample, rows = Sample(), 0
    for variants in data.batches:
        sample.take(variants)
        parts.append(profile_bytes(variants))
        for rules, looked_at in seen.items():
            if rows < rules.looks_at:
                looked_at.append(profile_bytes(variants.slice(0, rules.looks_at - rows)))
        rows += len(variants)
    profile = Profile.from_bytes(merge_profiles(parts))
    schema = infer_schema(profile, previous=data.previous)
    others = [
        comparison(rules, Profile.from_bytes(merge_profiles(looked_at)), profile, sample)
        for rules, looked_at in seen.items()
    ]
    return [ours(schema, profile, sample.size(schema)), *others]


def comparison(rules: Rules, looked_at: Profile, profile: Profile, sample: Sample) -> dict[str, Any]:
    """The choice of an engine's rules from the rows that it profiles, evaluated on all of the data."""
    schema = infer_by(rules, looked_at)
    leaves = sum(1 for _ in schema.leaves())
    found = dict(profile.paths())
    typed = sum(typed_by(rules, found[steps], node) for steps, node in schema.leaves() if steps in found)
    same_numbers = with_decimals(schema, profile)
    return {
        "engine": rules.engine,
        "rows_looked_at": min(rules.looks_at, profile.rows),
        "leaves": leaves,
        "typed_share": round(typed / max(_scalars(profile), 1), 4),
        "sample_bytes": sample.size(same_numbers) if leaves <= MOST_COLUMNS else None,
        "shredding": str(schema),
    }


def ours(schema: InferredSchema, profile: Profile, size: int) -> dict[str, Any]:
    """The same figures for our own choice."""
    fits = {decision.steps: decision.fits for decision in schema.decisions}
    found = dict(profile.paths())
    typed = sum(
        fits[steps] * found[steps].count
        for steps, node in schema.leaves()
        if isinstance(node, Scalar) and steps in found
    )
    return {
        "engine": "shredlake",
        "rows_looked_at": profile.rows,
        "leaves": sum(1 for _ in schema.leaves()),
        "typed_share": round(typed / max(_scalars(profile), 1), 4),
        "sample_bytes": size,
        "shredding": str(schema),
    }


def _scalars(profile: Profile) -> int:
    containers = (VariantType.OBJECT, VariantType.ARRAY)
    return sum(
        count
        for _, path in profile.paths()
        for kind, count in classes(path).items()
        if kind not in containers
    )


def grid(lines: list[dict[str, Any]]) -> Grid:
    """The figures as a table."""
    grid = Grid(box=None, padding=(0, 2))
    grid.add_column("rules of")
    for name in ("looks at rows", "columns", "values typed", "sample as a file"):
        grid.add_column(name, justify="right")
    for line in lines:
        size = line["sample_bytes"]
        grid.add_row(
            line["engine"],
            f"{line['rows_looked_at']:,}",
            f"{line['leaves']:,}",
            f"{line['typed_share']:.1%}",
            "-" if size is None else f"{bytes_text(size)} ({size / lines[0]['sample_bytes'] - 1:+.0%})",
        )
    return grid


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare layouts by the rules of several engines.")
    parser.add_argument("source", help="a Delta table, a Parquet file or a file of JSON documents")
    parser.add_argument("--column")
    options = parser.parse_args()
    Console().print(grid(compare(open_data(options.source, options.column))))


if __name__ == "__main__":
    main()
