"""Settings of object stores on the command line."""

from __future__ import annotations

import shredlake as sl
from command_line import invoke as run


def test_storage_options(thirty: sl.Table) -> None:
    failed = run("count", thirty.uri, "--storage-option", "secretvalue", code=2)
    assert "KEY=VALUE" in failed.output
    assert "secretvalue" not in failed.output
    failed = run("count", "s3://bucket/t", "--storage-option", "no_such_option=hunter2", code=1)
    assert "hunter2" not in str(failed.exception)
