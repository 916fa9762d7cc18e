"""Rebuilds what follows from other parts of a table: statistics, layout tags, checkpoints and the hint.

No data file is written, changed or deleted. Entries of files are added again with `dataChange=false`, as the
protocol provides for new statistics. A damaged checkpoint is replaced by one made from the commits. A wrong
version checksum is deleted: it is optional, and engines that use it would refuse the version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shredlake.delta.check.file_check import FileResult, layout_with_objects, measure
from shredlake.delta.check.findings import Finding
from shredlake.delta.check.log_check import LogCheck
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.protocol.features import require_writable, supports
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.read.data_file import DataFile
from shredlake.delta.stats.collect import StatsPolicy, file_stats
from shredlake.delta.stats.columns import TIGHT_BOUNDS
from shredlake.delta.write.checkpoint import write_checkpoint
from shredlake.delta.write.commit import commit
from shredlake.delta.write.transaction import Operation, Reads
from shredlake.errors import ShredlakeError
from shredlake.parquet.variant_columns import layout_json


class Repairs:
    """Collects the files whose entries must change while a check runs, then repairs the table."""

    def __init__(self, log: LogCheck, snapshot: Snapshot) -> None:
        self.log = log
        self.snapshot = snapshot
        self.adds: dict[str, Add] = {}

    def consider(self, result: FileResult) -> None:
        """Remembers a file if all that is wrong with it can be rebuilt from the file itself."""
        if result.findings and all(finding.repair == "entry" for finding in result.findings):
            self.adds[result.add.path] = result.add

    def planned(self, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], None]:
        """The findings that `run` would repair."""
        rebuilt = tuple(
            finding for finding in findings if finding.repair == "entry" and finding.file in self.adds
        )
        checksums = (finding for finding in findings if finding.repair == "checksum")
        return (*rebuilt, *self._checkpoints(findings), *checksums), None

    def run(self, findings: Sequence[Finding]) -> tuple[tuple[Finding, ...], int | None]:
        """Repairs the table; returns the findings that are gone, and the version that was committed."""
        done, _ = self.planned(findings)
        if not done:
            return (), None
        require_writable(self.snapshot.protocol, self.snapshot.storage.uri)
        version = self._commit_entries(done) if self.adds else None
        broken = [finding for finding in done if finding.repair == "checkpoint"]
        if broken:
            self._replace_checkpoints()
        self.snapshot.storage.delete(finding.file for finding in done if finding.repair == "checksum")
        return done, version

    def _checkpoints(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings on checkpoints. Those whose commits are gone can't be rebuilt: nothing else knows."""
        rebuildable = set()
        for version in self.log.damaged:
            try:
                self.log.snapshot_at(version)
                rebuildable.add(self.log.listing.checkpoints[version].files[0].path)
            except ShredlakeError:
                continue
        return [
            finding
            for finding in findings
            if finding.rule == "last-checkpoint"
            or (finding.rule == "checkpoint" and finding.file in rebuildable)
        ]

    def _commit_entries(self, done: Sequence[Finding]) -> int:
        rules = {path: {finding.rule for finding in done if finding.file == path} for path in self.adds}
        adds = [self._rebuilt(add, rules[path]) for path, add in self.adds.items()]
        operation = Operation(
            "REPAIR", {"rules": sorted(set().union(*rules.values()))}, {"numUpdatedFiles": len(adds)}
        )
        return commit(self.snapshot, adds, operation, Reads(files=frozenset(add.key for add in adds)))

    def _rebuilt(self, add: Add, rules: set[str]) -> Add:
        """An entry with new statistics, and a new tag if the old one is wrong."""
        # Statistics are those of all rows of the file, deleted ones included.
        data = DataFile(self.snapshot, replace(add, deletion_vector=None, stats=None))
        try:
            layout = layout_with_objects(data.file)
            if rules & {"statistics", "row-count"}:
                add = replace(add, stats=self._statistics(data, layout, tight=add.deletion_vector is None))
        finally:
            data.file.close()
        if "layout-tag" in rules:
            add = replace(add, tags=dict(add.tags or {}) | {LAYOUT_TAG: layout_json(layout)})
        return replace(add, data_change=False)

    def _statistics(self, data: DataFile, layout: Any, *, tight: bool) -> str:
        snapshot = self.snapshot
        measured = measure(snapshot, data, layout)
        text = file_stats(
            measured.facts(data.add.path, data.add.size),
            snapshot.schema,
            snapshot.metadata.partition_columns,
            StatsPolicy.of(snapshot.settings, snapshot.clustering_columns),
            measured.container_nulls(),
            variant_bounds=supports(snapshot.protocol, "variantShredding"),
        )
        return text if tight else f'{text[:-1]},"{TIGHT_BOUNDS}":false}}'

    def _replace_checkpoints(self) -> None:
        """Writes sound checkpoints before it deletes damaged ones, the newest last: it is the hint's."""
        storage = self.snapshot.storage
        for version in sorted(self.log.damaged):
            try:
                snapshot = self.log.snapshot_at(version)
            except ShredlakeError:
                continue
            written = write_checkpoint(snapshot)
            damaged = [entry.path for entry in self.log.listing.checkpoints[version].files]
            storage.delete(path for path in damaged if path != written)
        write_checkpoint(load_snapshot(storage))
