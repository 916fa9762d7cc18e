"""Damaged statistics, tags and column ids of a log: values that are not known, or errors of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.protocol.action_types import LONG
from shredlake.delta.protocol.layout_tag import LAYOUT_TAG
from shredlake.delta.schema.types import COLUMN_ID, Field, Struct, arrow_schema
from shredlake.delta.stats.records import recorded_rows
from shredlake.delta.write.constraints import INVARIANT, checks_of
from shredlake.parquet.variant_columns import is_known_layout, parse_layout_json

DEEP = "[" * 100_000

NOT_COUNTS = ["1e999", '"x"', "[]", "{}", "null", "-5", "NaN", "true", "1.5", "9" * 400, "9" * 5000, DEEP]
DAMAGED = [None, "", "[]", "null", "1", '"x"', "{", DEEP, *(f'{{"numRecords":{it}}}' for it in NOT_COUNTS)]


@pytest.mark.parametrize("stats", DAMAGED, ids=lambda text: str(text)[:30])
def test_what_is_not_a_count_is_not_known(stats: str | None) -> None:
    assert recorded_rows(stats) is None


def test_counts() -> None:
    assert [recorded_rows(json.dumps({"numRecords": n})) for n in (0, LONG - 1)] == [0, LONG - 1]


WORK: dict[str, Callable[[sl.Table], Any]] = {
    "delete": lambda table: table.delete("id = 1"),
    "delete everything": lambda table: table.delete(),
    "overwrite": lambda table: table.overwrite([{"id": 9, "v": {"b": 1}}]),
    "append": lambda table: table.append([{"id": 9, "v": {"b": 1}}]),
    "optimize": lambda table: table.optimize(),
    "report": lambda table: table.report(),
    "ingest": lambda table: sl.ingest(pa.table({"doc": ['{"a": 1}']}), table.uri, document="doc", column="v"),
}


@pytest.mark.parametrize("work", WORK)
def test_damaged_statistics_and_tags_stop_no_work_with_an_error_of_python(tmp_path: Path, work: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", sl.variant())])
    damage: list[tuple[str, Any]] = [("stats", stats) for stats in DAMAGED if stats is not None]
    damage += [
        ("tags", {LAYOUT_TAG: text}) for text in ("[]", DEEP, '{"version":' + DEEP, '{"v":{"shredding":1}}')
    ]
    for number, (name, value) in enumerate(damage):
        table = sl.Table.create(
            tmp_path / str(number), schema, properties={"delta.enableVariantShredding": "true"}
        )
        table.append([{"id": 1, "v": {"a": 1}}, {"id": 2, "v": {"a": 2}}])
        log = tmp_path / str(number) / "_delta_log" / f"{1:020}.json"
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"][name] = value
        log.write_text("".join(json.dumps(action) + "\n" for action in actions))
        try:
            WORK[work](sl.Table(tmp_path / str(number)))
        except sl.ShredlakeError:
            pass
        else:
            assert sl.Table(tmp_path / str(number)).version >= 1


def test_deep_descriptions_of_layouts_and_of_invariants() -> None:
    assert is_known_layout('{"version":' + DEEP)
    with pytest.raises(sl.InvalidSchema, match="not the description"):
        parse_layout_json('{"v":' + DEEP)
    with pytest.raises(sl.InvalidSchema, match="the invariant of column a"):
        list(checks_of(Struct((Field("a", "long", metadata={INVARIANT: DEEP}),)), {}))


@pytest.mark.parametrize("number", ["x", [], float("inf"), float("nan"), {}], ids=str)
def test_a_column_id_that_is_not_a_number(number: Any) -> None:
    with pytest.raises(sl.CorruptLog, match=r"column a: .* is .*, not a whole number"):
        arrow_schema(Struct((Field("a", "long", metadata={COLUMN_ID: number}),)), physical=True)
