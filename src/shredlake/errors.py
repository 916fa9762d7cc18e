"""Every error that shredlake raises.

```
ShredlakeError
├── MalformedVariant        bytes that are not a Variant: offset and path
├── InvalidJson             text that is not JSON, or that a Variant can't hold: row, line, column, position
├── InvalidPath             a path that can't be parsed: points at the character
├── InvalidValue            a Python object that a Variant can't hold: names the path (also a ValueError)
├── NoSuchElement           v["key"] or v[0] does not exist (also a KeyError and an IndexError)
├── WrongType               an operation that the value's type does not support (also a TypeError)
├── InvalidSchema           a shredding schema, or a table schema, that can't exist: names the node
├── ShreddingConflict       typed_value and value contradict each other: row and path
├── CastError               a value that can't be cast, in strict mode: row, path, value, type
├── InvalidExpression       an expression that can't be parsed or has the wrong types
│   └── UnsupportedExpression   valid Spark SQL that only Spark can evaluate
├── InvalidFile             a Parquet file that can't be read: names the file and what is wrong
├── ReadFailed              the disk or the store failed during a read; the file may be intact
├── TableError              a Delta table that can't be read or written
│   ├── NotATable           no Delta log at the address
│   ├── TableExists         create() found an existing table
│   ├── VersionNotFound     time travel to a version that does not exist
│   ├── CorruptLog          a log that contradicts itself
│   ├── PathRefused         a path in the log leads out of the table
│   ├── UnsupportedFeature  an unknown protocol feature: names it
│   ├── FileMissing         a file of the table does not exist (also a FileNotFoundError)
│   ├── StoreRefused        the store refused: no permission, a bad option; nothing was changed
│   ├── CommitConflict      another writer committed first, and the two commits conflict
│   ├── CommitUncertain     the store failed during a commit, which may or may not be in the log
│   └── ConstraintViolation a row breaks NOT NULL, a CHECK or an invariant: names it, shows the row
└── PipelineError           a Spark or local job that can't continue
    ├── NotJson             a source without any JSON document: says what it may be
    ├── TooManyRejects      more bad rows than max_rejects allows
    ├── MissingDependency   no Java, no Spark, or too old: says what to install
    └── VerificationFailed  counts or checksums differ; nothing was committed
```

A message says where (file, row, path), what was found, what was expected, and what to do.
"""

from __future__ import annotations


class ShredlakeError(Exception):
    """The root of all errors raised by shredlake."""

    place = ""
    """Places added by callers: file, row group, column."""

    def at(self, place: str) -> None:
        """Adds a place to the start of the message.

        >>> error = ShredlakeError("the value is cut short")
        >>> error.at("f.parquet, row group 0")
        >>> str(error)
        'f.parquet, row group 0: the value is cut short'
        """
        self.place = f"{place}: {self.place}" if self.place else place

    def __str__(self) -> str:
        text = super().__str__()
        return f"{self.place}: {text}" if self.place else text


class MalformedVariant(ShredlakeError):
    """Bytes that are not a Variant.

    `offset` counts bytes from the start of the buffer named by `part` ("metadata" or "value");
    `path` is where in the value the damage lies, as a normalised JSON path; `rule` is the rule of `check`
    that it breaks.
    """

    def __init__(
        self,
        problem: str,
        *,
        part: str = "value",
        offset: int = 0,
        path: str = "$",
        rule: str = "malformed-value",
    ) -> None:
        super().__init__(f"{problem} ({part} byte {offset}, at {path})")
        self.problem = problem
        self.part = part
        self.rule = rule
        self.offset = offset
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return _malformed, (self.problem, self.part, self.offset, self.path), self.__dict__


def _malformed(problem: str, part: str, offset: int, path: str) -> MalformedVariant:
    """Rebuild the error after pickling (Spark workers raise it)."""
    return MalformedVariant(problem, part=part, offset=offset, path=path)


