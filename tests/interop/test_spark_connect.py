"""`sql` and `read` over Spark Connect, in a process of its own: one process has one kind of session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl

pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'shredlake[spark]'")
pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'pyspark[connect]'")
pytestmark = pytest.mark.spark

SCRIPT = """
import json, sys
from shredlake import spark as sls

import pyarrow as pa
import shredlake as sl

one, two, damaged = sys.argv[1:]
spark = sls.session(remote="local[2]")
answers = {}


def rows(frame):
    return [list(row) for row in frame.collect()]


spark.range(3).createOrReplaceTempView("e")
text = "select count(*), max(v:kind::string), '{x}' from e where v:n::bigint >= 0"
first, second = sls.sql(spark, text, e=one), sls.sql(spark, text, e=two)
answers["first"], answers["second"] = rows(first), rows(second)
answers["whole"] = rows(sls.sql(spark, "select to_json(v) from e where v:n::bigint = 1", e=one))
answers["joined"] = rows(sls.sql(
    spark, "select count(*) from e a join `the other` b on a.v:n::bigint = b.v:n::bigint",
    e=one, **{"the other": two},
))
shadowed = "with e as (select v:n::bigint n from e) select sum(n) from e;"
answers["shadowed"] = rows(sls.sql(spark, shadowed, e=one))
answers["own"] = rows(spark.sql("select count(*) from e"))
answers["names"] = sorted(item.name for item in spark.catalog.listTables())

low = "select sum(v:n::bigint) AS s from e where v:n::bigint < 50"
answers["pruned"] = rows(sls.sql(spark, low, e=damaged))
unnamed = low.replace("AS s", "")
answers["unnamed"] = rows(sls.sql(spark, unnamed, e=damaged))
found = [sls.explain(spark, text, e=damaged).tables["e"] for text in (low, unnamed)]
answers["files"] = [[one.files, one.files_total] for one in found]
sls.register(spark, "low", damaged)
answers["registered"] = rows(sls.sql(spark, low.replace("from e", "from LOW")))
sls.register(spark, "grows", two)
counted = "select count(v:n::bigint) AS n from grows"
answers["before"] = rows(sls.sql(spark, counted))
sl.Table(two).append(pa.table({"v": sl.from_json(pa.array(['{"n": 1}', '{"n": 2}']))}))
answers["grown"] = [rows(sls.sql(spark, counted)), rows(spark.sql("select count(*) from grows"))]
spark.sql("select parse_json('{\\"n\\": 1}') AS v").createOrReplaceTempView("grows")
answers["replaced"] = rows(sls.sql(spark, counted))
print("ANSWERS" + json.dumps(answers))
spark.stop()
"""


def make(place: Path, count: int, kind: str) -> str:
    schema = pa.schema([("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    texts = [json.dumps({"n": number, "kind": kind}) for number in range(count)]
    table.append(
        pa.table({"v": sl.from_json(pa.array(texts))}), shredding={"v": "struct<n bigint, kind string>"}
    )
    return str(place)


def damaged(place: Path) -> str:
    """A table of two files: n is 0 to 9 in one of them, and 100 to 109 in the other, which can't be read."""
    table = sl.Table(make(place, 10, "low"))
    texts = pa.array(json.dumps({"n": number, "kind": "high"}) for number in range(100, 110))
    before = set(place.glob("*.parquet"))
    table.append(pa.table({"v": sl.from_json(texts)}), shredding={"v": "struct<n bigint, kind string>"})
    [high] = set(place.glob("*.parquet")) - before
    high.write_bytes(b"x" * high.stat().st_size)
    return str(place)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    from shredlake.spark.session import java_version

    if os.environ.get("SHREDLAKE_NO_SPARK") == "1" or (java_version() or 0) < 17:
        pytest.skip("no Java, or SHREDLAKE_NO_SPARK=1")
    from spark_cluster import connect_port

    folder = tmp_path_factory.mktemp("connect")
    tables = [make(folder / "one", 10, "one"), make(folder / "two", 20, "two"), damaged(folder / "damaged")]
    command = [sys.executable, "-c", SCRIPT, *tables]
    with connect_port():
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS")]
    assert lines, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(lines[0].removeprefix("ANSWERS"))
    return found


def test_each_answer_has_the_rows_of_its_table(answers: dict[str, Any]) -> None:
    assert answers["first"] == [[10, "one", "{x}"]]
    assert answers["second"] == [[20, "two", "{x}"]]
    assert answers["joined"] == [[10]]
    assert answers["shadowed"] == [[45]]
    assert answers["whole"] == [['{"kind":"one","n":1}']]


def test_the_users_view_stays_and_no_other_is_left(answers: dict[str, Any]) -> None:
    assert answers["own"] == [[3]]
    assert answers["names"] == ["e"]


def test_files_are_pruned_by_the_log(answers: dict[str, Any]) -> None:
    assert answers["pruned"] == [[45]]
    assert answers["unnamed"] == [[45]]
    assert answers["files"] == [[1, 2], [1, 2]]


def test_registered_names_are_known(answers: dict[str, Any]) -> None:
    assert answers["registered"] == [[45]]
    assert answers["before"] == [[20]]
    assert answers["grown"] == [[[22]], [[22]]]  # also in Spark's own view
    assert answers["replaced"] == [[1]]  # a view of the user's
