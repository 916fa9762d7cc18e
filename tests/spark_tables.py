"""Tables for Spark's tests: values in many layouts, files that Spark wrote, and work for the workers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, rows_of
from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.actions import Add
from shredlake.delta.write.commit import commit
from shredlake.delta.write.transaction import Operation
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.text_alone import TextAlone
from shredlake.spark.query.workers import aggregate
from shredlake.spark.query.workers import pushdown as by_workers


def in_every_layout(
    spark: Any, place: Path, values: Sequence[Any], layouts: Sequence[str | None], view: str
) -> str:
    """A table with all the values in each layout; the same rows unshredded are a view of Spark's."""
    table = sl.Table.create(place / "t", ID_AND_VARIANT, properties={"delta.enableVariantShredding": "true"})
    everything = []
    for number, layout in enumerate(layouts):
        rows = rows_of(range(10_000 * number, 10_000 * number + len(values)), values)
        table.append(rows, shredding={"v": layout})
        everything.append(rows)
    pq.write_table(pa.concat_tables(everything), place / "plain.parquet")
    plain = spark.read.schema("id bigint, v variant").parquet(str(place / "plain.parquet"))
    plain.createOrReplaceTempView(view)
    return str(place / "t")


def adopt(table: sl.Table, files: Path) -> Path:
    """Makes the one file that Spark wrote a file of the table."""
    [file] = files.glob("*.parquet")
    place = table.snapshot.storage.local_root / "one.parquet"
    file.rename(place)
    commit(table.snapshot, [Add("one.parquet", place.stat().st_size, 0)], Operation("WRITE"))
    return place


def use_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats every table as large and every key as one with few values."""
    for name in ("ENOUGH_BYTES", "FILES_PER_CORE"):
        monkeypatch.setattr(by_workers, name, 0)
    monkeypatch.setattr(aggregate, "_has_few_groups", lambda *_: True)


def paths_read(frame: Any) -> set[str]:
    """The paths that Spark's scans extract from Variants; `$` is a whole Variant."""
    found: set[str] = set()

    def walk(node: Any) -> None:
        kind = node.getClass().getSimpleName()
        if kind == "FileSourceScanExec":
            found.update(re.findall(r'"path":"([^"]*)"', node.requiredSchema().json()))
        below = [node.inputPlan()] if kind == "AdaptiveSparkPlanExec" else []
        children = node.children()
        for inner in (*below, *(children.apply(number) for number in range(children.size()))):
            walk(inner)

    walk(frame._jdf.queryExecution().executedPlan())
    return found


@contextmanager
def with_settings(spark: Any, settings: Mapping[str, str]) -> Iterator[Any]:
    """Yields the session with other settings, which a test may change, and restores them."""
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def answer_from_text(spark: Any, text: str, snapshots: Mapping[str, Snapshot]) -> Answer | None:
    """The answer to a query by its text alone; None if the text does not say everything."""
    found = TextAlone().plan(Question(spark, text, snapshots))
    return found if isinstance(found, Answer) else None
