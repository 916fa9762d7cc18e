"""Queries that read Variants at paths: Spark rebuilds these, and the reason why not for other queries."""

from __future__ import annotations

from typing import Any

import pytest

import shredlake as sl
from delta_tables import ID_AND_VARIANT, SHREDDED, rows_of
from shredlake.delta.log.snapshot import Snapshot
from shredlake.spark.query.strategies.question import Answer, Question
from shredlake.spark.query.strategies.sub_variants import SubVariants
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.session import ensure_supported
from spark_tables import paths_read

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def supported(spark: Any) -> None:
    """The settings that the public verbs apply before they plan."""
    ensure_supported(spark)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    table = sl.Table.create(tmp_path_factory.mktemp("sub") / "t", ID_AND_VARIANT, properties=SHREDDED)
    for n in range(2):
        table.append(rows_of([n], [{"a": n, "geo": {"x": n}, "m": {"k": n}, "tags": [n, n]}]))
    return table.snapshot


def planned(spark: Any, snapshot: Snapshot, sql: str) -> Answer | NotApplicable:
    return SubVariants().plan(Question(spark, sql, {"t": snapshot}))


@pytest.mark.parametrize(
    ("sql", "paths", "rows"),
    [
        ("select max(to_json(v:geo)) AS g from t", ["$.geo"], [('{"x":1}',)]),
        (
            "select v:m::map<string,int> AS m, max(e.pos) AS p from t, lateral variant_explode(v:tags) AS e "
            "where id = 1 group by all",
            ["$.m", "$.tags"],
            [({"k": 1}, 1)],
        ),
        (
            "select to_json(v:geo) AS g, v:a::bigint + 1 AS a from t where id = 0",
            ["$.geo", "$.a"],
            [('{"x":0}', 1)],
        ),
    ],
)
def test_the_scan_gives_these_paths(
    spark: Any, snapshot: Snapshot, sql: str, paths: list[str], rows: list[Any]
) -> None:
    found = planned(spark, snapshot, sql)
    assert isinstance(found, Answer)
    assert list(map(tuple, found.frame.collect())) == rows
    assert found.sub_variants == tuple(paths)
    assert found.reads_variants
    assert paths_read(found.frame) == set(paths)


def test_conditions_prune_files(spark: Any, snapshot: Snapshot) -> None:
    found = planned(spark, snapshot, "select v:geo from t where v:a::int > 0")
    assert isinstance(found, Answer)
    assert len(found.scans["t"].files) == 1
    assert [row["geo"].toJson() for row in found.frame.collect()] == ['{"x":1}']


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select v:a::int from t", "reads no path as a Variant or a map"),
        ("select v:geo, to_json(v) from t", "may need a Variant as a whole"),
        ("select v:geo from t where v is null", "may need a Variant as a whole"),
        ("select v:geo, v from t", "names fields of a struct after paths"),
        ("select struct(v:geo, id) AS s from t", "names fields of a struct after paths"),
        ("select (v:geo, id) from t", "depend on the names that Spark gives to paths"),
        (
            "select to_json(w:geo) AS g, max(to_json(v:m)) AS m from (select v AS w, v from t) group by 1",
            "does not accept",
        ),
    ],
)
def test_reasons(spark: Any, snapshot: Snapshot, sql: str, reason: str) -> None:
    found = planned(spark, snapshot, sql)
    assert isinstance(found, NotApplicable)
    assert reason in found.reason
