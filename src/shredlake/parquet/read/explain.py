"""The cost of a scan."""

from __future__ import annotations

from dataclasses import dataclass

from shredlake.formatting import bytes_text, counted, html_text


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
        return "\n".join(
            [
                f"{counted(self.rows, 'row')} of {self.files_read:,} of {counted(self.files_total, 'file')}",
                _line("row groups", f"{self.row_groups_read:>4}", f"{self.row_groups_total:>6}",
                      self.row_groups_read, self.row_groups_total),
                _line("pages", f"{self.pages_read:>4}", f"{self.pages_total:>6}",
                      self.pages_read, self.pages_total) + "   in the columns read",
                _line("bytes", bytes_text(self.bytes_read), bytes_text(self.bytes_total),
                      self.bytes_read, self.bytes_total),
                "columns   " + "\n          ".join(self.columns),
            ]
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return html_text(str(self))


def _line(label: str, read: str, total: str, part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{label:<10}{read} of {total} {share:>6.1f}%"
