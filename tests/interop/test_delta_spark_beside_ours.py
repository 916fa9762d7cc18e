"""delta-spark and shredlake in one session: its tables and ours, its catalog and our planner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import shredlake as sl
from delta_spark import DeltaSpark, started

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeltaSpark]:
    yield from started(tmp_path_factory.mktemp("delta-spark"))


def test_both_in_one_session(delta: DeltaSpark, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    sl.ingest(({"n": number, "kind": f"k{number % 3}"} for number in range(100)), ours)
    delta.sql(
        f"CREATE TABLE theirs (v VARIANT) USING delta LOCATION '{theirs}' "
        "TBLPROPERTIES ('delta.enableVariantShredding' = 'true')"
    )
    delta.sql("""INSERT INTO theirs SELECT parse_json('{"n": ' || id || '}') FROM range(50)""")
    count = "count(*) AS c, max(variant_get(v, '$.n', 'int')) AS m"
    path = "select count(*) AS c, max(v:n::int) AS m from"
    # Each reads both tables: delta-spark by its catalog and by path, ours by name, catalog and path.
    assert delta.sql(f"SELECT {count} FROM delta.`{ours}`") == [{"c": 100, "m": 99}]
    assert delta.sql(f"SELECT {count} FROM theirs") == [{"c": 50, "m": 49}]
    for text in (f"{path} t", f"{path} delta.`{ours}`"):
        assert delta.ours(text, **({"t": str(ours)} if text.endswith(" t") else {})) == [{"c": 100, "m": 99}]
    for text in (f"{path} theirs", f"{path} delta.`{theirs}`"):
        assert delta.ours(text) == [{"c": 50, "m": 49}]
    both = "t join theirs on t.v:n::int = theirs.v:n::int where t.v:kind::string = 'k0'"
    assert delta.ours(f"select count(*) AS c from {both}", t=str(ours)) == [{"c": 17}]
    # A change by either is seen by the other in the next query.
    delta.sql(f"DELETE FROM delta.`{ours}` WHERE variant_get(v, '$.n', 'int') >= 90")
    assert delta.ours(f"{path} t", t=str(ours)) == [{"c": 90, "m": 89}]
    sl.Table(theirs).append([{"v": {"n": 1000}}])
    assert delta.sql(f"SELECT {count} FROM theirs") == [{"c": 51, "m": 1000}]
    assert delta.ours(f"{path} theirs") == [{"c": 51, "m": 1000}]
    assert delta.sql(f"DESCRIBE HISTORY delta.`{ours}`")[0]["operation"] == "DELETE"
