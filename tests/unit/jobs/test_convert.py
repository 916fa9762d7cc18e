"""Conversions whose process is killed: run again, they go on, and every row and value is there once.

A small table here. `make kill-convert` kills the conversion of ten million rows at ten moments.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import shredlake as sl
from shredlake.jobs.convert.journal import FOLDER
from waiting import wait_until

ROWS = int(os.environ.get("SHREDLAKE_CONVERT_ROWS", "24000"))
KILLS = int(os.environ.get("SHREDLAKE_KILLS", "3"))
FILES = 4 * KILLS
SECONDS = 600

CODE = "import sys, shredlake as sl; print(sl.convert(sys.argv[1], ['payload'], file_bytes=1, threads=1))"


def texts(ids: pa.Array) -> pa.Array:
    """A small document for every id; every thousandth is cut off."""
    number = ids.cast(pa.string())
    text = pc.binary_join_element_wise(
        '{"n": ', number, ', "kind": "k', pc.utf8_slice_codeunits(number, -1), '"}', ""
    )
    return pc.if_else(pc.equal(pc.subtract(ids, pc.multiply(pc.divide(ids, 1000), 1000)), 0), '{"n":', text)


@pytest.mark.slow
def test_a_killed_conversion_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    table = sl.Table.create(folder, pa.schema([("id", pa.int64()), ("payload", pa.string())]))
    each = ROWS // FILES
    for number in range(FILES):
        ids = pa.array(range(number * each, (number + 1) * each), pa.int64())
        table.append(pa.table({"id": ids, "payload": texts(ids)}))
    version = table.version
    for kill in range(KILLS):
        _kill_after(folder, 1 + kill * (FILES - 2) // KILLS)
        assert sl.Table(folder).version == version, "nothing is visible before the commit"
    started = time.monotonic()
    report = sl.convert(folder, ["payload"], file_bytes=1, threads=1)
    print(
        f"{ROWS} rows, {KILLS} kills, {report.resumed} tasks resumed, {time.monotonic() - started:.1f} s left"
    )
    rejected = len(range(0, each * FILES, 1000))
    assert (report.documents, report.rows, report.rejects) == (
        each * FILES,
        each * FILES - rejected,
        rejected,
    )
    assert report.resumed >= KILLS
    _check(sl.Table(folder), each * FILES)
    kept = sl.Table(f"{folder}_rejects").scan(["id", "payload"]).to_arrow()
    assert sorted(kept["id"].to_pylist()) == list(range(0, each * FILES, 1000))
    assert pc.all(pc.equal(kept["payload"], '{"n":')).as_py()


def _kill_after(folder: Path, finished: int) -> None:
    """Starts a conversion and kills it when that many tasks are recorded, in the middle of the next one."""
    process = subprocess.Popen([sys.executable, "-c", CODE, str(folder)], start_new_session=True)
    journal = folder / FOLDER  # the plan is one of its files
    wait_until(lambda: process.poll() is not None or len(list(journal.rglob("*.json"))) > finished, SECONDS)
    assert process.poll() is None, "the conversion ended before it was killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def _check(table: sl.Table, rows: int) -> None:
    """Every id is there once, with the values of its own document."""
    seen = 0
    total = 0
    for batch in table.scan(["id", "payload:n::bigint AS n", "payload:kind::string AS kind"]).to_batches():
        ids = batch.column("id")
        assert pc.all(pc.equal(ids, batch.column("n"))).as_py()
        last = pc.utf8_slice_codeunits(ids.cast(pa.string()), -1)
        assert pc.all(pc.equal(batch.column("kind"), pc.binary_join_element_wise("k", last, ""))).as_py()
        seen += batch.num_rows
        total += pc.sum(ids).as_py()
    assert seen == rows - len(range(0, rows, 1000))
    assert total == sum(range(rows)) - sum(range(0, rows, 1000))
    assert table.scan(where="payload is null").count() == 0
