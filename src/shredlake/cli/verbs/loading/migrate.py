"""`shredlake migrate`: converts files from the older draft layout, and copies tables without shredding."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from shredlake.cli.engines import ENGINE, MASTER, REMOTE, EngineName, running
from shredlake.cli.inputs import seekable, table_to_write
from shredlake.cli.messages import say
from shredlake.cli.options import JSON, STORAGE, storage_options
from shredlake.errors import InvalidFile
from shredlake.formatting import bytes_text, counted

if TYPE_CHECKING:
    from shredlake.parquet.write.writer import FileFacts

Engine = Literal["duckdb", "trino", "deltalake"]

WITHOUT_VARIANTS = frozenset({"trino"})
"""Engines that have no Variants in Delta tables."""


def migrate_files(
    source: str = typer.Argument(
        help="A Parquet file in the draft layout, a folder of such files, or - for standard input; with "
        "--unshred a table."
    ),
    target: str = typer.Argument(help="The file, folder or table to write; - for standard output."),
    infer: bool = typer.Option(False, "--infer", help="Infer a new shredding schema from the data."),
    strict: bool = typer.Option(False, "--strict", help="Fail on anything that the draft does not allow."),
    table: bool = typer.Option(False, "--table", help="Write to a Delta table, created if missing."),
    unshred: bool = typer.Option(False, "--unshred", help="Copy a Delta table without shredding."),
    compat: Engine | None = typer.Option(
        None,
        "--compat",
        help="Copy a Delta table for this engine.",
    ),
    engine: EngineName = ENGINE,
    master: str | None = MASTER,
    remote: str | None = REMOTE,
    storage: list[str] = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Convert Parquet files from the older draft layout, or copy a table for engines that lack shredding.

    Every value stays the same. With --table the rows go to a Delta table. With --unshred the source is a
    Delta table, and the target is a copy without shredding, for engines that can't read shredded files.
    --compat does the same for an engine by its name; for trino, Variants become strings of JSON.
    """
    from shredlake.cli.rows import parquet_to_stdout, print_report
    from shredlake.jobs.migrate import migrate_files as files_to_table
    from shredlake.jobs.unshred import unshred_table
    from shredlake.parquet.legacy.convert import convert_draft

    if table and (unshred or compat):
        raise typer.BadParameter("--table can't be used with --unshred or --compat")
    if table or unshred or compat:
        table_to_write(target)
        with running(engine, 0, master, remote) as chosen:
            if unshred or compat:
                report = unshred_table(
                    chosen,
                    source,
                    target,
                    storage_options=storage_options(storage),
                    show_progress=sys.stderr.isatty(),
                    as_text=compat in WITHOUT_VARIANTS,
                )
            else:
                report = files_to_table(
                    chosen,
                    source,
                    target,
                    reject_conflicts=strict,
                    storage_options=storage_options(storage),
                    show_progress=sys.stderr.isatty(),
                )
        print_report(report, as_json=as_json)
        return
    if target == "-":
        with parquet_to_stdout() as file, seekable([source]) as [found]:
            convert_draft(found, file, keep_schemas=not infer, reject_conflicts=strict)
        return
    with seekable([source]) as [found]:
        _convert(pairs(Path(found), Path(target)), infer, strict, as_json)


def _convert(files: Sequence[tuple[Path, Path]], infer: bool, strict: bool, as_json: bool) -> None:
    """Converts files one by one, and says how large they were and are."""
    from shredlake.cli.progress import rows_progress
    from shredlake.parquet.legacy.convert import convert_draft

    rows = 0
    for old, new in files:
        with rows_progress(old.name) as progress:
            facts: FileFacts = convert_draft(
                old, new, keep_schemas=not infer, reject_conflicts=strict, progress=progress
            )
        rows += facts.num_rows
        if as_json:
            found = {
                "file": str(new),
                "rows": facts.num_rows,
                "size_before": old.stat().st_size,
                "bytes": facts.size,
            }
            say(json.dumps(found, ensure_ascii=False))
            continue
        say(
            f"{new}: {counted(facts.num_rows, 'row')}, {bytes_text(old.stat().st_size)} before, "
            f"{bytes_text(facts.size)} now"
        )
    if len(files) > 1 and not as_json:
        say(f"{counted(len(files), 'file')}, {counted(rows, 'row')}")


def pairs(source: Path, target: Path) -> list[tuple[Path, Path]]:
    """The files to convert, each with its target. Files in folders keep their names; folders are created."""
    if not source.is_dir():
        return [(source, target / source.name if target.is_dir() else target)]
    files = [path for path in sorted(source.rglob("*.parquet")) if not path.name.startswith((".", "_"))]
    if not files:
        raise InvalidFile(f"{source} has no Parquet files")
    found = [(path, target / path.relative_to(source)) for path in files]
    for _, new in found:
        new.parent.mkdir(parents=True, exist_ok=True)
    return found
