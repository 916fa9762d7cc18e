"""Parses Spark DDL into schema nodes. Errors give the position in the text and the path of the node.

```
type   = "struct" "<" field ("," field)* ">" | "array" "<" type ">" | "decimal" ["(" p ["," s] ")"] | word
field  = name [":"] type
name   = word | "`" anything, "``" for a backtick "`"
```
"""

from __future__ import annotations

import re
from typing import Final

from shredlake.errors import InvalidSchema, WrongType
from shredlake.formatting import kind_of
from shredlake.variant.identifiers import quote_if_needed
from shredlake.variant.types import DECIMAL_PRECISION, VariantType

from .schema import (
    ARRAY_ELEMENT,
    DDL_NAMES,
    MAX_DEPTH,
    Array,
    Node,
    Object,
    Scalar,
    Steps,
    Untyped,
    decimal,
    node_path,
)

SCALAR_WORDS: Final[dict[str, VariantType]] = {
    **{word: kind for kind, word in DDL_NAMES.items() if kind not in DECIMAL_PRECISION},
    # Spark's aliases.
    "byte": VariantType.INT8,
    "short": VariantType.INT16,
    "integer": VariantType.INT32,
    "long": VariantType.INT64,
    "real": VariantType.FLOAT,
    "timestamp_ltz": VariantType.TIMESTAMP,
}
DECIMAL_WORDS: Final = {"decimal", "dec", "numeric"}
SPARK_DEFAULT_DECIMAL: Final = (10, 0)

_TOKEN = re.compile(r"\s*(?:(?P<word>\w+)|`(?P<quoted>(?:[^`]|``)*)`|(?P<mark>[<>(),:])|(?P<end>$))")


def parse_node(text: str) -> Node:
    """Parses a DDL type.

    >>> parse_node("struct<a: int, `b c` array<date>>").fields[1]
    ('b c', Array(element=Scalar(date)))
    """
    if not isinstance(text, str):
        raise WrongType(f"a shredding schema is text such as struct<id bigint>, not {kind_of(text)}")
    parser = _Parser(text)
    node = parser.type(())
    if parser.kind != "end":
        raise parser.error(f"expected the end of the type, found {parser.shown()}", ())
    return node


class _Parser:
    """Recursive descent with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.kind: str = "end"
        self.value = ""
        self.start = self.after = 0
        self.advance(())

    def advance(self, steps: Steps) -> None:
        match = _TOKEN.match(self.source, self.after)
        if match is None:
            self.start = self.after + len(self.source[self.after :]) - len(self.source[self.after :].lstrip())
            odd = self.source[self.start]
            hint = "backtick without its partner" if odd == "`" else f"unexpected {odd!r}"
            raise self.error(f"{hint}; put names with special characters in `backticks`", steps)
        self.kind = match.lastgroup or "end"
        self.value = match.group(self.kind)
        self.start, self.after = match.start(self.kind) - (self.kind == "quoted"), match.end()

    def type(self, steps: Steps) -> Node:
        if len(steps) >= MAX_DEPTH:
            raise InvalidSchema(
                f"the schema is nested deeper than {MAX_DEPTH} levels, at position {self.start}"
            )
        word, start = self.value.lower(), self.start
        if self.kind != "word":
            raise self.error(f"expected a type, found {self.shown()}", steps)
        self.advance(steps)
        if word == "struct":
            return self.struct(steps)
        if word == "array":
            self.expect("<", steps)
            element = self.type((*steps, ARRAY_ELEMENT))
            self.expect(">", steps)
            return Array(element)
        if word in DECIMAL_WORDS:
            return self.decimal(steps, start)
        if word == "variant":
            return Untyped()
        if word in SCALAR_WORDS:
            return Scalar(SCALAR_WORDS[word])
        known = ", ".join([*dict.fromkeys(DDL_NAMES.values()), "variant", "struct<...>", "array<...>"])
        raise self.error(f"unknown type {word!r}", steps, at=start, hint=f"; known types: {known}")

    def struct(self, steps: Steps) -> Object:
        fields: dict[str, Node] = {}
        self.expect("<", steps)
        if self.at(">"):
            raise self.error("an object without fields can't be shredded; use variant", steps)
        while True:
            name, start = self.name(steps), self.start
            self.advance(steps)
            if name in fields:
                raise self.error(f"field {quote_if_needed(name)} occurs twice", steps, at=start)
            if self.at(":"):
                self.advance(steps)
            fields[name] = self.type((*steps, name))
            if not self.at(","):
                break
            self.advance(steps)
        self.expect(">", steps)
        return Object(tuple(fields.items()))

    def name(self, steps: Steps) -> str:
        if self.kind not in ("word", "quoted"):
            raise self.error(f"expected a field name, found {self.shown()}", steps)
        name = self.value.replace("``", "`") if self.kind == "quoted" else self.value
        try:
            name.encode()
        except UnicodeEncodeError:
            raise self.error(f"field name {name!r} is not valid Unicode", steps) from None
        return name

    def decimal(self, steps: Steps, start: int) -> Scalar:
        precision, scale = SPARK_DEFAULT_DECIMAL
        if self.at("("):
            self.advance(steps)
            precision, scale = self.integer(steps), 0
            if self.at(","):
                self.advance(steps)
                scale = self.integer(steps)
            self.expect(")", steps)
        try:
            return decimal(precision, scale)
        except InvalidSchema as error:
            raise self.error(str(error), steps, at=start) from None

    def integer(self, steps: Steps) -> int:
        if self.kind != "word" or not re.fullmatch("[0-9]{1,3}", self.value):
            raise self.error(f"expected a number, found {self.shown()}", steps)
        number = int(self.value)
        self.advance(steps)
        return number

    def at(self, mark: str) -> bool:
        return self.kind == "mark" and self.value == mark

    def expect(self, mark: str, steps: Steps) -> None:
        if not self.at(mark):
            raise self.error(f"expected '{mark}', found {self.shown()}", steps)
        self.advance(steps)

    def shown(self) -> str:
        return "the end of the text" if self.kind == "end" else repr(self.value)

    def error(self, problem: str, steps: Steps, *, at: int | None = None, hint: str = "") -> InvalidSchema:
        position = self.start if at is None else at
        shown = self.source if len(self.source) <= 200 else self.source[:200] + "..."
        return InvalidSchema(f"{problem}, at position {position} of {shown!r}, node {node_path(steps)}{hint}")
