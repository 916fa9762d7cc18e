"""Exactly-once jobs: the table's log records a transaction id for the job or for each file.

```
a stream, or a job with an id    one `txn` action: its name, and the number of the batch (a job: 1)
files of text                    one `txn` action per file
                                   appId    which file, and which column its documents went to: a hash
                                   version  what was in it (32 bits), and when it was changed (31 bits)
```

`txn` actions are part of every Delta table: other engines keep them but do not read them. Two commits that
set the same one conflict, so if two ingests of one file run at the same time, only one succeeds.

A file with the recorded size and time is skipped without being read. If only its time differs (`touch`), its
content decides. In an object store the entity tag replaces both.

Every new file is hashed before the job starts, because the transaction ids name the job's work. Beyond
`READ_BY_DRIVER` bytes, tasks of the job's engine do it.

Every job asks here whether its work is done: `is_recorded` for one id, `already_done` for all of a claim.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import TransactionId
from shredlake.delta.write.commit import is_committed
from shredlake.jobs.engine import Engine
from shredlake.jobs.ingest.sources import SourceFile, open_plain, place
from shredlake.jobs.ingest.tasks import opening_cost
from shredlake.jobs.packing import pack
from shredlake.jobs.report import IngestReport
from shredlake.runner import call_storage

TIME_BITS: Final = 31
SAMPLED: Final = 16 << 20
"""Files up to this size are hashed whole; larger files are sampled evenly, up to this many bytes."""
SAMPLES: Final = 64
READ_BY_DRIVER: Final = 256 << 20
"""The most bytes that the driver hashes by itself, with those that stand for opening files."""
READ_BY_TASK: Final = 128 << 20
"""The same of a task, which does it for the driver."""


@dataclass(frozen=True)
class Claim:
    """The work of an ingest: the files that are new to the table, and the transaction ids of its commit."""

    key: str
    """Names the job's staging folder; the same for the same work."""
    transactions: tuple[TransactionId, ...]
    files: tuple[SourceFile, ...] = ()
    by_file: Mapping[str, TransactionId] = field(default_factory=dict)
    """The transaction id of each file, by its address; empty if the whole job has one id."""
    skipped: int = 0
    """The number of files that the table already had."""

    def is_done(self, snapshot: Snapshot) -> bool:
        """Whether the table already has all of the work."""
        return bool(self.transactions) and all(is_recorded(snapshot, one) for one in self.transactions)


def claim_job(transaction: TransactionId, files: Sequence[SourceFile] = ()) -> Claim:
    """Claims work under one transaction id: that of a stream's batch, or of a job with a `job_id`."""
    application, version = transaction
    return Claim(_digest(application, str(version)), (transaction,), tuple(files))


def job_transaction(job_id: str | None) -> TransactionId:
    """The transaction id of a job; a random one if it has no `job_id`."""
    return f"shredlake-ingest-{uuid.uuid4().hex if job_id is None else job_id}", 1


def claim_files(
    snapshot: Snapshot, files: Sequence[SourceFile], how: Mapping[str, Any], engine: Engine
) -> Claim:
    """Claims the files that the table does not have yet.

    `how` holds the options that decide which rows a file becomes: a change of them is another ingest.
    """
    kind = json.dumps(how, sort_keys=True)
    names = [_digest(*place(file.uri), kind) for file in files]
    known = [snapshot.transactions.get(_app(name)) for name in names]
    unsure = [
        index
        for index, (file, seen) in enumerate(zip(files, known, strict=True))
        if file.tracked and (seen is None or seen.version % (1 << TIME_BITS) != _time(file))
    ]
    contents = dict(zip(unsure, _contents([files[index] for index in unsure], engine), strict=True))
    new = [file for file in files if not file.tracked]
    transactions: dict[str, TransactionId] = {}
    for index, content in contents.items():
        seen = known[index]
        if seen is None or seen.version >> TIME_BITS != content:
            new.append(files[index])
            version = content << TIME_BITS | _time(files[index])
            transactions[files[index].uri] = _app(names[index]), version
    key = _digest(*(f"{name}:{number}" for name, number in sorted(transactions.values())))
    if len(new) > len(transactions):
        key = uuid.uuid4().hex  # text from a pipe has no identity
    return Claim(key, tuple(transactions.values()), tuple(new), transactions, len(files) - len(new))


def is_recorded(snapshot: Snapshot, transaction: TransactionId) -> bool:
    """Whether a table has the work of a transaction id; for a file, whether its content is the same.

    For other ids, the rule is that of every commit (`is_committed`): the same version, or a later one.
    """
    application, version = transaction
    seen = snapshot.transactions.get(application)
    if seen is not None and application.startswith(_app("")):
        return bool(seen.version >> TIME_BITS == version >> TIME_BITS)
    return is_committed(snapshot, transaction)


def is_contested(snapshot: Snapshot, transactions: Sequence[TransactionId]) -> bool:
    """Whether a table that was made meanwhile has set one of the ids, to whichever version.

    Two commits that set one id conflict, as they do in a table that was there before.
    """
    return any(application in snapshot.transactions for application, _ in transactions)


def already_done(snapshot: Snapshot, claim: Claim) -> IngestReport | None:
    """A report that says so, if the table already has everything that is claimed."""
    if not claim.is_done(snapshot) and (claim.files or not claim.skipped):
        return None
    return IngestReport(
        table=snapshot.storage.uri,
        version=snapshot.version,
        already_done=True,
        skipped=claim.skipped or len(claim.by_file),
    )


def _app(name: str) -> str:
    return f"shredlake-file-{name}"


def _time(file: SourceFile) -> int:
    return int(_digest(str(file.size), file.changed), 16) % (1 << TIME_BITS)


def _contents(files: Sequence[SourceFile], engine: Engine) -> list[int]:
    """The hash of each file's content. The driver reads a bounded number of bytes; beyond it, tasks do."""
    if engine.in_process or sum(map(_cost, files)) <= READ_BY_DRIVER:
        return call_storage(_content, files)
    tasks = list(pack(files, _cost, READ_BY_TASK))
    return [content for line in engine.run(tasks, _contents_of_task) for content in json.loads(line)]


def _contents_of_task(files: Sequence[SourceFile]) -> str:
    return json.dumps(call_storage(_content, files))


def _cost(file: SourceFile) -> int:
    """The bytes that are read to hash a file, and what it costs to open it; nothing in an object store."""
    return 0 if file.is_remote else min(file.size, SAMPLED) + opening_cost(file)


def _content(file: SourceFile) -> int:
    """A 32-bit hash of a file's content."""
    if file.is_remote:
        return int(_digest(str(file.size), file.changed), 16) >> 96  # the object store's entity tag
    digest = hashlib.sha256(str(file.size).encode())
    with open_plain(file) as text:
        for start, length in _samples(file.size):
            text.seek(start)
            while length > 0 and (piece := text.read(min(length, 1 << 20))):
                digest.update(piece)
                length -= len(piece)
    return int(digest.hexdigest()[:8], 16)


def _samples(size: int) -> Iterable[tuple[int, int]]:
    """The byte ranges of a file that are hashed: the whole file, or samples with the first and last bytes."""
    if size <= SAMPLED:
        return [(0, size)]
    step = SAMPLED // SAMPLES
    return [((size - step) * number // (SAMPLES - 1), step) for number in range(SAMPLES)]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
