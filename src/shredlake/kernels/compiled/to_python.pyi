from typing import Any

import pyarrow as pa

def to_python(metadata: pa.Array, value: pa.Array, validity: pa.Array | None) -> tuple[list[Any], int]: ...
