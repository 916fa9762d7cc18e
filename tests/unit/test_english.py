"""Keeps phrases that are hard to read out of docstrings, comments, messages, help and documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Banned:
    """A phrase that must not occur, a sentence that contains it, and a better sentence."""

    pattern: str
    bad: str
    good: str


BANNED = [
    Banned(
        r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|fewer\b|less\b)[A-Za-z]",
        "x.csv is no Parquet file",
        "x.csv is not a Parquet file, there is no column v, and it is no longer read",
    ),
    Banned(r"\bat the (?:most|least)\b", "20 rows at the most", "at most 20 rows"),
    Banned(r"\bunless (?:told|asked)\b", "20 rows unless told", "20 rows by default"),
    Banned(
        r"(?<!not )\bsay[.)]", 'skip by a path, "v:id" say.', "skip by a path, e.g. v:id; others do not say."
    ),
    Banned(
        r"\b(?i:nobody|anybody|somebody)\b", "bounds that nobody can use", "bounds that readers can't use"
    ),
    Banned(
        r"\bas (?:it comes|they come)\b", "rows are written as they come", "rows are written in input order"
    ),
    Banned(r"\btakes? what comes\b", "pandas takes what comes", "pass the reader to pandas"),
    Banned(r"\bstands? beside\b", "appends stand beside each other", "concurrent appends never conflict"),
    Banned(r"\bby the leaf\b", "files are read by the leaf", "only the columns that a query needs are read"),
    Banned(
        r"\b(?:that|which) (?:is|are) none\b", "a copy that is none", "a copy that differs from the original"
    ),
    Banned(r"\bin no order\b", "keys in no order", "unsorted keys"),
    Banned(
        r"\bneither[.,](?= |$)",
        "it can't be compared, in Spark neither.",
        "as in Spark, it can't be compared",
    ),
    Banned(r"\bnever (?:is|are)\b", "never is a row lost", "no row is ever lost"),
    Banned(r"\bmood\b", "a machine's mood cancels out", "machine noise largely cancels out"),
    Banned(r"\banew\b", "files are written anew", "files are rewritten"),
    Banned(r"\btoday's\b", "draft files become today's", "draft files are converted to the current layout"),
    Banned(r"\bsooner done\b", "sooner done than said", "it takes less time"),
    Banned(
        r"\b[Pp]uts? (?:\w+ ){0,3}together again\b", "puts a value together again", "reconstructs a value"
    ),
    Banned(r'"""(?:What|Which|Who|Whose)\b', '"""What a scan cost."""', '"""The cost of a scan."""'),
    Banned(r'"""The same,', '"""The same, as text."""', '"""Renders the report as text."""'),
    Banned(r'"""As above\b', '"""As above, for one file."""', '"""The key of one file."""'),
    Banned(r"\b[Pp]ages? to look at\b", "it writes a page to look at", "it writes an HTML page"),
    Banned(r"\bgo(?:es)? on where\b", "the job goes on where it was", "the job is resumed"),
    Banned(r"\bquarantine\b", "rows go to the quarantine", "rows go to the rejects table"),
    Banned(r"\bcan't be had\b", "if uv can't be had", "if uv can't be installed"),
    Banned(r"\bnext to nothing\b", "it costs next to nothing", "it costs almost nothing"),
    Banned(
        r"\b(?:is|are|was|were) passed over\b", "such commits are passed over", "such commits are skipped"
    ),
    Banned(r"\b[Ss]trangers?\b", "files of strangers", "files of other writers"),
    Banned(r"\b[Ww]hoever\b", "whoever has facts shows them", "callers that have facts show them"),
    Banned(r"\bcommonest\b", "the commonest type", "the most common type"),
    Banned(r"\b(?:its|their) room at\b", "but its room at byte 2", "beyond its limit at byte 2"),
    Banned(
        r"\b(?:is|are) an? [a-z]+ already\b",
        "the folder is a table already",
        "the folder is already a table, and it has already been read",
    ),
    Banned(r"\b[Mm]ended\b", "mended: a crash", "fixed: a crash"),
    Banned(
        r"\bany ?more[.,;)]", "it can't be read any more.", "it can no longer be read, nor any more rows."
    ),
    Banned(r"\bwhat is there\b", "it sorts what is there", "it sorts the existing files"),
    Banned(r"\bin none of\b", "in none of 30 rows", "none of 30 rows has JSON"),
    Banned(r"\bmean what they say\b", "the bytes mean what they say", "the count of bytes is accurate"),
    Banned(r"\bbytes whatever\b", "No bytes whatever crash", "No input can crash"),
    Banned(
        r"\b_?todays\b|\b_?todays_|\b_stands\b|\bmade_meanwhile\b|\bin_all\b|\bopened_here\b",
        "def todays_node(node)",
        "def current_node(node)",
    ),
]


def phrases(text: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the wording of each banned phrase; a phrase may continue on the next line."""
    breaks = re.compile(r"[ \t]*\n[ \t]*(?:# )?")
    joined, lines, at = [], [], 0
    for line, found in enumerate(breaks.finditer(text), 1):
        joined.append(text[at : found.start()])
        lines += [line] * (found.start() - at + 1)
        at = found.end()
    joined.append(text[at:])
    lines += [len(joined)] * (len(text) - at + 1)
    prose = " ".join(joined)
    for banned in BANNED:
        for found in re.finditer(banned.pattern, prose):
            yield lines[found.start()], prose[max(found.start() - 20, 0) : found.end() + 20]


def read_by_people() -> Iterator[Path]:
    for pattern in (
        "*.md",
        "*.py",
        "Makefile",
        "docs/**/*.md",
        ".github/**/*.*",
        *(f"src/**/*.{end}" for end in ("py", "pyi", "pyx", "pxd")),
        *(f"{folder}/**/*.py" for folder in ("benchmarks", "tests", "tools")),
    ):
        yield from sorted(path for path in ROOT.glob(pattern) if path != Path(__file__))


@pytest.mark.slow
def test_no_banned_phrase_is_used() -> None:
    files = list(read_by_people())
    assert len(files) > 500
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words}"
        for path in files
        for line, words in phrases(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("banned", BANNED, ids=lambda banned: banned.bad)
def test_a_bad_sentence_is_found_and_a_good_one_is_not(banned: Banned) -> None:
    assert [line for line, _ in phrases(f"First line.\n{banned.bad}\n")] == [2]
    assert list(phrases(f"First line.\n{banned.good}\n")) == []


def test_a_phrase_that_continues_on_the_next_line_is_found() -> None:
    assert [line for line, _ in phrases("# A comment: x.csv is\n# no Parquet file.\n")] == [1]
