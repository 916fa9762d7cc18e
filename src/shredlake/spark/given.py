"""Checks what callers give to `ingest` and `stream` before any work starts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

from shredlake.delta.storage.storage import Storage, normalized_uri
from shredlake.errors import InvalidSchema, PipelineError
from shredlake.formatting import kind_of
from shredlake.spark.frame_tasks import DOCUMENT, HELD, REJECT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

DOCUMENT_TYPES: Final = ("string", "variant", "struct", "map", "array", "binary")
"""The types of a column that can hold documents."""


def is_in_memory(source: Any) -> bool:
    """Whether the rows are in the memory of this process, which then ingests them: pandas or Arrow data."""
    return hasattr(source, "__arrow_c_stream__") and not hasattr(source, "mapInArrow")


def check_source(source: Any) -> None:
    """Refuses what `ingest` can't take, and says what to use instead.

    >>> check_source(5)
    Traceback (most recent call last):
    ...
    shredlake.errors.PipelineError: ingest takes paths, a DataFrame, pandas or Arrow data, not an int
    """
    if hasattr(source, "mapPartitions") and hasattr(source, "toDF") and not hasattr(source, "mapInArrow"):
        raise PipelineError("ingest takes a DataFrame, not an RDD: use rdd.toDF(...) or spark.read.json(rdd)")
    if getattr(source, "isStreaming", False):
        raise PipelineError(
            "ingest takes a batch DataFrame, not a stream; use sls.stream(spark, frame, table, checkpoint)"
        )
    known = (
        isinstance(source, str | os.PathLike) or hasattr(source, "__iter__") or hasattr(source, "mapInArrow")
    )
    if not known:
        raise PipelineError(f"ingest takes paths, a DataFrame, pandas or Arrow data, not {kind_of(source)}")


def check_frame(frame: DataFrame, document: str) -> None:
    """Refuses frames with repeated or reserved names, and document columns of a type without documents."""
    names = [name.casefold() for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidSchema(f"the frame has two columns named {twice!r}: rename or drop one")
    reserved = next((name for name in frame.columns if name.startswith((DOCUMENT, REJECT, HELD))), None)
    if reserved is not None:
        raise InvalidSchema(
            f"the frame's column {reserved!r} has a name that shredlake uses itself: rename it"
        )
    check_document(document, frame.schema[document].dataType, "document=...")


def check_document(name: str, kind: DataType, option: str) -> None:
    """Refuses a frame's column that can't hold documents; `option` is how the caller names another one."""
    if kind.typeName() not in DOCUMENT_TYPES:
        raise InvalidSchema(
            f"the frame's column {name!r} is {kind.simpleString()}, not documents: text, structs or "
            f"Variants. Name another one with {option}, or build documents with struct(...)"
        )


def check_stream_options(source: Any, *, document: str | None, files_per_batch: int | None) -> None:
    """Refuses options that a stream from this source would ignore.

    >>> check_stream_options("events/", document="body", files_per_batch=None)
    Traceback (most recent call last):
    ...
    shredlake.errors.PipelineError: document names a column of a DataFrame, but the source is a folder
    """
    if document is not None and isinstance(source, str):
        raise PipelineError("document names a column of a DataFrame, but the source is a folder")
    if files_per_batch is not None and not isinstance(source, str):
        raise PipelineError(
            "files_per_batch limits the batches of a folder, but the source is a DataFrame: limit its own "
            "batches, as with the option maxFilesPerTrigger or maxOffsetsPerTrigger"
        )


PATTERN_SIGNS: Final = re.compile(r"[*?\[{]")
"""The characters that make a path a pattern for Spark."""


def stream_folder(source: Any, options: dict[str, Any]) -> str:
    r"""The folder of a stream as text that Spark takes for this folder, or the pattern of several.

    Refuses lists, files, and folders that do not exist.

    >>> import os, tempfile
    >>> folder = os.path.join(tempfile.mkdtemp(), "what?")
    >>> os.mkdir(folder)
    >>> os.path.basename(stream_folder(folder, {}))
    'what\\?'
    """
    if isinstance(source, list | tuple | set):
        raise PipelineError(
            "a stream watches one folder, with the folders in it: give their common parent, or start one "
            "stream for each, with its own checkpoint"
        )
    try:
        folder = str(os.fspath(source))
    except TypeError:
        raise PipelineError(
            f"a stream reads a folder or a streaming DataFrame, not {kind_of(source)}"
        ) from None
    if PATTERN_SIGNS.search(folder) and not os.path.exists(folder):
        return folder
    storage = Storage(normalized_uri(folder), options)
    if storage.is_local and not storage.local_root.is_dir():
        what = "is a file" if storage.local_root.exists() else "does not exist"
        raise PipelineError(f"{folder} {what}; a stream watches a folder: create it, or correct the path")
    # Escaped, the characters are part of the name: the pattern `a?` would also match the folder `ab`.
    return PATTERN_SIGNS.sub(r"\\\g<0>", folder) if storage.is_local else folder
