"""Results of parse tasks, which travel through Spark."""

from __future__ import annotations

from shredlake.delta.protocol.actions import Add
from shredlake.jobs.ingest.parse_task import TaskResult

ADD = Add("p", 5, 7, {"day": None}, stats="{}", extra={"baseRowId": 3})


def test_a_result_survives_its_way_through_spark() -> None:
    made = TaskResult((ADD,), 3, 2, 1, "s.parquet", (3,), 5, 9, ("look",))
    assert TaskResult.from_json(made.to_json()) == made
    assert made.answer() == (made.to_json(), 2, 1)
