"""Kinds of files in the folder of a table."""

from __future__ import annotations

import pytest

from shredlake.delta.write.folder import Kind, kind_of


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("_day=1/x.parquet", Kind.DATA),
        ("_mine/day=1/x.parquet", Kind.HIDDEN),
        ("a/_tmp/x.parquet", Kind.HIDDEN),
        ("_delta_log/x.parquet", Kind.LOG),
        ("x.parquet.bak", Kind.FOREIGN),
    ],
)
def test_kinds(key: str, kind: Kind) -> None:
    assert kind_of(key) is kind
