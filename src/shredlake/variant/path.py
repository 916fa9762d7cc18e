"""Paths into a value: `$.a.b[0]`, `$['odd key']`, `$["x"]`, and Spark's `v:a.b[0]`.

```
path     = "$" step*  |  [column ":"] first step*        the second form is Spark's
step     = "." name  |  "[" index "]"  |  "[" quoted "]"
name     = any characters but  . [    as in Spark; `*` alone is rejected, since it looks like a wildcard
first    = any characters but  . [ ] ' " : *  and control characters
quoted   = 'text' or "text", with the escapes \\b \\f \\n \\r \\t \\/ \\\\ \\' \\" \\uXXXX
index    = 0 | 1..9 and up to nine more digits
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from shredlake.caches import cached
from shredlake.errors import InvalidPath, WrongType
from shredlake.formatting import kind_of

_NAME: Final = re.compile(r"(?!\*(?:[.\[]|\Z))[^.\[]+")
_FIRST_NAME: Final = re.compile(r"""[^.\[\]'":*\x00-\x1f]+""")
_COLUMN: Final = re.compile(r"(?:[^\W\d]\w*|`(?:[^`]|``)+`):")
_INDEX: Final = re.compile(r"(?:0|[1-9][0-9]{0,9})(?=\])", re.ASCII)
_SPARK_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[]+)|\['(?P<single>[^']*)'\]|\["(?P<double>[^"]*)"\]|\[(?P<index>[0-9]+)\]"""
)
_LARGEST_INDEX: Final = (1 << 31) - 1
_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*")

_ESCAPES: Final = {
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", "'": "'", '"': '"',
}  # fmt: skip
_NORMAL_ESCAPES: Final = str.maketrans(
    {chr(code): f"\\u{code:04x}" for code in range(32)}
    | {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "'": "\\'", "\\": "\\\\"}
)


