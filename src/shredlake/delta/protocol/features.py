"""Table features, one row each: who needs it, what it requires, what turns it on, what shredlake supports.

A table of protocol version 3/7 lists its features by name; older versions imply a fixed set. A client may
read a table only if it knows all of its reader features, and write it only if it knows all of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from shredlake.delta.protocol.actions import Protocol
from shredlake.delta.protocol.properties import TableProperties
from shredlake.errors import UnsupportedFeature


@dataclass(frozen=True)
class Feature:
    """One row of the table.

    `reader` tells a reader-and-writer feature from a writer-only one. `implied_by` is the (reader, writer)
    version from which older protocols include it. `enabled_by` is the property whose value `true` (or
    `any`) needs the feature. `read` and `write` are what shredlake can do with a table that has it.
    """

    name: str
    reader: bool = False
    implied_by: tuple[int, int] | None = None
    requires: tuple[str, ...] = ()
    enabled_by: str | None = None
    read: bool = True
    write: bool = True


FEATURES: dict[str, Feature] = {
    feature.name: feature
    for feature in (
        Feature("appendOnly", implied_by=(1, 2), enabled_by="delta.appendOnly"),
        Feature("invariants", implied_by=(1, 2)),
        Feature("checkConstraints", implied_by=(1, 3)),
        Feature("changeDataFeed", implied_by=(1, 4), enabled_by="delta.enableChangeDataFeed"),
        Feature("generatedColumns", implied_by=(1, 4)),
        Feature("columnMapping", reader=True, implied_by=(2, 5)),
        Feature("identityColumns", implied_by=(1, 6), write=False),
        Feature("allowColumnDefaults"),
        Feature("deletionVectors", reader=True, enabled_by="delta.enableDeletionVectors"),
        Feature("timestampNtz", reader=True),
        Feature("domainMetadata"),
        Feature(
            "rowTracking", requires=("domainMetadata",), enabled_by="delta.enableRowTracking", write=False
        ),
        Feature("v2Checkpoint", reader=True),
        Feature("vacuumProtocolCheck", reader=True),
        Feature("inCommitTimestamp", enabled_by="delta.enableInCommitTimestamps"),
        Feature("clustering", requires=("domainMetadata",)),
        Feature("typeWidening", reader=True, enabled_by="delta.enableTypeWidening"),
        Feature("typeWidening-preview", reader=True),
        Feature("variantType", reader=True),
        Feature("variantType-preview", reader=True),
        Feature(
            "variantShredding",
            reader=True,
            requires=("variantType",),
            enabled_by="delta.enableVariantShredding",
        ),
        Feature("variantShredding-preview", reader=True, requires=("variantType",)),
        Feature("icebergCompatV1", enabled_by="delta.enableIcebergCompatV1", write=False),
        Feature("icebergCompatV2", enabled_by="delta.enableIcebergCompatV2", write=False),
        Feature("catalogManaged", reader=True, read=False, write=False),
    )
}


def reader_features(protocol: Protocol) -> set[str]:
    """Names of the features that a reader must know."""
    if protocol.reader_features is not None and protocol.min_reader_version >= 3:
        return set(protocol.reader_features)
    return {"columnMapping"} if protocol.min_reader_version == 2 else set()


def writer_features(protocol: Protocol) -> set[str]:
    """Names of the features that a writer must know.

    >>> sorted(writer_features(Protocol(1, 3)))
    ['appendOnly', 'checkConstraints', 'invariants']
    """
    if protocol.writer_features is not None and protocol.min_writer_version >= 7:
        return set(protocol.writer_features)
    return {
        feature.name
        for feature in FEATURES.values()
        if feature.implied_by is not None and protocol.min_writer_version >= feature.implied_by[1]
    }


def supports(protocol: Protocol, name: str) -> bool:
    """Whether the table has a feature, under its own or its preview name."""
    names = reader_features(protocol) | writer_features(protocol)
    return name in names or f"{name}-preview" in names


def require_readable(protocol: Protocol, uri: str) -> None:
    """Refuses a table that requires a reader version or feature that shredlake does not support."""
    if protocol.min_reader_version > 3:
        raise UnsupportedFeature(
            f"{uri} asks for reader version {protocol.min_reader_version}; shredlake reads versions 1 to 3. "
            "A newer version of shredlake may support it"
        )
    if protocol.min_reader_version == 3 and protocol.reader_features is None:
        raise UnsupportedFeature(
            f"{uri} has reader version 3 but lists no reader features: the log is broken"
        )
    if missing := _unsupported(reader_features(protocol), lambda feature: feature.read):
        raise UnsupportedFeature(
            f"{uri} can't be read: it uses the reader feature{_s(missing)} {', '.join(missing)}, "
            "which shredlake does not support; read it with an engine that does"
        )


def require_writable(protocol: Protocol, uri: str) -> None:
    """Refuses to write a table that requires a writer version or feature that shredlake does not support."""
    require_readable(protocol, uri)
    if protocol.min_writer_version > 7:
        raise UnsupportedFeature(
            f"{uri} asks for writer version {protocol.min_writer_version}; shredlake writes versions 1 to 7"
        )
    if protocol.min_writer_version == 7 and protocol.writer_features is None:
        raise UnsupportedFeature(
            f"{uri} has writer version 7 but lists no writer features: the log is broken; nothing was changed"
        )
    if missing := _unsupported(writer_features(protocol), lambda feature: feature.write):
        raise UnsupportedFeature(
            f"{uri} can't be written: it uses the writer feature{_s(missing)} {', '.join(missing)}, "
            "which shredlake does not support; nothing was changed. Write it with an engine that does"
        )


def _unsupported(names: Iterable[str], supported: Callable[[Feature], bool]) -> list[str]:
    """The names of features that shredlake does not know, or does not support."""
    return sorted(name for name in names if name not in FEATURES or not supported(FEATURES[name]))


def required_by_properties(properties: Mapping[str, str]) -> set[str]:
    """Features that the table's properties turn on.

    >>> sorted(required_by_properties({"delta.enableVariantShredding": "true"}))
    ['variantShredding', 'variantType']
    """
    settings = TableProperties(properties)
    names = {
        feature.name
        for feature in FEATURES.values()
        if feature.enabled_by is not None and settings.is_on(feature.enabled_by)
    }
    if settings.mapping_mode != "none":
        names.add("columnMapping")
    if settings.v2_checkpoints:
        names.add("v2Checkpoint")
    if settings.checks:
        names.add("checkConstraints")
    return _closed(names | settings.features)


def _closed(names: Iterable[str]) -> set[str]:
    """The features and all features that they depend on."""
    found = set(names)
    for name in list(found):
        if name in FEATURES:
            found.update(_closed(FEATURES[name].requires))
    return found


def with_features(protocol: Protocol, names: Iterable[str]) -> Protocol:
    """The protocol raised as far as the features need, and no further.

    >>> with_features(Protocol(1, 2), {"variantType"}).reader_features
    ('variantType',)
    """
    wanted = _closed(names)
    for name in sorted(wanted):
        if name not in FEATURES:
            raise UnsupportedFeature(f"shredlake does not know the table feature {name!r}")
    have = reader_features(protocol) | writer_features(protocol)
    missing = {name for name in wanted if name not in have and f"{name}-preview" not in have}
    if not missing:
        return protocol
    # Features of the old numbered kind need no list as long as the table has none.
    if protocol.min_writer_version < 7 and all(FEATURES[name].implied_by for name in missing):
        steps = [FEATURES[name].implied_by or (1, 2) for name in missing]
        return replace(
            protocol,
            min_reader_version=max(protocol.min_reader_version, *(step[0] for step in steps)),
            min_writer_version=max(protocol.min_writer_version, *(step[1] for step in steps)),
        )
    writer = sorted(writer_features(protocol) | missing)
    reader = sorted(reader_features(protocol) | {name for name in missing if FEATURES[name].reader})
    if not reader and protocol.min_reader_version < 3:
        return Protocol(protocol.min_reader_version, 7, None, tuple(writer))
    return Protocol(3, 7, tuple(reader), tuple(writer))


def _s(names: list[str]) -> str:
    return "s" if len(names) > 1 else ""
