"""External merge sort: sorts more rows than fit into memory, with sorted runs on disk.

```
rows ─ gathered, sorted ─▶ runs on disk ─ cut at the same keys ─▶ ranges ─ sorted ─▶ batches in order
                           one key in 64 ──┘
```

Memory: per thread at most RUN_BYTES of Arrow data and a sorted copy of it, plus one key in SAMPLE_STEP of all
rows. This holds for skewed keys too: rows with equal keys need no sorting and are passed on unchanged. Disk:
about the size of the rows in Arrow, compressed with LZ4, in temporary files.
"""

from __future__ import annotations

import threading
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from shredlake.expr.sort_key import SortKey, key_columns, parse_sort_keys
from shredlake.jobs.packing import pack
from shredlake.kernels.arrow.extension import without_marks
from shredlake.variant.identifiers import quote

RUN_BYTES: Final = 128 << 20
"""Arrow bytes that are sorted in memory at once."""

SPILL_ROWS: Final = 16 << 10
"""Rows per batch of a spilled run, the unit that is read back."""

SAMPLE_STEP: Final = 64
"""One key per this many rows of a run is sampled, to choose the ranges."""

SAMPLE_LEAST: Final = 256
"""The least number of keys sampled from a run, if it has as many."""


@dataclass(frozen=True)
class Run:
    """A sorted run on disk."""

    rows: Path
    keys: Path
    starts: tuple[int, ...]
    """The first row of each batch, and the number of rows."""
    sample: pa.Table
    """One key for every `step` rows."""
    step: int
    bytes: int

    def slice(self, start: int, stop: int) -> list[pa.RecordBatch]:
        """Reads a range of rows."""
        found: list[pa.RecordBatch] = []
        with pa.memory_map(str(self.rows)) as source, pa.ipc.open_file(source) as reader:
            at = bisect_right(self.starts, start) - 1
            while start < stop:
                batch = reader.get_batch(at).slice(start - self.starts[at], stop - start)
                found.append(batch)
                start, at = start + batch.num_rows, at + 1
        return found


@dataclass(frozen=True)
class Segment:
    """The rows between two keys, with their position in each run."""

    spans: tuple[tuple[int, int], ...]
    same_key: bool
    """Whether all rows have the same key."""

    def __bool__(self) -> bool:
        return any(start < stop for start, stop in self.spans)


