"""Partition values: no two partitions are taken for one, and constraints see what is stored."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import set_by_another_writer


@pytest.mark.parametrize(
    ("kept", "replaced"),
    [
        (("\0", "x"), (None, "x")),
        ((None, "x"), ("\0", "x")),
        (("a\0\0b", "c"), ("a", "b\0\0c")),
        (("null,", "x"), (None, "x")),
        (("1:a", "b"), ("1", "a1:b")),
        (("", "x"), ("\0", "x")),
    ],
)
def test_partitions_that_only_look_alike(
    tmp_path: Path, kept: tuple[str | None, str], replaced: tuple[str | None, str]
) -> None:
    schema = pa.schema([("p", pa.string()), ("q", pa.string()), ("id", pa.int64())])
    table = sl.Table.create(tmp_path, schema, ["p", "q"])

    def row(values: tuple[str | None, str], number: int) -> pa.Table:
        return pa.table({"p": [values[0]], "q": [values[1]], "id": [number]}, schema=schema)

    table.append(row(kept, 1))
    table.append(row(replaced, 2))
    table.overwrite(row(replaced, 3), partitions=True)
    assert sorted(table.scan(["id"]).to_arrow().column("id").to_pylist()) == [1, 3]


@pytest.mark.parametrize(("kind", "empty"), [(pa.string(), ""), (pa.binary(), b"")])
def test_an_empty_text_is_null_before_it_is_checked(
    tmp_path: Path, kind: pa.DataType, empty: str | bytes
) -> None:
    """It reads back as null, so NOT NULL and CHECK must see a null."""
    strict = pa.schema([pa.field("p", kind, nullable=False), ("id", pa.int64())])
    table = sl.Table.create(tmp_path / "not_null", strict, ["p"])
    rows = pa.table({"p": pa.array([empty], kind), "id": [1]})
    with pytest.raises(sl.ConstraintViolation, match="row 0 has no value for p"):
        table.append(rows)
    loose = pa.schema([("p", kind), ("id", pa.int64())])
    table = sl.Table.create(
        tmp_path / "check", loose, ["p"], {"delta.constraints.known": "p IS NOT NULL OR id = 7"}
    )
    with pytest.raises(sl.ConstraintViolation, match="known"):
        table.append(rows)
    table.append(pa.table({"p": pa.array([empty, None], kind), "id": [7, 7]}))
    assert table.scan(["p"]).to_arrow().column("p").to_pylist() == [None, None]
    assert table.files().num_rows == 1


def test_rows_need_a_column_to_be_in(tmp_path: Path) -> None:
    """Void columns are not written: a file of nothing else would have no rows."""
    schema = pa.schema([("p", pa.int64()), ("x", pa.null()), ("y", pa.null())])
    table = sl.Table.create(tmp_path, schema, ["p"])
    rows = pa.table({"p": [1, 2]})
    with pytest.raises(sl.InvalidSchema, match="all columns are of type void"):
        table.append(rows)
    table.add_column(pa.field("id", pa.int64()))
    table.append(rows)
    assert table.scan(["p"]).count() == 2


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nope + 1", "generated column n: "),
        ("made + 1", "generated column n: "),
        ("n + 1", "generated column n: "),
        ("id +", "generated column n: "),
    ],
)
def test_generated_columns_read_columns_that_are_given(tmp_path: Path, expression: str, message: str) -> None:
    key = "delta.generationExpression"
    schema = pa.schema(
        [
            ("id", pa.int64()),
            pa.field("made", pa.int64(), metadata={key: "id + 1"}),
            pa.field("n", pa.int64(), metadata={key: expression}),
        ]
    )
    with pytest.raises(sl.InvalidExpression, match=re.escape(message)):
        sl.Table.create(tmp_path, schema)


def test_generated_columns_may_be_partitioned_by(tmp_path: Path) -> None:
    made = {"delta.generationExpression": "v:day::date"}
    schema = pa.schema([("v", sl.variant()), pa.field("day", pa.date32(), metadata=made)])
    table = sl.Table.create(tmp_path, schema, ["day"])
    table.append(pa.table({"v": sl.from_json(pa.array(['{"day": "2026-01-02"}', "{}"]))}))
    days = table.scan(["day"]).to_arrow().column("day").cast(pa.string()).to_pylist()
    assert sorted(days, key=str) == ["2026-01-02", None]
    with pytest.raises(sl.ConstraintViolation, match="generated column day"):
        table.append(
            pa.table(
                {"v": sl.from_json(pa.array(["{}"])), "day": pa.array([0], pa.int32()).cast(pa.date32())}
            )
        )


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_partition_values_beyond_the_calendar(tmp_path: Path, kind: pa.DataType) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("d", kind), ("id", pa.int64())]), ["d"])
    number = 3_000_000 if kind == pa.date32() else 3 * 10**17
    days = pa.array([number], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    with pytest.raises(sl.InvalidSchema, match=r"partition column d has a .* outside the years 1 to 9999"):
        table.append(pa.table({"d": days, "id": [1]}))
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("name", ["_change_type", "_commit_version", "_COMMIT_TIMESTAMP"])
def test_columns_of_the_change_feed_are_taken(tmp_path: Path, name: str) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    schema = pa.schema([("id", pa.int64()), (name, pa.string())])
    with pytest.raises(sl.InvalidSchema, match="which the change data feed adds itself"):
        sl.Table.create(tmp_path / "new", schema, properties=feed)
    table = sl.Table.create(tmp_path / "old", schema)
    with pytest.raises(sl.InvalidSchema, match="which the change data feed adds itself"):
        table.set_properties(feed)
    table = sl.Table.create(tmp_path / "feed", schema.remove(1), properties=feed)
    with pytest.raises(sl.InvalidSchema, match="which the change data feed adds itself"):
        table.add_column(schema.field(1))
    set_by_another_writer(tmp_path / "old", feed)
    table = sl.Table(tmp_path / "old")
    table.append(pa.table({"id": [1, 2]}))
    with pytest.raises(sl.InvalidSchema, match="which the change data feed adds itself"):
        table.delete("id = 1")
    with pytest.raises(sl.InvalidSchema, match="which the change data feed adds itself"):
        table.changes(0)
    assert table.scan().count() == 2
