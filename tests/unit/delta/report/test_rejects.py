"""Refused documents by reason, from the table beside a table."""

from __future__ import annotations

import shredlake as sl


def test_rejects_by_reason(table: sl.Table) -> None:
    report = table.report()
    assert report.rejects_table is not None
    assert sum(one.count for one in report.rejects) == 4
    reasons = {one.reason: one for one in report.rejects}
    assert all("byte" not in reason for reason in reasons)
    assert sum(1 for one in report.rejects if one.raw in ('{"a" 1}', '{"a": tru')) >= 1
    assert all(one.line is not None for one in report.rejects)
