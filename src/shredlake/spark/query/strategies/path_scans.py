"""Scans that read paths as plain columns: a struct of paths stands in for each Variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.read.bind import rewrite as rewrite_references
from shredlake.expr import Column, Expr, Get, Projection, join_name
from shredlake.expr.types import PRESENT
from shredlake.spark.arrow import spark_type
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.path_columns import Service
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.strategies.question import variant_columns
from shredlake.spark.query.text.sql_paths import Rewritten

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

Paths = Mapping[str, Mapping[str, Get]]
"""By Variant column, the path of each field of the struct that replaces it."""


def slower_by_workers(scan: SparkScan) -> Iterator[str]:
    """Why workers would do what Spark does faster: cast objects and arrays as a whole, or look for values."""
    for group in scan.groups:
        for ref, served in group.served.items():
            if served.service is Service.WORKER and ref.type is not None and "<" in ref.type.name:
                yield served.reason
            if group.worker and ref.type == PRESENT:
                yield group.worker


class Needs(Protocol):
    """The parts of a table that a query needs."""

    @property
    def spark(self) -> SparkSession: ...

    def uses(self, column: str) -> bool:
        """Whether the query may read a column that is not a Variant."""
        ...

    def takes(self, column: str, get: Get) -> bool:
        """Whether the query may read a path of a Variant."""
        ...

    def pruning(self) -> Expr | None:
        """A condition that every row needed satisfies."""
        ...


def paths_scan(needs: Needs, snapshot: Snapshot, rewritten: Rewritten) -> tuple[SparkScan, Paths]:
    """A scan of the paths that the query takes from a table. The query's filters prune its files."""
    paths = {
        name: {item: replace(get, column=join_name((name,))) for get, item in rewritten.fields.items()}
        for name in variant_columns(snapshot.schema)
    }
    # In the order of the table, because a query may go by position. Columns that it does not need are null.
    used: list[Projection] = []
    for item in snapshot.schema.fields:
        if item.name in paths:
            used += [
                Projection(f"{item.name}.{name}", get)
                for name, get in paths[item.name].items()
                if needs.takes(item.name, get)
            ]
        elif needs.uses(item.name):
            used.append(Projection(item.name, Column(join_name((item.name,)))))
    where = needs.pruning()
    if where is not None:
        same = {(get.column, get.path, get.type): get for gets in paths.values() for get in gets.values()}
        where = rewrite_references(
            where,
            lambda ref: same.get((ref.column, ref.path, ref.type), ref) if isinstance(ref, Get) else ref,
        )
    return SparkScan(needs.spark, snapshot, used, where, prune_only=True), paths


def paths_frame(scan: SparkScan, paths: Paths) -> DataFrame:
    """The table of a scan with a struct of paths in place of each Variant."""
    from pyspark.sql import functions as F

    used = scan.local.query.projections

    def columns(values: Sequence[SparkColumn]) -> list[SparkColumn]:
        by_name = {projection.name: value for projection, value in zip(used, values, strict=True)}

        def known(name: str, kind: Any) -> SparkColumn:
            return by_name[name] if name in by_name else F.lit(None).cast(spark_type(kind))

        def column(name: str, kind: Any) -> SparkColumn:
            if name not in paths:
                return known(name, kind)
            fields = (known(f"{name}.{field}", get.type).alias(field) for field, get in paths[name].items())
            return F.struct(*fields)

        return [column(item.name, item.type).alias(item.name) for item in scan.snapshot.schema.fields]

    fields = tuple((name, tuple(gets.items())) for name, gets in paths.items())
    key = ("paths", fields, tuple(used), *scan.frame_identity)
    return cached_frame(scan.spark, key, lambda: scan.frame(columns), len(scan.files))
