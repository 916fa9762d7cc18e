"""Results of parse tasks, which travel through Spark."""

from __future__ import annotations

from shredlake.jobs.ingest.parse_task import TaskResult


def test_a_result_survives_its_way_through_spark() -> None:
    made = TaskResult(({"path": "p"},), 3, 2, 1, "s.parquet", (3,), 5, 9, ("look",))
    assert TaskResult.from_json(made.to_json()) == made
    assert made.answer() == (made.to_json(), 2, 1)
