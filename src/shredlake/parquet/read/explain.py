"""The cost of a scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shredlake.formatting import bytes_text, counted, html_text
from shredlake.parquet.read.open_file import OpenFile


@dataclass(frozen=True)
class Explain:
    """The cost of a scan. Bytes are counted where they are fetched, footers and page indexes included.

    >>> print(Explain(1, 1, 2, 8, 3, 96, ("v.typed_value.a.typed_value",), 40_000, 10_000_000, 17))
    17 rows of 1 of 1 file
    row groups     2 of      8   25.0%
    pages          3 of     96    3.1%   in the columns read
    bytes     40.0 kB of 10.0 MB    0.4%
    columns   v.typed_value.a.typed_value
    """

    files_read: int
    files_total: int
    row_groups_read: int
    row_groups_total: int
    pages_read: int
    pages_total: int
    columns: tuple[str, ...]
    """The leaf columns that were read, in pyarrow's notation."""
    bytes_read: int
    bytes_total: int
    rows: int

    def __str__(self) -> str:
        read = f"{counted(self.rows, 'row')} of {self.files_read:,} of {counted(self.files_total, 'file')}"
        return "\n".join([read, *cost_lines(self)])

    def _repr_html_(self) -> str:
        return html_text(str(self))


def cost_of(files: Sequence[OpenFile], rows: int) -> Explain:
    """The cost of a run over some files, of which so many rows match."""
    columns = {file: sorted(file.tally.columns) for file in files}
    return Explain(
        files_read=sum(bool(file.tally.row_groups) for file in files),
        files_total=len(files),
        row_groups_read=sum(len(file.tally.row_groups) for file in files),
        row_groups_total=sum(len(file.chunks) for file in files),
        pages_read=sum(file.tally.pages for file in files),
        pages_total=sum(
            file.page_count(group, columns[file]) for file in files for group in range(len(file.chunks))
        ),
        columns=tuple(
            dict.fromkeys(file.leaves[column].dotted for file in files for column in columns[file])
        ),
        bytes_read=sum(file.tally.bytes_read for file in files),
        bytes_total=sum(file.source.size for file in files),
        rows=rows,
    )


class Cost(Protocol):
    """The numbers that the cost of a scan is made of."""

    @property
    def row_groups_read(self) -> int: ...
    @property
    def row_groups_total(self) -> int: ...
    @property
    def pages_read(self) -> int: ...
    @property
    def pages_total(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...


def cost_lines(cost: Cost, row_groups: str = "") -> list[str]:
    """Row groups, pages, bytes and columns as lines of text; `row_groups` says which there are in all."""
    return [
        _line("row groups", f"{cost.row_groups_read:>4}", f"{cost.row_groups_total:>6}",
              cost.row_groups_read, cost.row_groups_total) + row_groups,
        _line("pages", f"{cost.pages_read:>4}", f"{cost.pages_total:>6}",
              cost.pages_read, cost.pages_total) + "   in the columns read",
        _line("bytes", bytes_text(cost.bytes_read), bytes_text(cost.bytes_total),
              cost.bytes_read, cost.bytes_total),
        "columns   " + "\n          ".join(cost.columns),
    ]  # fmt: skip


def _line(label: str, read: str, total: str, part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{label:<10}{read} of {total} {share:>6.1f}%"
