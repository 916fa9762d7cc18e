"""Suggestions for a table, with their reasons and the command to run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.report.measure import sampled
from shredlake.delta.report.paths import short_path
from shredlake.delta.schema.variants import VariantPlace
from shredlake.delta.stats.ranges import Ranges
from shredlake.delta.storage.storage import as_argument
from shredlake.delta.write.layout import may_shred, newest_layout, pin_of
from shredlake.expr import from_arrow
from shredlake.formatting import bytes_text, counted, share_text
from shredlake.kernels.arrow.types import shredding_schema
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.kernels.unshred import unshred
from shredlake.shredding.inference.infer import infer_schema
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.report import Outcome

if TYPE_CHECKING:
    from shredlake.delta.report.report import TableReport

FEW_FILES = 8
"""Tables with fewer files gain little from compaction."""
SMALL_FILE = 16 << 20
MIXED_SHARE = 0.01
MANY_LAYOUTS = 4
DELETED_SHARE = 0.1
NAMED = 4
"""Number of paths that a suggestion names."""


@dataclass(frozen=True)
class Suggestion:
    """Something to do, why, and the command that does it."""

    title: str
    reason: str
    command: str


def suggestions(snapshot: Snapshot, report: TableReport, found: Sequence[Ranges]) -> tuple[Suggestion, ...]:
    """All suggestions for a table, the most useful first."""
    rules: tuple[Callable[[], Iterator[Suggestion]], ...] = (
        lambda: _shred(snapshot, report),
        lambda: _new_paths(snapshot, report),
        lambda: _sort(report, found),
        lambda: _compact(report),
        lambda: _mixed(report),
        lambda: _one_layout(report),
        lambda: _deleted(report),
        lambda: _rejects(report),
    )
    return tuple(suggestion for rule in rules for suggestion in rule())


def _command(report: TableReport, verb: str, *arguments: str) -> str:
    return shlex.join(["shredlake", verb, as_argument(report.uri), *arguments])


def _shred(snapshot: Snapshot, report: TableReport) -> Iterator[Suggestion]:
    if not report.files or not report.untouched:
        return
    if not may_shred(snapshot):
        yield Suggestion(
            "Allow shredding",
            "The table has Variants, but its properties do not allow shredding: a query on a path reads "
            "whole documents. Set the property, then optimize.",
            f'python -c "import shredlake as sl; sl.Table({report.uri!r}).set_properties('
            "{'delta.enableVariantShredding': 'true'})\"",
        )
        return
    for column, files in report.untouched.items():
        if files:
            yield Suggestion(
                f"Shred {column}",
                f"{column} is not shredded in {files:,} of {counted(report.files, 'file')}: a query on a "
                "path reads whole documents there, and can't skip these files.",
                _command(report, "optimize"),
            )


def _new_paths(snapshot: Snapshot, report: TableReport) -> Iterator[Suggestion]:
    """Paths that the advisor would shred and the newest files do not."""
    if not report.files or not may_shred(snapshot):
        return
    layout = newest_layout(snapshot)
    for place in snapshot.variants:
        previous = layout.get(place.physical)
        if previous is None or pin_of(snapshot.settings, place) is not None or len(place.steps) > 1:
            continue
        profiles = [profile_bytes(_whole(array)) for array in sampled(snapshot, place.steps[0])]
        if not profiles:
            continue
        schema = infer_schema(Profile.from_bytes(merge_profiles(profiles)), previous=previous)
        have = {steps for steps, _ in previous.leaves()}
        new = [one for one in schema.decisions if one.outcome is Outcome.TYPED and one.steps not in have]
        if new:
            new.sort(key=lambda one: -one.bytes_share)
            named = "; ".join(
                f"{_name(place, short_path(one.steps))} as {one.type} ({one.reason}, {one.share:.0%} of rows)"
                for one in new[:NAMED]
            )
            more = f"; and {counted(len(new) - NAMED, 'more path')}" if len(new) > NAMED else ""
            yield Suggestion(
                f"Shred {counted(len(new), 'more path')} of {place.name}",
                f"They are not typed in the newest files: {named}{more}.",
                _command(report, "optimize", "--shredding", "infer"),
            )


def _whole(array: pa.Array) -> pa.Array:
    return array if shredding_schema(array.type) is None else unshred(array)


def _name(place: VariantPlace, path: str) -> str:
    return f"{place.name}:{path}" if path else place.name


SORTABLE: Final = ("timestamp", "timestamp_ntz", "date", "bigint", "int", "string")
"""Types to sort by, the most likely first."""


def _sort(report: TableReport, found: Sequence[Ranges]) -> Iterator[Suggestion]:
    """Suggests a sort key if the files are not sorted by any path."""
    if report.files < FEW_FILES:
        return
    if any(item.mean_depth() < 2 and item.bounded == item.files for item in found):
        return  # the table is sorted by something: another order would undo that
    candidates = []
    for item in found:
        low, high = item.overall()
        kind = from_arrow(item.type).name
        if kind in SORTABLE and low != high and item.bounded == item.files:
            candidates.append((SORTABLE.index(kind), -item.mean_depth(), item.name, kind))
    if candidates:
        _, depth, name, kind = min(candidates)
        yield Suggestion(
            f"Sort by {name}, or by the path that most queries filter on",
            f"A query for one value of {name} reads {-depth:.1f} of {counted(report.files, 'file')}, because "
            "their ranges overlap. In sorted files it reads one or two.",
            _command(report, "optimize", "--sort-by", f"{name}::{kind}" if ":" in name else name),
        )


def _compact(report: TableReport) -> Iterator[Suggestion]:
    if report.files >= FEW_FILES and report.bytes / report.files < SMALL_FILE:
        yield Suggestion(
            "Compact small files",
            f"{counted(report.files, 'file')} have {bytes_text(report.bytes / report.files)} each. "
            "Every file costs a request and a footer; files of 128 MB are read faster.",
            _command(report, "optimize"),
        )


_PLAIN_STEP: Final = re.compile(r"\['([A-Za-z_]\w*)'\]")


def _mixed(report: TableReport) -> Iterator[Suggestion]:
    mixed = []
    for column in report.measured.columns:
        for path in column.root.walk():
            known = path.typed + path.residual
            scalar = path.type not in ("object", "array", "variant")
            if scalar and known and path.residual / known >= MIXED_SHARE:
                mixed.append((path.residual / known, _spelled(column.name, path.path), path))
    mixed.sort(key=lambda one: -one[0])
    if mixed:
        named = ", ".join(
            f"{name} ({share_text(path.residual, path.typed + path.residual)} not {path.type})"
            for _, name, path in mixed[:NAMED]
        )
        yield Suggestion(
            "Look at paths of mixed types",
            f"{named}: values of another type are kept as binary Variants, and files that have them can't be "
            "skipped by this path. Correct the source, or choose another type.",
            _command(report, "advise"),
        )


def _spelled(column: str, path: str) -> str:
    """A path as queries write it.

    >>> _spelled("v", "$['cart'][*]['unit price']"), _spelled("v", "$['ms']")
    ("v:cart[*]['unit price']", 'v:ms')
    """
    steps = _PLAIN_STEP.sub(r".\1", path.removeprefix("$"))
    return f"{column}:{steps.removeprefix('.')}"


def _one_layout(report: TableReport) -> Iterator[Suggestion]:
    if report.layouts > MANY_LAYOUTS:
        yield Suggestion(
            "Bring all files to one layout",
            f"The files have {report.layouts} layouts. Queries treat each of them separately.",
            _command(report, "optimize"),
        )


def _deleted(report: TableReport) -> Iterator[Suggestion]:
    total = (report.rows or 0) + report.deleted
    if total and report.deleted / total >= DELETED_SHARE:
        yield Suggestion(
            "Remove deleted rows from the files",
            f"{share_text(report.deleted, total)} of the rows in the files are deleted, but still read.",
            _command(report, "optimize"),
        )


def _rejects(report: TableReport) -> Iterator[Suggestion]:
    if report.rejects:
        count = sum(one.count for one in report.rejects)
        place = as_argument(str(report.rejects_table))
        yield Suggestion(
            "Look at the rejected documents",
            f"{counted(count, 'document was', 'documents were')} refused, mostly because: "
            f"{report.rejects[0].reason}.",
            shlex.join(["shredlake", "query", place, "file, line, reason, raw"]),
        )
