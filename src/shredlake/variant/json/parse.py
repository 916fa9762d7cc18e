"""Parses JSON text to a Variant: strict RFC 8259, exact numbers, the same bytes as Spark's parse_json.

| text | becomes |
|---|---|
| integer within 64 bits | the narrowest int |
| longer integer, up to 38 digits | decimal of scale 0 |
| number with a point, up to 38 digits and 38 after the point | decimal with the same scale: 1.10 stays 1.10 |
| anything longer, or with an exponent | double, the nearest one (beyond its range: infinity) |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NoReturn, cast

from shredlake.errors import InvalidJson, WrongType
from shredlake.formatting import kind_of
from shredlake.variant.builder import VariantBuilder
from shredlake.variant.types import MAX_DECIMAL_DIGITS, smallest_integer

if TYPE_CHECKING:
    from shredlake.variant.value import Variant

DuplicateKeys = Literal["error", "last_wins"]

MAX_DEPTH: Final = 1000
MAX_SIZE: Final = 128 << 20

_SPACES: Final = frozenset(" \t\n\r")
_MORE_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?([eE][+-]?[0-9]+)?")
_PLAIN_TEXT: Final = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
_HEX4: Final = re.compile(r"[0-9A-Fa-f]{4}")
_ESCAPES: Final = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_WORDS: Final = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_FOREIGN_WORDS: Final = re.compile(r"[+-]?(NaN|Infinity|nan|inf)|None|True|False|undefined")


def parse(
    text: str | bytes,
    *,
    duplicate_keys: DuplicateKeys = "error",
    max_depth: int = MAX_DEPTH,
    max_size: int = MAX_SIZE,
) -> Variant:
    """Parses one JSON document to a Variant.

    `duplicate_keys="last_wins"` keeps the last value of a repeated key. `max_depth` limits nested objects and
    arrays, `max_size` the bytes of the value and of the metadata. Text that is not JSON, or too deep or too
    large, raises an InvalidJson with line, column and byte position.

    >>> parse('{"a": [1, 1.10, 1e2]}').to_python()
    {'a': [1, Decimal('1.10'), 100.0]}
    >>> parse('{"a": 01}')
    Traceback (most recent call last):
    ...
    shredlake.errors.InvalidJson: found a number with a leading zero, at line 1, column 8 (byte 7)
    """
    return _Parser(_decoded(text), duplicate_keys, max_depth, max_size).document()


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    if not isinstance(text, bytes | bytearray | memoryview):
        raise WrongType(
            f"JSON is text or bytes, not {kind_of(text)}; Variant.of builds a value from Python objects"
        )
    try:
        return bytes(text).decode()
    except UnicodeDecodeError as error:
        good = bytes(text)[: error.start].decode()
        line, column = _line_and_column(good, len(good))
        raise InvalidJson("the text is not UTF-8", position=error.start, line=line, column=column) from None


def _line_and_column(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


class _Parser:
    """Parses in one pass without recursion: the open containers are a stack of their closing brackets."""

    def __init__(self, text: str, duplicate_keys: DuplicateKeys, max_depth: int, max_size: int) -> None:
        self._text = text
        self._at = 0
        self._builder = VariantBuilder(duplicate_keys=duplicate_keys)
        self._last_wins = duplicate_keys == "last_wins"
        self._max_depth = max_depth
        self._max_size = max_size
        self._closers: list[str] = []
        self._keys: list[set[str]] = []  # of each open object

    def document(self) -> Variant:
        if self._text.startswith("\ufeff"):
            self._fail("found a byte order mark; JSON text starts without one")
        self._skip_space()
        self._value()
        while self._closers:
            self._skip_space()
            closer = self._closers[-1]
            character = self._peek()
            if character == closer:
                self._at += 1
                self._closers.pop()
                if closer == "}":
                    self._keys.pop()
                self._builder.end()
                self._check_size(self._builder.value_size)
                continue
            if character != ",":
                self._fail(f"{self._found()}, expected ',' or '{closer}'")
            self._at += 1
            self._skip_space()
            if self._peek() == closer:
                self._fail(f"found a comma before '{closer}'")
            if closer == "}":
                self._key()
            self._value()
        self._skip_space()
        if self._at < len(self._text):
            self._fail(f"{self._found()} after the end of the document")
        return self._builder.build()

    def _value(self) -> None:
        """Parses a value; for a container, also its first key and value, down to a scalar."""
        while True:
            character = self._peek()
            if character == '"':
                self._builder.append_string(self._string())
                break
            if character and character in "-0123456789":
                self._number()
                break
            if character and character in _WORDS:
                self._word(*_WORDS[character])
                break
            if character not in ("{", "["):
                if foreign := _FOREIGN_WORDS.match(self._text, self._at):
                    self._fail(f"{foreign.group()} is not JSON")
                self._fail(f"{self._found()}, expected a value")
            if not self._open(character):
                break
        self._check_size(self._builder.value_size)

    def _open(self, bracket: str) -> bool:
        """Opens a container; returns True if a value follows, False if it is empty and closed again."""
        if len(self._closers) >= self._max_depth:
            self._fail(f"the document is nested deeper than {self._max_depth} levels (see max_depth)")
        self._at += 1
        self._skip_space()
        closer = "}" if bracket == "{" else "]"
        if closer == "}":
            self._builder.start_object()
        else:
            self._builder.start_array()
        if self._peek() == closer:
            self._at += 1
            self._builder.end()
            return False
        self._closers.append(closer)
        if closer == "}":
            self._keys.append(set())
            self._key()
        return True

    def _key(self) -> None:
        start = self._at
        if self._peek() != '"':
            self._fail(f"{self._found()}, expected a key in double quotes")
        name = self._string()
        if not self._last_wins:
            if name in self._keys[-1]:
                self._fail(
                    f"the key {name!r} occurs twice; duplicate_keys='last_wins' keeps its last value", start
                )
            self._keys[-1].add(name)
        self._builder.key(name)
        self._check_size(self._builder.metadata_size)
        self._skip_space()
        if self._peek() != ":":
            self._fail(f"{self._found()}, expected ':'")
        self._at += 1
        self._skip_space()

    def _word(self, word: str, value: bool | None) -> None:
        if not self._text.startswith(word, self._at):
            self._fail(f"{self._found()}, expected a value")
        self._at += len(word)
        self._builder.append(value)

    def _number(self) -> None:
        match = _NUMBER.match(self._text, self._at)
        if match is None:
            if foreign := _FOREIGN_WORDS.match(self._text, self._at):
                self._fail(f"{foreign.group()} is not JSON")
            self._fail("found a number without digits", self._at + 1)
        after = self._text[match.end() : match.end() + 1]
        if after and (after in ".eE+-" or after.isalnum()):
            leading_zero = match[1] == "0" and match.end() == match.end(1) and after.isdigit()
            number = "number with a leading zero" if leading_zero else "malformed number"
            self._fail(f"found a {number}", match.end())
        self._at = match.end()
        whole, fraction, exponent = match.groups()
        negative = match.group().startswith("-")
        if exponent is None:
            digits = (whole + (fraction or "")).lstrip("0") or "0"
            if len(digits) <= MAX_DECIMAL_DIGITS and len(fraction or "") <= MAX_DECIMAL_DIGITS:
                unscaled = -int(digits) if negative else int(digits)
                if fraction is None and smallest_integer(unscaled) is not None:
                    self._builder.append_integer(unscaled)
                else:
                    self._builder.append_decimal(unscaled, len(fraction or ""))
                return
        self._builder.append(float(match.group()))

    def _string(self) -> str:
        """Parses the string whose opening quote is here."""
        opening = self._at
        self._at += 1
        parts: list[str] = []
        while True:
            match = cast("re.Match[str]", _PLAIN_TEXT.match(self._text, self._at))
            parts.append(match.group())
            self._at = match.end()
            character = self._peek()
            if character == '"':
                self._at += 1
                return "".join(parts)
            if character == "\\":
                parts.append(self._escape())
            elif not character:
                self._fail("this string is never closed", opening)
            elif character < " ":
                self._fail(f"found the control character U+{ord(character):04X} in a string; escape it")
            else:
                self._fail(f"found half a surrogate pair, U+{ord(character):04X}")

    def _escape(self) -> str:
        start = self._at
        letter = self._text[start + 1 : start + 2]
        if letter in _ESCAPES:
            self._at += 2
            return _ESCAPES[letter]
        if letter != "u":
            self._fail(f"\\{letter} is not an escape of JSON")
        code = self._hex4(start)
        self._at += 6
        if not 0xD800 <= code < 0xE000:
            return chr(code)
        if code < 0xDC00 and self._text.startswith("\\u", self._at):
            low = self._hex4(self._at)
            if 0xDC00 <= low < 0xE000:
                self._at += 6
                return chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00)
        return self._fail(f"found half a surrogate pair, \\u{code:04x}", start)

    def _hex4(self, at: int) -> int:
        match = _HEX4.match(self._text, at + 2)
        if match is None:
            self._fail("found \\u without four hexadecimal digits", at)
        return int(match.group(), 16)

    def _check_size(self, size: int) -> None:
        if size > self._max_size:
            self._fail(f"the Variant exceeds {self._max_size} bytes (see max_size)")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        if self._peek() in _SPACES:
            self._at = cast("re.Match[str]", _MORE_SPACE.match(self._text, self._at)).end()

    def _found(self) -> str:
        character = self._peek()
        if not character:
            return "found the end of the text"
        return (
            f"found {character!r}"
            if character.isprintable()
            else f"found the character U+{ord(character):04X}"
        )

    def _fail(self, problem: str, at: int | None = None) -> NoReturn:
        at = self._at if at is None else at
        line, column = _line_and_column(self._text, at)
        position = len(self._text[:at].encode(errors="surrogatepass"))
        raise InvalidJson(problem, position=position, line=line, column=column)
