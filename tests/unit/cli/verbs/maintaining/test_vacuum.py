"""`shredlake vacuum`: what is listed, deleted and left."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import shredlake as sl
from command_line import run


def test_vacuum_says_what_it_leaves(shredlake: Any, lake: Path) -> None:
    (lake / "t" / "raw.ndjson").write_text("{}\n")
    (lake / "t" / "link").symlink_to(lake)
    ran = shredlake("vacuum", "t")
    assert ran.err.splitlines() == [
        "No file to delete.",
        "Not deleted: 1 file not written by a Delta writer, such as raw.ndjson",
        "Not deleted: 1 symbolic link, such as link",
    ]
    assert json.loads(shredlake("vacuum", "t", "--json").out)["left"] == {
        "foreign": ["raw.ndjson"],
        "links": ["link"],
    }


def test_vacuum_lists_and_deletes(table: sl.Table, tmp_path: Path) -> None:
    orphan = tmp_path / "orphan.parquet"
    orphan.write_bytes(b"x")
    old = time.time() - 30 * 86_400
    os.utime(orphan, (old, old))
    assert run("vacuum", str(tmp_path)).splitlines() == ["orphan.parquet"]
    assert orphan.exists()
    found = json.loads(run("vacuum", str(tmp_path), "--delete", "--json"))
    assert found == {
        "deleted": True,
        "files": ["orphan.parquet"],
        "left": {"foreign": [], "links": []},
    }
    assert not orphan.exists()
    assert "Pass enforce_retention=False" in run("vacuum", tmp_path, "--retention-hours", "0", fails=True)
    assert run("vacuum", str(tmp_path), "--retention-hours", "0", "--force") == ""
