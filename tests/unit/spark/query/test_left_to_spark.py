"""The part of a query that shredlake evaluates beside a part for Spark follows the options of the query."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.expr import Compare, Literal
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.query.left_to_spark import ScanBelowSpark

NO_SESSION: Any = None
"""Planning does not ask the session for anything."""

MOMENT = "TIMESTAMP '2024-07-01 00:00:00'"


@pytest.mark.parametrize(("zone", "day", "hour"), [("UTC", 1, 0), ("Europe/Paris", 30, 22)])
def test_times_without_a_zone_are_in_the_zone_of_the_query(
    zone: str, day: int, hour: int, tmp_path: Path
) -> None:
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("kind", pa.string())])
    snapshot = sl.Table.create(tmp_path, schema).snapshot
    columns, where = ["upper(kind) AS k", f"at >= {MOMENT} AS late"], f"at > {MOMENT} and lower(kind) <> 'x'"
    scan = ScanBelowSpark(NO_SESSION, snapshot, columns, where, options=CastOptions(timezone=zone))
    moment = datetime(2024, 7 if day == 1 else 6, day, hour, tzinfo=UTC)
    condition = scan.local.query.predicate
    compared = [condition, *(one.expr for one in scan.local.query.projections)]
    found = [one.right for one in compared if isinstance(one, Compare)]
    assert [one.value for one in found if isinstance(one, Literal)] == [moment, moment]


def test_strictness_reaches_the_scan(tmp_path: Path) -> None:
    snapshot = sl.Table.create(tmp_path, pa.schema([("v", sl.variant())])).snapshot
    columns = ["upper(v:k::string) AS k"]
    for options in (CastOptions(), CastOptions(on_error="raise")):
        scan = ScanBelowSpark(NO_SESSION, snapshot, columns, None, options=options)
        assert bool(scan.strict_paths) is options.raises
