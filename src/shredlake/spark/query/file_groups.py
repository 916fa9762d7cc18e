"""Groups the files of a scan by the way they are read.

Files of one group serve every path that the query asks for from the same columns. Partition values do not
matter, and neither do paths that the query does not touch. A group that Spark reads is one or two branches of
its plan, and planning takes tens of milliseconds for each, so there are at most `BRANCHES`. All groups that
workers read, for whatever reasons, are one branch together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shredlake.delta.log.checkpoint_read import Mask
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.schema.names import resolve
from shredlake.expr import Column, Get, join_name
from shredlake.jobs.packing import pack_to_read
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.columns import Names
from shredlake.spark.query.data_files import DataFiles
from shredlake.spark.query.layouts import Codes, FileLayouts, Layout
from shredlake.spark.query.path_columns import Served, Service, serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORKER_TASK_BYTES: Final = 64 << 20
"""The most bytes that a worker task reads, unless a single file is larger. Opening a file counts, too."""

BRANCHES: Final = 12
"""The most branches that the plan of a scan has, with that of the workers."""

MOST_DELETED: Final = 2_000_000
"""The most deleted rows that the driver sends to all executors. A row takes about 100 bytes on each."""

TOO_MANY_LAYOUTS: Final = "the files have too many layouts for one plan"
TOO_MANY_DELETED: Final = f"more than {MOST_DELETED:,} rows are deleted"
INVISIBLE: Final = "Spark hides files of such names"


@dataclass(frozen=True)
class FileGroup:
    """Files that are read the same way."""

    files: DataFiles
    served: Mapping[Get, Served]
    worker: str = ""
    """Why Python workers read these files; empty if Spark does."""
    never_null: frozenset[Names] = frozenset()
    """Column groups that are present in every row of these files."""

    @property
    def adds(self) -> tuple[Add, ...]:
        return self.files.adds

    @property
    def mixed(self) -> list[Served]:
        """The paths whose values are partly in `value`."""
        return [one for one in self.served.values() if one.service is Service.MIXED]

    @property
    def branches(self) -> int:
        """The number of branches in the plan if Spark reads these files."""
        return 2 if self.mixed else 1

    @property
    def is_ours(self) -> bool:
        """Whether shredlake wrote all of these files."""
        return not self.files.layouts.null_count


@dataclass(frozen=True)
class _Reading:
    """How files of some layouts are read."""

    served: Mapping[Get, Served]
    worker: str

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for layouts that one group can hold: where paths are, and whether any is mixed.

        A path that is mixed in one file and typed in another is mixed in both: the `value` of the second is
        empty. Otherwise every pattern of mixed paths would be a group.
        """
        served = self.served.values()
        mixed = any(one.service is Service.MIXED for one in served)
        return (
            self.worker,
            mixed,
            tuple(
                (one.typed, one.typed_ddl, one.cast, one.may_fail, one.fields, one.element, one.present)
                for one in served
            ),
        )

    def merged(self, other: _Reading) -> _Reading:
        """The reading of files of either layout."""
        served = {
            ref: other.served[ref] if other.served[ref].service is Service.MIXED else one
            for ref, one in self.served.items()
        }
        return replace(self, served=served)

    @property
    def never_null(self) -> frozenset[Names]:
        return frozenset().union(*(one.never_null for one in self.served.values()))


