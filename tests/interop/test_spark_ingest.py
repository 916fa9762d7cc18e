"""The pipeline on a real Spark: text, frames, streams, rewrites; each row once, with its values."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import shredlake as sl
from datagen import write_ndjson
from shredlake.errors import CommitConflict, ConstraintViolation, InvalidSchema, PipelineError, TooManyRejects
from shredlake.jobs.optimize import optimize_table
from shredlake.kernels.checksum import checksum
from shredlake.parquet.legacy.convert import write_draft
from shredlake.spark import ingest, migrate_draft, optimize, stream, unshred
from shredlake.spark.engine import SparkEngine
from shredlake.spark.store_assignment import stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows_of(table: Path, *columns: str, where: str | None = None) -> list[dict[str, Any]]:
    return sl.Table(table).scan(columns=list(columns) or None, where=where).to_arrow().to_pylist()


def ids(table: Path) -> list[int]:
    return sorted(row["id"] for row in rows_of(table, "v:id::bigint AS id"))


def write_lines(path: Path, documents: list[Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return str(path)


# ── Text ────────────────────────────────────────────────────────────────────────────────────────────────


def test_text(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "events.ndjson"
    written = write_ndjson("bluesky", source, 3000)
    with open(source, "ab") as file:
        file.write(b'{"broken": \n')
    report = ingest(spark, str(source), tmp_path / "table", task_bytes=200_000)
    assert (report.documents, report.rows, report.rejects) == (written + 1, written, 1)
    assert report.files > 3
    [bad] = rows_of(Path(f"{tmp_path}/table_rejects"))
    assert (bad["line"], bad["raw"]) == (written + 1, b'{"broken": \n')
    found = sl.Table(tmp_path / "table").scan(columns=["v"]).to_arrow().column("v")
    expected = sl.from_json(pa.array(source.read_text().splitlines()[:-1]))
    assert checksum(found) == checksum(expected)
    assert ingest(spark, str(source), tmp_path / "table", task_bytes=200_000).already_done
    with pytest.raises(TooManyRejects):
        ingest(spark, str(source), tmp_path / "table", job_id="strict", max_rejects=0)


def test_spark_reads_what_was_written(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "events.ndjson"
    write_ndjson("github", source, 300)
    ingest(spark, str(source), tmp_path / "table")
    spark.conf.set("spark.sql.parquet.ignoreVariantAnnotation", "false")
    try:
        files = [str(path) for path in (tmp_path / "table").glob("*.parquet")]
        texts = [row[0] for row in spark.read.parquet(*files).selectExpr("to_json(v)").collect()]
    finally:
        spark.conf.set("spark.sql.parquet.ignoreVariantAnnotation", "true")
    expected = sl.from_json(pa.array(source.read_text().splitlines()))
    assert checksum(sl.from_json(pa.array(texts))) == checksum(expected)


def test_what_only_spark_can_evaluate(spark: SparkSession, tmp_path: Path) -> None:
    lines = [{"id": n, "ts": f"2026-01-0{1 + n % 3}T10:00:00Z"} for n in range(30)]
    source = write_lines(tmp_path / "a.ndjson", lines)
    with open(source, "a") as file:
        file.write("oops\n")
    report = ingest(
        spark,
        source,
        tmp_path / "table",
        computed={"day": "to_date(v:ts::timestamp)"},
        partition_by="day",
        task_bytes=300,
    )
    assert (report.rows, report.rejects) == (30, 1)
    assert sl.Table(tmp_path / "table").schema.field("day").type == pa.date32()
    assert len(rows_of(tmp_path / "table", "day", where="day = date'2026-01-02'")) == 10
    [bad] = rows_of(Path(f"{tmp_path}/table_rejects"))
    assert (bad["line"], bad["raw"]) == (31, b"oops\n")
    assert bad["offset"] == len("".join(json.dumps(line) + "\n" for line in lines))


def test_range_partitioned_files_do_not_overlap(spark: SparkSession, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.ndjson", [{"id": (n * 7919) % 1000} for n in range(1000)])
    report = ingest(
        spark, source, tmp_path / "table", sort_by="v:id::bigint", range_partition=True, task_bytes=4000
    )
    assert report.files in (3, 4)
    ranges = []
    for path in (tmp_path / "table").glob("*.parquet"):
        found = sl.read_parquet(path, columns=["v:id::bigint AS id"]).column("id").to_pylist()
        assert found == sorted(found)
        ranges.append((found[0], found[-1]))
    assert all(high < low for (_, high), (low, _) in pairwise(sorted(ranges)))
    assert ids(tmp_path / "table") == list(range(1000))
    first = sl.Table(tmp_path / "table").scan(where="v:id::bigint = 5").explain()
    assert "1 of" in str(first), first


@pytest.mark.parametrize("by_spark", [False, True])
def test_demands_of_the_table(spark: SparkSession, tmp_path: Path, by_spark: bool) -> None:
    text = "upper(v:name::string) <> 'ANON'" if by_spark else "v:name::string <> 'anon'"
    fields = [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("twice", pa.int64(), metadata={"delta.generationExpression": "id * 2"}),
        pa.field("origin", pa.string(), metadata={"CURRENT_DEFAULT": "'web'"}),
        pa.field("v", sl.variant()),
    ]
    properties = {"delta.constraints.named": text, "delta.feature.allowColumnDefaults": "supported"}
    sl.Table.create(tmp_path / "table", pa.schema(fields), properties=properties)
    good = write_lines(tmp_path / "good.ndjson", [{"id": 3, "name": "ada"}])
    bad = write_lines(tmp_path / "bad.ndjson", [{"id": 4, "name": "ada"}, {"id": 5, "name": "anon"}])
    computed = {"id": "v:id::bigint"}
    assert ingest(spark, good, tmp_path / "table", computed=computed).rows == 1
    with pytest.raises(ConstraintViolation, match=r"named.*anon"):
        ingest(spark, bad, tmp_path / "table", computed=computed)
    frame = spark.createDataFrame([('{"name": "eve"}', 7)], "v string, id bigint")
    assert ingest(spark, frame, tmp_path / "table").rows == 1
    nameless = spark.createDataFrame([('{"name": "anon"}', 7)], "v string, id bigint")
    with pytest.raises(ConstraintViolation, match=r"named.*anon"):
        ingest(spark, nameless, tmp_path / "table")
    with pytest.raises(ConstraintViolation, match="id, which is NOT NULL"):
        ingest(spark, frame.drop("id"), tmp_path / "table")
    wrong = spark.createDataFrame([('{"name": "eve"}', 7, 7)], "v string, id bigint, twice bigint")
    with pytest.raises(ConstraintViolation, match="generated column twice"):
        ingest(spark, wrong, tmp_path / "table")
    found = sorted(rows_of(tmp_path / "table", "id", "twice", "origin"), key=lambda row: row["id"])
    assert found == [
        {"id": 3, "twice": 6, "origin": "web"},
        {"id": 7, "twice": 14, "origin": "web"},
    ]


# ── Frames ──────────────────────────────────────────────────────────────────────────────────────────────


def test_frames_of_text(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(
        [(1, '{"id": 1}'), (2, '{"id": '), (3, None), (4, '{"id": 4}')], "n int, body string"
    )
    report = ingest(
        spark, frame, tmp_path / "table", document="body", job_id="one", computed={"plus": "v:id::int + 1"}
    )
    assert (report.documents, report.rows, report.rejects) == (4, 3, 1)
    found = sorted(rows_of(tmp_path / "table", "n", "plus", "v:id::int AS id"), key=lambda row: row["n"])
    assert found == [
        {"n": 1, "plus": 2, "id": 1},
        {"n": 3, "plus": None, "id": None},
        {"n": 4, "plus": 5, "id": 4},
    ]
    [bad] = rows_of(Path(f"{tmp_path}/table_rejects"))
    assert (bad["file"], bad["line"], bad["raw"]) == (None, None, b'{"id": ')
    assert ingest(spark, frame, tmp_path / "table", document="body", job_id="one").already_done


def test_frames_of_variants_and_structs(spark: SparkSession, tmp_path: Path) -> None:
    variants = spark.range(5).selectExpr("parse_json('{\"id\": ' || id || '}') AS v")
    assert ingest(spark, variants, tmp_path / "variants").rows == 5
    assert ids(tmp_path / "variants") == list(range(5))
    structs = spark.range(5).selectExpr("struct(id, array(id, id) AS list) AS v", "id AS n")
    assert ingest(spark, structs, tmp_path / "structs").rows == 5
    assert ids(tmp_path / "structs") == list(range(5))
    assert sorted(row["n"] for row in rows_of(tmp_path / "structs", "n")) == list(range(5))


def test_frames_that_do_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("{}", "{}", 1)], "a string, b string, n int")
    with pytest.raises(
        InvalidSchema, match=r"which column of the frame has the documents\. Candidates: a, b"
    ):
        ingest(spark, frame, tmp_path / "table")
    with pytest.raises(InvalidSchema, match="no column 'c'"):
        ingest(spark, frame, tmp_path / "table", document="c")
    with pytest.raises(PipelineError, match="no option 'colour'"):
        ingest(spark, frame, tmp_path / "table", colour="red")  # type: ignore[call-arg]
    sl.Table.create(tmp_path / "table", pa.schema([("v", sl.variant())]))
    with pytest.raises(InvalidSchema, match=r"column 'b', which the table lacks"):
        ingest(spark, frame, tmp_path / "table", document="a")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_frames_store_values_as_they_are_or_not_at_all(
    spark: SparkSession, tmp_path: Path, ansi: str
) -> None:
    fields = [
        ("small", pa.int32()), ("big", pa.int64()), ("cents", pa.decimal128(9, 2)), ("real", pa.float32()),
        ("day", pa.date32()), ("text", pa.string()),
        ("both", pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ("v", sl.variant()),
    ]  # fmt: skip
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_type

    sl.Table.create(tmp_path / "table", pa.schema(fields))
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        good = spark.sql(
            "SELECT 7L AS small, 8 AS big, 1.5BD AS cents, 0.1D AS real, TIMESTAMP'2020-01-02' AS day, "
            "5 AS text, struct(1 AS a, 2 AS b) AS both, '{}' AS v"
        )
        assert ingest(spark, good, tmp_path / "table", document="v").rows == 1
        refused = {
            "5000000000L AS small": "5000000000 does not fit the table's type int",
            "1.5D AS small": "1.5 does not fit",
            "1.005BD AS cents": "1.005 does not fit",
            "12345678.9BD AS cents": "does not fit",
            "1e300D AS real": "does not fit the table's type float",
            "TIMESTAMP'2020-01-02 03:04:05' AS day": "does not fit the table's type date",
        }
        # A failed ingest ends two Python workers, so only one of these values goes the whole way.
        for value, message in refused.items():
            frame = spark.sql(f"SELECT {value}, '{{}}' AS v")
            given, target = frame.schema[0], sl.Table(tmp_path / "table").schema.field(frame.columns[0])
            with pytest.raises(PySparkException, match=message):
                frame.select(
                    stored(F.col(given.name), given.dataType, from_arrow_type(target.type), given.name)
                ).collect()
        with pytest.raises(PipelineError, match=message):
            ingest(spark, frame, tmp_path / "table", document="v")
        for value in ("'abc' AS big", "'5' AS big", "5 AS day", "struct(1 AS b, 2 AS a) AS both"):
            with pytest.raises(InvalidSchema, match="Cast it in the frame"):
                ingest(spark, spark.sql(f"SELECT {value}, '{{}}' AS v"), tmp_path / "table", document="v")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    [row] = rows_of(tmp_path / "table", "small", "big", "cents", "text", "both")
    assert row == {"small": 7, "big": 8, "cents": Decimal("1.50"), "text": "5", "both": {"a": 1, "b": 2}}


# ── Streams ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stream_of_files(spark: SparkSession, tmp_path: Path) -> None:
    for n in range(3):
        write_lines(tmp_path / "in" / f"{n}.ndjson", [{"id": n * 10 + i} for i in range(10)])
    (tmp_path / "in" / "bad.ndjson").write_text("{\n")
    reports: list[Any] = []

    def run() -> None:
        query = stream(
            spark,
            str(tmp_path / "in"),
            tmp_path / "table",
            tmp_path / "state",
            files_per_batch=2,
            on_batch=reports.append,
        )
        query.awaitTermination(120)

    run()
    assert ids(tmp_path / "table") == list(range(30))
    assert sum(report.rejects for report in reports) == 1
    assert len(reports) == 2
    assert len({report.layout for report in reports if report.rows}) == 1
    assert all(report.files <= 1 for report in reports)
    write_lines(tmp_path / "in" / "late.ndjson", [{"id": 30}])
    run()
    assert ids(tmp_path / "table") == list(range(31))


def test_a_stream_of_files_with_odd_names_in_nested_folders(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["a%20b", "a b", "c#1", "d?", "deep/er/e", "deep/f[1]", "é"]
    folder = tmp_path / "in?[1]"
    for number, name in enumerate(names):
        write_lines(folder / f"{name}.ndjson", [{"id": number}])
    write_lines(folder / "_hidden" / "x.ndjson", [{"id": -1}])
    write_lines(tmp_path / "in21" / "x.ndjson", [{"id": -2}])

    def conflict(*_: object, **__: object) -> None:
        raise CommitConflict("another writer was at it")

    monkeypatch.setattr(sys.modules["shredlake.spark.file_stream"], "optimize_table", conflict)
    with pytest.warns(RuntimeWarning, match="another writer was at it"):
        stream(spark, str(folder), tmp_path / "table", tmp_path / "state", compact_every=1).awaitTermination()
    assert ids(tmp_path / "table") == list(range(len(names)))


def test_a_stream_that_dies_before_spark_notes_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    for n in range(2):
        write_lines(tmp_path / "in" / f"{n}.ndjson", [{"id": n}])

    def die(report: Any) -> None:
        raise RuntimeError("killed after the commit")

    def run(on_batch: Callable[[Any], None] | None = None) -> Any:
        query = stream(
            spark,
            str(tmp_path / "in"),
            tmp_path / "table",
            tmp_path / "state",
            files_per_batch=1,
            on_batch=on_batch,
        )
        return query.awaitTermination(120)

    with pytest.raises(Exception, match="killed after the commit"):
        run(die)
    assert len(ids(tmp_path / "table")) == 1
    run()
    assert ids(tmp_path / "table") == [0, 1]


def test_a_stream_of_rows_put_together_now_and_then(spark: SparkSession, tmp_path: Path) -> None:
    for n in range(4):
        write_lines(tmp_path / "in" / f"{n}.txt", [{"id": n}])
    text = spark.readStream.format("text").option("maxFilesPerTrigger", "1").load(str(tmp_path / "in"))
    like_kafka = text.selectExpr(
        "CAST(NULL AS BINARY) AS key", "CAST(value AS BINARY) AS value", "'events' AS topic",
        "0 AS partition", "7L AS offset", "current_timestamp() AS timestamp", "0 AS timestampType",
    )  # fmt: skip
    query = stream(
        spark, like_kafka, tmp_path / "table", tmp_path / "state", document="value", compact_every=4
    )
    query.awaitTermination(120)
    assert ids(tmp_path / "table") == [0, 1, 2, 3]
    assert sl.Table(tmp_path / "table").files().num_rows == 1
    assert {row["topic"] for row in rows_of(tmp_path / "table", "topic")} == {"events"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"document": "nope"}, "has no column 'nope'"),
        ({"document": "n"}, "'n' is bigint, not documents"),
        ({"document": "value", "files_per_batch": 3}, "files_per_batch limits the batches of a folder"),
        ({"document": "value", "computed": {"x": "nowhere + 1"}}, "nowhere"),
        ({"document": "value", "shredding": "struct<a nonsense>"}, "unknown type 'nonsense'"),
        ({"document": "value", "partition_by": "day"}, "day"),
        ({"document": "value", "multi_line": True}, "multi_line"),
    ],
)
def test_a_stream_of_rows_that_can_not_work_does_not_start(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value", "value AS n")
    with pytest.raises(sl.ShredlakeError, match=message):
        stream(spark, frame, tmp_path / "table", tmp_path / "state", **options)
    assert not (tmp_path / "table").exists()
    assert not (tmp_path / "state").exists()
    assert not spark.streams.active


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"document": "value"}, "document names a column of a DataFrame"),
        ({"computed": {"x": "nowhere + 1"}}, "nowhere"),
        ({"computed": {"x": "nowhere || 'a'"}}, "nowhere"),
        ({"shredding": "struct<a nonsense>"}, "unknown type 'nonsense'"),
        ({"sort_by": "v:a::nonsense"}, "nonsense"),
        ({"partition_by": "day"}, "day"),
    ],
)
def test_a_stream_of_files_that_can_not_work_does_not_start(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    write_lines(tmp_path / "in" / "a.ndjson", [{"a": 1}])
    with pytest.raises(sl.ShredlakeError, match=message):
        stream(spark, str(tmp_path / "in"), tmp_path / "table", tmp_path / "state", **options)
    assert not (tmp_path / "table").exists()
    assert not (tmp_path / "state").exists()
    assert not spark.streams.active


# ── Rewrites ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    """A table in six files whose ids overlap, one row deleted."""
    schema = pa.schema([("n", pa.int64()), ("v", sl.variant())])
    properties = {"delta.enableVariantShredding": "true", "delta.enableDeletionVectors": "true"}
    table = sl.Table.create(tmp_path / "table", schema, properties=properties)
    for first in range(6):
        numbers = list(range(first, 60, 6))
        texts = [json.dumps({"id": n, "name": f"n{n}", "odd": [n, None]}) for n in numbers]
        table.append(pa.table({"n": numbers, "v": sl.from_json(pa.array(texts))}), shredding=None)
    table.delete("n = 59")
    return tmp_path / "table"


def test_optimize_compacts_and_shreds(spark: SparkSession, scattered: Path) -> None:
    before = sorted(rows_of(scattered, "n", "v:id::bigint AS id"), key=lambda row: row["n"])
    report = optimize(spark, scattered)
    assert (report.files_before, report.files_after, report.rows) == (6, 1, 59)
    assert report.layout is not None
    assert "id bigint" in report.layout
    assert sorted(rows_of(scattered, "n", "v:id::bigint AS id"), key=lambda row: row["n"]) == before
    last = (scattered / "_delta_log" / f"{report.version:020}.json").read_text().splitlines()
    actions = [json.loads(line) for line in last]
    changes = [next(iter(a.values()))["dataChange"] for a in actions if "add" in a or "remove" in a]
    assert changes == [False] * 7
    assert optimize(spark, scattered).files_before == 0


def test_optimize_sorts_over_all_files(spark: SparkSession, scattered: Path) -> None:
    size = optimize(spark, scattered).bytes_after
    report = optimize(spark, scattered, sort_by="v:id::bigint", file_bytes=size // 3)
    assert report.files_after == 3
    ranges = []
    for path in (json.loads(line)["add"]["path"] for line in
                 (scattered / "_delta_log" / f"{report.version:020}.json").read_text().splitlines()
                 if "add" in json.loads(line)):  # fmt: skip
        found = sl.read_parquet(scattered / path, columns=["v:id::bigint AS id"]).column("id").to_pylist()
        assert found == sorted(found)
        ranges.append((found[0], found[-1]))
    ranges.sort()
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))
    assert ids(scattered) == list(range(59))


def test_appends_survive_an_optimize_and_deletes_do_not(
    spark: SparkSession, scattered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    module: Any = sys.modules["shredlake.jobs.optimize"]
    real = module._commit

    def meanwhile(change: Callable[[sl.Table], object]) -> None:
        def commit(*arguments: Any) -> int:
            change(sl.Table(scattered))
            return int(real(*arguments))

        monkeypatch.setattr(module, "_commit", commit)

    more = pa.table({"n": [100], "v": sl.from_json(pa.array(['{"id": 100}']))})
    meanwhile(lambda table: table.append(more))
    assert optimize(spark, scattered).files_after == 1
    assert ids(scattered) == [*range(59), 100]
    meanwhile(lambda table: table.delete("n = 3"))
    with pytest.raises(sl.CommitConflict):
        optimize(spark, scattered, shredding=None)
    assert ids(scattered) == [*range(3), *range(4, 59), 100]


def test_a_copy_that_lost_something_is_not_committed(
    spark: SparkSession, scattered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shredlake.jobs import verified_copy as copy
    from shredlake.jobs.data_files import write_tables
    from shredlake.jobs.engine import LocalEngine

    real = write_tables
    monkeypatch.setattr(copy, "write_tables", lambda job, tables, _: real(job, (t.slice(1) for t in tables)))
    version = sl.Table(scattered).version
    with pytest.raises(sl.VerificationFailed, match="59 rows read"):
        optimize_table(LocalEngine(), str(scattered))
    assert sl.Table(scattered).version == version


def test_draft_files_become_a_table(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "drafts").mkdir()
    for n in range(2):
        table = pa.table({"n": [n], "v": sl.from_json(pa.array([json.dumps({"id": n, "x": "y"})]))})
        write_draft(table, tmp_path / "drafts" / f"{n}.parquet", {"v": "struct<id bigint>"})
    report = migrate_draft(spark, str(tmp_path / "drafts"), tmp_path / "table")
    assert (report.rows, report.layout) == (2, "struct<id bigint>")
    assert ids(tmp_path / "table") == [0, 1]
    assert migrate_draft(spark, str(tmp_path / "drafts"), tmp_path / "table").already_done


def test_a_copy_without_shredding(spark: SparkSession, scattered: Path, tmp_path: Path) -> None:
    optimize(spark, scattered)
    report = unshred(spark, scattered, tmp_path / "plain")
    assert report.rows == 59
    assert ids(tmp_path / "plain") == list(range(59))
    plain = sl.Table(tmp_path / "plain")
    assert "variantShredding" not in str(plain.protocol)
    assert set(plain.files().column("tags").to_pylist()[0]) == {("shredlake.layout", "{}")}
    assert unshred(spark, scattered, tmp_path / "plain").already_done


def test_tasks_whose_worker_fails_say_why(spark: SparkSession) -> None:
    def fail(task: int) -> str:
        raise PipelineError(f"task {task}: no luck")

    with pytest.raises(PipelineError, match=r"^task 0: no luck$"):
        SparkEngine(spark).run([0], fail)


def test_folders_lines_and_new_columns_are_as_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    for day, text in (("2026-01-01", '{\n "id": 1\n}'), ("2026-01-02", '[\n{"id": 2},\n{"id": 3}\n]')):
        (tmp_path / f"raw/day={day}").mkdir(parents=True)
        (tmp_path / f"raw/day={day}/a.json").write_text(text)
    write_lines(tmp_path / "old.ndjson", [{"id": 0}])
    columns = ["v:id::bigint AS id", "day", "kind"]
    found = {}
    for name, expression in (("workers", "v:id::string"), ("sql", "concat('', v:id::string)"), ("none", "")):
        table = tmp_path / name
        sl.ingest(tmp_path / "old.ndjson", table)
        options: Any = {"folder_columns": {"day": "date"}, "schema_mode": "merge"}
        computed = {"kind": expression or "v:id::string"}
        if expression:
            report = ingest(spark, tmp_path / "raw", table, computed=computed, **options)
        else:
            report = sl.ingest(tmp_path / "raw", table, computed=computed, **options)
        assert (report.rows, report.rejects, report.version) == (3, 0, 1)
        found[name] = sorted(rows_of(table, *columns), key=lambda row: row["id"])
    assert found["workers"] == found["sql"] == found["none"]
    assert [str(row["day"]) for row in found["none"]] == ["None", "2026-01-01", "2026-01-02", "2026-01-02"]
    frame = spark.sql("select '{\"id\": 4}' AS v, 'web' AS source")
    with pytest.raises(InvalidSchema, match="schema_mode"):
        ingest(spark, frame, tmp_path / "sql")
    ingest(spark, frame, tmp_path / "sql", schema_mode="merge")
    frame.write.format("shredlake").mode("append").option("schemaMode", "merge").save(str(tmp_path / "none"))
    for name in ("sql", "none"):
        assert rows_of(tmp_path / name, "source", where="v:id::int = 4") == [{"source": "web"}]
    with pytest.raises(PipelineError, match="folder_columns is for text files"):
        ingest(spark, frame, tmp_path / "sql", folder_columns={"day": "date"})
