import pyarrow as pa

from shredlake.kernels.cast_options import CastOptions
from shredlake.shredding.schema import Scalar

def extract(
    metadata: pa.Array,
    value: pa.Array,
    validity: pa.Array | None,
    steps: tuple[str | int, ...],
    target: Scalar | None,
    options: CastOptions,
    *,
    first_row: int,
) -> tuple[pa.Array, pa.Array]: ...
