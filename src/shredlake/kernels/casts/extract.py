"""Extracts typed columns from `value` bytes: the kernel handles most rows, the reference the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from shredlake.errors import CastError, MalformedVariant
from shredlake.kernels.arrow.buffers import require_metadata
from shredlake.kernels.arrow.normalize import as_binary
from shredlake.kernels.arrow.raw_arrays import patched, scalars
from shredlake.kernels.arrow.types import typed_value_type
from shredlake.kernels.cast_options import CastOptions
from shredlake.kernels.casts.table import cast_value
from shredlake.kernels.casts.targets import Target
from shredlake.kernels.dispatch import dispatch
from shredlake.kernels.fallback.get import value_at
from shredlake.kernels.row_errors import in_row
from shredlake.shredding.schema import Scalar
from shredlake.variant import Variant

Steps: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class CastContext:
    """Options for casting one piece of a column, and its position for error messages."""

    options: CastOptions
    path: str
    first_row: int = 0

    def cast(self, variant: Variant, target: Target, row: int) -> Any:
        """Casts one value with the reference implementation."""
        try:
            return cast_value(variant, target, self.options, self.path)
        except MalformedVariant as error:
            raise in_row(error, self.first_row + row) from None
        except CastError as error:
            raise CastError(f"row {self.first_row + row}, {error}") from None


def extract(
    metadata: pa.Array,
    value: pa.Array | None,
    valid: pa.Array | None,
    steps: Steps,
    target: Scalar | None,
    context: CastContext,
) -> pa.Array:
    """Returns the value at the steps in each `value`, cast to the target, or as bytes without a target.

    Rows are null if `value` is null, if they are not `valid` (None: all are), or if the path is missing.
    """
    if value is None or value.null_count == len(value):
        return pa.nulls(len(metadata), pa.binary() if target is None else typed_value_type(target))
    value = as_binary(value)
    if metadata.null_count:
        there = pc.is_valid(value)
        require_metadata(metadata, there if valid is None else pc.and_(there, valid), context.first_row)
    array, deferred = dispatch("get").extract(
        metadata, value, valid, steps, target, context.options, first_row=context.first_row
    )
    if not len(deferred):
        return array
    patches: list[Any] = []
    for row in deferred.to_pylist():
        found = value_at(metadata[row].as_py(), value[row].as_py(), steps, context.first_row + row)
        if found is None or target is None:
            patches.append(found and found.value)
        else:
            patches.append(context.cast(found, target, row))
    patch = pa.array(patches, pa.binary()) if target is None else scalars(patches, target)
    return patched(array, deferred, patch)
