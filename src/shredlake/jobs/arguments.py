"""The keyword arguments of the public verbs, with and without Spark.

Each class names the keyword-only parameters of one job, so that `sl.optimize`, `sls.optimize` and
`Table.optimize` need no list of their own. A test compares them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from shredlake.delta.write.alter import SchemaMode
from shredlake.errors import WrongType
from shredlake.formatting import kind_of
from shredlake.jobs.ingest.parse_task import Parsing
from shredlake.parquet.write.writer import WriteOptions
from shredlake.shredding.request import Shredding

Address = str | os.PathLike[str]


def as_tuple(value: str | Sequence[str]) -> tuple[str, ...]:
    """Returns one string or several as a tuple."""
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, Iterable) or not all(isinstance(one, str) for one in texts):
        raise WrongType(f"expected a name or expression as text, or a list of them, found {value!r}")
    return tuple(texts)


def addresses(source: Address | Iterable[Address]) -> list[str]:
    """Returns one address or several as strings."""
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    for one in given:
        if not isinstance(one, str | os.PathLike):
            raise WrongType(f"a source is a path or a URL, not {kind_of(one)}")
    return [os.fspath(one) for one in given]


class IngestArguments(TypedDict, total=False):
    """The keyword arguments of every `ingest`; see `IngestOptions` for what they mean."""

    column: str
    shredding: Shredding
    computed: Mapping[str, str]
    folder_columns: Mapping[str, str]
    multi_line: bool | None
    schema_mode: SchemaMode
    partition_by: str | Sequence[str]
    sort_by: str | Sequence[str]
    range_partition: bool
    rejects: str | None
    max_rejects: int | float | str | None
    job_id: str | None
    task_bytes: int | None
    file_bytes: int
    parsing: Parsing
    properties: Mapping[str, str]
    force: bool
    storage_options: Mapping[str, str]
    writing: WriteOptions | None
    show_progress: bool


class JobArguments(TypedDict, total=False):
    """The keyword arguments of every job that rewrites files."""

    file_bytes: int
    storage_options: Mapping[str, str] | None
    show_progress: bool


class RewriteArguments(TypedDict, total=False):
    """The keyword arguments of `Table.optimize`, which knows its storage options."""

    where: str | None
    sort_by: str | Sequence[str]
    column: str | None
    shredding: Shredding
    file_bytes: int
    writing: WriteOptions | None
    show_progress: bool


class OptimizeArguments(RewriteArguments, total=False):
    """The keyword arguments of every `optimize`; see `optimize_table`."""

    storage_options: Mapping[str, str] | None


class ConvertArguments(JobArguments, total=False):
    """The keyword arguments of every `convert`; see `convert_table`."""

    target: Address | None
    shredding: Shredding
    rejects: str | None
    max_rejects: int | float | None
    parsing: Parsing | None


class MigrateArguments(JobArguments, total=False):
    """The keyword arguments of every `migrate_draft`; see `migrate_files`."""

    reject_conflicts: bool


class UnshredArguments(JobArguments, total=False):
    """The keyword arguments of `unshred`; see `unshred_table`."""

    version: int | None
