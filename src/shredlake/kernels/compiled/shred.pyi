import pyarrow as pa

from shredlake.kernels.arrow.flat_schema import Plan

def shred(
    metadata: pa.Array,
    value: pa.Array,
    validity: pa.Array | None,
    plan: Plan,
    exact_types: bool,
    first_row: int,
) -> tuple[pa.Array, pa.Array | None]: ...