class InvalidJson(ShredlakeError):
    """Text that is not JSON, or JSON that a Variant can't hold.

    `position` counts bytes of the UTF-8 text from 0, `line` and `column` count from 1 (a column is a
    character); `row` is the row of a column of texts, None for a single text.
    """

    def __init__(
        self, problem: str, *, position: int = 0, line: int = 1, column: int = 1, row: int | None = None
    ) -> None:
        where = f"line {line}, column {column} (byte {position})"
        super().__init__(f"{problem}, at {where}" if row is None else f"{problem}, at row {row}, {where}")
        self.problem = problem
        self.position = position
        self.line = line
        self.column = column
        self.row = row

    def __reduce__(self) -> tuple[object, ...]:
        return _invalid_json, (self.problem, self.position, self.line, self.column, self.row), self.__dict__


def _invalid_json(problem: str, position: int, line: int, column: int, row: int | None) -> InvalidJson:
    return InvalidJson(problem, position=position, line=line, column=column, row=row)


class InvalidPath(ShredlakeError):
    """A path that can't be parsed; `position` is the index of the offending character in `path`."""

    def __init__(self, problem: str, *, path: str, position: int) -> None:
        super().__init__(f"{problem}\n  {path}\n  {' ' * position}^")
        self.problem = problem
        self.path = path
        self.position = position

    def __reduce__(self) -> tuple[object, ...]:
        return _invalid_path, (self.problem, self.path, self.position), self.__dict__


def _invalid_path(problem: str, path: str, position: int) -> InvalidPath:
    return InvalidPath(problem, path=path, position=position)


class InvalidValue(ShredlakeError, ValueError):
    """A Python object that a Variant can't hold."""


class NoSuchElement(ShredlakeError, KeyError, IndexError):
    """A key or an index that the value does not have."""

    def __str__(self) -> str:  # KeyError would quote the message
        return f"{self.place}: {self.args[0]}" if self.place else str(self.args[0])


class WrongType(ShredlakeError, TypeError):
    """An operation that the value's type does not support."""


class InvalidSchema(ShredlakeError):
    """A schema that can't exist; `path` is the node within a Variant, where one is to blame."""

    def __init__(self, problem: str, *, path: str | None = None) -> None:
        super().__init__(problem if path is None else f"{path}: {problem}")
        self.problem = problem
        self.path = path


class ShreddingConflict(ShredlakeError):
    """A shredded column whose `value` and `typed_value` contradict each other."""


class CastError(ShredlakeError):
    """A value that can't be cast to the requested type."""


class InvalidExpression(ShredlakeError):
    """An expression that can't be parsed, or whose types do not fit."""


class UnsupportedExpression(InvalidExpression):
    """Valid Spark SQL that the local evaluator does not know."""


class InvalidFile(ShredlakeError):
    """A Parquet file that can't be read as what it claims to be."""


class ReadFailed(ShredlakeError):
    """The disk or the object store failed during a read; the file itself may be intact."""


class TableError(ShredlakeError):
    """A Delta table that can't be read or written."""


class NotATable(TableError):
    """No Delta log at this address."""


class TableExists(TableError):
    """A table already exists at this address."""


class VersionNotFound(TableError):
    """The version does not exist, or no longer exists."""


class CorruptLog(TableError):
    """A log that contradicts itself or the protocol."""


class PathRefused(TableError):
    """The log names a file outside the table, which the option `allow_paths` does not list."""


class UnsupportedFeature(TableError):
    """The table's protocol requires a feature that shredlake does not support."""


class FileMissing(TableError, FileNotFoundError):
    """A file of the table or of its log does not exist."""


class StoreRefused(TableError):
    """The store refused the request (no permission, an unknown option). Nothing was changed."""


class CommitConflict(TableError):
    """Another writer's commit conflicts with this one."""


class CommitUncertain(TableError):
    """The store failed during a commit, which may or may not have succeeded. Check before retrying."""


class ConstraintViolation(TableError):
    """A row breaks NOT NULL, a CHECK constraint or an invariant of the table."""


class PipelineError(ShredlakeError):
    """A job that can't continue."""


class TooManyRejects(PipelineError):
    """More invalid documents than `max_rejects` allows; nothing was committed."""


class NotJson(PipelineError):
    """Nothing in the source is JSON; nothing was committed."""


class MissingDependency(PipelineError):
    """A dependency of the job is missing or too old."""


class VerificationFailed(PipelineError):
    """Row counts or checksums differ from the expected ones; nothing was committed."""
