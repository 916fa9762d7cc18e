"""The list of verbs: help, completion, `--json` everywhere, and the log level."""

from __future__ import annotations

import os
import re
import shlex

import pytest
from typer.testing import CliRunner

import shredlake as sl
from command_line import invoke as run
from shredlake.cli import app as command_line
from shredlake.cli.app import VERBS, app


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_json_and_has_help(verb: str) -> None:
    text = run(verb, "-h").stdout
    assert "--json" in text
    assert "Usage: " in text


def test_summaries_of_verbs_are_never_cut() -> None:
    for width in ("60", "80", "200"):
        text = CliRunner().invoke(app, ["-h"], env={"COLUMNS": width, "TERMINAL_WIDTH": width}).stdout
        assert all(summary in " ".join(text.split()) for _, summary in VERBS.values())


def test_help_lists_each_verb_in_its_group() -> None:
    text = CliRunner().invoke(app, ["-h"]).stdout
    for verb, (module, _) in VERBS.items():
        heading = command_line.GROUPS[re.split(r"[.:]", module)[0]]
        section = text.partition(f"{heading}:\n")[2].partition("\n\n")[0]
        assert re.search(rf"^  {verb} ", section, re.MULTILINE), verb


def test_help_names_arguments_and_values() -> None:
    assert run("query", "-h").stdout.startswith("Usage: shredlake query [OPTIONS] TABLE [COLUMNS]\n")
    assert "[OPTIONS] SRC... TABLE\n" in run("ingest", "-h").stdout
    assert re.search(r"^  TABLE +The table: a path or a URL", run("count", "-h").stdout, re.MULTILINE)
    assert "--version N " in run("count", "-h").stdout
    assert "Missing argument 'TABLE'" in run("count", code=2).output


@pytest.mark.parametrize("width", ["60", "80"])
@pytest.mark.parametrize("verb", VERBS)
def test_examples_are_whole_and_can_be_parsed(verb: str, width: str) -> None:
    example = command_line.EXAMPLES[verb]
    text = CliRunner().invoke(app, [verb, "-h"], env={"COLUMNS": width, "TERMINAL_WIDTH": width}).stdout
    assert text.endswith(f"\n\n  Example:\n    {example}\n")
    program, name, *arguments = shlex.split(example)
    assert (program, name) == ("shredlake", verb)
    command_line.load(verb).make_context(verb, arguments)


def test_a_wrong_option_gets_the_similar_one() -> None:
    assert (
        "No such option: --vresion. Did you mean --version?\n"
        in run("count", "t", "--vresion", "1", code=2).output
    )
    assert "No such option: --xyz\n" in run("count", "t", "--xyz", code=2).output


def test_every_verb_has_json_and_help() -> None:
    for verb in VERBS:
        options = {option for parameter in command_line.load(verb).params for option in parameter.opts}
        assert "--json" in options, verb
        assert f" {verb} [OPTIONS]" in run(verb, "-h").stdout, verb


def test_completion_knows_verbs_and_their_options() -> None:
    for line, wanted in (("shredlake hea", "head"), ("shredlake count --whe", "--where")):
        words = line.split()
        environment = {
            "_SHREDLAKE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        result = CliRunner().invoke(app, [], env=environment, prog_name="shredlake")
        assert wanted in result.output.split(), os.fspath(command_line.__file__)


def test_log_level(thirty: sl.Table) -> None:
    assert run("--log-level", "debug", "count", thirty.uri).stdout == "30\n"
    assert "--log-level" in run("--log-level", "loud", "count", thirty.uri, code=2).output
