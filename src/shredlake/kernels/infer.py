"""`infer_schema`: what to shred, chosen from the data itself."""

from __future__ import annotations

from collections.abc import Iterable

from shredlake.kernels.profile import profile
from shredlake.kernels.threads import Column
from shredlake.shredding.inference.infer import MAX_DEPTH, MAX_LEAVES, MIN_SHARE
from shredlake.shredding.inference.infer import infer_schema as infer_from_profile
from shredlake.shredding.inference.profile import Profile
from shredlake.shredding.inference.report import InferredSchema
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.path import Path


def infer_schema(
    data: Column | Profile,
    *,
    queries: Iterable[str | Path] = (),
    max_leaves: int = MAX_LEAVES,
    max_depth: int = MAX_DEPTH,
    min_share: float = MIN_SHARE,
    previous: ShreddingSchema | str | None = None,
    threads: int | None = None,
) -> InferredSchema:
    """What to shred of a Variant column, or of data with this profile; `.report()` says why.

    `queries` are paths that queries use: they get columns however rare they are. `previous` is the layout
    that the table has: it is kept unless another one is worth the change. Objects and arrays that lie deeper
    than `max_depth`, at most 30 levels, stay whole. The root of the result is `variant` where nothing is
    worth a column.

    >>> import pyarrow as pa, shredlake as sl
    >>> rows = ['{"id": %d, "price": %d.50, "tags": ["a"]}' % (n, n) for n in range(1000)]
    >>> schema = infer_schema(sl.from_json(pa.array(rows)))
    >>> str(schema)
    'struct<id bigint, price decimal(9,2), tags array<string>>'
    >>> print(schema.report())
    1000 rows, 3 leaves of 300, expected size ...
    $          object          100.0% of rows
      id       bigint          100.0% of rows ... ascending in the file
      price    decimal(9,2)    100.0% of rows ... ascending in the file
      tags     array           100.0% of rows
        [*]    string          100.0% of rows ...
    """
    known = data if isinstance(data, Profile) else profile(data, threads=threads)
    return infer_from_profile(
        known,
        queries=queries,
        max_leaves=max_leaves,
        max_depth=max_depth,
        min_share=min_share,
        previous=previous,
    )
