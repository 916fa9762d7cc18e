"""The hooks of pre-commit run all commands of `make lint`."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_command_of_make_lint_is_a_hook() -> None:
    target = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert target is not None
    commands = re.findall(r"\$\(BIN\)/(\w+(?: check| format)?)", target[1])
    hooks = re.findall(
        r"entry: \.venv/bin/(\w+(?: check| format)?)", (ROOT / ".pre-commit-config.yaml").read_text()
    )
    assert sorted(commands) == sorted(hooks)
    assert "vulture" in hooks
