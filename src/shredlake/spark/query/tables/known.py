"""Resolves the names of tables in a query.

| name                                      | table                                                        |
|-------------------------------------------|--------------------------------------------------------------|
| `events`, given with the query            | that table                                                   |
| `events`, registered in the session       | that table, as long as the view of this name is ours         |
| `events`, `db.events`, of the catalog     | the one at its location, if its provider is one of PROVIDERS |
| ``delta.`/path` ``                        | the one at the path                                          |
| any of them with VERSION or TIMESTAMP AS OF | the same at that version                                   |

All other names are left to Spark: views, tables in other formats, and other catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from shredlake.delta.log.history import enabled_since
from shredlake.delta.log.listing import version_at
from shredlake.delta.log.snapshot import Snapshot, load_snapshot
from shredlake.delta.storage.storage import Storage
from shredlake.errors import InvalidExpression
from shredlake.spark.query.tables.given import Given, snapshot_of
from shredlake.spark.query.tables.in_text import TableName, replaced, table_names
from shredlake.spark.query.tables.registered import renewed
from shredlake.spark.query.views import catalog_of
from shredlake.spark.settings import is_connect
from shredlake.spark.snapshots import latest
from shredlake.variant.identifiers import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROVIDERS: Final = ("delta", "shredlake")
"""The providers of catalog tables that are Delta tables, and the prefixes of paths in a query."""

SESSION_CATALOG: Final = "spark_catalog"


@dataclass(frozen=True)
class NamedTables:
    """A query, and the tables that it names."""

    sql: str
    """The query; names of several parts and with a version are replaced by names of one part."""
    snapshots: dict[str, Snapshot]
    names_views: bool
    """Whether the query may use views, which may be over registered tables."""


def named_tables(
    spark: SparkSession, sql: str, given: Mapping[str, Given], storage_options: Mapping[str, Any] | None
) -> NamedTables:
    """The tables that a query names, and the query with a name of one part for each of them."""
    snapshots = {name: snapshot_of(table, storage_options) for name, table in given.items()}
    by_name = {name.casefold(): snapshot for name, snapshot in snapshots.items()}
    new_names: dict[TableName, str] = {}
    known: dict[str, str] = {}
    others = False
    for name in table_names(sql):
        plain = len(name.parts) == 1 and not name.travels
        if plain and name.parts[0].casefold() in by_name:
            continue
        new = known.get(name.shown)
        if new is None:
            found = _found(spark, name, by_name if not plain else {}, storage_options)
            if found is None:
                others = others or not name.may_be_own
                continue
            new = name.parts[0] if plain else _free(name.shown, by_name)
            snapshots[new] = by_name[new.casefold()] = found
            known[name.shown] = new
        if not plain:
            new_names[name] = new
    return NamedTables(replaced(sql, new_names) if new_names else sql, snapshots, others)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name.casefold() in taken:
        name += "'"
    return name


def _found(
    spark: SparkSession,
    name: TableName,
    given: Mapping[str, Snapshot],
    storage_options: Mapping[str, Any] | None,
) -> Snapshot | None:
    """The table of a name at the version that is asked for; None if the name is Spark's to resolve."""
    found: Snapshot | None = None
    if name.may_be_own and name.travels:
        return None
    if len(name.parts) == 1:
        found = given.get(name.parts[0].casefold()) or renewed(spark, name.parts[0])
    if found is None:
        location = _path(name.parts) or (None if name.may_be_own else catalog_location(spark, name.parts))
        if location is None:
            return None
        found = latest(Storage(location, storage_options or {}))
    return _travelled(spark, found, name) if name.travels else found


def _path(parts: tuple[str, ...]) -> str | None:
    """The path in ``delta.`/path` ``."""
    is_path = len(parts) == 2 and parts[0].casefold() in PROVIDERS and "/" in parts[1]
    return parts[1] if is_path else None


def _travelled(spark: SparkSession, newest: Snapshot, name: TableName) -> Snapshot:
    storage = newest.storage
    if name.version:
        if not name.version.isdecimal():
            raise InvalidExpression(
                f"VERSION AS OF {name.version}: a version is a whole number such as 3; for a point in time, "
                "use TIMESTAMP AS OF"
            )
        return load_snapshot(storage, int(name.version))
    [[moment]] = spark.sql(f"select unix_millis(cast({name.timestamp} as timestamp))").collect()
    if moment is None:
        raise InvalidExpression(f"TIMESTAMP AS OF {name.timestamp} is NULL, not a point in time")
    return load_snapshot(storage, version_at(storage, moment, enabled_since(newest)))


# ── The session's catalog ───────────────────────────────────────────────────────────────────────────────


def catalog_location(spark: SparkSession, parts: tuple[str, ...]) -> str | None:
    """The location of a table of the session's catalog, if it is a Delta table."""
    from pyspark.errors import AnalysisException

    if is_connect(spark):
        return None
    state = spark._jsparkSession.sessionState()
    if len(parts) == 3 and parts[0].casefold() == SESSION_CATALOG:
        parts = parts[1:]
    elif len(parts) > 2 or state.catalogManager().currentCatalog().name() != SESSION_CATALOG:
        return None
    catalog = catalog_of(spark)
    if len(parts) == 1 and catalog.getRawTempView(parts[0]).isDefined():
        return None
    try:
        table = catalog.getTableMetadata(state.sqlParser().parseTableIdentifier(".".join(map(quote, parts))))
    except AnalysisException:
        return None  # not there, or not a table: Spark says so
    location = table.storage().locationUri()
    if not location.isDefined() or table.provider().getOrElse(None) not in PROVIDERS:
        return None
    return str(location.get().toString())
