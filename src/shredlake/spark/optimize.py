"""Rewriting a table's files without changing its rows: compacted, sorted, shredded anew.

```
files ─ bins of the same partition ─▶ task: read, sort, shred, write, read back, compare ─▶ one commit
```

The commit removes the old files and adds the new with `dataChange=false`. A task compares the number of rows
and a checksum of all values between what it read and what its new files hold; a difference ends the job before
anything is committed. Appends that happen meanwhile stand; whoever removes a rewritten file first wins.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from shredlake.delta.actions import Action, Add
from shredlake.delta.commit import Operation, Reads, commit
from shredlake.delta.files import as_adds
from shredlake.delta.mutate import cleaning_up
from shredlake.delta.read_file import read_rows
from shredlake.delta.skipping import prune
from shredlake.delta.snapshot import Snapshot, load_snapshot
from shredlake.delta.spec import file_spec
from shredlake.delta.storage import Storage
from shredlake.errors import VerificationFailed
from shredlake.expr import parse_predicate
from shredlake.kernels.checksum import checksum
from shredlake.kernels.layout import is_variant
from shredlake.kernels.profile import merge_profiles, profile_bytes
from shredlake.parquet.write import WriteOptions
from shredlake.spark.engine import Engine
from shredlake.spark.ingest import IngestOptions, Shredding, layout_from_profile, settled_layout
from shredlake.spark.report import progress
from shredlake.spark.scan import slim
from shredlake.spark.task import WriteJob, write_tables

TARGET_BYTES = 128 << 20


@dataclass(frozen=True)
class OptimizeReport:
    """What an optimize did."""

    version: int
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    rows: int
    layout: str | None
    seconds: float

    def __str__(self) -> str:
        if not self.files_before:
            return f"version {self.version}: nothing to rewrite"
        return (
            f"version {self.version}: {self.files_before:,} files ({self.bytes_before / 1e6:,.1f} MB) became "
            f"{self.files_after:,} ({self.bytes_after / 1e6:,.1f} MB), "
            f"{self.rows:,} rows, {self.seconds:.1f} s\n"
            f"layout: {self.layout or 'not shredded'}"
        )


@dataclass(frozen=True)
class CopyResult:
    """What one task wrote, and the proof that it is what it read."""

    adds: tuple[Mapping[str, Any], ...]
    rows: int

    def to_json(self) -> str:
        return json.dumps({"adds": list(self.adds), "rows": self.rows})

    @staticmethod
    def from_json(text: str) -> CopyResult:
        raw = json.loads(text)
        return CopyResult(tuple(raw["adds"]), raw["rows"])


def optimize_table(
    engine: Engine,
    table: str,
    *,
    where: str | None = None,
    sort_by: Sequence[str] = (),
    column: str | None = None,
    shredding: Shredding = "infer",
    target_bytes: int = TARGET_BYTES,
    storage_options: Mapping[str, str] | None = None,
    writing: WriteOptions | None = None,
    show_progress: bool = False,
) -> OptimizeReport:
    """Rewrites the files that `where` can't rule out, as tasks of an engine."""
    started = time.monotonic()
    storage = Storage(table, dict(storage_options or {}))
    snapshot = load_snapshot(storage)
    predicate = None if where is None else parse_predicate(where)
    adds = as_adds(snapshot.files.table(keep=prune(snapshot, predicate).keep))
    layout = _layout(engine, snapshot, adds, column, shredding)
    bins = [one for one in pack(adds, target_bytes) if sort_by or len(one) > 1 or not _fits(one[0], layout)]
    if not bins:
        return OptimizeReport(snapshot.version, 0, 0, 0, 0, 0, None, time.monotonic() - started)
    spec = file_spec(snapshot, layout, writing)
    job = WriteJob(spec=spec, column=column or "", sort_by=tuple(sort_by), enforce=False)
    small = slim(snapshot)
    with progress("optimize", len(bins), sum(add.size for add in adds), show_progress) as watch:
        answers = engine.run(bins, partial(copy_files, small, job), watch)
    results = [CopyResult.from_json(answer) for answer in answers]
    new = [replace(Add.from_json(dict(add)), data_change=False) for result in results for add in result.adds]
    old = [add for one in bins for add in one]
    now = int(time.time() * 1000)
    actions: list[Action] = [*(replace(add.removal(now), data_change=False) for add in old), *new]
    operation = Operation(
        "OPTIMIZE",
        {"predicate": [] if where is None else [where], "zOrderBy": list(sort_by)},
        {
            "numRemovedFiles": len(old),
            "numAddedFiles": len(new),
            "numRemovedBytes": sum(add.size for add in old),
            "numAddedBytes": sum(add.size for add in new),
        },
    )
    with cleaning_up(storage, new):
        version = commit(snapshot, actions, operation, Reads(files=frozenset(add.key for add in old)))
    return OptimizeReport(
        version,
        len(old),
        len(new),
        sum(add.size for add in old),
        sum(add.size for add in new),
        sum(result.rows for result in results),
        next(iter(layout.values()), None),
        time.monotonic() - started,
    )


