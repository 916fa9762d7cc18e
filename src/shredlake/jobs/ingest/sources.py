"""The sources of an ingest: files of JSON text, found by address and cut into independent splits.

```
events/*.ndjson.gz ──▶ SourceFile, SourceFile, ... ──▶ Split(file, start, end), ...
                        address, size, when changed      plain text: byte ranges; compressed: whole files
```

A split owns the lines that *begin* inside its byte range, wherever they end, so every line has one owner and
no task needs to know its neighbours.
"""

from __future__ import annotations

import bz2
import glob
import io
import os
import posixpath
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

import obstore
import zstandard
from obstore.exceptions import NotFoundError

from shredlake.delta.storage.secrets import StorageOptions, shown_address
from shredlake.delta.storage.storage import Storage, as_argument
from shredlake.errors import PipelineError
from shredlake.formatting import is_text
from shredlake.jobs.ingest.documents import Framing, framing
from shredlake.runner import call_storage

CODECS: Final[Mapping[str, str]] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".bz2": "bz2",
}
"""The compression suggested by a file name's extension."""

MAGIC: Final[Mapping[bytes, str]] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
"""Magic bytes of compression formats, which take precedence over the name."""

LINES: Final = (".ndjson", ".jsonl", ".log", ".txt")
"""Extensions of files that usually hold one document per line."""

HEAD_SIZE: Final = 64 << 10
"""The number of bytes read to detect a text's framing."""

HADOOP_SCHEMES: Final[Mapping[str, str]] = {"s3a": "s3", "s3n": "s3", "abfss": "az", "wasbs": "az"}
"""Hadoop's URI schemes and their usual equivalents."""

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

READ_SIZE: Final = 4 << 20
"""The number of bytes requested from a store at a time."""

PACKED_SIZE: Final = 64 << 10
"""Compressed bytes that are decompressed at a time: few, because a kilobyte may expand to a megabyte."""


@dataclass(frozen=True)
class SourceFile:
    """One file of text, as it was when the job was planned."""

    uri: str
    size: int
    changed: str
    """A modification time or an entity tag; with address and size it identifies the text."""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Credentials and other options of the object store."""
    path: str | None = None
    """The temporary file that holds the text while the job runs, if it came through a pipe."""
    stream: Any = field(default=None, repr=False, compare=False)
    """An open file to read the text from."""
    multi_line: bool | None = None
    """Whether documents may span lines, if that is known."""
    seen: str | None = field(default=None, compare=False)
    """The version of the object that `cut` has seen, so that all its splits are of that version."""

    @property
    def is_remote(self) -> bool:
        """Whether the file is in an object store."""
        return "://" in self.uri

    @property
    def tracked(self) -> bool:
        """Whether the file has an identity; text from a pipe does not."""
        return bool(self.changed)

    @property
    def promised(self) -> str | None:
        """The compression that the file's name suggests."""
        return CODECS.get(os.path.splitext(self.uri)[1].lower())


@dataclass(frozen=True)
class Split:
    """A byte range of one file, read by one task; the whole file if it is compressed or one array."""

    file: SourceFile
    start: int
    end: int
    number: int
    """Its index among the splits of its file, from 0, by which line numbers are computed."""
    framing: Framing | None = None
    """The framing of the file; None if the reader has to detect it."""
    packed: bool = False
    """Whether the file is compressed."""

    @property
    def size(self) -> int:
        """Its number of bytes."""
        return self.end - self.start

    @property
    def whole(self) -> bool:
        """Whether the text can only be read from its beginning."""
        return self.packed or self.framing != "lines"


def open_stream(file: Any) -> SourceFile:
    """An open file as a source; it is read once, from where it stands to its end.

    >>> open_stream(io.BytesIO(b"[1]")).uri
    '<BytesIO>'
    """
    name = getattr(file, "name", None)
    return SourceFile(name if isinstance(name, str) else f"<{type(file).__name__}>", 0, "", stream=file)


