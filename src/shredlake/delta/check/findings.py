"""The rules of a check as a table, its findings, and its report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from shredlake.formatting import bytes_text, counted

Repair = Literal["entry", "checkpoint", "checksum"]
"""The part that a repair rebuilds: the entry of a file in the log (statistics and tag), or checkpoints. It
deletes a version checksum, which is optional.
"""


@dataclass(frozen=True)
class Rule:
    """A requirement, and what repairs a table that breaks it."""

    text: str
    repair: Repair | None = None


RULES: Final[dict[str, Rule]] = {
    "log-gap": Rule("The log has every commit from its start, or from a checkpoint, to its end."),
    "commit": Rule("A commit holds whole actions, of the types of the protocol, in no contradiction."),
    "protocol": Rule("The log has a protocol and a schema, and this version of shredlake can read them."),
    "checkpoint": Rule("A checkpoint can be read, and equals the replay of its commits.", "checkpoint"),
    "last-checkpoint": Rule("`_last_checkpoint` names a checkpoint of the log.", "checkpoint"),
    "version-checksum": Rule(
        "A version checksum (`.crc`) holds the counts and sizes of its version.", "checksum"
    ),
    "path": Rule("The path of a file lies inside the table, or under a prefix that the reader allows."),
    "file-missing": Rule("Every file that the log names is there."),
    "file-size": Rule("A file has the size that the log records."),
    "file-damaged": Rule("A data file is a Parquet file with the table's columns."),
    "partition-value": Rule("A partition value is of its column's type."),
    "deletion-vector": Rule("A deletion vector can be read, has the recorded size, and fits its file."),
    "layout-tag": Rule("The layout tag of a file describes the shredding in its footer.", "entry"),
    "row-count": Rule("The statistics of a file record as many rows as its footer.", "entry"),
    "page-damaged": Rule("All pages can be read and have their checksums."),
    "statistics": Rule("All values lie within the recorded bounds, and null counts are right.", "entry"),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A rule that a table breaks, and where.

    >>> print(Finding("file-missing", "part-1.parquet", "is not there"))
    part-1.parquet: is not there [file-missing]
    """

    rule: str
    file: str
    """The file's key in the table's folder, or its address."""
    problem: str

    @property
    def repair(self) -> Repair | None:
        return RULES[self.rule].repair

    def __str__(self) -> str:
        return f"{self.file}: {self.problem} [{self.rule}]"


@dataclass(frozen=True, kw_only=True)
class TableCheck:
    """The report on a table: how much was checked, the findings, and the repairs."""

    table: str
    version: int | None
    """The version that was checked; None if the log can't be replayed."""
    quick: bool
    findings: tuple[Finding, ...]
    """All findings, except those that were repaired."""
    commits: int = 0
    checkpoints: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0
    orphans: int = 0
    """Files in the folder that no retained version needs. Vacuum deletes them; they are not a fault."""
    repaired: tuple[Finding, ...] = ()
    """The findings that were repaired, or would be in a dry run."""
    repaired_version: int | None = None
    """The version that the repair committed; None if no entry of a file had to change."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong, or no longer."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it.

        >>> TableCheck(table="t", version=3, quick=True, findings=()).to_dict()["ok"]
        True
        """
        return {"ok": self.ok, **asdict(self)}

    def heading(self) -> str:
        """The table, and how much of it was checked.

        >>> TableCheck(table="t", version=3, quick=False, findings=(), commits=4, files=1, rows=9).heading()
        't, version 3: 4 commits, 0 checkpoints, 1 file (0 B), 9 rows'
        """
        looked_at = (
            counted(self.commits, "commit"),
            counted(self.checkpoints, "checkpoint"),
            f"{counted(self.files, 'file')} ({bytes_text(self.bytes)})",
            counted(self.rows, "row"),
        )
        version = "no readable version" if self.version is None else f"version {self.version}"
        text = f"{self.table}, {version}: {', '.join(looked_at)}"
        if self.quick:
            text += "; quick: no rows were read"
        if self.orphans:
            text += f"; {counted(self.orphans, 'orphan file')}, which vacuum can delete"
        return text

    def __str__(self) -> str:
        repaired = [f"repaired: {finding}" for finding in self.repaired]
        result = "nothing is wrong" if self.ok else counted(len(self.findings), "finding")
        return "\n".join([self.heading(), *repaired, *map(str, self.findings), result])
