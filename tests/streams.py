"""Streams of Spark, run to their end, and a chain of two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shredlake as sl
from shredlake import spark as sls

FEED = {"delta.enableChangeDataFeed": "true", "delta.enableVariantShredding": "true"}


def finished(writing: Any, place: Path) -> Any:
    """The query, run to its end.

    Spark gives the process of a stream's source ten seconds to start. A busy machine takes longer, and the
    query is started again.
    """
    for attempt in range(5):
        query = writing.start(str(place))
        try:
            query.awaitTermination()
            break
        except Exception as error:
            if "connect back" not in str(error) or attempt == 4:
                raise
    return query


def source(spark: Any, place: Path, **options: Any) -> Any:
    """The rows of a table as a stream."""
    return spark.readStream.format("shredlake").options(**options).load(str(place))


def copy(frame: Any, place: Path, state: Path, **options: Any) -> Any:
    """Runs the query until it has processed all available rows, and returns it."""
    writing = frame.writeStream.format("shredlake").option("checkpointLocation", str(state))
    return finished(writing.options(**options).trigger(availableNow=True), place)


def files_to_a(spark: Any, files: Path, place: Path) -> None:
    """The first stream of a chain: JSON files ─ stream ─▶ A."""
    computed = {"id": "v:id::bigint", "n": "v:n::bigint"}
    options: dict[str, Any] = {"properties": FEED, "computed": computed}
    sls.stream(spark, str(files), place / "a", place / "state_a", **options).awaitTermination()


def changes_to_b(spark: Any, place: Path) -> None:
    """The second stream of a chain: the change feed of A ─ readStream ─ writeStream ─▶ B."""
    frame = source(spark, place / "a", readChangeFeed="true", maxFilesPerTrigger=1)
    copy(frame, place / "b", place / "state_b")


def add_file(files: Path, number: int) -> None:
    """A file of ten documents, the ids of which begin with its number."""
    files.mkdir(exist_ok=True)
    lines = [f'{{"id": {number * 10 + n}, "n": {n}}}' for n in range(10)]
    (files / f"{number}.ndjson").write_text("\n".join(lines) + "\n")


def applied(place: Path) -> list[tuple[int, int]]:
    """The rows that are left if the changes in a table are applied in the order of their versions."""
    changes = sl.Table(place).scan(["id", "v:n::bigint AS n", "_change_type", "_commit_version"]).to_arrow()
    left: list[tuple[int, int]] = []
    for row in sorted(changes.to_pylist(), key=lambda row: (row["_commit_version"], row["_change_type"])):
        key = (row["id"], row["n"])
        if row["_change_type"] in ("insert", "update_postimage"):
            left.append(key)
        else:
            left.remove(key)
    return sorted(left)


def rows_of_a(place: Path) -> list[tuple[int, int]]:
    """The rows of the first table of a chain, as `applied` gives them for the second one."""
    table = sl.Table(place / "a").scan(["id", "v:n::bigint AS n"]).to_arrow().to_pylist()
    return sorted((row["id"], row["n"]) for row in table)