def find_files(source: str | Iterable[str], options: Mapping[str, str] | None = None) -> list[SourceFile]:
    """Finds the files at an address: a file, a glob, a directory (searched recursively), or a list of these.

    In directories, names that start with `_` or `.` are skipped, as in Spark.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.ndjson").write_text('{"a": 1}\\n'), (folder / "_note").write_text("x")
    >>> [os.path.basename(file.uri) for file in find_files(str(folder))]
    ['a.ndjson']
    """
    sources = [source] if isinstance(source, (str, Path)) else list(source)
    kept = StorageOptions(options or {})
    found: dict[str, SourceFile] = {}
    for one in ("/dev/stdin" if str(each) == "-" else each for each in sources):
        address = as_argument(str(one))
        files = _find_remote(address, kept) if "://" in address else _find_local(address)
        matched = {file.uri: file for file in files}
        unnamed = next((uri for uri in matched if not is_text(uri)), None)
        if unnamed is not None:
            raise PipelineError(f"{unnamed!a}: the name is not UTF-8. Rename the file. Nothing was ingested")
        if not matched:
            raise PipelineError(
                f"nothing to ingest at {shown_address(one)}: no file matches. "
                "Check the address and its wildcards."
            )
        found.update(matched)
    return sorted(found.values(), key=lambda file: file.uri)


@contextmanager
def spooled(files: Sequence[SourceFile], *, here: bool = True) -> Iterator[list[SourceFile]]:
    """Copies the text of pipes to temporary files, because a job reads its text twice.

    `here` says whether this process reads the files; no other process can read a pipe.
    """
    pipes = [file.uri for file in files if not file.tracked]
    if pipes and not here:
        raise PipelineError(
            f"{pipes[0]} is a pipe, which Spark's workers can't read. Use --engine local or a file"
        )
    with ExitStack() as stack:
        yield [file if file.tracked else _spool(file, stack) for file in files]


def _spool(file: SourceFile, stack: ExitStack) -> SourceFile:
    kept = stack.enter_context(tempfile.NamedTemporaryFile(prefix="shredlake-"))  # noqa: SIM115 - by the stack
    if file.stream is None:
        try:
            with open(file.uri, "rb") as source:
                shutil.copyfileobj(source, kept, READ_SIZE)
        except OSError as error:
            raise PipelineError(f"{file.uri} can't be read: {error}. Nothing was committed") from error
    else:
        while piece := file.stream.read(READ_SIZE):
            kept.write(piece.encode() if isinstance(piece, str) else piece)
    kept.flush()
    return replace(file, size=kept.tell(), path=kept.name)


def _find_local(pattern: str) -> Iterator[SourceFile]:
    paths = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, names in os.walk(path, onerror=_refuse_folder):
                folders[:] = sorted(name for name in folders if name[0] not in "._")
                yield from (
                    _local(os.path.join(folder, name)) for name in sorted(names) if name[0] not in "._"
                )
        else:
            yield _local(path)


def _refuse_folder(error: OSError) -> None:
    """Raises for a folder that can't be listed, whose files would be left out without a word."""
    raise PipelineError(f"{error.filename} can't be listed: {error.strerror}. Nothing was ingested")


def _local(path: str) -> SourceFile:
    try:
        facts = os.stat(path)
    except OSError as error:
        what = (
            "is a link that leads to no file" if os.path.islink(path) else f"can't be read: {error.strerror}"
        )
        raise PipelineError(f"{path} {what}. Remove or repair it. Nothing was ingested") from None
    pseudo = path.startswith(("/dev/", "/proc/")) and not path.startswith("/dev/shm/")
    if pseudo or not stat.S_ISREG(facts.st_mode):
        return SourceFile(path, 0, "")
    return SourceFile(os.path.abspath(path), facts.st_size, str(facts.st_mtime_ns))


def _find_remote(address: str, options: Mapping[str, str]) -> Iterator[SourceFile]:
    from fnmatch import fnmatchcase

    root, pattern = _root_and_key(address)
    if root.startswith(("http://", "https://")):
        raise PipelineError(
            f"{address}: web addresses can't be ingested. Download the file first, or pipe it: "
            "curl -sSf URL | shredlake ingest - TABLE"
        )
    # A store lists by prefix: the key up to the first wildcard.
    prefix = pattern[: min((pattern.find(mark) for mark in "*?[" if mark in pattern), default=len(pattern))]
    wild = prefix != pattern
    store = Storage(root, options).store
    if wild and (entry := _head(store, pattern)) is not None:  # a key with wildcard characters in its name
        yield _remote_file(f"{root}/{pattern}", entry, options)
        return
    for page in obstore.list(store, prefix.rsplit("/", 1)[0] if "/" in prefix else None):
        for entry in page:
            path = entry["path"]
            inside = path == pattern or path.startswith(pattern.rstrip("/") + "/")
            if fnmatchcase(path, pattern) if wild else inside:
                if path != pattern and any(
                    part[0] in "._" for part in path[len(prefix) :].split("/") if part
                ):
                    continue
                yield _remote_file(f"{root}/{path}", entry, options)


