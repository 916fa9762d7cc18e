"""Each file and each job is ingested once: the table's log has a transaction id of the job or of each file.

```
a stream, or a job with an id    one `txn` action: its name, and the number of the batch (a job: 1)
files of text                    one `txn` action per file
                                   appId    which file, and which column its documents went to: a hash
                                   version  what was in it (32 bits), and when it was changed (31 bits)
```

`txn` actions are part of every Delta table: other engines keep them and never read them. Two commits that set
the same one conflict, so that of two ingests of one file, running at a time, only one stands.

A file that has the recorded size and time is skipped without a look into it. If only its time differs
(`touch`), its content decides. An object store's entity tag stands for both.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import TransactionId
from shredlake.delta.write.commit import is_committed
from shredlake.jobs.ingest.sources import SourceFile, open_plain, place

TIME_BITS: Final = 31
SAMPLED: Final = 16 << 20
"""Files up to this size are hashed whole; of larger ones as much, in pieces spread evenly over the file."""
SAMPLES: Final = 64


@dataclass(frozen=True)
class Claim:
    """What an ingest is to do: the files that are new to the table, and the transaction ids of its commit."""

    key: str
    """Names the job's staging folder; the same for the same work."""
    transactions: tuple[TransactionId, ...]
    files: tuple[SourceFile, ...] = ()
    by_file: Mapping[str, TransactionId] = field(default_factory=dict)
    """The transaction id of each file, by its address; empty if the whole job has one id."""
    skipped: int = 0
    """How many files the table had already."""

    def is_done(self, snapshot: Snapshot) -> bool:
        """Whether the table has all of the work."""
        return bool(self.transactions) and all(has(snapshot, one) for one in self.transactions)


def claim_job(transaction: TransactionId, files: Sequence[SourceFile] = ()) -> Claim:
    """A claim under one transaction id: of a stream's batch, or of a job with a `job_id`."""
    application, version = transaction
    return Claim(f"{application}-{version}", (transaction,), tuple(files))


def job_transaction(job_id: str | None) -> TransactionId:
    """The transaction id of a job; a new one if it has no `job_id`."""
    return f"shredlake-ingest-{job_id or uuid.uuid4().hex}", 1


def claim_files(snapshot: Snapshot, files: Sequence[SourceFile], how: Mapping[str, Any]) -> Claim:
    """A claim of those files that the table does not have yet.

    `how` is what decides which rows a file becomes: a file that is read in another way is another ingest.
    """
    kind = json.dumps(how, sort_keys=True)
    names = [_digest(*place(file.uri), kind) for file in files]
    known = [snapshot.transactions.get(_app(name)) for name in names]
    unsure = [
        index
        for index, (file, seen) in enumerate(zip(files, known, strict=True))
        if file.tracked and (seen is None or seen.version % (1 << TIME_BITS) != _time(file))
    ]
    with ThreadPoolExecutor(max_workers=16) as pool:
        contents = dict(zip(unsure, pool.map(_content, [files[index] for index in unsure]), strict=True))
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
        key = uuid.uuid4().hex  # text that came through a pipe: it has no identity
    return Claim(key, tuple(transactions.values()), tuple(new), transactions, len(files) - len(new))


def has(snapshot: Snapshot, transaction: TransactionId) -> bool:
    """Whether a table has the work of a transaction id; for a file, whether it has the same content."""
    application, version = transaction
    seen = snapshot.transactions.get(application)
    if seen is not None and application.startswith(_app("")):
        return bool(seen.version >> TIME_BITS == version >> TIME_BITS)
    return is_committed(snapshot, transaction)


def _app(name: str) -> str:
    return f"shredlake-file-{name}"


def _time(file: SourceFile) -> int:
    return int(_digest(str(file.size), file.changed), 16) % (1 << TIME_BITS)


def _content(file: SourceFile) -> int:
    """32 bits that say what is in a file."""
    if "://" in file.uri:
        return int(_digest(str(file.size), file.changed), 16) >> 96  # the store's own tag
    digest = hashlib.sha256(str(file.size).encode())
    with open_plain(file) as text:
        for start, length in _samples(file.size):
            text.seek(start)
            while length > 0 and (piece := text.read(min(length, 1 << 20))):
                digest.update(piece)
                length -= len(piece)
    return int(digest.hexdigest()[:8], 16)


def _samples(size: int) -> Iterable[tuple[int, int]]:
    """Where a file is looked at: all of it, or pieces of it, the first and the last bytes among them."""
    if size <= SAMPLED:
        return [(0, size)]
    step = SAMPLED // SAMPLES
    return [((size - step) * number // (SAMPLES - 1), step) for number in range(SAMPLES)]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
