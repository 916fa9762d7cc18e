import pyarrow as pa

from shredlake.errors import InvalidJson

def encode(
    array: pa.Array,
    last_wins: bool,
    max_depth: int,
    max_size: int,
    stop_at_first: bool,
    variant_type: pa.DataType,
) -> tuple[pa.Array | None, list[tuple[int, InvalidJson]]]: ...
