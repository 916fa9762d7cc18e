"""Checks a whole table, and repairs it if asked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from shredlake.delta.check.file_check import FileResult, check_file
from shredlake.delta.check.findings import Finding, TableCheck
from shredlake.delta.check.log_check import LogCheck
from shredlake.delta.check.repair import Repairs
from shredlake.delta.log.files import as_adds
from shredlake.delta.log.listing import LOG
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.stats.text import with_stats
from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.delta.write.vacuum import orphans
from shredlake.errors import ShredlakeError
from shredlake.runner import in_order

FILES_AT_ONCE = 4096
"""Entries of the log that are Python objects at a time."""

Progress = Callable[[int, int], None]
"""Is told the number of files done and of all files."""


def check_table(
    uri: str | os.PathLike[str],
    *,
    quick: bool = False,
    repair: bool = False,
    dry_run: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TableCheck:
    """Checks a whole table: log, checkpoints, checksums, files, row counts, statistics, layouts, data.

    A table whose log is damaged is checked as far as it can be read. `quick` reads no rows: files and their
    footers only. `repair` rebuilds statistics, layout tags and checkpoints, and commits new entries of files;
    data files are never changed. With `dry_run`, it only reports what it would repair.

    >>> from shredlake.example import example_table
    >>> report = check_table(example_table("check-table").uri)
    >>> report.ok, report.files, report.rows
    (True, 1, 2)
    """
    storage = Storage(normalized_uri(uri), storage_options or {})
    return check_storage(
        storage, quick=quick, repair=repair, dry_run=dry_run, threads=threads, progress=progress
    )


def check_storage(
    storage: Storage,
    *,
    quick: bool = False,
    repair: bool = False,
    dry_run: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TableCheck:
    """Checks the latest version of the table in a folder; see `check_table`."""
    log = LogCheck(storage)
    findings = list(log.findings())
    facts = Counter(commits=len(log.listing.commits), checkpoints=len(log.listing.checkpoints))
    try:
        snapshot = log.snapshot()
        _ = snapshot.schema, snapshot.settings, len(snapshot.files)
    except ShredlakeError as error:
        if not findings:
            findings.append(Finding("protocol", LOG, str(error)))
        return _report(storage, None, quick, findings, facts)
    repairs = Repairs(log, snapshot)
    for result in _results(snapshot, quick, threads or pa.cpu_count(), progress):
        facts.update(files=1, rows=result.rows, bytes=result.add.size)
        findings += result.findings
        if repair:
            repairs.consider(result)
    try:
        facts["orphans"] = len(orphans(snapshot))
    except ShredlakeError as error:  # a path that vacuum refuses, of a live file or of a removed one
        if all(finding.rule not in ("path", "deletion-vector") for finding in findings):
            findings.append(Finding("path", LOG, str(error)))
    done: tuple[Finding, ...] = ()
    version: int | None = None
    if repair:
        done, version = repairs.planned(findings) if dry_run else repairs.run(findings)
    left = [finding for finding in findings if dry_run or finding not in done]
    report = _report(storage, snapshot.version, quick, left, facts)
    return replace(report, repaired=done, repaired_version=version)


def _report(
    storage: Storage, version: int | None, quick: bool, findings: list[Finding], facts: Mapping[str, int]
) -> TableCheck:
    return TableCheck(
        table=storage.uri,
        version=version,
        quick=quick,
        findings=tuple(findings),
        commits=facts["commits"],
        checkpoints=facts["checkpoints"],
        files=facts["files"],
        rows=facts["rows"],
        bytes=facts["bytes"],
        orphans=facts["orphans"],
    )


def _results(
    snapshot: Snapshot, quick: bool, threads: int, progress: Progress | None
) -> Iterator[FileResult]:
    total = len(snapshot.files)
    jobs = (partial(check_file, snapshot, add, quick=quick) for add in entries(snapshot))
    for done, result in enumerate(in_order(jobs, threads), start=1):
        if progress is not None:
            progress(done, total)
        yield result


def entries(snapshot: Snapshot) -> Iterator[Add]:
    """The entries of all files, with statistics also where only a checkpoint's columns hold them."""
    places = np.flatnonzero(
        np.ones(snapshot.files.places, bool) if snapshot.files.live is None else snapshot.files.live
    )
    for start in range(0, len(places), FILES_AT_ONCE):
        keep = np.zeros(snapshot.files.places, dtype=bool)
        keep[places[start : start + FILES_AT_ONCE]] = True
        yield from as_adds(with_stats(snapshot, snapshot.files.table(keep=keep), keep))
