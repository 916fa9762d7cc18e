"""Groups the files of a scan by the way they are read.

Files of one group have the same layout for every path that the query asks for, the same partition values for
every partition column that it asks for, and distinct names. The values of partition columns are constants of
the group: the log has them, the files do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.read.data_file import partition_values
from shredlake.delta.schema.names import resolve
from shredlake.expr import Column, Get, Literal, from_arrow, join_name
from shredlake.jobs.packing import pack
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.arrow import spark_type
from shredlake.spark.columns import Names, constant
from shredlake.spark.query.frames import file_name, is_hidden
from shredlake.spark.query.layouts import FileLayouts, Layout
from shredlake.spark.query.path_columns import Served, Service, serve

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

WORKER_TASK_BYTES: Final = 64 << 20
"""The most bytes that a worker task reads, unless a single file is larger."""


@dataclass(frozen=True)
class FileGroup:
    """Files that are read the same way."""

    adds: tuple[Add, ...]
    served: Mapping[Get, Served]
    partition: Mapping[str, Any]
    """The values of the partition columns that the query asks for."""
    worker: str = ""
    """Why Python workers read these files; empty if Spark does."""
    never_null: frozenset[Names] = frozenset()
    """Column groups that are present in every row of these files."""

    @property
    def mixed(self) -> list[Served]:
        """The paths whose values are partly in `value`."""
        return [one for one in self.served.values() if one.service is Service.MIXED]

    def partition_value(self, snapshot: Snapshot, ref: Column) -> SparkColumn:
        """The constant value of a partition column."""
        field = resolve(snapshot.schema, ref.name)[0]
        arrow = snapshot.arrow_schema.field(field.name).type
        value = Literal(self.partition[field.name], from_arrow(arrow))
        return constant(value).cast(spark_type(field.type))

    def worker_tasks(self) -> Iterator[tuple[Add, ...]]:
        """The files in order, cut into tasks for the workers."""
        return pack(self.adds, lambda add: add.size, WORKER_TASK_BYTES)


@dataclass(frozen=True)
class Grouper:
    """Decides how each file of a table is read for a query."""

    spark: SparkSession
    snapshot: Snapshot
    references: Collection[Column | Get]
    options: CastOptions
    native: bool = False
    """Whether Spark reads whole Variants."""

    def groups(self, adds: Sequence[Add]) -> list[FileGroup]:
        """The files, by the way they are read."""
        gathered: dict[tuple[Any, ...], tuple[FileGroup, list[Add], list[frozenset[Names]]]] = {}
        names: Counter[str] = Counter()
        for add, layout in zip(adds, FileLayouts(self.spark, self.snapshot).of(adds), strict=True):
            served = self._served(layout)
            worker = next((one.reason for one in served.values() if one.service is Service.WORKER), "")
            worker = worker or self._needs_worker(add)
            partition = {} if worker else self._partition(add)
            # Deletion vectors are joined by the file's name, so files of the same name are read apart.
            name = file_name(add)
            names[name] += 1
            key = (worker, tuple(served.values()), tuple(sorted(partition.items(), key=str)), names[name])
            empty = FileGroup((), served, partition, worker)
            _, of_group, never_null = gathered.setdefault(key, (empty, [], []))
            of_group.append(add)
            never_null.append(frozenset().union(*(one.never_null for one in served.values())))
        return [
            replace(group, adds=tuple(of_group), never_null=frozenset.intersection(*never_null))
            for group, of_group, never_null in gathered.values()
        ]

    def _served(self, layout: Layout) -> dict[Get, Served]:
        """How each path is served by files of one layout."""
        served: dict[Get, Served] = {}
        for ref in self.references:
            if isinstance(ref, Get):
                physical = join_name(physical_names(self.snapshot, ref.column))
                asked = replace(ref, strict=must_cast(ref, self.options))
                served[ref] = serve(asked, physical, layout.get(physical))
        return served

    def _needs_worker(self, add: Add) -> str:
        """Why Spark cannot read the plain columns of a file, or cannot see the file; empty if it can."""
        mapping = self.snapshot.settings.mapping_mode
        if mapping == "id" and self.references:
            return "columns are found by id"
        if is_hidden(add):
            return "Spark hides files of such names"
        for ref in self.references:
            if isinstance(ref, Column):
                kind = resolve(self.snapshot.schema, ref.name)[-1].type
                if not isinstance(kind, str) and not (self.native and mapping == "none"):
                    return f"{ref.name} is nested"
                if kind == "variant" and not self.native:
                    return f"{ref.name} is asked for as a Variant"
        return ""

    def _partition(self, add: Add) -> dict[str, Any]:
        used = {resolve(self.snapshot.schema, column_name(ref))[0].name for ref in self.references}
        return {name: value for name, value in partition_values(self.snapshot, add).items() if name in used}


def must_cast(ref: Get, options: CastOptions) -> bool:
    """Whether a value that does not cast is an error. What the path itself says precedes the options."""
    return options.overridden_by(ref.strict).raises


def column_name(ref: Column | Get) -> str:
    """The column that a reference is to, or into."""
    return ref.column if isinstance(ref, Get) else ref.name


def physical_names(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    """The names of a column, level by level, in the files."""
    return tuple(field.physical_name for field in resolve(snapshot.schema, name))
