"""When workers may and should answer a part of a query, and how its expressions are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.expr import Get, references
from shredlake.expr.parse import parse_predicate
from shredlake.kernels.cast_options import CastOptions
from shredlake.spark.query.catalyst import Node, Relation
from shredlake.spark.query.filters import NotUnderstood, Translator
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.workers import pushdown
from shredlake.spark.query.workers.pushdown import (
    ENOUGH_BYTES,
    Reader,
    descend,
    equality_references,
    reason_against_workers,
    too_small,
    without_alias,
    worker_query,
)


class Session:
    """Two cores, and a place for caches."""

    sparkContext = SimpleNamespace(defaultParallelism=2)


SESSION: Any = Session()
ID = Node("AttributeReference", {"name": "s", "dataType": "string", "exprId": {"id": 1}})


@dataclass
class Step:
    """A node of a plan."""

    name: str
    children: list[Step] = field(default_factory=list)


def test_the_nodes_on_the_way_down() -> None:
    leaf: Any = Step("Join")
    top: Any = Step("Sort", [Step("Project", [leaf])])
    above, node = descend(top, frozenset({"Sort", "Project"}))
    assert [one.name for one in above] == ["Sort", "Project"]
    assert node is leaf
    assert descend(top, frozenset()) == ((), top)


def test_names_of_columns_do_not_matter() -> None:
    assert without_alias(Node("Alias", {}, (ID,))) == without_alias(ID) == ID


def test_functions_of_a_value_are_read_from_the_inside() -> None:
    reader = Reader(Translator(Relation("t", names={1: "s"}), set(), exact=True))
    plain = reader.value(ID)
    length = reader.value(Node("Length", {}, (ID,)))
    assert (plain.ref, plain.functions) == (0, ())
    assert (length.ref, length.functions) == (0, ("Length",))
    assert [projection.name for projection in reader.projections] == ["c0"]
    with pytest.raises(NotUnderstood):
        reader.value(Node("Reverse", {}, (ID,)))


def test_parts_of_times_are_those_of_utc() -> None:
    reader = Reader(Translator(Relation("t", names={1: "s"}), set(), exact=True))
    assert reader.value(Node("Hour", {"timeZoneId": "Etc/UTC"}, (ID,))).functions == ("Hour",)
    with pytest.raises(NotUnderstood):
        reader.value(Node("Hour", {"timeZoneId": "Europe/Paris"}, (ID,)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id = 1", ["id"]),
        ("id <=> 1 and day in ('a')", ["id", "day"]),
        ("id > 1", []),
        ("id = 1 or day = 'x'", []),
        ("not id = 1", []),
    ],
)
def test_single_values_that_are_looked_up(text: str, found: list[str]) -> None:
    assert [getattr(ref, "name", None) for ref in equality_references(parse_predicate(text))] == found
    assert list(equality_references(None)) == []


def test_tables_that_are_too_small() -> None:
    def reason(*sizes: int) -> str:
        return too_small(SESSION, pa.chunked_array([pa.array(sizes, pa.int64())]))

    assert "0 B of files are too few" in reason()
    assert "are too few to be worth starting workers" in reason(*[ENOUGH_BYTES // 8 - 1] * 8)
    assert reason(*[ENOUGH_BYTES] * 3) == "3 files are too few to keep all cores busy"
    assert reason(*[ENOUGH_BYTES // 4] * 4) == ""


@pytest.fixture
def table(tmp_path: Path) -> sl.Table:
    made = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    for number in range(2):
        made.append(rows_of([number], [{"a": number, "s": "x", "z": 1}]))
    return made


def scan(table: sl.Table, column: str, where: str | None = None, *, strict: bool = False) -> SparkScan:
    return SparkScan(SESSION, table.snapshot, [column], where, options=CastOptions.of(strict=strict))


def test_reasons_against_workers(table: sl.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "too few" in reason_against_workers(scan(table, "v:a::bigint AS a"))
    for name in ("ENOUGH_BYTES", "FILES_PER_CORE"):
        monkeypatch.setattr(pushdown, name, 0)
    assert reason_against_workers(scan(table, "v:a::bigint AS a")) == ""
    assert reason_against_workers(scan(table, "v:a::bigint AS a", strict=True)) == ""
    assert "may fail to cast" in reason_against_workers(scan(table, "v:s::int AS s", strict=True))
    assert reason_against_workers(scan(table, "v:s::int AS s")) == ""
    assert "too few" in reason_against_workers(scan(table, "id", "id > 5")), "the log rules out every file"


def test_casts_of_workers_never_raise(table: sl.Table) -> None:
    strict = scan(table, "v:a::bigint AS a", "v:s::int > 1", strict=True)
    assert strict.strict_paths
    query = worker_query(strict)
    assert query.predicate is not None
    found = [*references(query.projections[0].expr), *references(query.predicate)]
    assert [ref.strict for ref in found if isinstance(ref, Get)] == [False, False]
