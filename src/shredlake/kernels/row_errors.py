"""Which row is no Variant, and why: a kernel says which, the reference says why."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from shredlake.errors import MalformedVariant, ShredlakeError
from shredlake.kernels.arrow.buffers import metadata_of, part, validity_of
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.variant import Variant


def parts_of(piece: pa.StructArray, first_row: int) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """Metadata, value and validity of an unshredded piece, as the kernels take them."""
    return metadata_of(piece, first_row), as_binary(part(piece, "value")), validity_of(piece)


def reason(
    metadata: pa.Array, value: pa.Array, row: int, first_row: int, attempt: Callable[[Variant], object]
) -> ShredlakeError:
    """The error that the reference raises for a row, naming it; `attempt` is what the kernel failed at."""
    where = f"row {first_row + row}"
    try:
        attempt(Variant(metadata[row].as_py() or b"", value[row].as_py()))
    except MalformedVariant as error:
        return MalformedVariant(
            f"{where}: {error.problem}", part=error.part, offset=error.offset, path=error.path
        )
    except ShredlakeError as error:
        return type(error)(f"{where}: {error}")
    return MalformedVariant(f"{where}: the value's parts overlap, or exceed 2 GiB")