class ExternalSort:
    """Collects rows from several threads and returns them in order, range by range.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = ExternalSort(folder, (), ("n desc",))
    ...     _ = [rows.add([pa.record_batch({"n": numbers})]) for numbers in ([1, 3], [2, None])]
    ...     [batch.column("n").to_pylist() for part in rows.ranges(1) for batch in rows.merged(part)]
    [[3, 2, 1, None]]
    """

    def __init__(self, folder: str, partition_by: Sequence[str], sort_by: Sequence[str]) -> None:
        self._folder = Path(folder)
        self._keys = [*(SortKey(quote(name)) for name in partition_by), *parse_sort_keys(sort_by)]
        self._orders: list[tuple[str, str]] = []
        self._runs: list[Run] = []
        self._lock = threading.Lock()

    def add(self, batches: Iterable[pa.RecordBatch]) -> str:
        """Sorts rows and spills them to disk; returns '', as a task without a result."""
        for gathered in pack(batches, lambda batch: int(batch.nbytes), RUN_BYTES):
            table = pa.Table.from_batches(gathered)
            if table.num_rows:
                keys, orders = key_columns(self._keys, table)
                order = pc.sort_indices(keys, sort_keys=orders)
                run = self._spilled(table.take(order), keys.take(order))
                with self._lock:
                    self._runs.append(run)
                    self._orders = orders
        return ""

    def ranges(self, parts: int) -> list[tuple[Segment, ...]]:
        """Cuts the rows into about `parts` ranges with similar row counts; empty ranges are omitted."""
        if not self._runs:
            return []
        # The limit is per thread; a range may need several pieces to stay below it.
        pieces = -(-sum(run.bytes for run in self._runs) // (parts * RUN_BYTES)) or 1
        cuts = self._quantiles(parts * pieces)
        per_run = [self._cuts(run, cuts) for run in self._runs]
        segments = [
            Segment(tuple((cut[number], cut[number + 1]) for cut in per_run), number % 2 == 1)
            for number in range(2 * cuts.num_rows + 1)
        ]
        step = 2 * pieces
        found = [tuple(filter(None, segments[at : at + step])) for at in range(0, len(segments), step)]
        return [part for part in found if part]

    def merged(self, part: Sequence[Segment]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a range in order."""
        for segment in part:
            spans = [(run, *span) for run, span in zip(self._runs, segment.spans, strict=True)]
            filled = [(run, start, stop) for run, start, stop in spans if start < stop]
            if segment.same_key or len(filled) == 1:
                for run, start, stop in filled:
                    for at in range(start, stop, SPILL_ROWS):
                        yield from run.slice(at, min(at + SPILL_ROWS, stop))
                continue
            table = pa.Table.from_batches([batch for span in filled for batch in Run.slice(*span)])
            keys, orders = key_columns(self._keys, table)
            yield from table.take(pc.sort_indices(keys, sort_keys=orders)).to_batches()

    def _spilled(self, table: pa.Table, keys: pa.Table) -> Run:
        name = uuid.uuid4().hex
        places = self._folder / f"{name}.rows", self._folder / f"{name}.keys"
        counts = []
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        schema = pa.schema([without_marks(field) for field in table.schema])
        with pa.ipc.new_file(str(places[0]), schema, options=options) as writer:
            for at in range(0, table.num_rows, SPILL_ROWS):
                for batch in table.slice(at, SPILL_ROWS).combine_chunks().to_batches():
                    writer.write_batch(batch)
                    counts.append(batch.num_rows)
        with pa.ipc.new_file(str(places[1]), keys.schema) as writer:
            writer.write_table(keys)
        step = max(1, min(SAMPLE_STEP, keys.num_rows // SAMPLE_LEAST))
        sample = keys.take(list(range(step // 2, keys.num_rows, step)))
        return Run(*places, tuple(accumulate(counts, initial=0)), sample, step, table.nbytes)

    def _quantiles(self, count: int) -> pa.Table:
        """Keys that cut the rows into `count` ranges with similar row counts."""
        sample = pa.concat_tables([run.sample for run in self._runs])
        rows = pa.concat_arrays([pa.repeat(run.step, run.sample.num_rows) for run in self._runs])
        order = pc.sort_indices(sample, sort_keys=self._orders)
        before = pc.cumulative_sum(rows.take(order))
        total = before[-1].as_py()
        places = [
            bisect_left(before, number * total / count, key=lambda rows: rows.as_py())
            for number in range(1, count)
        ]
        return sample.take(order.take(pa.array(places, pa.int64())))

    def _cuts(self, run: Run, cuts: pa.Table) -> list[int]:
        """The positions that cut a run before and after the rows equal to each key."""
        with pa.memory_map(str(run.keys)) as source:
            keys = pa.ipc.open_file(source).read_all()
            # The sort is stable: a key precedes equal rows in one order and follows them in the other.
            before = self._places(pa.concat_tables([cuts, keys]), range(cuts.num_rows))
            after = self._places(
                pa.concat_tables([keys, cuts]), range(keys.num_rows, keys.num_rows + cuts.num_rows)
            )
        found = [0]
        for low, high in zip(before, after, strict=True):
            found += [max(low, found[-1]), max(high, found[-1])]
        return [*found, run.starts[-1]]

    def _places(self, keys: pa.Table, cuts: range) -> list[int]:
        """The number of rows before each of the cuts, which are sorted."""
        order = pc.sort_indices(keys, sort_keys=self._orders)
        wanted = pc.is_in(order, value_set=pa.array(cuts, order.type))
        at = pc.indices_nonzero(wanted).to_pylist()
        return [place - number for number, place in enumerate(at)]