def _remote_file(uri: str, entry: Any, options: Mapping[str, str]) -> SourceFile:
    return SourceFile(uri, entry["size"], _version(entry), options)


def _version(entry: Any) -> str:
    return str(entry.get("e_tag") or entry["last_modified"].isoformat())


def _head(store: Any, key: str) -> Any:
    try:
        return obstore.head(store, key)
    except (FileNotFoundError, NotFoundError):
        return None


def _root_and_key(address: str) -> tuple[str, str]:
    """Splits an address into bucket and key; keys are not encoded and may hold any character.

    >>> _root_and_key("s3://bucket/a#b?c%20d")
    ('s3://bucket', 'a#b?c%20d')
    """
    scheme, _, rest = address.partition("://")
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key.lstrip("/")


def cut(files: Iterable[SourceFile], split_size: int) -> list[Split]:
    """Cuts plain files of lines into ranges of about `split_size` bytes; any other file is one split.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.json").write_text("[1]\\n" * 6), (folder / "b.json").write_text("[1, 2, 3, 4, 5]")
    >>> [(split.start, split.end, split.framing) for split in cut(find_files(str(folder)), 10)]
    [(0, 10, 'lines'), (10, 20, 'lines'), (20, 24, 'lines'), (0, 15, 'array')]
    """
    listed = list(files)
    large = [file for file in listed if file.size > split_size]
    looks = dict(zip((file.uri for file in large), call_storage(look_into, large), strict=True))
    splits: list[Split] = []
    for file in listed:
        kind, packed, seen = looks.get(file.uri, (None, False, None))
        step = split_size if kind == "lines" and not packed else max(file.size, 1)
        for number, start in enumerate(range(0, max(file.size, 1), step)):
            end = min(start + step, file.size)
            splits.append(Split(replace(file, seen=seen), start, end, number, kind, packed))
    return splits


def look_into(file: SourceFile) -> tuple[Framing, bool, str | None]:
    """The framing of a file, whether it is compressed, regardless of its name, and an object's version."""
    text = open_at(file, piece=HEAD_SIZE)
    try:
        kind = framing_of(file, text.read(HEAD_SIZE))
        return kind, isinstance(text, _Inflater), getattr(getattr(text, "raw", None), "seen", None)
    finally:
        text.close()


def framing_of(file: SourceFile, head: bytes) -> Framing:
    """Detects the framing of a file by its first bytes; if they are ambiguous, the name decides.

    What the job says about documents that span lines comes first.
    """
    name = file.uri.lower().removesuffix(os.path.splitext(file.uri)[1].lower() if file.promised else "")
    text = head[:HEAD_SIZE].removeprefix(BYTE_ORDER_MARK)
    if file.multi_line is not None:
        spanning: Framing = "array" if text.lstrip().startswith(b"[") else "documents"
        return spanning if file.multi_line else "lines"
    return framing(text, whole=len(head) < HEAD_SIZE, lines_expected=name.endswith(LINES))


def location(file: SourceFile) -> tuple[str, Any]:
    """The location of a file for the Parquet layer: a path or key, and its store."""
    if "://" not in file.uri:
        return file.uri, None
    root, key = _root_and_key(file.uri)
    return key, Storage(root, file.options).store


def place(uri: str) -> tuple[str, ...]:
    """The parts of an address in a normal form, equal for all spellings of it.

    >>> place("s3a://bucket/a//b/../c/") == place("s3://bucket/a/c")
    True
    """
    address = as_argument(uri)
    if "://" not in address:
        return ("file", *os.path.realpath(address).split("/"))
    root, key = _root_and_key(address)
    scheme, _, bucket = root.partition("://")
    parts = posixpath.normpath(key.strip("/")).split("/") if key.strip("/") else []
    return (HADOOP_SCHEMES.get(scheme, scheme), bucket, *parts)


class Readable(Protocol):
    """The stream that a split is read from."""

    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


