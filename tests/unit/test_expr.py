"""The examples of docs/expressions.md run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path


def test_the_examples_run() -> None:
    page = Path(__file__).parents[2] / "docs" / "expressions.md"
    examples = re.sub(r"^```.*$", "", page.read_text(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(test).failed == 0
