"""Control characters and quotes in messages are escaped."""

from __future__ import annotations

import json

from shredlake.cli.messages import escaped_json
from shredlake.formatting import escaped


def test_escapes() -> None:
    assert escaped("tab\there\x1b[0m\x7f\u2066") == "tab\\there\\x1b[0m\\x7f\\u2066"
    assert json.loads(escaped_json('"\x7f\u202e"')) == "\x7f\u202e"
    assert escaped("é 😀 漢") == "é 😀 漢"
