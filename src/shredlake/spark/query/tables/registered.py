"""Registered tables: temporary views of tables, which `sql` knows by their names.

The list of them belongs to the session. A view shows one version of its table; `sql` renews it if the table
has a newer one, so that `spark.sql`, and views over this view, see the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shredlake.caches import LruCache, of_session
from shredlake.delta.log.snapshot import Snapshot, newest
from shredlake.errors import InvalidExpression
from shredlake.expr import name_parts
from shredlake.spark.query.catalyst import Plan, TemporaryView, settings_of_view
from shredlake.spark.query.strategies.whole_variants import variants_frame, variants_scan
from shredlake.spark.query.tables.in_text import table_names
from shredlake.spark.query.views import VIEWS, catalog_of
from shredlake.spark.settings import is_connect, settings
from shredlake.variant.identifiers import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Registered:
    """A view that `register` created."""

    view: Any
    """Tells a view of the user's with the same name apart: the catalog's entry, or over Connect a hash."""
    snapshot: Snapshot
    """The version that the view shows."""
    follows: bool
    """Whether `sql` goes on to newer versions."""


def register_view(spark: SparkSession, name: str, snapshot: Snapshot, *, follows: bool) -> None:
    """Creates a temporary view of a version of a table, and remembers it."""
    from pyspark.errors import AnalysisException

    frame = variants_frame(variants_scan(spark, snapshot))
    try:
        frame.createOrReplaceTempView(name)
    except AnalysisException as error:
        raise InvalidExpression(
            f"{name!r} can't be the name of a view: use one name, in backticks unless it is a plain word"
        ) from error
    [plain] = name_parts(name)
    _registered_in(spark).put(plain.casefold(), Registered(_present_view(spark, plain), snapshot, follows))


def renewed(spark: SparkSession, name: str) -> Snapshot | None:
    """The version of a registered table that a query reads; None if the name is not of such a table.

    The view shows this version too: if the table has a newer one than before, the view is replaced.
    """
    known = registered_view(spark, name)
    if known is None:
        return None
    now = newest(known.snapshot) if known.follows else known.snapshot
    if now is not known.snapshot:
        register_view(spark, quote(name), now, follows=True)
    return now


def registered_view(spark: SparkSession, name: str) -> Registered | None:
    """The view of that name, if `register` created it and it was not replaced since."""
    known: Registered | None = _registered_in(spark).find(name.casefold())
    if known is None:
        return None
    present = _present_view(spark, name)
    same = known.view == present if is_connect(spark) else known.view.equals(present)
    return known if same else None


def _present_view(spark: SparkSession, name: str) -> Any:
    """Identifies the view that has a name now: its entry in the catalog, or over Connect its plan's hash."""
    from pyspark.errors import AnalysisException

    if not is_connect(spark):
        return catalog_of(spark).getRawTempView(name)
    try:
        return spark.table(quote(name)).semanticHash()
    except AnalysisException:  # there is none any more
        return None


def views_to_inline(
    original: DataFrame, snapshots: Mapping[str, Snapshot]
) -> tuple[dict[str, Snapshot], dict[str, tuple[list[str], str]]]:
    """The user's views that a query uses, if their text can replace them so that their tables are pruned.

    They must be over registered tables, and mean the same as part of the query: made under the present
    settings, and without a name that is another table in this query. Returns the registered tables that the
    query does not name itself, and the columns and the text of each view.
    """
    spark = original.sparkSession
    if is_connect(spark) or not len(_registered_in(spark)):
        return {}, {}
    found = Plan.of(spark, original._jdf.queryExecution().analyzed()).views()
    tables: dict[str, Snapshot] = {}
    for name in found:
        table = registered_view(spark, name)
        if table is not None:
            tables[name.casefold()] = table.snapshot
    given = {name.casefold(): one for name, one in snapshots.items()}
    texts = {
        name: (view.columns, view.text)
        for name, view in found.items()
        if view.text is not None and name.casefold() not in given
    }
    named = {name.parts[0].casefold() for _, text in texts.values() for name in table_names(text)}
    same = all(
        name in tables and tables[name].segment == one.segment and tables[name].storage == one.storage
        for name, one in given.items()
        if name in named
    )
    if not tables or not texts or not same or not _made_under_present_settings(spark, found.values()):
        return {}, {}
    return {name: one for name, one in tables.items() if name not in given}, texts


def _made_under_present_settings(spark: SparkSession, views: Iterable[TemporaryView]) -> bool:
    """Whether Spark would keep the same settings with these views if they were created now."""

    def find() -> Any:
        name = f"__shredlake_{uuid4().hex}"
        spark.sql(f"create temporary view {name} as select 1")
        try:
            return settings_of_view(catalog_of(spark).getRawTempView(name).get().tableMeta())
        finally:
            spark.catalog.dropTempView(name)

    now = of_session(spark, "settings of views", 8).get(settings(spark), find)
    return all(view.settings.equals(now) for view in views if view.text is not None)


def _registered_in(spark: SparkSession) -> LruCache[Any, Any]:
    return of_session(spark, "registered views", VIEWS)