@dataclass(frozen=True, slots=True)
class Path:
    """A path into a value: keys (str) and indexes (int), outermost first.

    >>> path = Path.parse("$.user['first name'][0]")
    >>> path.steps
    ('user', 'first name', 0)
    >>> str(path)
    "$.user['first name'][0]"
    >>> path.normalized()
    "$['user']['first name'][0]"
    """

    steps: tuple[str | int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Path:
        """Parses a path; a leading column, as in `v:a.b`, is dropped.

        >>> Path.parse("a.b[0]") == Path.parse("$.a.b[0]") == Path.parse("v:a.b[0]")
        True
        >>> Path.parse("$.a..b")
        Traceback (most recent call last):
        ...
        shredlake.errors.InvalidPath: expected a name after the dot
          $.a..b
              ^
        """
        if not isinstance(text, str):
            raise WrongType(f"a path is text such as $.a.b or v:a.b, not {kind_of(text)}")
        return _parse(text)

    @classmethod
    def parse_spark(cls, text: str) -> Path:
        """Parses a path of Spark's `variant_get`: no escapes inside quotes, `*` is an ordinary key.

        >>> Path.parse_spark("$.fb:testid['a\\\\b'][007]").steps == ("fb:testid", "a\\\\b", 7)
        True
        """
        return _parse_spark(text)

    def normalized(self) -> str:
        """Returns the normalized path of RFC 9535, which names Delta's statistics.

        >>> Path(("it's", 0, "\\x1f")).normalized()
        "$['it\\\\'s'][0]['\\\\u001f']"
        """
        return "$" + "".join(map(_bracketed, self.steps))

    def child(self, step: str | int) -> Path:
        """The path extended by one step.

        >>> str(Path().child("a").child(0))
        '$.a[0]'
        """
        return Path((*self.steps, step))

    def __str__(self) -> str:
        return "$" + "".join(
            f".{step}" if isinstance(step, str) and _PLAIN_NAME.fullmatch(step) else _bracketed(step)
            for step in self.steps
        )


def _bracketed(step: str | int) -> str:
    return f"[{step}]" if isinstance(step, int) else f"['{step.translate(_NORMAL_ESCAPES)}']"


@cached(1024, "paths")
def _parse(text: str) -> Path:
    steps: list[str | int] = []
    if text.startswith("$"):
        at = 1
    else:
        at = 0
        if prefix := _COLUMN.match(text):
            at = prefix.end()
        if not text.startswith("[", at):
            name, at = _name(text, at, _FIRST_NAME, "expected a path: $.key, $['key'], $[0] or key.key[0]")
            steps.append(name)
    step: str | int
    while at < len(text):
        if text[at] == ".":
            step, at = _name(text, at + 1, _NAME, "expected a name after the dot")
        elif text[at] == "[":
            step, at = _bracket(text, at + 1)
        else:
            raise InvalidPath(_hint(text, at, "expected '.' or '['"), path=text, position=at)
        steps.append(step)
    return Path(tuple(steps))


@cached(1024, "paths as Spark reads them")
def _parse_spark(text: str) -> Path:
    if not text.startswith("$"):
        raise InvalidPath("expected a path that starts with $, as in $.a[0]", path=text, position=0)
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        found = _SPARK_STEP.match(text, at)
        if found is None:
            raise InvalidPath("expected .key, ['key'] or [0]", path=text, position=at)
        index = found["index"]
        if index is None:
            steps.append(next(key for key in found.group("name", "single", "double") if key is not None))
        elif len(index.lstrip("0")) <= 10 and int(index) <= _LARGEST_INDEX:
            steps.append(int(index))
        else:
            raise InvalidPath(f"an index is at most {_LARGEST_INDEX}", path=text, position=at)
        at = found.end()
    return Path(tuple(steps))


def _name(text: str, at: int, names: re.Pattern[str], problem: str) -> tuple[str, int]:
    match = names.match(text, at)
    if match is None:
        raise InvalidPath(_hint(text, at, problem), path=text, position=at)
    return match.group(), match.end()


def _hint(text: str, at: int, problem: str) -> str:
    if text.startswith(("*", "[*"), at):
        return f"{problem}; a path leads to one value and has no wildcards"
    if at < len(text) and text[at] in ":*'\"]":
        return f"{problem}; quote a key with special characters, as in $['odd key']"
    return problem


def _bracket(text: str, at: int) -> tuple[str | int, int]:
    """The step whose '[' ends at `at`, and the position after its ']'."""
    if text[at : at + 1] in ("'", '"'):
        step, at = _quoted(text, at)
        if not text.startswith("]", at):
            raise InvalidPath("expected ']' after the quoted key", path=text, position=at)
        return step, at + 1
    match = _INDEX.match(text, at)
    if match is None:
        if text.startswith("-", at):
            problem = "an index counts from 0 and is never negative"
        else:
            problem = _hint(text, at, "expected an index or a quoted key")
        raise InvalidPath(problem, path=text, position=at)
    return int(match.group()), match.end() + 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The key whose opening quote is at `at`, and the position after its closing quote."""
    quote = text[at]
    opening = at
    at += 1
    parts: list[str] = []
    while True:
        if at >= len(text):
            raise InvalidPath("this quote is never closed", path=text, position=opening)
        character = text[at]
        if character == quote:
            return "".join(parts), at + 1
        if character == "\\":
            part, at = _escape(text, at)
        else:
            part, at = character, at + 1
        parts.append(part)


def _escape(text: str, at: int) -> tuple[str, int]:
    letter = text[at + 1 : at + 2]
    if letter in _ESCAPES and letter:
        return _ESCAPES[letter], at + 2
    match = re.compile(r"\\u([0-9A-Fa-f]{4})(?:\\u([dD][c-fC-F][0-9A-Fa-f]{2}))?").match(text, at)
    if match is None:
        raise InvalidPath("not an escape: use \\\\ for a backslash", path=text, position=at)
    code = int(match[1], 16)
    if 0xD800 <= code < 0xDC00 and match[2]:
        return chr(0x10000 + (code - 0xD800 << 10) + int(match[2], 16) - 0xDC00), match.end()
    if 0xD800 <= code < 0xE000:
        raise InvalidPath("half of a surrogate pair is not a character", path=text, position=at)
    return chr(code), at + 6
