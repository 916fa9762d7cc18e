"""Strings of JSON into Variants: planned, written by tasks that are recorded, checked, committed once.

```
table ─ plan ─▶ layout, tasks ─▶ one task per bin of files ─▶ counts checked ─▶ rejects ─▶ commit
          └ journal: what an interrupted run finished is not done again ┘       rows that     schema, old
                                                                                are not JSON  and new files
```

Until the commit, the source is untouched and nothing of the target is visible. A job that is run again after
a crash finds its journal, and repeats only the tasks that were not finished. Files that another writer adds
meanwhile are converted before the commit is tried again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from shredlake.delta.log.listing import list_log
from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.protocol.actions import Action, Add
from shredlake.delta.schema.variants import VariantPlace
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.append import append
from shredlake.delta.write.commit import MAX_PLANS, commit, transaction_actions
from shredlake.delta.write.create import create, planned
from shredlake.delta.write.data_files import file_spec
from shredlake.delta.write.layout import choose
from shredlake.delta.write.transaction import NOTHING, WHOLE_VERSION, Operation
from shredlake.errors import CommitConflict, InvalidSchema, NotJson, TableExists
from shredlake.jobs.arguments import Address, ConvertArguments
from shredlake.jobs.convert.ends import (
    Source,
    Target,
    check_columns,
    check_rejects,
    is_converted,
    open_source,
    plan_target,
)
from shredlake.jobs.convert.journal import Entry, Journal, Task, digest, file_name
from shredlake.jobs.convert.task import (
    FACTS,
    ConvertJob,
    confirmed,
    convert_files,
    profile_texts,
    rejects_schema,
)
from shredlake.jobs.data_files import FILE_BYTES, FileJob
from shredlake.jobs.engine import Engine
from shredlake.jobs.ingest.ingest import physical_name
from shredlake.jobs.ingest.once import already_done, claim_job
from shredlake.jobs.ingest.outcome import check_counts, typed_share
from shredlake.jobs.ingest.parse_task import Parsing, TaskResult
from shredlake.jobs.ingest.rejects import rejects_place
from shredlake.jobs.optimize import SAMPLE_FILES
from shredlake.jobs.packing import pack_files
from shredlake.jobs.report import IngestReport, progress
from shredlake.kernels.profile import merge_profiles
from shredlake.parquet.read.scan import scan_parquet
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.request import Shredding


@dataclass(frozen=True)
class ConvertOptions:
    """The settings of a conversion."""

    target: Address | None = None
    """The new table; without it the source is converted in place."""
    shredding: Shredding = "infer"
    rejects: str | None = None
    """The table for rows that are not JSON."""
    max_rejects: int | float | None = None
    parsing: Parsing | None = None
    file_bytes: int = FILE_BYTES
    storage_options: Mapping[str, str] | None = None
    show_progress: bool = False


def convert_table(
    engine: Engine, table: Address, columns: Sequence[str], **given: Unpack[ConvertArguments]
) -> IngestReport:
    """Converts string columns to Variants, in place or at `target`, as tasks of an engine."""
    options = ConvertOptions(**given)
    for attempt in range(MAX_PLANS):
        try:
            return _Conversion(engine, os.fspath(table), columns, options).run()
        except CommitConflict:  # the journal keeps the work; only files that are new are converted again
            if attempt == MAX_PLANS - 1:
                raise
    raise AssertionError("unreachable")


class _Conversion:
    """One attempt, on the version of the source that is the latest now."""

    def __init__(self, engine: Engine, table: str, columns: Sequence[str], options: ConvertOptions) -> None:
        self.started = time.monotonic()
        self.engine, self.options = engine, options
        self.storage_options = dict(options.storage_options or {})
        self.source: Source = open_source(table, columns, self.storage_options)
        self.columns = check_columns(self.source, columns)
        self.address = None if options.target is None else os.fspath(options.target)

    def run(self) -> IngestReport:
        source, options = self.source, self.options
        file_bytes = options.file_bytes
        place = (
            source.snapshot.storage if self.address is None else Storage(self.address, self.storage_options)
        )
        parsing = options.parsing or Parsing()
        # What decides the rows: a run with other options does not continue the work of this one.
        asked = (repr(options.shredding), *([] if parsing == Parsing() else [repr(parsing)]))
        journal = Journal(place, digest(source.address, *self.columns, *asked))
        transaction = f"shredlake-convert-{journal.job}", 1
        if (done := self._already_done(place, transaction)) is not None:
            journal.close()
            return done
        shred = options.shredding is not None
        target = plan_target(source, self.columns, self.address, shred, self.storage_options)
        rejects_table, _ = rejects_place(place, options.rejects, journal.job, self.storage_options)
        check_rejects(rejects_table, rejects_schema(source.snapshot))
        names = [name for name in FACTS.names if source.snapshot.schema.get(name) is not None]
        if names:
            raise InvalidSchema(
                f"the source has a column {names[0]!r}, which the rejects table needs; rename it"
            )
        job = ConvertJob(
            source.snapshot.without_files(),
            target.snapshot.without_files(),
            self.columns,
            FileJob(file_spec(target.snapshot, {}), file_bytes=file_bytes),
            journal,
            parsing,
        )
        job, tasks = self._planned(job, target, file_bytes)
        finished = self._confirmed(job, tasks)
        left = [task for task in tasks if task.name not in finished]
        size = sum(add.size for task in left for add in task.adds)
        with progress("convert", len(left), size, options.show_progress) as watch:
            answers = self.engine.run(left, partial(convert_files, job), watch)
        entries = [*finished.values(), *(Entry.from_json(answer) for answer in answers)]
        self._check(entries, place.uri)
        self._keep_rejects(rejects_table, journal, entries, transaction[0])
        adds = [add for entry in entries for add in entry.adds]
        version = self._commit(target, adds, transaction)
        journal.close()
        rejected = sum(entry.rejected for entry in entries)
        layout = job.files.spec.shredding
        return IngestReport(
            table=place.uri,
            version=version,
            documents=sum(entry.read for entry in entries),
            rows=sum(entry.rows for entry in entries),
            rejects=rejected,
            rejects_table=rejects_table.uri if rejected else None,
            files=len(adds),
            input_bytes=sum(add.size for add in source.adds),
            table_bytes=sum(add.size for add in adds),
            layout=layout.get(physical_name(target.snapshot, self.columns[0])),
            typed_share=typed_share(entries),
            seconds=time.monotonic() - self.started,
            resumed=len(finished),
        )

    def _already_done(self, place: Storage, transaction: tuple[str, int]) -> IngestReport | None:
        """A report that says so, if an earlier run was committed."""
        if not is_converted(self.source, self.columns):
            if self.address is None or list_log(place).latest is None:
                return None
            return already_done(load_snapshot(place), claim_job(transaction))
        snapshot = self.source.snapshot
        if self.address is not None or not self.source.is_table:
            raise InvalidSchema(f"{', '.join(self.columns)} of {snapshot.storage.uri} are already Variants")
        return IngestReport(table=snapshot.storage.uri, version=snapshot.version, already_done=True)

    def _planned(self, job: ConvertJob, target: Target, file_bytes: int) -> tuple[ConvertJob, list[Task]]:
        """The layout and the tasks: those of an earlier run, and new ones for files that it did not know."""
        found = job.journal.plan()
        known = {file_name(add): add for add in self.source.adds}
        layout: Mapping[str, str] = self._layout(job, target) if found is None else found[0]
        tasks = []
        for names in [] if found is None else found[1]:
            if all(name in known for name in names):
                tasks.append(Task(tuple(known.pop(name) for name in names)))
        tasks += [Task(bin_) for bin_ in pack_files(list(known.values()), file_bytes)]
        job.journal.write_plan(layout, tasks)
        files = FileJob(file_spec(target.snapshot, dict(layout)), file_bytes=file_bytes)
        return ConvertJob(job.source, job.target, job.columns, files, job.journal, job.parsing), tasks

    def _confirmed(self, job: ConvertJob, tasks: Sequence[Task]) -> dict[str, Entry]:
        """The entries of tasks that an earlier run finished, whose files hold what the tasks would write."""
        recorded = job.journal.finished(tasks)
        claims = [(task, recorded[task.name]) for task in tasks if task.name in recorded]
        names = set(self.engine.run(claims, partial(confirmed, job)))
        return {name: entry for name, entry in recorded.items() if name in names}

    def _layout(self, job: ConvertJob, target: Target) -> Mapping[str, str]:
        adds = self.source.adds
        chosen = adds[:: max(1, -(-len(adds) // SAMPLE_FILES))]

        def sample_of(place: VariantPlace) -> Profile | None:
            parts = self.engine.run(chosen, partial(profile_texts, job, place))
            found = [bytes.fromhex(part) for part in parts if part]
            return Profile.from_bytes(merge_profiles(found)) if found else None

        column = self.columns[0] if len(self.columns) == 1 else None
        return choose(target.snapshot, self.options.shredding, sample_of, column=column)

    def _check(self, entries: Sequence[Entry], uri: str) -> None:
        max_rejects = self.options.max_rejects
        results = [
            TaskResult(entry.adds, entry.read, entry.rows, entry.rejected, entry.staged) for entry in entries
        ]
        check_counts(results, max_rejects, uri)
        read, rejected = sum(entry.read for entry in entries), sum(entry.rejected for entry in entries)
        if max_rejects is None and read and rejected == read:
            raise NotJson(
                f"{uri}: none of {read:,} rows has JSON in {' and '.join(self.columns)}. Nothing was "
                "committed. Check the names of the columns, or raise max_rejects to 100%"
            )

    def _keep_rejects(
        self, rejects_table: Storage, journal: Journal, entries: Sequence[Entry], application: str
    ) -> None:
        """Moves rows that are not JSON into a table of their own, once.

        Every task has its own transaction id: a run that crashed here may have moved the rows of some.
        """
        staged = [entry.staged for entry in entries if entry.staged is not None]
        if staged and list_log(rejects_table).latest is None:
            with suppress(TableExists):  # made by another run of the same job
                create(planned(rejects_table, rejects_schema(self.source.snapshot)))
        for name in staged:
            location, store = journal.folder.source(name)
            rows = scan_parquet(location, store=store)
            append(
                load_snapshot(rejects_table),
                rows,
                shredding=None,
                transaction=(f"{application}-{name}", 1),
                schema_mode="merge",
            )

    def _commit(self, target: Target, adds: Sequence[Add], transaction: tuple[str, int]) -> int:
        metrics = {
            "numFiles": len(adds),
            "numOutputBytes": sum(add.size for add in adds),
            "numRemovedFiles": len(self.source.adds) if target.redefinition else 0,
        }
        operation = Operation("CONVERT TO VARIANT", {"columns": list(self.columns)}, metrics)
        done: list[Action] = list(transaction_actions([transaction]))
        if not target.redefinition:
            return commit(target.snapshot, [*done, *adds], operation, NOTHING)
        now = int(time.time() * 1000)
        removes = [add.removal(now) for add in self.source.adds]
        actions = [*target.redefinition, *done, *removes, *adds]
        return commit(self.source.snapshot, actions, operation, WHOLE_VERSION)
