"""Nothing from data, names or logs is read as SQL, as a variable or as a pattern by Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import metadata, write_commit
from shredlake.expr.sql import string_sql
from shredlake.spark import ingest, optimize
from shredlake.spark.query.api import read, register, sql
from streams import finished

pytestmark = pytest.mark.spark

SECRET = "a-secret-of-the-driver"
VARIABLES = (
    "${env:SHREDLAKE_TEST_SECRET}", "${system:user.home}", "${spark:spark.app.name}", "${spark.app.name}",
    "${x}", "$${env:HOME}", "${", "}", "$",
)  # fmt: skip
SPECIAL = (
    "'", '"', "`", "``", "\\", "\\'", "\\u0041", "%", "%24", "{a}", "[x]", "*", "?", "#", ":", "a.b", ",",
    ";", "-- x", "/*", "*/", "') OR 1=1 --", " a b ", "\n", "\t", "=", "(", ")", "é", "𝄞", "null", "__HIVE__",
)  # fmt: skip
TEXTS = (*VARIABLES, *SPECIAL)


@pytest.fixture(autouse=True)
def secret() -> Iterator[None]:
    """The JVM has the environment of the start, which has a HOME; this one is for the workers."""
    os.environ["SHREDLAKE_TEST_SECRET"] = SECRET
    yield
    del os.environ["SHREDLAKE_TEST_SECRET"]


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One row per text, as a partition's value, as a plain value and as one in a Variant."""
    place = tmp_path_factory.mktemp("injection") / "values"
    schema = pa.schema([("v", sl.variant()), ("p", pa.string()), ("s", pa.string())])
    table = sl.Table.create(
        place, schema, partition_by=["p"], properties={"delta.enableVariantShredding": "true"}
    )
    documents = sl.from_json(pa.array([json.dumps({"k": text, "n": 1}) for text in TEXTS]))
    rows = pa.table({"v": documents, "p": list(TEXTS), "s": list(TEXTS)}, schema=schema)
    table.append(rows, shredding={"v": "struct<k string, n bigint>"})
    return str(place)


def test_values_come_back_as_they_are(spark: Any, values: str) -> None:
    expected = sorted((text, text, text) for text in TEXTS)
    found = read(spark, values, ["p", "s", "v:k::string AS k"])
    assert sorted(map(tuple, found.collect())) == expected
    found = sql(spark, "select p, s, v:k::string from t", t=values)
    assert sorted(map(tuple, found.collect())) == expected
    found = sql(spark, "select p, s, to_json(v:k) from t", t=values)
    assert sorted((row[0], row[1]) for row in found.collect()) == [one[:2] for one in expected]
    groups = sql(spark, "select p, count(*) from t group by p", t=values).collect()
    assert sorted(map(tuple, groups)) == sorted((text, 1) for text in TEXTS)
    register(spark, "injected", values)
    try:
        found = spark.sql("select p, s, v:k::string from injected")
        assert sorted(map(tuple, found.collect())) == expected
    finally:
        spark.catalog.dropTempView("injected")


@pytest.mark.parametrize("column", ["p", "s", "v:k::string"])
def test_filters_compare_with_what_is_written(spark: Any, values: str, column: str) -> None:
    for text in TEXTS:
        [row] = read(spark, values, ["s"], where=f"{column} = {string_sql(text)}").collect()
        assert row["s"] == text
    listed = ", ".join(map(string_sql, TEXTS))
    assert read(spark, values, ["s"], where=f"{column} in ({listed})").count() == len(TEXTS)
    assert read(spark, values, ["s"], where=f"{column} like '$%{{%'").count() == 7
    assert read(spark, values, ["s"], where=f"{column} like 'x%' escape '$'").count() == 0


def test_optimize_keeps_them(spark: Any, values: str) -> None:
    place = Path(values).with_name("sorted")
    table = sl.Table.create(place, sl.Table(values).schema, partition_by=["p"])
    for _ in range(2):
        table.append(sl.Table(values).scan().to_arrow())
    optimize(spark, str(place), sort_by=["v:k::string", "concat(s, '$')"])
    found = sl.Table(place).scan(["p", "s", "v:k::string AS k"]).to_arrow().to_pylist()
    expected = 2 * [{"p": text, "s": text, "k": text} for text in TEXTS]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_an_expression_that_spark_would_change_is_refused(spark: Any, values: str) -> None:
    with pytest.raises(sl.ShredlakeError, match="which Spark would replace"):
        optimize(spark, values, sort_by=["concat(s, '${env:HOME}')"])