def open_at(file: SourceFile, start: int = 0, *, piece: int = READ_SIZE) -> Readable:
    """The file's text, decompressed, from byte `start` on (always 0 for compressed files)."""
    plain: BinaryIO = open_plain(file, start, piece=piece)
    codec = None if start else _codec(file, plain)
    if codec == "gzip":
        return _Inflater(plain, lambda: zlib.decompressobj(wbits=31), file.uri)
    if codec == "bz2":
        return _Inflater(plain, bz2.BZ2Decompressor, file.uri)
    if codec == "zstd":
        return _Inflater(plain, lambda: zstandard.ZstdDecompressor().decompressobj(), file.uri)
    return plain


def _codec(file: SourceFile, plain: BinaryIO) -> str | None:
    """Detects compression by a file's first bytes; by its name if they are not JSON either."""
    if isinstance(plain, io.BufferedReader):
        head = plain.peek(4)[:4]
    else:
        head = plain.read(4)
        plain.seek(0)
    for magic, codec in MAGIC.items():
        if head.startswith(magic):
            return codec
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    return None if not head or text.startswith((b"{", b"[", b'"')) else file.promised


def open_plain(file: SourceFile, start: int = 0, *, piece: int = READ_SIZE) -> BinaryIO:
    """Opens the file's raw bytes, from byte `start` on."""
    if not file.is_remote:
        try:
            local = open(file.path or file.uri, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
        except OSError as error:
            raise PipelineError(
                f"{file.uri} can't be read: {error.strerror}. Nothing was committed"
            ) from None
        local.seek(start)
        return cast(BinaryIO, local)
    return cast(BinaryIO, io.BufferedReader(_Remote(file, start), piece))


def require_unchanged(file: SourceFile) -> None:
    """Raises if a local file was written after the job was planned.

    The commit records the text that the file had then, which may not be the text that was read.
    """
    if file.is_remote or not file.tracked:
        return
    now = _local(file.uri)
    if (now.size, now.changed) != (file.size, file.changed):
        raise _changed(file)


def _changed(file: SourceFile) -> PipelineError:
    return PipelineError(
        f"{file.uri} was changed while it was read. Nothing was committed. Ingest files that are complete: "
        "write them under another name and rename them"
    )


class _Remote(io.RawIOBase):
    """An object from some byte on, requested piece by piece. All pieces are of one version of the object."""

    def __init__(self, file: SourceFile, position: int) -> None:
        self._file, self._position = file, position
        self._path, self._store = location(file)
        self.seen = file.seen

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        end = min(self._position + len(target), self._file.size)
        if end <= self._position:
            return 0
        answer = obstore.get(self._store, self._path, options={"range": (self._position, end)})
        version = _version(answer.meta)
        if answer.meta["size"] != self._file.size or self.seen not in (None, version):
            raise _changed(self._file)
        self.seen = version
        piece = memoryview(answer.bytes())
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)


class _Inflater:
    """Decompresses gzip, bz2 and zstd, also several members in one file, as parallel compressors write."""

    def __init__(self, plain: BinaryIO, fresh: Any, uri: str) -> None:
        self._plain, self._fresh, self._uri = plain, fresh, uri
        self._member = fresh()
        self._pending = b""
        self._started = False
        self._members = 0
        self._read = False

    def read(self, size: int) -> bytes:
        """Reads about `size` bytes; fewer only at the end."""
        parts: list[bytes] = []
        held = 0
        while held < size and (text := self._more()):
            parts.append(text)
            held += len(text)
        return b"".join(parts)

    def _more(self) -> bytes:
        while True:
            if self._member.eof:
                self._pending = self._member.unused_data or self._pending
                self._member = self._fresh()
                self._started = False
                self._members += 1
            packed, self._pending = self._pending or self._plain.read(PACKED_SIZE), b""
            if self._members and not self._started and packed and not (packed := packed.lstrip(b"\0")):
                continue  # tapes and disks fill their last block with zeros
            if not packed:
                if self._started:
                    raise PipelineError(
                        f"{self._uri}: the compressed data is truncated. "
                        "Copy the file again. Nothing of it was committed."
                    )
                return b""
            self._started = True
            try:
                text: bytes = self._member.decompress(packed)
            except (zlib.error, zstandard.ZstdError, OSError, ValueError) as error:
                known = self._members or self._read
                what = "the compressed data is damaged" if known else "not compressed as its name suggests"
                do = "Copy the file again" if known else "Rename the file, or copy it again"
                raise PipelineError(
                    f"{self._uri}: {what} ({error}). {do}. Nothing of it was committed."
                ) from error
            self._read = True
            if text:
                return text

    def close(self) -> None:
        self._plain.close()
