"""The columns and conditions that a query pushed to its scans, and the cost of each scan."""

from __future__ import annotations

from dataclasses import dataclass, field

from shredlake.expr.ast import Expr, conjuncts
from shredlake.expr.sql import spelled
from shredlake.formatting import html_text
from shredlake.sql.sources import SourceScan


@dataclass
class ScanRun:
    """One scan of a query: what DuckDB asked for, and what was read."""

    table: str
    described: str
    columns: list[str]
    where: Expr | None
    unpushed: str | None
    """A filter that was applied after the scan."""
    scan: SourceScan
    counted: bool = False
    """Whether only the number of rows was asked for."""

    def __str__(self) -> str:
        lines = [f"{self.table} ({self.described})"]
        lines += [f"filter    {spelled(part)}" for part in conjuncts(self.where)] if self.where else []
        if self.unpushed is not None:
            lines.append(f"filter    {self.unpushed}, after the scan")
        if self.counted:
            return "\n".join([*lines, "only rows are counted"])
        report = self.scan.report()
        if getattr(report, "rows", 0) and not getattr(report, "row_groups_read", 1):
            lines.append("the footers answer; no data is read")
        return "\n".join([*lines, str(report)])


@dataclass
class RunLog:
    """The scans of a query, and the first error that one of them raised."""

    runs: list[ScanRun] = field(default_factory=list)
    error: Exception | None = None


@dataclass(frozen=True)
class SqlExplain:
    """The cost of the scans of a query, table by table."""

    scans: tuple[str, ...]
    above: tuple[str, ...]
    """Paths that were evaluated on whole Variants, above the scans."""
    bytes_read: int
    plan: str
    """DuckDB's plan of the query."""

    def __str__(self) -> str:
        paths = [f"{path} is evaluated on whole Variants, above the scan" for path in self.above]
        return "\n\n".join([*self.scans, *paths])

    def _repr_html_(self) -> str:
        return html_text(str(self))
