"""Explains what is wrong with a JSON text, from the code and position that the compiled parser returns.

The words and positions equal those of the reference (`parse.py`); a test compares the two.
"""

from __future__ import annotations

import re
from typing import Final

from shredlake.errors import InvalidJson

# As in `enum Problem` of json_text.pxd.
EXPECTED_VALUE: Final = 1
EXPECTED_KEY: Final = 2
EXPECTED_COLON: Final = 3
EXPECTED_COMMA_OR_BRACE: Final = 4
EXPECTED_COMMA_OR_BRACKET: Final = 5
TRAILING: Final = 6
UNCLOSED: Final = 7
CONTROL: Final = 8
BAD_ESCAPE: Final = 9
BAD_HEX: Final = 10
LONE_SURROGATE: Final = 11
NOT_UTF8: Final = 12
NO_DIGITS: Final = 13
BAD_NUMBER: Final = 14
DUPLICATE_KEY: Final = 15
TOO_DEEP: Final = 16
TOO_LARGE: Final = 17

_WORDING: Final = {
    EXPECTED_VALUE: "{found}, expected a value",
    EXPECTED_KEY: "{found}, expected a key in double quotes",
    EXPECTED_COLON: "{found}, expected ':'",
    EXPECTED_COMMA_OR_BRACE: "{found}, expected ',' or '}}'",
    EXPECTED_COMMA_OR_BRACKET: "{found}, expected ',' or ']'",
    TRAILING: "{found} after the end of the document",
    UNCLOSED: "this string is never closed",
    CONTROL: "found the control character U+{code:04X} in a string; escape it",
    BAD_ESCAPE: "\\{escape} is not an escape of JSON",
    BAD_HEX: "found \\u without four hexadecimal digits",
    LONE_SURROGATE: "found half a surrogate pair, \\u{surrogate}",
    NOT_UTF8: "the text is not UTF-8",
    NO_DIGITS: "found a number without digits",
    BAD_NUMBER: "found a malformed number",
    DUPLICATE_KEY: "the key {key!r} occurs twice; duplicate_keys='last_wins' keeps its last value",
    TOO_DEEP: "the document is nested deeper than {max_depth} levels (see max_depth)",
    TOO_LARGE: "the Variant exceeds {max_size} bytes (see max_size)",
}

_AFTER_A_VALUE: Final = {EXPECTED_COMMA_OR_BRACE, EXPECTED_COMMA_OR_BRACKET, TRAILING, BAD_NUMBER, TOO_LARGE}
_FOREIGN_WORD: Final = re.compile(r"[+-]?(NaN|Infinity|nan|inf)|None|True|False|undefined")
_ZERO: Final = re.compile(r"(?<![0-9.eE+-])-?0\Z|(?<![0-9.eE+])-0\Z")


def describe(problem: int, text: bytes, position: int, *, max_depth: int, max_size: int) -> InvalidJson:
    """Builds the error for a problem at a byte position of a text.

    >>> print(describe(EXPECTED_COLON, b'{"a" 1}', 5, max_depth=1000, max_size=1 << 27))
    found '1', expected ':', at line 1, column 6 (byte 5)
    """
    before = text[:position].decode()
    rest = text[position:].decode(errors="replace")
    wording = _WORDING[problem]
    foreign = _FOREIGN_WORD.match(rest)
    if problem == NO_DIGITS and not foreign:
        before, rest = before + rest[:1], rest[1:]
    elif foreign and (problem == NO_DIGITS or (problem == EXPECTED_VALUE and rest[0] not in "tfn")):
        wording = "{foreign} is not JSON"
    elif problem == EXPECTED_VALUE and rest.startswith("\ufeff") and not before:
        wording = "found a byte order mark; JSON text starts without one"
    elif _comma_before_closing(problem, before, rest):
        wording = "found a comma before '{closing}'"
    elif problem in _AFTER_A_VALUE and _inside_number(before, rest):
        wording = _WORDING[BAD_NUMBER]
        if rest[0].isdigit() and _ZERO.search(before):
            wording = "found a number with a leading zero"
    found = rest[:1]
    return InvalidJson(
        wording.format(
            found=f"found {_name_of(found)}",
            closing=found,
            code=ord(found or "\0"),
            escape=rest[1:2],
            surrogate=rest[2:6].lower(),
            key=_key_at(rest) if problem == DUPLICATE_KEY else "",
            foreign=foreign and foreign.group(),
            max_depth=max_depth,
            max_size=max_size,
        ),
        position=len(before.encode()),
        line=before.count("\n") + 1,
        column=len(before) - (before.rfind("\n") + 1) + 1,
    )


def _comma_before_closing(problem: int, before: str, rest: str) -> bool:
    closing = {EXPECTED_VALUE: "]", EXPECTED_KEY: "}"}.get(problem)
    return closing is not None and rest[:1] == closing and before.rstrip(" \t\n\r").endswith(",")


def _inside_number(before: str, rest: str) -> bool:
    return before[-1:].isdigit() and bool(rest) and (rest[0] in ".eE+-" or rest[0].isalnum())


def _name_of(character: str) -> str:
    if not character:
        return "the end of the text"
    return repr(character) if character.isprintable() else f"the character U+{ord(character):04X}"


def _key_at(text: str) -> str:
    """The key whose opening quote is the first character."""
    import json

    key: str = json.JSONDecoder().raw_decode(text)[0]
    return key
