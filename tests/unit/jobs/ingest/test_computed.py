"""Computed columns: stored in the table if it can compute them without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.write.constraints import GENERATED
from shredlake.errors import InvalidSchema
from shredlake.jobs.ingest.computed import (
    check_computed,
    computed_fields,
    is_generated,
    kept,
    not_kept,
    spark_sql,
)

COMPUTED = {"day": "v:ts::date", "n": "v:n::bigint", "part": "v:inner"}


def table(name: str, partition_by: tuple[str, ...] = ()) -> sl.Table:
    fields = kept([pa.field("v", sl.variant()), *computed_fields("v", COMPUTED)], "v", COMPUTED)
    return sl.Table.create(f"memory://computed-{name}/t", pa.schema(fields), partition_by=partition_by)


def test_types_come_from_the_expressions() -> None:
    assert [field.type for field in computed_fields("v", COMPUTED)] == [pa.date32(), pa.int64(), sl.variant()]


def test_the_table_stores_what_it_can_compute() -> None:
    fields = {field.name: field for field in kept(computed_fields("v", COMPUTED), "v", COMPUTED)}
    generated = {name for name, field in fields.items() if GENERATED.encode() in (field.metadata or {})}
    assert generated == {"day", "n"}, "a Variant is not stored as an expression"


def test_a_job_computes_what_the_table_does_not() -> None:
    snapshot = table("kept").snapshot
    assert [name for name in COMPUTED if is_generated(snapshot, name)] == ["day", "n"]
    assert not_kept(snapshot, COMPUTED) == {"part": "v:inner"}


def test_the_same_expression_may_be_given_again() -> None:
    check_computed(table("again").snapshot, COMPUTED, ["v"])


@pytest.mark.parametrize(
    ("computed", "problem"),
    [({"day": "v:other::date"}, "computes column 'day' as"), ({"new": "v:x::int"}, "has no column 'new'")],
)
def test_other_expressions_and_columns_are_refused(computed: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidSchema, match=problem):
        check_computed(table(f"refused-{len(problem)}").snapshot, computed, ["v"])


def test_a_partition_column_must_get_values() -> None:
    made = sl.Table.create(
        "memory://computed-parts/t", pa.schema([("v", sl.variant()), ("p", pa.string())]), partition_by=["p"]
    )
    check_computed(made.snapshot, {}, ["v", "P"])
    with pytest.raises(InvalidSchema, match="partitioned by 'p'"):
        check_computed(made.snapshot, {}, ["v"])


def test_what_only_spark_understands_stays_as_it_is() -> None:
    assert spark_sql("my_udf(v)") == "my_udf(v)"
