"""`df.write.format("shredlake")`: modes, options, documents, mistakes; what is committed, and what is not."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl

pytestmark = pytest.mark.spark


def write(frame: Any, table: Path, mode: str = "append", **options: Any) -> None:
    frame.write.format("shredlake").mode(mode).options(**options).save(str(table))


def rows(table: Path, *columns: str) -> list[Any]:
    found = sl.Table(table).scan(list(columns) or None).to_arrow()
    return sorted(tuple(row.values()) for row in found.to_pylist())


def problem(error: pytest.ExceptionInfo[Exception]) -> str:
    """The line of our error within Spark's message."""
    [line, *_] = [line for line in str(error.value).splitlines() if "shredlake.errors." in line]
    return line


def test_a_frame_becomes_a_table(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(0, 1000, 1, 3).selectExpr(
        "id", "date'2026-01-01' + int(id % 2) AS day", "to_variant_object(struct(id AS n)) AS v"
    )
    write(frame, tmp_path / "t", partitionBy="day")
    table = sl.Table(tmp_path / "t")
    assert (table.version, table.partition_columns, table.scan().count()) == (0, ("day",), 1000)
    assert sum(rows(tmp_path / "t", "v:n::bigint AS n")[i][0] for i in range(1000)) == sum(range(1000))
    [tags] = table.files().slice(0, 1).column("tags").to_pylist()
    assert json.loads(dict(tags)["shredlake.layout"])["v"]["shredding"] == "struct<n bigint>"
    write(frame.where("id < 10"), tmp_path / "t", partition_by="day")
    assert sl.Table(tmp_path / "t").scan().count() == 1010
    [entry] = sl.Table(tmp_path / "t").history(1)
    assert (entry["operation"], entry["metrics"]["numOutputRows"]) == ("WRITE", "10")


def test_text_structs_and_variants_are_documents(spark: Any, tmp_path: Path) -> None:
    texts = spark.createDataFrame([(1, '{"a": 1}'), (2, '{"a": '), (3, None)], "id int, body string")
    write(texts, tmp_path / "t", document="body")
    assert rows(tmp_path / "t", "id", "v:a::int AS a") == [(1, 1), (3, None)]
    rejects = sl.Table(f"{tmp_path}/t_rejects").scan(["raw"]).to_arrow()
    assert rejects.column("raw").to_pylist() == [b'{"a": ']
    write(spark.sql("select 4 AS id, struct(2 AS a) AS v"), tmp_path / "t")
    write(spark.sql("select 5 AS id, parse_json('{\"a\": 3}') AS v"), tmp_path / "t")
    assert rows(tmp_path / "t", "id", "v:a::int AS a")[-2:] == [(4, 2), (5, 3)]
    with pytest.raises(Exception, match="TooManyRejects"):
        write(texts.selectExpr("id", "body AS v"), tmp_path / "t", maxRejects="10%")
    plain = spark.sql("select 'x' AS name")
    write(plain, tmp_path / "plain")  # a text under another name stays a text
    assert sl.Table(tmp_path / "plain").schema.field("name").type == pa.string()


def test_shredding_is_asked_for(spark: Any, tmp_path: Path) -> None:
    frame = spark.sql('select parse_json(\'{"a": 1, "b": 2}\') AS v')
    for name, given in (("none", "none"), ("ddl", "struct<b bigint>"), ("map", '{"v": "struct<a int>"}')):
        write(frame, tmp_path / name, shredding=given)
    layouts = {}
    for name in ("ddl", "map"):
        [tags] = sl.Table(tmp_path / name).files().column("tags").to_pylist()
        layouts[name] = json.loads(dict(tags)["shredlake.layout"])["v"]["shredding"]
    assert layouts == {"ddl": "struct<b bigint>", "map": "struct<a int>"}
    assert sl.Table(tmp_path / "none").properties.get("delta.enableVariantShredding") is None


def test_overwrites(spark: Any, tmp_path: Path) -> None:
    def days(*pairs: tuple[int, int]) -> Any:
        return spark.createDataFrame([(date(2026, 1, day), n) for day, n in pairs], "day date, n int")

    table = tmp_path / "t"
    write(days((1, 1), (2, 2), (3, 3)), table, partitionBy="day")
    write(days((2, 20)), table, "overwrite", replaceWhere="day = date'2026-01-02'")
    assert rows(table, "n") == [(1,), (3,), (20,)]
    write(days((3, 30)), table, "overwrite", partitionOverwriteMode="dynamic")
    assert rows(table, "n") == [(1,), (20,), (30,)]
    write(days((1, 5)), table, "overwrite", replaceWhere="n < 10")  # rewrites a file in part
    assert rows(table, "n") == [(5,), (20,), (30,)]
    with pytest.raises(Exception, match="must satisfy") as error:
        write(days((1, 99)), table, "overwrite", replaceWhere="n < 10")
    assert "ConstraintViolation" in problem(error)
    write(days((9, 9)), table, "overwrite")
    assert rows(table, "n") == [(9,)]
    write(days((9, 8)).limit(0), table, "overwrite")
    assert rows(table, "n") == []


def test_a_transaction_is_written_once(spark: Any, tmp_path: Path) -> None:
    for version in (1, 1, 2):
        write(spark.range(5), tmp_path / "t", txnAppId="nightly", txnVersion=version)
    assert sl.Table(tmp_path / "t").scan().count() == 10


def test_constraints_and_generated_columns(spark: Any, tmp_path: Path) -> None:
    made = {"delta.generationExpression": "v:n::bigint"}
    schema = pa.schema([("v", sl.variant()), pa.field("n", pa.int64(), metadata=made)])
    sl.Table.create(tmp_path / "t", schema, properties={"delta.constraints.small": "n < 10"})
    write(spark.sql("select '{\"n\": 3}' AS v"), tmp_path / "t")
    assert rows(tmp_path / "t", "n") == [(3,)]
    with pytest.raises(Exception, match="CHECK constraint small"):
        write(spark.sql("select '{\"n\": 30}' AS v"), tmp_path / "t")
    assert sl.Table(tmp_path / "t").version == 1
    assert len(list((tmp_path / "t").glob("*.parquet"))) == 1  # the refused rows left no file


def test_our_errors_come_through(spark: Any, tmp_path: Path) -> None:
    write(spark.range(1), tmp_path / "t")
    with pytest.raises(Exception, match=r"shredlake\.errors") as error:
        write(spark.range(1), tmp_path / "t", shreding="infer")
    assert "did you mean 'shredding'" in problem(error)
    assert sl.Table(tmp_path / "t").version == 0


def test_insert_into_a_view(spark: Any, tmp_path: Path) -> None:
    write(spark.range(3), tmp_path / "t")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW inserted USING shredlake OPTIONS (path '{tmp_path}/t')")
    spark.sql("INSERT INTO inserted SELECT 7")
    assert [row.id for row in spark.sql("select id from inserted where id > 1 order by id").collect()] == [
        2,
        7,
    ]
    spark.sql("INSERT OVERWRITE inserted SELECT 9")
    assert rows(tmp_path / "t") == [(9,)]
    spark.sql("DROP VIEW inserted")


def test_a_failed_task_commits_nothing(spark: Any, tmp_path: Path) -> None:
    write(spark.range(10), tmp_path / "t")
    bad = spark.range(0, 10, 1, 2).selectExpr("if(id = 9, raise_error('broken'), id) AS id")
    with pytest.raises(Exception, match="broken"):
        write(bad, tmp_path / "t")
    assert sl.Table(tmp_path / "t").version == 0
    assert len(list((tmp_path / "t").glob("*.parquet"))) == sl.Table(tmp_path / "t").files().num_rows
