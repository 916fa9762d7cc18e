import pyarrow as pa

def render(
    metadata: pa.Array, value: pa.Array, validity: pa.Array | None, from_row: int
) -> tuple[pa.Array, int, bool]: ...
