from collections.abc import Iterable

import pyarrow as pa

def summarize(
    metadata: pa.BinaryArray,
    value: pa.BinaryArray,
    validity: pa.BooleanArray | None,
    max_paths: int,
    max_depth: int,
) -> bytes | int: ...
def merge(parts: Iterable[bytes], max_paths: int) -> bytes: ...
