"""Opens object stores by their addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import pyarrow.fs
    from obstore.store import ObjectStore

Store: TypeAlias = "ObjectStore | pyarrow.fs.FileSystem"
"""A place of files that are named by keys or paths: an obstore store, or a pyarrow file system."""

SCHEMES: Final = (
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "file", "memory",
)  # fmt: skip
"""The schemes of addresses that obstore can open."""

CLIENT_OPTIONS: Final = frozenset({
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type", "http1_only",
    "http2_only", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_ca_certificate", "proxy_excludes",
    "proxy_url", "timeout", "user_agent",
})  # fmt: skip
"""Settings of the HTTP client, which obstore takes apart from those of the store."""


def open_store(address: str, **options: Any) -> ObjectStore:
    """Opens the obstore store at a URL. A ValueError says what is wrong with the URL.

    Settings of the HTTP client, such as `allow_http`, may be given like all others, so that the command line
    can set them.

    >>> open_store("ftp://host/table")
    Traceback (most recent call last):
    ValueError: ftp:// is not supported; name a local path or an address with s3://, gs://, abfss:// or https://
    """
    from obstore.store import from_url  # takes a while to import

    url = urlsplit(address)
    if url.scheme not in SCHEMES:
        raise ValueError(
            f"{url.scheme}:// is not supported; name a local path or an address with s3://, gs://, abfss:// "
            "or https://"
        )
    if not url.netloc and url.scheme not in ("file", "memory"):
        raise ValueError(f"the address names no bucket or host, e.g. {url.scheme}://bucket/folder")
    client = {key: value for key, value in options.items() if key in CLIENT_OPTIONS}
    if client:
        options = {key: value for key, value in options.items() if key not in client}
        options["client_options"] = {**options.get("client_options", {}), **client}
    return from_url(address, **options)