RUNS_CODE = "java_method('java.lang.System', 'setProperty', 'shredlake.test', 'ran') IS NULL"


def what_ran(spark: Any) -> str | None:
    """The property that `RUNS_CODE` sets, wherever it runs in this process of local Spark."""
    found: str | None = spark._jvm.System.clearProperty("shredlake.test")
    return found


def test_the_code_would_run(spark: Any, values: str) -> None:
    spark.range(1).where(RUNS_CODE).collect()
    assert what_ran(spark) == "ran"


@pytest.mark.parametrize(
    "where",
    [
        RUNS_CODE, f"length(s) > 0 AND {RUNS_CODE}", RUNS_CODE.replace("java_method", "reflect"),
        RUNS_CODE.replace("java_method", "`java_method` /* x */ "),
        RUNS_CODE.replace("java_method(", "identifier('java_' || 'method')("),
        "java_class('java.lang.System') = ''",
        "exists (select transform(1) using 'touch FILE' as (x string))",
        "s = '' OR exists (from (select 1 a) map a using 'touch FILE' as x)",
        "id.__class__", "s; DROP TABLE t", "__import__('os').system('touch FILE')",
    ],
)  # fmt: skip
def test_a_predicate_runs_no_code(spark: Any, values: str, where: str, tmp_path: Path) -> None:
    """Neither as a condition of `read` nor as a column, nor as a sort key of `optimize`."""
    where = where.replace("FILE", str(tmp_path / "ran"))
    for attempt in (
        lambda: read(spark, values, ["s"], where=where).collect(),
        lambda: read(spark, values, [f"{where} AS ran", "upper(s) AS u"]).collect(),
        lambda: optimize(spark, values, sort_by=[f"({where})"]),
        lambda: spark.read.format("shredlake").option("where", where).load(values).collect(),
    ):
        with pytest.raises(Exception) as raised:
            attempt()
        assert isinstance(raised.value, sl.ShredlakeError) or "shredlake" in str(raised.value).lower()
    assert what_ran(spark) is None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", [RUNS_CODE, "exists (select * from text.`FILE`)"])
@pytest.mark.parametrize("place", ["constraint", "generated", "default"])
def test_a_log_runs_no_code(spark: Any, tmp_path: Path, place: str, text: str) -> None:
    """An untrusted table with such an expression, to which Spark ingests."""
    (tmp_path / "secret").write_text("secret\n")
    text = text.replace("FILE", str(tmp_path / "secret"))
    key = {"generated": "delta.generationExpression", "default": "CURRENT_DEFAULT"}.get(place, "comment")
    fields = [
        {"name": "v", "type": "variant", "nullable": True, "metadata": {}},
        {"name": "b", "type": "boolean", "nullable": True, "metadata": {key: text}},
    ]
    features = ["variantType", "appendOnly", "checkConstraints", "generatedColumns", "allowColumnDefaults"]
    protocol: dict[str, Any] = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocol |= {"readerFeatures": ["variantType"], "writerFeatures": features}
    configuration = {"delta.constraints.c": text} if place == "constraint" else {}
    schema = json.dumps({"type": "struct", "fields": fields})
    write_commit(tmp_path / "t", 0, [{"protocol": protocol}, metadata(schema, configuration=configuration)])
    (tmp_path / "in.ndjson").write_text('{"a": 1}\n')
    with pytest.raises(
        sl.ShredlakeError, match=r"can run code|can read other tables|expected a list of columns"
    ):
        ingest(spark, str(tmp_path / "in.ndjson"), str(tmp_path / "t"))
    assert what_ran(spark) is None
    assert sl.Table(tmp_path / "t").version == 0


NAMES = tuple(text for text in TEXTS if text.strip())


