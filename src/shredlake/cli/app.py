"""The command line: one module per verb, listed here, each imported when its verb is called."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal

import typer
from typer.core import TyperCommand
from typer.main import get_command

import shredlake
from shredlake.cli import failures, interrupts

VERBS: Final = {
    "advise": (
        "describing.advise:advise",
        "Recommend which paths to shred, with reasons, and measure the effect on size.",
    ),
    "check": (
        "describing.check:check",
        "Check a whole table, or the Variants of a Parquet file; repair what can be rebuilt.",
    ),
    "convert": (
        "loading.convert:convert_columns",
        "Convert string columns that hold JSON to Variants, in place or as a copy.",
    ),
    "count": ("querying.count:count", "Count the rows of a table that meet a condition."),
    "delete": ("maintaining.delete:delete", "Delete the rows of a table that meet a condition."),
    "demo": ("demo:demo", "Generate events, ingest them, show the layout, and query paths."),
    "doctor": (
        "describing.doctor:examine",
        "Show which engines can read a table or file, and why not; or check this environment.",
    ),
    "drift": (
        "describing.drift:show_drift",
        "Show which paths appeared, vanished or changed type over the versions of a table.",
    ),
    "head": ("querying.head:head", "Show the first rows of a table."),
    "history": ("describing.history:history", "Show the commits of a Delta table, newest first."),
    "ingest": ("loading.ingest:ingest_source", "Ingest JSON into a shredded Delta table, each file once."),
    "inspect": (
        "describing.inspect:inspect_file",
        "Show the Variants of a Parquet file: types, fill, bytes and bounds per path.",
    ),
    "migrate": (
        "loading.migrate:migrate_files",
        "Convert Parquet files from the older draft layout, or copy a table for engines that lack shredding.",
    ),
    "optimize": (
        "maintaining.optimize:optimize_files",
        "Compact, sort and re-shred the files of a table; no row changes.",
    ),
    "query": (
        "querying.query:query",
        "Query paths of a table; only the columns, files and pages that can match are read.",
    ),
    "report": (
        "describing.report:report",
        "Show how the files of a Delta table shred its Variants, and what queries can skip.",
    ),
    "restore": ("maintaining.restore:restore", "Restore an older version of a table, as a new version."),
    "schema": ("describing.schema:schema", "Show the columns of a table, and how its Variants are shredded."),
    "sql": (
        "querying.sql:run_sql",
        "Run SQL over tables and Parquet files; paths are read as columns, without Spark.",
    ),
    "stats": (
        "describing.stats:stats",
        "Show which ranges of values the files of a Delta table cover, per column and path.",
    ),
    "vacuum": (
        "maintaining.vacuum:vacuum",
        "List the files that no retained version needs, or delete them with --delete.",
    ),
    "views": (
        "describing.views:show_views",
        "Print SQL for a view, or a dbt model, with one typed column per path.",
    ),
}
"""Each verb: the module in `cli/verbs` and the function that runs it, and the first line of its docstring."""


EXAMPLES: Final = {
    "advise": "shredlake advise events.ndjson --query '$.user.id'",
    "check": "shredlake check lake/events --repair --dry-run",
    "convert": "shredlake convert lake/events --column payload",
    "count": "shredlake count lake/events --where \"v:kind::string = 'like'\"",
    "delete": 'shredlake delete lake/events --where "v:user.id::bigint = 9" --dry-run',
    "demo": "shredlake demo --engine local",
    "doctor": "shredlake doctor lake/events",
    "drift": "shredlake drift lake/events --since 120",
    "head": 'shredlake head lake/events "v:user.id::bigint AS id, v:kind::string"',
    "history": "shredlake history lake/events --limit 5",
    "ingest": "shredlake ingest 'raw/*.ndjson' lake/events --sort-by v:ts::bigint",
    "inspect": "shredlake inspect part-0.parquet --html file.html",
    "migrate": "shredlake migrate lake/events lake/events_plain --unshred",
    "optimize": "shredlake optimize lake/events --sort-by v:ts::bigint",
    "query": 'shredlake query lake/events v:kind::string --where "v:ts::bigint > 5"',
    "report": "shredlake report lake/events --html report.html",
    "restore": "shredlake restore lake/events --version 3",
    "schema": "shredlake schema lake/events",
    "sql": "shredlake sql \"select v:kind::string from 'lake/events' limit 3\"",
    "stats": "shredlake stats lake/events --path v:ts",
    "vacuum": "shredlake vacuum lake/events --delete",
    "views": "shredlake views lake/events --dialect duckdb",
}
"""The example at the end of each verb's help."""


