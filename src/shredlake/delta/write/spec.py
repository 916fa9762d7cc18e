"""How the files of a table are written, from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shredlake.delta.log.snapshot import Snapshot
from shredlake.delta.protocol.features import supports
from shredlake.delta.schema.types import contains
from shredlake.delta.schema.variants import variant_places
from shredlake.delta.stats.collect import StatsPolicy
from shredlake.delta.write.data_files import FileSpec
from shredlake.delta.write.layout import may_shred
from shredlake.errors import InvalidSchema
from shredlake.parquet.write.writer import WriteOptions

_LEVELLED = ("gzip", "brotli")


def file_spec(
    snapshot: Snapshot, shredding: Mapping[str, str], options: WriteOptions | None = None
) -> FileSpec:
    """The settings that the files of one write share."""
    check_writable_types(snapshot)
    places = {place.physical for place in variant_places(snapshot.schema)}  # others were dropped since
    return FileSpec(
        storage=snapshot.storage,
        schema=snapshot.schema,
        partition_columns=snapshot.metadata.partition_columns,
        properties=dict(snapshot.properties),
        shredding={name: ddl for name, ddl in shredding.items() if name in places},
        may_shred=may_shred(snapshot),
        stats=StatsPolicy.of(snapshot.settings, snapshot.clustering_columns),
        variant_bounds=supports(snapshot.protocol, "variantShredding"),
        options=write_options(snapshot, options),
    )


def write_options(snapshot: Snapshot, options: WriteOptions | None) -> WriteOptions:
    """The options given, with the codec that the table asks for."""
    given = options or WriteOptions()
    codec = snapshot.settings.codec
    if codec is None:
        return given
    return replace(given, compression=codec, compression_level=3 if codec in _LEVELLED else None)


def check_writable_types(snapshot: Snapshot) -> None:
    """Refuses tables whose files can't be written: void columns are left out, but not inside lists and maps.

    A file needs a column, or it would hold no rows.
    """
    inside = [f for f in snapshot.schema.fields if f.name not in snapshot.metadata.partition_columns]
    if all(item.type == "void" for item in inside):
        raise InvalidSchema(
            f"{snapshot.storage.uri} can't be written: apart from partition columns all columns are of "
            "type void, and files hold no such columns, so rows would be lost. Add a column of another type"
        )
    for item in snapshot.schema.fields:
        if item.type != "void" and contains(item.type, "void"):
            raise InvalidSchema(
                f"column {item.name} contains a void type; files of such a table can't be written. "
                "Change the type of that field first"
            )
