"""The options of `format("shredlake")`. Names are case-insensitive; a typo is an error with a suggestion.

Spark hands over all options as text, with names in lower case. `partition_by` is the same as `partitionBy`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from shredlake.errors import PipelineError
from shredlake.expr.ast import name_parts
from shredlake.expr.parse import split_columns

Value = TypeVar("Value")

STORAGE: Final = "storage."
"""Prefix of the options that go to the object store: `storage.endpoint`."""

OF_SPARK: Final = frozenset({"owner", "location", "provider", "checkpointlocation", "queryname"})
"""Options that Spark itself adds."""


@dataclass(frozen=True)
class Option(Generic[Value]):
    """One option: its name, how its text is read, and where it has an effect."""

    name: str
    parse: Callable[[str], Value]
    uses: frozenset[str]
    default: Value | None = None


READ: Final = "read"
WRITE: Final = "write"
STREAM_READ: Final = "stream read"
STREAM_WRITE: Final = "stream write"


def _boolean(text: str) -> bool:
    if text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    raise ValueError("true or false")


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ValueError(f"a whole number, {least} or more")
        return number

    return parse


def _bytes(text: str) -> int:
    """Bytes as Spark writes them: `1048576`, `10m`, `1g`."""
    units = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}
    number = text.strip().lower().removesuffix("b") or text
    shift = units.get(number[-1:])
    digits = number if shift is None else number[:-1]
    if not digits.isdigit() or int(digits) < 1:
        raise ValueError("a number of bytes such as 1048576 or 64m")
    return int(digits) << (shift or 0)


def _starting_version(text: str) -> int | str:
    return "latest" if text.strip().lower() == "latest" else _whole(0)(text)


def _names(text: str) -> tuple[str, ...]:
    """Column names, separated by commas; in backticks if they hold a comma or a dot."""
    found = tuple(name_parts(part)[0] for part in split_columns(text) if len(name_parts(part)) == 1)
    if len(found) != len(split_columns(text)):
        raise ValueError("column names, separated by commas")
    return found


def _shredding(text: str) -> Any:
    if text.strip().lower() == "none":
        return None
    if not text.lstrip().startswith("{"):
        return text
    try:
        return dict(json.loads(text))
    except ValueError:
        raise ValueError('infer, none, a schema such as struct<id bigint>, or {"column": "schema"}') from None


def _one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in known:
            raise ValueError(" or ".join(known))
        return text.strip().lower()

    return parse


def _option(name: str, parse: Callable[[str], Any], *uses: str, default: Any = None) -> Option[Any]:
    return Option(name, parse, frozenset(uses), default)


OPTIONS: Final = {
    option.name.lower(): option
    for option in (
        _option("path", str, READ, WRITE, STREAM_READ, STREAM_WRITE),
        _option("columns", str, READ, STREAM_READ),
        _option("where", str, READ, STREAM_READ),
        _option("version", _whole(0), READ),
        _option("timestamp", str, READ),
        _option("strict", _boolean, READ, STREAM_READ, default=False),
        _option("timeZone", str, READ, STREAM_READ, default="UTC"),
        _option("partitionBytes", _bytes, READ, STREAM_READ),
        _option("pushFilters", _boolean, READ, default=False),
        _option("readChangeFeed", _boolean, READ, STREAM_READ, default=False),
        _option("startingVersion", _starting_version, READ, STREAM_READ),
        _option("startingTimestamp", str, READ, STREAM_READ),
        _option("endingVersion", _whole(0), READ),
        _option("endingTimestamp", str, READ),
        _option("maxFilesPerTrigger", _whole(1), STREAM_READ, default=1000),
        _option("maxBytesPerTrigger", _bytes, STREAM_READ),
        _option("ignoreDeletes", _boolean, STREAM_READ, default=False),
        _option("ignoreChanges", _boolean, STREAM_READ, default=False),
        _option("skipChangeCommits", _boolean, STREAM_READ, default=False),
        _option("document", str, WRITE, STREAM_WRITE),
        _option("column", str, WRITE, STREAM_WRITE),
        _option("shredding", _shredding, WRITE, STREAM_WRITE, default="infer"),
        _option("partitionBy", _names, WRITE, STREAM_WRITE, default=()),
        _option("schemaMode", _one_of("strict", "merge"), WRITE, STREAM_WRITE, default="strict"),
        _option("fileBytes", _bytes, WRITE, STREAM_WRITE),
        _option("rejects", str, WRITE, STREAM_WRITE),
        _option("maxRejects", str, WRITE, STREAM_WRITE),
        _option("replaceWhere", str, WRITE),
        _option("partitionOverwriteMode", _one_of("static", "dynamic"), WRITE, default="static"),
        _option("txnAppId", str, WRITE, STREAM_WRITE),
        _option("txnVersion", _whole(0), WRITE),
    )
}
"""All options, by their names in lower case."""

OF_A_VIEW: Final = frozenset({READ, WRITE})
"""A temporary view is read and inserted into with the same options, so each ignores those of the other."""


@dataclass(frozen=True)
class SourceOptions:
    """The options of one read or write, parsed and checked."""

    values: Mapping[str, Any]
    storage: Mapping[str, str]
    checkpoint: str | None = None
    """The checkpoint of a streaming query, which Spark passes on to its sink."""

    @staticmethod
    def of(given: Mapping[str, str], use: str | None) -> SourceOptions:
        """Parses the options that Spark hands over; `use` is None if they may be those of any use.

        >>> SourceOptions.of({"path": "/data/t", "columns": "id"}, READ)["columns"]
        'id'
        >>> SourceOptions.of({"path": "/data/t", "colums": "id"}, READ)
        Traceback (most recent call last):
        ...
        shredlake.errors.PipelineError: format("shredlake") has no option 'colums'; did you mean 'columns'?
        """
        values: dict[str, Any] = {}
        storage: dict[str, str] = {}
        for name, text in given.items():
            plain = name.lower()
            if plain.startswith(STORAGE):
                storage[plain.removeprefix(STORAGE)] = text
            elif plain not in OF_SPARK and not plain.startswith("__"):
                option = _found(plain)
                if use is not None:
                    _check_use(option, use)
                values[option.name] = _parsed(option, text)
        if "path" not in values and given.get("location"):
            values["path"] = given["location"]
        return SourceOptions(values, storage, given.get("checkpointlocation"))

    def __getitem__(self, name: str) -> Any:
        """The value of an option, or its default."""
        option = OPTIONS[name.lower()]
        return self.values.get(option.name, option.default)

    def given(self, *names: str) -> list[str]:
        """The names of these options that were given."""
        return [name for name in names if name in self.values]

    @property
    def path(self) -> str:
        """The address of the table."""
        if "path" not in self.values:
            raise PipelineError(
                'format("shredlake") needs the address of a table: .load(path), .save(path), .start(path) or '
                "OPTIONS (path '...'). INSERT INTO a catalog table passes no address on; insert into a "
                "temporary view instead"
            )
        return str(self.values["path"])


def _found(name: str) -> Option[Any]:
    folded = name.replace("_", "")
    if folded in OPTIONS:
        return OPTIONS[folded]
    if name == "paths":
        raise PipelineError('format("shredlake") reads one table: load(path) with one path')
    near = difflib.get_close_matches(folded, OPTIONS, n=1, cutoff=0.6)
    advice = (
        f"did you mean {OPTIONS[near[0]].name!r}?"
        if near
        else f"it has {', '.join(option.name for option in OPTIONS.values())}, and {STORAGE}<name>"
    )
    raise PipelineError(f'format("shredlake") has no option {name!r}; {advice}')


def _check_use(option: Option[Any], use: str) -> None:
    if use in option.uses or (use in OF_A_VIEW and option.uses & OF_A_VIEW):
        return
    known = " or a ".join(sorted(option.uses))
    raise PipelineError(f"{option.name} is an option of a {known}, not of a {use}; leave it out")


def _parsed(option: Option[Any], text: str) -> Any:
    try:
        return option.parse(text)
    except ValueError as error:
        raise PipelineError(f"the option {option.name} is {text!r}; it can be {error}") from None
