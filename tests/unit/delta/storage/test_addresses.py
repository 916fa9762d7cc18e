"""Addresses of tables: different spellings of one address are equal."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shredlake.delta.storage.addresses import log_key, log_keys, table_key
from shredlake.delta.storage.storage import Storage
from shredlake.errors import CorruptLog


@pytest.mark.parametrize(
    "spellings",
    [
        ["d/x", "./d/x", "d//x", "d/./x", ".//d/x"],
        ["/t/x", "file:/t/x", "file:///t/x", "file://localhost/t/x", "FILE:///t/./x", "/t/../t/x"],
        ["s3://b/t/x", "s3a://b/t/x", "s3n://b/t//x"],
        ["/t/a#b?c", "file:///t/a#b?c"],
    ],
)
def test_spellings_of_one_address(spellings: list[str]) -> None:
    assert len({log_key(path) for path in spellings}) == 1
    assert log_keys(pa.array(spellings)).to_pylist() == [log_key(path) for path in spellings]


def test_different_addresses() -> None:
    paths = ["x", "d/x", "/x", "s3://b/x", "s3://c/x", "gs://b/x", "a=1:2/x", "%2Fx"]
    assert len({log_key(path) for path in paths}) == len(paths)
    assert log_key("a=1:2/x") == "a=1:2/x"
    assert table_key(Storage("s3://b/t"), "s3://b/tx/f") == "s3://b/tx/f"


def test_what_is_not_an_address_is_refused() -> None:
    with pytest.raises(CorruptLog, match="not an address"):
        log_key("http://[/x")