def test_names_of_columns_and_of_fields(spark: Any, tmp_path: Path) -> None:
    """Columns, fields of structs and keys of Variants with each of these names."""
    inner = pa.struct([(name, pa.int64()) for name in NAMES])
    schema = pa.schema([*((name, pa.int64()) for name in NAMES), ("st", inner), ("v", sl.variant())])
    properties = {"delta.columnMapping.mode": "name", "delta.enableVariantShredding": "true"}
    table = sl.Table.create(tmp_path / "t", schema, properties=properties)
    numbers = {name: number for number, name in enumerate(NAMES)}
    rows = {**{name: [number] for name, number in numbers.items()}, "st": [numbers]}
    rows["v"] = sl.from_json(pa.array([json.dumps(numbers)]))
    table.append(pa.table(rows, schema=schema))
    found = read(spark, str(tmp_path / "t")).collect()[0].asDict(recursive=True)
    assert {name: found[name] for name in NAMES} == numbers
    assert found["st"] == numbers
    row = sql(spark, "select * from t", t=tmp_path / "t").collect()[0].asDict(recursive=True)
    assert {name: row[name] for name in NAMES} == numbers
    first = sql(spark, "select v:n::int, * except (v) from t where v:n::int is null", t=tmp_path / "t")
    assert first.columns[1:-1] == list(NAMES)
    assert list(first.collect()[0])[1:-1] == list(numbers.values())
    for name, number in numbers.items():
        quoted = "`" + name.replace("`", "``") + "`"
        [[value]] = read(spark, str(tmp_path / "t"), [f"{quoted} AS {quoted}"]).collect()
        assert value == number


def test_keys_of_variants(spark: Any, tmp_path: Path) -> None:
    """Each a shredded column of its own, mixed in a second file, and missing in a third."""
    keys = [name for name in NAMES if "\\" not in name]  # which begins an escape in our paths
    table = sl.Table.create(
        tmp_path / "t", pa.schema([("v", sl.variant())]), properties={"delta.enableVariantShredding": "true"}
    )
    layout = "struct<" + ", ".join(f"`{name.replace('`', '``')}` bigint" for name in keys) + ">"
    for value in (lambda number: number, lambda number: f"text {number}", None):
        document = {name: value(number) for number, name in enumerate(keys)} if value else {}
        rows = pa.table({"v": sl.from_json(pa.array([json.dumps(document)]))})
        table.append(rows, shredding={"v": layout})
    paths = [f"v:['{name}']" if "'" not in name else f'v:["{name}"]' for name in keys]
    numbers = range(len(keys))
    named = [f"{path}::bigint AS n{number}" for number, path in enumerate(paths)]
    for chosen in (slice(0, 1), slice(None)):
        columns = [f"{path}::bigint AS n{number}" for path, number in zip(paths, numbers, strict=True)][
            chosen
        ]
        found = {tuple(row) for row in read(spark, str(tmp_path / "t"), columns).collect()}
        assert found == {tuple(numbers[chosen]), (None,) * len(columns)}
    only = " and ".join(f"{path}::string = '{number}'" for number, path in enumerate(paths))
    frame = read(spark, str(tmp_path / "t"), named, where=only, strict=True)
    assert [tuple(row) for row in frame.collect()] == [tuple(numbers)]


PLACES = tuple(text for text in TEXTS if "/" not in text and text.strip(" .") == text and text.strip())


@pytest.mark.parametrize(
    "name", ["".join(VARIABLES).replace("/", ""), "".join(PLACES)[:80], " a b ", "a{b,c}[d]*?"]
)
def test_addresses_of_tables(spark: Any, tmp_path: Path, name: str) -> None:
    place = tmp_path / name / "t"
    place.parent.mkdir()
    schema = pa.schema([("v", sl.variant())])
    table = sl.Table.create(place, schema, properties={"delta.enableVariantShredding": "true"})
    table.append(pa.table({"v": sl.from_json(pa.array(['{"k": 1}', '{"k": 2}']))}))
    table.delete("v:k::bigint = 2")
    assert [tuple(row) for row in read(spark, str(place), ["v:k::bigint AS k"]).collect()] == [(1,)]
    assert [tuple(row) for row in sql(spark, "select v:k::bigint from t", t=place).collect()] == [(1,)]


