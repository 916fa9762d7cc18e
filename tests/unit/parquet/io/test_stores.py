"""Addresses of object stores."""

from __future__ import annotations

import pytest

from shredlake.parquet.io.stores import CLIENT_OPTIONS, open_store


@pytest.mark.parametrize("address", ["s3://bucket/x", "gs://bucket", "https://host/x", "memory:///x"])
def test_stores_that_are_opened(address: str) -> None:
    assert open_store(address) is not None


@pytest.mark.parametrize(
    ("address", "problem"), [("ftp://h/x", "ftp:// is not supported"), ("s3:///x", "names no bucket or host")]
)
def test_addresses_that_are_refused(address: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        open_store(address)


def test_settings_of_the_client_are_told_from_those_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr("obstore.store.from_url", lambda address, **options: seen.update(options))
    open_store("s3://b/x", region="r", allow_http="true", client_options={"timeout": "5s"})
    assert seen == {"region": "r", "client_options": {"timeout": "5s", "allow_http": "true"}}
    assert "allow_http" in CLIENT_OPTIONS
