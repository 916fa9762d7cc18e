"""The compatibility table of the Variant document, line by line, and what else a table asks of its rows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, numbered, python, rows_of, variants
from shredlake.delta.stats.z85 import decode_variant

NESTED = pa.struct([("v", sl.variant())])


def ids(table: sl.Table) -> list[int]:
    return sorted(table.scan(["id"]).to_arrow().column("id").to_pylist())


# ── Partition columns ───────────────────────────────────────────────────────────────────────────────────


def test_a_variant_beside_partition_columns(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, ["id"])
    table.append(numbered(0, 3))
    assert [row["v"]["a"] for row in python(table.scan(where="id = 2").to_arrow())] == [2]


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (sl.variant(), "is"),
        (NESTED, "contains"),
        (pa.list_(sl.variant()), "contains"),
        (pa.map_(pa.string(), NESTED), "contains"),
    ],
)
@pytest.mark.parametrize("role", ["partition", "clustering"])
def test_variants_do_not_partition_or_cluster(tmp_path: Path, kind: pa.DataType, how: str, role: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", kind)])
    choice = {"partition_by": ["v"]} if role == "partition" else {"cluster_by": ["v"]}
    with pytest.raises(sl.InvalidSchema) as caught:
        sl.Table.create(tmp_path, schema, **choice)  # type: ignore[arg-type]
    verb = "partitioned" if role == "partition" else "clustered"
    assert str(caught.value) == (
        f"{role} column 'v' {how} a variant; variants can't be compared, so a table can't be {verb} by one. "
        "Extract a path of it into a column of its own first"
    )
    assert not (tmp_path / "_delta_log").exists()


# ── Clustered tables ────────────────────────────────────────────────────────────────────────────────────


def test_a_variant_beside_clustering_columns(tmp_path: Path) -> None:
    properties = SHREDDED | {"delta.dataSkippingNumIndexedCols": "0"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, cluster_by=["id"], properties=properties)
    assert {"clustering", "domainMetadata"} <= set(table.protocol.writer_features or ())
    domain = table.snapshot.domains["delta.clustering"]
    assert json.loads(domain.configuration) == {"clusteringColumns": [["id"]]}
    table.append(numbered(0, 3))
    [stats] = [json.loads(text) for text in table.files().column("stats").to_pylist()]
    assert (stats["minValues"], stats["maxValues"]) == ({"id": 0}, {"id": 2}), (
        "clustering columns have statistics"
    )
    with pytest.raises(sl.InvalidSchema, match="partitioned or clustered, not both"):
        sl.Table.create(tmp_path / "both", ID_AND_VARIANT, ["id"], cluster_by=["v"][:0] or ["id"])


# ── Statistics ──────────────────────────────────────────────────────────────────────────────────────────


def test_null_counts_always_bounds_with_shredding_only(tmp_path: Path) -> None:
    for name, properties in (("plain", {"delta.enableVariantShredding": "false"}), ("shredded", SHREDDED)):
        table = sl.Table.create(tmp_path / name, ID_AND_VARIANT, properties=properties)
        table.append(rows_of([1, 2], [{"a": 1}, ...]))
        [stats] = [json.loads(text) for text in table.files().column("stats").to_pylist()]
        assert stats["nullCount"]["v"] == 1
        assert ("v" in stats["minValues"]) is (name == "shredded")
        assert ("v" in stats["maxValues"]) is (name == "shredded")


# ── Generated columns ───────────────────────────────────────────────────────────────────────────────────


def generated(kind: pa.DataType, expression: str) -> pa.Schema:
    field = pa.field("g", kind, metadata={"delta.generationExpression": expression})
    return pa.schema([*ID_AND_VARIANT, field])


def test_generated_columns_may_read_a_variant(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, generated(pa.int64(), "v:a::bigint"))
    assert "generatedColumns" in (table.protocol.writer_features or ())
    table.append(rows_of([1, 2, 3], [{"a": 10}, {"a": "x"}, ...]))
    assert table.scan(["id", "g"]).to_arrow().to_pylist() == [
        {"id": 1, "g": 10},
        {"id": 2, "g": None},
        {"id": 3, "g": None},
    ]
    table.append(rows_of([4], [{"a": 5}]).append_column("g", pa.array([5], pa.int64())))
    with pytest.raises(sl.ConstraintViolation) as caught:
        table.append(rows_of([4, 5], [{"a": 5}, {"a": 6}]).append_column("g", pa.array([5, 7], pa.int64())))
    assert str(caught.value) == (
        "row 1: generated column g is 7, but its expression v:a::bigint gives 6; "
        "leave the column out to have it filled in"
    )


def test_generated_columns_may_not_be_variants(tmp_path: Path) -> None:
    with pytest.raises(sl.InvalidSchema) as caught:
        sl.Table.create(tmp_path, generated(sl.variant(), "v"))
    assert str(caught.value) == (
        "column g is generated and of type variant; a generated column may read a variant but can't be one. "
        "Give it the type of a path of the variant"
    )


# ── CHECK constraints ───────────────────────────────────────────────────────────────────────────────────


def test_checks_over_variants_are_enforced(tmp_path: Path) -> None:
    properties = {"delta.constraints.positive": "v:a::bigint > 0"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    assert "checkConstraints" in (table.protocol.writer_features or ())
    table.append(rows_of([1], [{"a": 5}]))
    for value in ({"a": 0}, {"a": None}, {}, {"a": "text"}, ...):
        with pytest.raises(
            sl.ConstraintViolation,
            match=r"row 1 breaks the CHECK constraint positive \(v:a::bigint > 0\): id=3",
        ):
            table.append(rows_of([2, 3], [{"a": 5}, value]))
    with pytest.raises(sl.ConstraintViolation):
        table.overwrite(rows_of([3], [{"a": 0}]))
    assert ids(table) == [1]
    assert len(list(tmp_path.glob("*.parquet"))) == 1


def test_a_new_check_is_held_against_the_rows_that_are_there(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    table.append(rows_of([1, 2, 3], [{"a": 5}, {"a": -5}, {}]))
    with pytest.raises(sl.ConstraintViolation) as caught:
        table.set_properties({"delta.constraints.positive": "v:a::bigint > 0"})
    assert str(caught.value) == (
        "2 of 3 rows break the CHECK constraint positive (v:a::bigint > 0); it was not added"
    )
    table.delete("id > 1")
    # Rows that others wrote since count too.
    sl.Table(tmp_path).append(rows_of([4], [{"a": -4}]))
    with pytest.raises(sl.ConstraintViolation, match="1 of 2 rows break"):
        table.set_properties({"delta.constraints.positive": "v:a::bigint > 0"})
    table.delete("id = 4")
    table.set_properties({"delta.constraints.positive": "v:a::bigint > 0"})
    with pytest.raises(sl.ConstraintViolation):
        table.append(rows_of([1], [{"a": -1}]))


# ── Default values ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("NULL", None),
        ("""parse_json('{"a": [1, 2.5]}')""", {"a": [1, 2.5]}),
        ("""parse_json('{"a": "it''s"}')""", {"a": "it's"}),
        ("cast(5 as variant)", 5),
        ("'text'::variant", "text"),
    ],
)
def test_defaults_of_a_variant_column(tmp_path: Path, expression: str, value: object) -> None:
    field = pa.field("v", sl.variant(), metadata={"CURRENT_DEFAULT": expression})
    table = sl.Table.create(tmp_path, pa.schema([("id", pa.int64()), field]))
    assert "allowColumnDefaults" in (table.protocol.writer_features or ())
    table.append(pa.table({"id": [1, 2]}))
    table.append(pa.table({"id": [3], "v": variants([...])}))
    found = sorted(python(table.scan().to_arrow()), key=lambda row: row["id"])
    assert [row["v"] for row in found] == [value, value, None], "an explicit null is not a missing value"


def test_other_defaults(tmp_path: Path) -> None:
    fields = [
        ("id", pa.int64()),
        pa.field("n", pa.int32(), metadata={"CURRENT_DEFAULT": "40 + 2"}),
        pa.field("s", pa.string(), metadata={"CURRENT_DEFAULT": "'none'"}),
        pa.field("d", pa.date32(), metadata={"CURRENT_DEFAULT": "date'2026-01-01'"}),
    ]
    table = sl.Table.create(tmp_path, pa.schema(fields))
    table.append(pa.table({"id": [1], "s": ["given"]}))
    [row] = table.scan().to_arrow().to_pylist()
    assert (row["n"], row["s"], row["d"].isoformat()) == (42, "given", "2026-01-01")
    with pytest.raises(
        sl.InvalidSchema, match="comes with a default; a new column can't have one in the same step"
    ):
        table.add_column(pa.field("x", pa.int8(), metadata={"CURRENT_DEFAULT": "1"}))


# ── Change data feed ────────────────────────────────────────────────────────────────────────────────────


def test_the_change_data_feed_with_variants(tmp_path: Path) -> None:
    properties = SHREDDED | {"delta.enableChangeDataFeed": "true"}
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=properties)
    assert "changeDataFeed" in (table.protocol.writer_features or ())
    table.append(numbered(0, 3))
    table.delete("v:a::bigint = 1")
    found = [
        (row["_change_type"], row["_commit_version"], row["id"], row["v"]["a"])
        for row in python(table.changes(1, 2))
    ]
    assert sorted(found) == [
        ("delete", 2, 1, 1),
        ("insert", 1, 0, 0),
        ("insert", 1, 1, 1),
        ("insert", 1, 2, 2),
    ]


# ── NOT NULL and invariants ─────────────────────────────────────────────────────────────────────────────


def test_not_null(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("v", sl.variant(), nullable=False),
            pa.field("s", pa.struct([pa.field("x", pa.int64(), nullable=False)])),
        ]
    )
    table = sl.Table.create(tmp_path, schema)
    table.append(pa.table({"id": [1], "v": variants([None]), "s": [{"x": 1}]}))  # a Variant null is a value
    table.append(pa.table({"id": [2], "v": variants([{}]), "s": pa.array([None], schema.field("s").type)}))
    with pytest.raises(sl.ConstraintViolation) as caught:
        table.append(pa.table({"id": [3, None], "v": variants([1, 2])}))
    assert str(caught.value) == "row 1 has no value for id, which is NOT NULL; nothing was written"
    with pytest.raises(sl.ConstraintViolation, match="row 0 has no value for v"):
        table.append(pa.table({"id": [3], "v": variants([...])}))
    with pytest.raises(sl.ConstraintViolation, match="row 0 has no value for v"):
        table.append(pa.table({"id": [3]}))
    loose = pa.array([{"x": 1}, {"x": None}], pa.struct([("x", pa.int64())]))
    with pytest.raises(sl.ConstraintViolation, match=r"no value for s\.x"):
        table.append(pa.table({"id": [3, 4], "v": variants([1, 2]), "s": loose}))
    assert ids(table) == [1, 2]


@pytest.mark.parametrize(
    ("kind", "value", "where"),
    [
        (pa.list_(pa.field("element", pa.int64(), nullable=False)), [1, None], "c.element"),
        (pa.list_(pa.field("element", sl.variant(), nullable=False)), [None], "c.element"),
        (pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False)), [("a", None)], "c.value"),
        (pa.list_(pa.struct([pa.field("x", pa.int64(), nullable=False)])), [{"x": None}], "c.element.x"),
        (pa.struct([pa.field("x", pa.int64(), nullable=False)]), {"x": None}, "c.x"),
    ],
)
def test_not_null_inside(tmp_path: Path, kind: pa.DataType, value: object, where: str) -> None:
    table = sl.Table.create(tmp_path, pa.schema([("c", kind)]))

    def nullable(type_: pa.DataType) -> pa.DataType:
        if sl.is_variant(type_):
            return type_
        if pa.types.is_map(type_):
            return pa.map_(type_.key_type, type_.item_type)
        if pa.types.is_list(type_):
            return pa.list_(nullable(type_.value_type))
        return pa.struct([(item.name, item.type) for item in type_]) if pa.types.is_struct(type_) else type_

    rows = pa.table({"c": pa.array([None, None, value], nullable(kind))})
    with pytest.raises(sl.ConstraintViolation, match=f"row 2 has no value for {where}, which is NOT NULL"):
        table.append(rows)
    table.append(rows.slice(0, 2))
    assert table.scan().count() == 2


def test_invariants(tmp_path: Path) -> None:
    invariant = json.dumps({"expression": {"expression": "id > 3"}})
    field = pa.field("id", pa.int64(), metadata={"delta.invariants": invariant})
    table = sl.Table.create(tmp_path, pa.schema([field]))
    table.append(pa.table({"id": [4]}))
    for value in (3, None):
        with pytest.raises(sl.ConstraintViolation, match=r"row 0 breaks the invariant id \(id > 3\)"):
            table.append(pa.table({"id": pa.array([value], pa.int64())}))


# ── What only Spark can evaluate ────────────────────────────────────────────────────────────────────────

ADVICE = "Nothing was written; write through Spark (shredlake.spark), which evaluates any expression"


@pytest.mark.parametrize(
    ("schema", "properties", "what"),
    [
        (ID_AND_VARIANT, {"delta.constraints.c": "schema_of_variant(v) = 'x'"}, "CHECK constraint c"),
        (generated(pa.string(), "upper(v:a::string)"), {}, "generated column g"),
        (
            pa.schema(
                [*ID_AND_VARIANT, pa.field("d", pa.date32(), metadata={"CURRENT_DEFAULT": "current_date()"})]
            ),
            {},
            "default of column d",
        ),
    ],
)
def test_unknown_expressions_are_refused_with_advice(
    tmp_path: Path, schema: pa.Schema, properties: dict[str, str], what: str
) -> None:
    table = sl.Table.create(tmp_path, schema, properties=properties)
    with pytest.raises(sl.UnsupportedExpression) as caught:
        table.append(numbered(0, 1))
    assert str(caught.value).startswith(f"{what}: the local evaluator does not know ")
    assert str(caught.value).endswith(ADVICE)
    assert (sl.Table(tmp_path).version, list(tmp_path.glob("*.parquet"))) == (0, [])


def test_a_check_that_does_not_parse_is_never_stored(tmp_path: Path) -> None:
    with pytest.raises(sl.InvalidExpression, match="CHECK constraint c"):
        sl.Table.create(tmp_path, ID_AND_VARIANT, properties={"delta.constraints.c": "id >"})
    table = sl.Table.create(tmp_path, ID_AND_VARIANT)
    with pytest.raises(sl.InvalidExpression):
        table.set_properties({"delta.constraints.c": "nope > 1"})
    assert table.version == 0


def test_statistics_of_generated_columns_and_variants_agree(tmp_path: Path) -> None:
    table = sl.Table.create(tmp_path, generated(pa.int64(), "v:a::bigint"), properties=SHREDDED)
    table.append(numbered(5, 9))
    [stats] = [json.loads(text) for text in table.files().column("stats").to_pylist()]
    assert decode_variant(stats["minValues"]["v"]).to_python()["$['a']"] == stats["minValues"]["g"] == 5