GROUPS: Final = {
    "loading": "Load data",
    "querying": "Read rows",
    "describing": "Describe tables and files",
    "maintaining": "Change tables",
    "demo": "Try it",
}
"""The groups of verbs in the help: the folders of their modules, and their headings."""


HELP: Final = {"help_option_names": ["-h", "--help"]}


LogLevel = Literal["debug", "info", "warning", "error"]


class LazyVerb(TyperCommand):
    """A verb whose module is imported when it runs, or when its own help is shown."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        with failures.plain_usage_errors():
            return load(str(self.name)).make_context(info_name, args, parent=parent, **extra)


class Verbs(failures.Interruptible):
    """The group of all verbs. Its help needs no verb's module."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: LazyVerb(name, help=summary) for name, (_, summary) in VERBS.items()}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Lists the verbs by group, with their whole summaries, where Typer would cut them at the width."""
        longest = max(map(len, VERBS))
        for folder, title in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(longest), summary)
                        for name, (module, summary) in VERBS.items()
                        if re.split(r"[.:]", module)[0] == folder
                    ]
                )


def function_of(verb: str) -> Any:
    """Imports the module of a verb and returns its function."""
    module, name = VERBS[verb][0].split(":")
    return getattr(import_module(f"shredlake.cli.verbs.{module}"), name)


def load(verb: str) -> Any:
    """Imports a verb and returns its command."""
    function = function_of(verb)
    interrupts.raise_exception()
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    example = f"\b\nExample:\n  {EXAMPLES[verb]}"  # click keeps the lines of a paragraph behind \\b
    single.command(verb, context_settings=HELP, epilog=example)(function)
    command = get_command(single)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            _name_in_capitals(parameter)
        else:
            parameter.display_type = partial(_plain_type, parameter.display_type)  # type: ignore[attr-defined]
            # The error for a number out of range says what is allowed; `[0<=x<=9007199254740992]` is noise.
            parameter._get_number_range_help_str = lambda: None  # type: ignore[attr-defined]
    return command


def _name_in_capitals(argument: Any) -> None:
    """Help shows `TABLE` or `[COLUMNS]`, where Typer writes `{table}` and `columns <text>`."""
    argument.metavar = argument.metavar or argument.name.upper()
    usage = argument.metavar if argument.required else f"[{argument.metavar}]"
    argument.get_usage_pieces = lambda ctx: [usage]
    argument.display_type = lambda ctx: ""


_TYPES: Final = {"str": "TEXT", "int": "N", "float": "N", "int range": "N", "float range": "N"}


def _plain_type(named: Callable[[Any], str], ctx: Any) -> str:
    """The value of an option in its help: `TEXT`, where Typer writes `<list[str]>`."""
    name = re.sub(r"^list\[(.*)\]$", r"\1", named(ctx)[1:-1])
    return _TYPES.get(name, name)


app = typer.Typer(
    name="shredlake",
    cls=Verbs,
    help="Store JSON in Delta tables, and query it at the speed of relational tables.",
    epilog="'shredlake COMMAND -h' shows the options of a command.",
    no_args_is_help=True,
    context_settings=HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich draws boxes, and takes as long to import as everything else
)


@app.callback(invoke_without_command=True)
def _root(
    show_version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    log_level: LogLevel | None = typer.Option(
        None,
        "--log-level",
        case_sensitive=False,
        help="Write log messages of this level and above to stderr.",
    ),
) -> None:
    if log_level is not None:
        logging.basicConfig(
            level=log_level.upper(),
            stream=sys.stderr,
            format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        )
    if show_version:
        typer.echo(f"shredlake {shredlake.__version__}")
        raise typer.Exit()


def main() -> None:
    """Runs the command line. The exit codes are documented in docs/command-line.md."""
    verb, *rest = [*sys.argv[1:], ""]
    if verb in VERBS and rest[:-1] in ([name] for name in HELP["help_option_names"]):
        # The options of `app` are left out: to read them, Typer imports pydantic, which takes 0.3 s.
        failures.run(partial(load(verb), ["--help"], prog_name=f"shredlake {verb}"))
    failures.run(partial(app, prog_name="shredlake"))


if __name__ == "__main__":
    main()
