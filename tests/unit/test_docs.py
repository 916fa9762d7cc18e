"""The documentation runs: Python blocks are executed, commands exist, links lead somewhere.

Blocks of one page share their names, top to bottom, in an empty folder. A block with `>>>` is a doctest;
others are executed. A block that needs Spark or DataFusion says so in its first line: `# needs Spark`.

A console block that starts with `$ cat FILE` is a session on that file: the file is written with the lines
that the block shows, the `shredlake` commands run, and what the block shows behind a command is its output,
where `...` stands for anything. Later console blocks of the page that only call `shredlake` belong to it.
"""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shredlake.cli.app import VERBS, app

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTSIDE = {"cat", "git", "cd", "pip", "python", "python3", "export", "source"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path, *languages: str) -> list[tuple[int, str]]:
    """Line number and text of each block in one of the languages."""
    text = page.read_text()
    return [
        (text.count("\n", 0, match.start()) + 2, match[2])
        for match in FENCE.finditer(text)
        if match[1] in languages
    ]


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__docs__"}
    session = False
    for line, source in blocks(page, "python", "console"):
        session |= source.startswith("$ cat ")
        if session and source.startswith("$ ") and programs(source) <= {"cat", "shredlake"}:
            run_session(source)
        if source.startswith(("# needs Spark", "# needs DataFusion", "$ ")):
            continue
        place = f"{page.name}, line {line}"
        if ">>>" in source:
            example = doctest.DocTestParser().get_doctest(source, names, place, str(page), line)
            report: list[str] = []
            doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append, clear_globs=False)
            names = example.globs
            assert not report, "".join(report)
        else:
            exec(compile("\n" * (line - 1) + source, str(page), "exec"), names)


def test_the_page_of_the_command_line_lists_every_verb() -> None:
    table = (ROOT / "docs" / "command-line.md").read_text().partition("```")[0]
    assert set(re.findall(r"`([a-z]+)`", table)) >= set(VERBS)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_rows_of_tables_have_the_cells_of_their_heading(page: Path) -> None:
    """A bar in a cell ends it, in backticks too, unless a backslash is before it."""
    text = FENCE.sub("", page.read_text())
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        heading, *rows = [re.findall(r"(?<!\\)\|", line) for line in table.splitlines()]
        assert [row for row in rows if len(row) != len(heading)] == [], table[:200]


def run_session(source: str) -> None:
    """Runs the commands of a console block, in the current folder, and compares their output."""
    for part in re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        program, *arguments = shlex.split(command)
        if program == "cat":
            Path(arguments[0]).parent.mkdir(parents=True, exist_ok=True)
            Path(arguments[0]).write_text(shown)
            continue
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, command
        same = doctest.OutputChecker().check_output(shown, result.output, OPTIONS)
        assert shown == "" or same, f"{command}\n{result.output}"


def programs(source: str) -> set[str]:
    """The programs that a console block calls."""
    return {command.split()[0] for command in commands(source)}


def commands(source: str) -> list[str]:
    """The commands of a block: its lines behind a `$`, or all of them if there is none."""
    lines = re.findall(r"^\$ (.*)$", source, re.MULTILINE)
    return lines or re.findall(r"^([a-z].*)$", source, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for _, source in blocks(page, "console", "bash", "sh"):
        for command in commands(source):
            words = command.split()
            if words[0] == "make":
                assert words[1] in targets, command
            elif words[0] == "shredlake":
                assert words[1] in VERBS or words[1].startswith("--"), command
            else:
                assert words[0] in OUTSIDE, command


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_targets_of_make_in_sentences_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"`(?:[A-Z_]+=\S+ )*make ([a-z][a-z-]*[a-z])(?=[ `])", page.read_text())
    assert set(named) <= targets


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_paths_exist(page: Path) -> None:
    for path in re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]*)`", page.read_text()):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / target).exists(), target
        if page.is_relative_to(ROOT / "docs"):  # the site has only this folder
            assert (page.parent / target).resolve().is_relative_to(ROOT / "docs"), target


def test_navigation_lists_every_page() -> None:
    navigation = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    listed = [
        page for section in navigation for pages in section.values() for one in pages for page in one.values()
    ]
    assert sorted(listed) == sorted(
        str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")
    )
