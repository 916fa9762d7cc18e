"""Documents from standard input, from pipes, and beside other files."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import shredlake as sl
from command_line import command


@pytest.mark.slow
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_ingested(lake: Path, name: str) -> None:
    process = command(
        "ingest", name, "u", "--engine", "local", cwd=lake, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    process.communicate((lake / "ok.ndjson").read_bytes())
    assert process.returncode == 0
    assert sl.Table(lake / "u").scan().count() == 2


def test_pipes_by_name(shredlake: Any, lake: Path) -> None:
    os.mkfifo(lake / "pipe")
    file = next((lake / "t").glob("*.parquet"))
    for verb, data in (("advise", (lake / "ok.ndjson").read_bytes()), ("check", file.read_bytes())):
        feeder = threading.Thread(target=(lake / "pipe").write_bytes, args=(data,))
        feeder.start()
        ran = shredlake(verb, "pipe")
        feeder.join()
        assert ran.code == 0, ran.err


def test_ingest_beside_other_files_is_forced(shredlake: Any, lake: Path) -> None:
    assert shredlake("ingest", "ok.ndjson", ".", "--engine", "local").code == 1
    assert not (lake / "_delta_log").exists()
    assert shredlake("ingest", "ok.ndjson", ".", "--engine", "local", "--force").code == 0
    assert (lake / "_delta_log").exists()


@pytest.mark.parametrize("verb", ["inspect", "check"])
def test_an_empty_path_is_not_the_current_folder(shredlake: Any, lake: Path, verb: str) -> None:
    ran = shredlake(verb, "")
    assert ran.code == 1
    assert " is empty" in ran.err
    assert "part-" not in ran.err, "no file of the current folder is suggested"
