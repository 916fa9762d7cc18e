"""Reading Parquet files in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import pyarrow as pa

from shredlake.expr.ast import Expr, Projection
from shredlake.parquet.io.source import Location
from shredlake.parquet.read.scan import ScanArguments, scan_parquet
from shredlake.signatures import options_of


@options_of(scan_parquet)
def read_parquet(
    path: Location | Sequence[Location],
    columns: str | Sequence[str | Projection] | None = None,
    where: str | Expr | None = None,
    **options: Unpack[ScanArguments],
) -> pa.Table:
    """Reads Parquet files of any writer and layout.

    `path` is a file, a directory, a glob, a URL, an open file or a list of these; with `store`, keys in an
    obstore store or paths in a pyarrow file system. `columns` and `where` are Spark SQL (`v:user.id::bigint
    AS id`); only the leaf columns that they need are read. A value that does not cast is null, or an error
    with `strict`, which also refuses a Variant whose `value` and `typed_value` contradict each other.

    `variants` is the output form of whole Variant columns: "variant", "struct" (as stored in the file) or
    "json". A mapping sets it per column, and declares those columns as Variants if the file does not.

    Pages that carry a checksum, such as those of `write_parquet`, are verified; `checksums=False` skips that.

    >>> import io, pyarrow as pa, pyarrow.parquet as pq
    >>> file = io.BytesIO()
    >>> pq.write_table(pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}), file)
    >>> read_parquet(file, columns=["name"], where="id > 1").to_pydict()
    {'name': ['b', 'c']}
    """
    return scan_parquet(path, columns, where, **options).to_arrow()
