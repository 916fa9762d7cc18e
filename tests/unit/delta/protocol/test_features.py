"""Table features: what a protocol demands, and which tables are refused."""

from __future__ import annotations

import pytest

from shredlake.delta.protocol.actions import Protocol
from shredlake.delta.protocol.features import (
    FEATURES,
    reader_features,
    require_readable,
    require_writable,
    supports,
    writer_features,
)
from shredlake.errors import UnsupportedFeature


def protocol(readers: tuple[str, ...] = (), writers: tuple[str, ...] = ()) -> Protocol:
    return Protocol(3, 7, readers, writers)


@pytest.mark.parametrize("version", range(1, 7))
def test_older_protocols_imply_features(version: int) -> None:
    implied = {one.name for one in FEATURES.values() if one.implied_by and one.implied_by[1] <= version}
    assert writer_features(Protocol(1, version)) == implied
    assert reader_features(Protocol(2, 5)) == {"columnMapping"}
    assert reader_features(Protocol(1, version)) == set()


def test_a_preview_counts_as_the_feature() -> None:
    assert supports(protocol(("variantType-preview",), ("variantType-preview",)), "variantType")
    assert not supports(protocol(), "variantType")


def test_all_features_that_we_claim_are_accepted() -> None:
    readable = tuple(one.name for one in FEATURES.values() if one.reader and one.read)
    writable = tuple(one.name for one in FEATURES.values() if one.read and one.write)
    require_readable(protocol(readable, readable), "t")
    require_writable(protocol(readable, writable), "t")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Protocol(4, 7, (), ()), "reader version 4; shredlake reads versions 1 to 3"),
        (Protocol(3, 7, None, ()), "lists no reader features"),
        (protocol(("catalogManaged", "unheard"), ()), "reader features catalogManaged, unheard"),
    ],
)
def test_what_we_cannot_read_is_named(found: Protocol, message: str) -> None:
    with pytest.raises(UnsupportedFeature, match=message):
        require_readable(found, "t")
    with pytest.raises(UnsupportedFeature, match=message):
        require_writable(found, "t")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Protocol(1, 8), "writer version 8; shredlake writes versions 1 to 7"),
        (protocol((), ("rowTracking",)), "the writer feature rowTracking.*nothing was changed"),
        (Protocol(1, 6), "the writer feature identityColumns"),
        (Protocol(1, 7), "writer version 7 but lists no writer features"),
    ],
)
def test_what_we_cannot_write_can_be_read(found: Protocol, message: str) -> None:
    require_readable(found, "t")
    with pytest.raises(UnsupportedFeature, match=message):
        require_writable(found, "t")
