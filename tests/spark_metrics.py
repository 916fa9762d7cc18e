"""The amount of data that a query read, according to Spark's own metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Read:
    """The sums over all scans of files in an executed plan."""

    scans: int
    files: int
    rows: int
    """Rows that the reader handed on. Without the page index these are all rows of the row groups read."""
    workers: int
    """Steps that went through Python."""


def what_was_read(frame: Any) -> Read:
    """Runs a query and sums up what its scans have read."""
    frame.collect()
    nodes = list(_nodes(frame._jdf.queryExecution().executedPlan()))
    scans = [node for node in nodes if node.getClass().getSimpleName() == "FileSourceScanExec"]
    workers = [node for node in nodes if node.getClass().getSimpleName().startswith("MapInArrow")]
    return Read(len(scans), _sum(scans, "numFiles"), _sum(scans, "numOutputRows"), len(workers))


def _sum(scans: list[Any], metric: str) -> int:
    return sum(int(scan.metrics().apply(metric).value()) for scan in scans)


def _nodes(plan: Any) -> Iterator[Any]:
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _nodes(plan.executedPlan())
        return
    if kind.endswith("QueryStageExec"):
        yield from _nodes(plan.plan())
        return
    if kind == "ReusedExchangeExec":
        return  # what it gives was read elsewhere
    yield plan
    for inner in (plan.children(), plan.subqueries()):
        for index in range(inner.size()):
            yield from _nodes(inner.apply(index))
