"""Reads a file in batches of a few thousand rows with pyarrow, in memory independent of its size."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from shredlake.errors import InvalidFile
from shredlake.parquet.format.footer import Footer
from shredlake.parquet.format.footer_check import check_footer
from shredlake.parquet.io.source import Source
from shredlake.parquet.nested import dictionaries_fit
from shredlake.parquet.read.pages import DEPTH_LIMIT, open_footer

BATCH_ROWS: Final = 8192
"""Rows per batch, which bounds the memory for any usual file."""
READ_BUFFER: Final = 1 << 20
"""Bytes read of a column at a time; a whole column chunk may be far larger."""


class _SourceFile(io.RawIOBase):
    """A source as an open file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._source.size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(self._source.size - self._position, 0)
        length = left if size < 0 else min(size, left)
        if length == 0:
            return b""
        [data] = self._source.read([(self._position, length)])
        self._position += length
        return bytes(data)


@contextmanager
def parquet_file(source: Source, footer: Footer | None = None) -> Iterator[pq.ParquetFile]:
    """Opens the source as a pyarrow file that reads its columns piece by piece.

    A footer that was read before is not read and parsed again.
    """
    footer = footer or source.footer()
    check_footer(footer, source.name)
    try:
        file = pq.ParquetFile(
            pa.PythonFile(_SourceFile(source), mode="r"),
            metadata=open_footer(footer).metadata,
            buffer_size=READ_BUFFER,
            pre_buffer=False,
            page_checksum_verification=True,
            **DEPTH_LIMIT,
        )
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{source.name} can't be read: {error}") from error
    with file:
        yield file


def batches(
    source: Source, file: pq.ParquetFile, columns: Sequence[str], rows: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yields the columns, by dotted name, in batches, each with the number of its first row."""
    first_row = 0
    reader = file.iter_batches(batch_size=rows, columns=list(columns), use_threads=False)
    while True:
        try:
            batch = next(reader, None)
        except (pa.ArrowException, OSError) as error:
            raise InvalidFile(f"{source.name} can't be read after row {first_row}: {error}") from error
        if batch is None:
            return
        if not dictionaries_fit(batch.columns):
            raise InvalidFile(f"{source.name}, after row {first_row}: a dictionary index is out of range")
        yield first_row, batch
        first_row += batch.num_rows
