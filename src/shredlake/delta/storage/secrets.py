"""Keeps credentials out of representations, messages, tracebacks and the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

MASK = "***"

_PUBLIC = (
    "allow_paths",
    "endpoint",
    "endpoint_url",
    "region",
    "bucket",
    "bucket_name",
    "container",
    "container_name",
)
_COMMON = ("", "true", "false")


class StorageOptions(dict[str, Any]):
    """Options of an object store, whose values are not shown.

    >>> StorageOptions({"aws_secret_access_key": "abc"})
    StorageOptions({'aws_secret_access_key': '***'})
    """

    def __repr__(self) -> str:
        return f"StorageOptions({dict.fromkeys(self, MASK)!r})"

    __str__ = __repr__


def without_secrets(text: str, options: Mapping[str, Any]) -> str:
    """Mask every value of the options in a text, except those that say where the store is.

    >>> without_secrets("bad key abcdef at us-1", {"aws_secret_key": "abcdef", "aws_region": "us-1"})
    'bad key *** at us-1'
    """
    for name, value in options.items():
        found = str(value)
        if not str(name).lower().endswith(_PUBLIC) and found.lower() not in _COMMON:
            text = text.replace(found, MASK)
    return text


def shown_address(uri: str) -> str:
    """Removes the password and the query, which may hold a signature, from an address.

    >>> shown_address("https://me:pass@host/c/t?sig=abc")
    'https://***@host/c/t?***'
    >>> shown_address("abfss://container@account/t")
    'abfss://container@account/t'
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return MASK
    if len(parts.scheme) < 2:
        return uri
    host = parts.netloc
    if ":" in host.rpartition("@")[0]:
        host = f"{MASK}@{host.rpartition('@')[2]}"
    return urlunsplit((parts.scheme, host, parts.path, MASK if parts.query else "", ""))


def holds_secrets(uri: str) -> bool:
    """Whether an address carries a password or a signature."""
    return shown_address(uri).count(MASK) > 0