def pack(adds: Sequence[Add], target_bytes: int) -> Iterator[tuple[Add, ...]]:
    """Files of one partition together, up to the target size, in the order of the log."""
    by_partition: dict[tuple[Any, ...], list[Add]] = {}
    for add in adds:
        by_partition.setdefault(tuple(sorted(add.partition_values.items(), key=str)), []).append(add)
    for members in by_partition.values():
        together: list[Add] = []
        size = 0
        for add in members:
            if together and size + add.size > target_bytes:
                yield tuple(together)
                together, size = [], 0
            together.append(add)
            size += add.size
        yield tuple(together)


def _fits(add: Add, layout: Mapping[str, str]) -> bool:
    """Whether a file has the wanted layout already and no deleted rows: a rewrite would gain nothing."""
    described = json.loads((add.tags or {}).get("shredlake.layout", "null"))
    if described is None or add.deletion_vector is not None:
        return False
    return {name: entry["shredding"] for name, entry in described.items()} == dict(layout)


def _layout(
    engine: Engine, snapshot: Snapshot, adds: Sequence[Add], column: str | None, shredding: Shredding
) -> dict[str, str]:
    """The layout of the new files: given, pinned, or inferred from the files themselves."""
    layout: dict[str, str] = {}
    for item in snapshot.schema.fields:
        if item.type != "variant":
            continue
        wanted: Shredding = shredding if column in (None, item.name) else "infer"
        options = IngestOptions(column=item.name, shredding=wanted)
        settled = settled_layout(snapshot, options)
        if settled is None:
            chosen = adds[:: max(1, len(adds) // 16)][:16]
            parts = engine.run(
                list(chosen), partial(profile_file, slim(snapshot), item.name), lambda done: None
            )
            profile = merge_profiles([bytes.fromhex(part) for part in parts])
            settled = layout_from_profile(snapshot, options, profile)
        layout |= settled
    return layout


def profile_file(snapshot: Snapshot, column: str, add: Add) -> str:
    """The profile of one column of one file, as hexadecimal text."""
    return profile_bytes(read_rows(snapshot, add).column(column)).hex()


def copy_files(snapshot: Snapshot, job: WriteJob, adds: tuple[Add, ...]) -> str:
    """Reads files, writes their rows anew, reads them back, and compares."""
    table = pa.concat_tables([read_rows(snapshot, add) for add in adds])
    written = write_tables(job, iter([table] if table.num_rows else []))
    found = [read_rows(snapshot, Add.from_json(dict(add))) for add in written]
    after = pa.concat_tables(found) if found else table.slice(0, 0)
    if table.num_rows != after.num_rows or sums(table) != sums(after):
        raise VerificationFailed(
            f"{snapshot.storage.uri}: the rewritten files do not hold what the old ones hold "
            f"({table.num_rows:,} rows read, {after.num_rows:,} written). Nothing was committed"
        )
    return CopyResult(tuple(written), table.num_rows).to_json()


def sums(table: pa.Table) -> dict[str, Any]:
    """Per column, something that differs if the column does: checksums of Variants, counts of the rest."""
    return {
        name: checksum(table.column(name))
        if is_variant(table.schema.field(name).type)
        else _plain_sum(table, name)
        for name in table.column_names
    }


def _plain_sum(table: pa.Table, name: str) -> tuple[int, int]:
    """Nulls and distinct values: ordinary columns pass through Arrow untouched."""
    column = table.column(name)
    nested = pa.types.is_nested(column.type)
    return column.null_count, -1 if nested else len(column.unique())