# ── The data source ─────────────────────────────────────────────────────────────────────────────────────


def test_the_data_source_reads_and_writes_values_as_they_are(spark: Any, values: str, tmp_path: Path) -> None:
    """As partition values, plain values and values in a Variant; filtered by Spark and by `where`."""
    frame = spark.read.format("shredlake").option("columns", "p, s, v:k::string AS k").load(values)
    expected = sorted((text, text, text) for text in TEXTS)
    assert sorted(map(tuple, frame.collect())) == expected
    listed = ", ".join(map(string_sql, TEXTS))
    for where in (f"p in ({listed})", f"v:k::string in ({listed})"):
        found = spark.read.format("shredlake").option("where", where).option("columns", "s").load(values)
        assert sorted(row["s"] for row in found.collect()) == sorted(TEXTS)
    pushed = spark.read.format("shredlake").option("pushFilters", "true").load(values)
    assert sorted(row["s"] for row in pushed.where(pushed["p"].isin(*TEXTS)).select("s").collect()) == sorted(
        TEXTS
    )
    target = str(tmp_path / "t")
    sl.Table.create(target, sl.Table(values).schema, partition_by=["p"])
    spark.read.format("shredlake").load(values).write.format("shredlake").mode("append").save(target)
    found = sl.Table(target).scan(["p", "s", "v:k::string AS k"]).to_arrow().to_pylist()
    assert sorted((row["p"], row["s"], row["k"]) for row in found) == expected


def test_the_data_source_keeps_names_and_addresses(spark: Any, tmp_path: Path) -> None:
    """Columns of every name, in tables whose folder has such a name too."""
    places = [str(tmp_path / "${env:HOME} {a} [b]*? 'x'" / name) for name in ("one", "two")]
    Path(places[0]).parent.mkdir()
    schema = pa.schema([(name, pa.int64()) for name in NAMES])
    for place in places:
        sl.Table.create(place, schema, properties={"delta.columnMapping.mode": "name"})
    numbers = {name: number for number, name in enumerate(NAMES)}
    sl.Table(places[0]).append(pa.table({name: [number] for name, number in numbers.items()}, schema))
    frame = spark.read.format("shredlake").load(places[0])
    assert frame.collect()[0].asDict() == numbers
    frame.write.format("shredlake").mode("append").save(places[1])
    assert sl.Table(places[1]).scan().to_arrow().to_pylist() == [numbers]
    register(spark, "named", places[1])
    try:
        assert spark.sql("select * from named").collect()[0].asDict() == numbers
    finally:
        spark.catalog.dropTempView("named")


def test_streams_of_the_data_source_keep_values_names_and_addresses(spark: Any, tmp_path: Path) -> None:
    """A table of such values and names is streamed into another, both in a folder of such a name."""
    folder = tmp_path / "${env:HOME} {a} [b]*? 'x'"
    folder.mkdir()
    texts = [("t " + name, pa.string()) for name in NAMES]
    schema = pa.schema([("p", pa.string()), *texts, ("v", sl.variant())])
    tables = [
        sl.Table.create(
            folder / name, schema, partition_by=["p"], properties={"delta.columnMapping.mode": "name"}
        )
        for name in ("one", "two")
    ]
    rows = {"p": list(TEXTS), **{name: list(TEXTS) for name, _ in texts}}
    rows["v"] = sl.from_json(pa.array([json.dumps({text: text}) for text in TEXTS]))
    tables[0].append(pa.table(rows, schema))
    frame = spark.readStream.format("shredlake").load(str(folder / "one"))
    writing = frame.writeStream.format("shredlake").option("checkpointLocation", str(tmp_path / "state"))
    finished(writing.trigger(availableNow=True), folder / "two")
    one, two = (sl.Table(folder / name).scan().to_arrow() for name in ("one", "two"))
    assert one.num_rows == len(TEXTS)
    assert one.schema.names == two.schema.names
    assert _sorted(one) == _sorted(two)


def _sorted(table: pa.Table) -> list[str]:
    plain = table.set_column(table.num_columns - 1, "v", sl.to_json(table["v"]))
    return sorted(map(repr, plain.to_pylist()))
