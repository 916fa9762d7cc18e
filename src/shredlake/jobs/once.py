"""What makes an ingest happen once: a record in the table's log, of the job or of each of its files.

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
from shredlake.jobs.sources import SourceFile, open_plain, place

Mark = tuple[str, int]
"""An application id and a version, as a `txn` action holds them."""

TIME_BITS: Final = 31
SAMPLED: Final = 16 << 20
"""Files up to this size are hashed whole; of larger ones as much, in pieces spread evenly over the file."""
SAMPLES: Final = 64


@dataclass(frozen=True)
class Claim:
    """What an ingest takes upon itself: the files that are new to the table, and the marks of its commit."""

    key: str
    """Names the job's staging folder; the same for the same work."""
    marks: tuple[Mark, ...]
    files: tuple[SourceFile, ...] = ()
    by_file: Mapping[str, Mark] = field(default_factory=dict)
    """The mark of each file, by its address; empty where one mark stands for the whole job."""
    skipped: int = 0
    """How many files the table had already."""

    def is_done(self, snapshot: Snapshot) -> bool:
        """Whether the table has all of it."""
        return bool(self.marks) and all(has(snapshot, mark) for mark in self.marks)


def claim_job(mark: Mark, files: Sequence[SourceFile] = ()) -> Claim:
    """A claim by name: of a stream's batch, or of a job with an id."""
    return Claim(f"{mark[0]}-{mark[1]}", (mark,), tuple(files))


def job_mark(job_id: str | None) -> Mark:
    """The name under which a job's commit is remembered in the table; a new one without an id."""
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
    marks: dict[str, Mark] = {}
    for index, content in contents.items():
        seen = known[index]
        if seen is None or seen.version >> TIME_BITS != content:
            new.append(files[index])
            marks[files[index].uri] = _app(names[index]), content << TIME_BITS | _time(files[index])
    key = _digest(*(f"{name}:{number}" for name, number in sorted(marks.values())))
    if len(new) > len(marks):
        key = uuid.uuid4().hex  # text that came through a pipe: it has no identity
    return Claim(key, tuple(marks.values()), tuple(new), marks, len(files) - len(new))


def has(snapshot: Snapshot, mark: Mark) -> bool:
    """Whether a table has a mark: of a file, the same content; of a job or stream, this number or more."""
    seen = snapshot.transactions.get(mark[0])
    if seen is None:
        return False
    if mark[0].startswith(_app("")):
        return bool(seen.version >> TIME_BITS == mark[1] >> TIME_BITS)
    return seen.version >= mark[1]


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
