"""Sub-Variants: Spark rebuilds the Variants at the paths of a query, instead of whole ones.

```
select max(length(to_json(v:geo))) from t  ──▶  select max(length(to_json(v.__path0))) from
                                                (select struct(v:geo AS __path0) AS v from t)
```

Spark's scan gives the Variant at a path alone if nothing but projections and filters lies between them. Below
an aggregate, a join or `variant_explode`, it rebuilds every Variant with all its fields, and takes the path
from the copy. The projection over the scan keeps paths next to it, and the value of a path is always the one
that Spark finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shredlake.errors import UnsupportedExpression
from shredlake.expr import Get, join_name
from shredlake.expr.types import VARIANT
from shredlake.spark.columns import at, column_of
from shredlake.spark.query.frames import cached_frame
from shredlake.spark.query.scan import SparkScan
from shredlake.spark.query.strategies.question import Answer, Question, all_variants, variant_columns
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan
from shredlake.spark.query.text.sql_paths import depends_on_generated_names, may_take_whole, rewrite
from shredlake.spark.query.views import AnalysisFailure, analysed_or_failure
from shredlake.spark.query.workers.pushdown import NotApplicable
from shredlake.spark.settings import is_connect

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


UNUSED: Final = "__unused"
"""A field that no query reads. Only if a struct has one does Spark put the fields that are read into a
projection of their own, next to the scan."""


@dataclass(frozen=True)
class SubVariants:
    """Spark rebuilds only the Variants at the paths of a query, directly above its scan."""

    name: str = "sub-Variants"

    def plan(self, question: Question) -> Answer | NotApplicable:
        """The answer, or why the query needs more than Variants at paths."""
        if is_connect(question.spark):
            return NotApplicable("Spark Connect has no optimiser to call")
        analysis = question.analysis
        names = all_variants(analysis.snapshots)
        rewritten = rewrite(analysis.text, names, frozenset(), as_variants=True)
        if not any(_needs_variant(place.get) for place in rewritten.places):
            return NotApplicable("the query reads no path as a Variant or a map")
        plan_tells = analysis.facts.whole == "" and analysis.facts.delicate == ""
        if rewritten.listed or depends_on_generated_names(rewritten):
            return NotApplicable("the query may depend on the names that Spark gives to paths")
        if not plan_tells and may_take_whole(rewritten, names):
            return NotApplicable("the query may need a Variant as a whole")
        scans, frames = {}, {}
        try:
            for table, snapshot in analysis.snapshots.items():
                scans[table] = variants_scan(question.spark, snapshot, analysis.pruning(table))
                frames[table] = _frame(scans[table], rewritten.fields)
        except UnsupportedExpression as error:
            return NotApplicable(str(error))
        found = analysed_or_failure(question.spark, rewritten.sql, frames, question.args)
        if isinstance(found, AnalysisFailure):
            return NotApplicable("Spark does not accept the query with sub-Variants in place of its paths")
        if not analysis.has_types_of(found):
            return NotApplicable("the query names fields of a struct after paths")
        paths = tuple(str(get.path) for get in rewritten.fields)
        return Answer(found, analysis.facts, scans, reads_variants=True, sub_variants=paths)


def _needs_variant(get: Get) -> bool:
    """Whether a path is read as a Variant, or as a map, which Spark makes of a Variant."""
    return get.type in (None, VARIANT) or get.type.name.startswith("map")


def _frame(scan: SparkScan, fields: Mapping[Get, str]) -> DataFrame:
    """The rows of a scan with a struct of Variants at paths in place of each Variant."""
    from pyspark.sql import functions as F

    def column(name: str) -> SparkColumn:
        inner = [
            column_of(replace(get, column=join_name((name,)))).alias(field) for get, field in fields.items()
        ]
        return F.struct(*inner, F.lit(None).alias(UNUSED)).alias(name)

    schema = scan.snapshot.schema
    variants = variant_columns(schema)

    def make() -> DataFrame:
        rows = variants_frame(scan)
        return rows.select(
            *(column(one.name) if one.name in variants else at((one.name,)) for one in schema.fields)
        )

    return cached_frame(
        scan.spark, ("sub-Variants", tuple(fields.items()), *scan.frame_identity), make, len(scan.files)
    )