@dataclass(frozen=True)
class Grouper:
    """Decides how each file of a table is read for a query."""

    spark: SparkSession
    snapshot: Snapshot
    references: Collection[Column | Get]
    options: CastOptions
    native: bool = False
    """Whether Spark reads whole Variants."""

    def groups(self, files: DataFiles) -> list[FileGroup]:
        """The files, by the way they are read."""
        if not len(files):
            return []
        codes, layouts = self._layouts(files)
        for_worker = self._needs_worker()
        readings = [self._reading(layout, for_worker) for layout in layouts]
        reasons = self._reasons(files)
        found: list[FileGroup] = []
        for reason, mask in reasons.items():
            left = [replace(one, worker=one.worker or reason) for one in readings]
            found += self._grouped(files, np.where(mask, codes, -1), left)
        return self._bounded(found)

    def _layouts(self, files: DataFiles) -> tuple[Codes, list[Layout]]:
        """The number of each file's layout, and the layouts. Without paths, no layout matters."""
        if any(isinstance(ref, Get) for ref in self.references):
            return FileLayouts(self.spark, self.snapshot).by_code(files)
        return np.zeros(len(files), dtype=np.int64), [{}]

    def _grouped(self, files: DataFiles, codes: Codes, readings: Sequence[_Reading]) -> Iterator[FileGroup]:
        """The files whose code is that of a layout, one group for all layouts that are read the same way."""
        by_key: dict[tuple[object, ...], list[int]] = {}
        for code in np.unique(codes[codes >= 0]).tolist():
            by_key.setdefault(readings[code].key, []).append(code)
        for members in by_key.values():
            whole = readings[members[0]]
            for code in members[1:]:
                whole = whole.merged(readings[code])
            yield FileGroup(
                files.filter(pa.array(np.isin(codes, members))),
                whole.served,
                whole.worker,
                frozenset.intersection(*(readings[code].never_null for code in members)),
            )

    def _bounded(self, groups: list[FileGroup]) -> list[FileGroup]:
        """The same files in few enough groups: the largest stay, and workers read the others."""
        by_worker: dict[str, list[FileGroup]] = {}
        by_spark: list[FileGroup] = []
        all_by_spark = sum(group.branches for group in groups) <= BRANCHES
        left = BRANCHES if all_by_spark and not any(group.worker for group in groups) else BRANCHES - 1
        for group in sorted(groups, key=lambda one: -one.files.size):
            reason = group.worker or (TOO_MANY_LAYOUTS if group.branches > left else "")
            if reason:
                by_worker.setdefault(reason, []).append(group)
            else:
                by_spark.append(group)
                left -= group.branches
        return [*by_spark, *(_joined(reason, parts) for reason, parts in by_worker.items())]

    def _reading(self, layout: Layout, for_worker: str) -> _Reading:
        """How files of one layout are read."""
        served: dict[Get, Served] = {}
        for ref in self.references:
            if isinstance(ref, Get):
                physical = join_name(physical_names(self.snapshot, ref.column))
                asked = replace(ref, strict=must_cast(ref, self.options))
                served[ref] = serve(asked, physical, layout.get(physical))
        worker = next((one.reason for one in served.values() if one.service is Service.WORKER), "")
        return _Reading(served, worker or for_worker)

    def _needs_worker(self) -> str:
        """Why Spark cannot read the plain columns of any file; empty if it can."""
        mapping = self.snapshot.mapping_mode
        if mapping == "id" and self.references:
            return "columns are found by id"
        for ref in self.references:
            if isinstance(ref, Column):
                kind = resolve(self.snapshot.schema, ref.name)[-1].type
                if not isinstance(kind, str) and not (self.native and mapping == "none"):
                    return f"{ref.name} is nested"
                if kind == "variant" and not self.native:
                    return f"{ref.name} is asked for as a Variant"
        return ""

    def _reasons(self, files: DataFiles) -> dict[str, Mask]:
        """The files by why workers must read them whatever their layout; most have the reason "" (none)."""
        hidden = files.invisible.to_numpy(zero_copy_only=False)
        deleted = pc.fill_null(files.deleted_rows, 0).to_numpy(zero_copy_only=False)
        # The files with the most deleted rows go to the workers, until the others have few enough.
        order = np.argsort(deleted, kind="stable")
        too_many = np.zeros(len(files), dtype=bool)
        too_many[order] = np.cumsum(deleted[order]) > MOST_DELETED
        too_many &= ~hidden
        rest = ~hidden & ~too_many
        masks = {"": rest, INVISIBLE: hidden, TOO_MANY_DELETED: too_many}
        return {reason: mask for reason, mask in masks.items() if mask.any()}


def _joined(reason: str, parts: Sequence[FileGroup]) -> FileGroup:
    """One group of files that workers read."""
    first = parts[0].files
    files = DataFiles(
        first.snapshot,
        pa.concat_tables([part.files.table for part in parts]),
        pa.chunked_array([chunk for part in parts for chunk in part.files.layouts.chunks]),
    )
    return FileGroup(files, parts[0].served, reason)


def worker_tasks(groups: Iterable[FileGroup]) -> Iterator[tuple[Add, ...]]:
    """The files of these groups, in order, packed into tasks for the workers."""
    return pack_to_read(chain.from_iterable(group.adds for group in groups), WORKER_TASK_BYTES)


def must_cast(ref: Get, options: CastOptions) -> bool:
    """Whether a value that can't be cast is an error. What the path itself says precedes the options."""
    return options.overridden_by(ref.strict).raises


def column_name(ref: Column | Get) -> str:
    """The column that a reference is to, or into."""
    return ref.column if isinstance(ref, Get) else ref.name


def physical_names(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    """The names of a column, level by level, in the files."""
    return tuple(field.physical_name for field in resolve(snapshot.schema, name))
