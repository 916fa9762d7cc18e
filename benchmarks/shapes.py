"""Queries that need more than typed paths, beside Spark's own reading of the same files, in one run.

    make bench-shapes                                 (python benchmarks/shapes.py [--rows 200000] [--runs 5])

Every query runs once as a warm-up, and both ways must give the same rows. Then the ways take turns, and the
best run of each counts: seconds from the text to the result. Spark's own way is `spark.sql` over
`spark.read.parquet(table)`. `answered` says how shredlake answers the query: from its paths, or from Variants
that Spark rebuilds, whole or at the paths of the query.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

import shredlake as sl
from shredlake import spark as sls
from timing import best_of

POINT = "struct<lat:double,lon:double>"
SHAPES = {
    "sub-path as Variant": "select v:geo AS g from t where v:id::bigint < 2000",
    "to_json of a sub-path": "select max(length(to_json(v:geo))) AS n from t",
    "Variant IS NULL": "select count_if(v is null) AS n from t",
    "Variant IS NOT NULL": "select max(v:id::bigint) AS n from t where v is not null",
    "sub-path IS NULL": "select count_if(v:geo is null) AS n from t",
    "variant_explode": "select count(*) n, max(e.pos) p from t, lateral variant_explode(v:tags) AS e",
    "explode and get": (
        "select sum(variant_get(e.value, '$.w', 'bigint')) AS n from t, lateral variant_explode(v:tags) AS e"
    ),
    "struct of paths": "select max(struct(v:id::bigint, v:kind::string)) AS s from t",
    "natural join": (
        "select count(*) AS n from (select v:id::bigint, v:kind::string from t) "
        "natural join (select v:id::bigint, v:n::int from t)"
    ),
    "schema_of_variant_agg": "select schema_of_variant_agg(v) AS s from t",
    "struct as a whole": f"select max(try_variant_get(v, '$.geo', '{POINT}')) AS s from t",
    "field of a struct": f"select max(variant_get(v, '$.geo', '{POINT}').lat) AS s from t",
    "array as a whole": "select max(try_variant_get(v, '$.nums', 'array<bigint>')) AS s from t",
    "array of structs": "select max(size(v:tags::array<struct<k:string,w:bigint>>)) AS s from t",
    "map as a whole": "select sum(cardinality(v:extra::map<string,bigint>)) AS s from t",
    "mixed and struct": f"select max(v:mixed::string) m, max(v:geo::{POINT}) g from t",
}


def documents(rows: int) -> Iterator[str]:
    for number in range(rows):
        document: dict[str, Any] = {
            "id": number,
            "kind": f"kind {number % 7}",
            "n": number % 1000,
            "geo": {"lat": number / 7, "lon": -number / 9},
            "nums": [number, number + 1, number + 2],
            "tags": [{"k": f"k{number % 5}", "w": number % 11}] * (number % 4),
            "extra": {"a": number, "b": 1},
            "mixed": number if number % 10 else f"text {number}",
        }
        if number % 50 == 0:
            document["geo"] = None
        yield json.dumps(document)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="Shapes whose names hold this text.")
    options = parser.parse_args()
    spark = sls.session()
    spark.sparkContext.setLogLevel("ERROR")
    console = Console(width=120)
    grid = Grid("shape", "answered", "ours s", "Spark s", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        source, place = Path(folder, "a.ndjson"), str(Path(folder, "t"))
        source.write_text("\n".join(documents(options.rows)))
        sl.ingest(source, place, task_bytes=source.stat().st_size // 4)
        spark.read.schema("v variant").parquet(place).createOrReplaceTempView("native_t")
        for name, text in SHAPES.items():
            if options.only in name:
                with console.status(name):
                    grid.add_row(name, *compared(spark, text, place, options.runs))
    console.print(grid)


def compared(spark: Any, text: str, place: str, runs: int) -> tuple[str, ...]:
    """How a query is answered, and the times of both ways."""

    def ours() -> list[str]:
        return sorted(map(str, sls.sql(spark, text, t=place).collect()))

    def native() -> list[str]:
        return sorted(map(str, spark.sql(text.replace("from t", "from native_t")).collect()))

    assert ours() == native(), text
    found = sls.explain(spark, text, t=place)
    variants = "sub-Variants" if found.sub_variants else "whole Variants"
    answered = found.by_workers or (variants if found.reason else "paths")
    mine, theirs = best_of(runs, ours, native)
    return answered, f"{mine:.3f}", f"{theirs:.3f}", f"{mine / theirs:.2f}"


if __name__ == "__main__":
    main()
