"""The command line: one module per verb, all listed here."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import typer

from shredlake.cli import failures
from shredlake.cli.advise import advise
from shredlake.cli.check import check_file
from shredlake.cli.demo import demo
from shredlake.cli.history import history
from shredlake.cli.ingest import ingest_source
from shredlake.cli.inspect import inspect_file
from shredlake.cli.migrate import migrate_files
from shredlake.cli.optimize import optimize_files
from shredlake.cli.query import query
from shredlake.cli.report import report
from shredlake.cli.stats import stats
from shredlake.cli.vacuum import vacuum

app = typer.Typer(
    name="shredlake",
    cls=failures.Verbs,
    help="Semi-structured data at the speed of relational tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(show_version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if show_version:
        typer.echo(f"shredlake {version('shredlake')}")
        raise typer.Exit()


app.command("advise")(advise)
app.command("check")(check_file)
app.command("demo")(demo)
app.command("history")(history)
app.command("ingest")(ingest_source)
app.command("inspect")(inspect_file)
app.command("migrate")(migrate_files)
app.command("optimize")(optimize_files)
app.command("query")(query)
app.command("report")(report)
app.command("stats")(stats)
app.command("vacuum")(vacuum)


def main() -> None:
    """Runs the command line. An error is one line on stderr, with exit code 1; wrong usage is exit code 2."""
    failures.run(partial(app, prog_name="shredlake"))


if __name__ == "__main__":
    main()
