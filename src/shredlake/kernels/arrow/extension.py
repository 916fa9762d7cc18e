"""The canonical Arrow extension type of Variants, `arrow.parquet.variant`.

Arrow carries an extension type as metadata of a field, beside the storage type. Engines that know the type
then see a Variant instead of a struct; pyarrow and others, which do not know it, still see the struct.
Storage may be shredded or not. What shredlake exports is not shredded, because engines support that best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from shredlake.kernels.arrow.nested import children, with_children
from shredlake.kernels.arrow.types import variant

EXTENSION_NAME: Final = "arrow.parquet.variant"

MARK: Final[Mapping[bytes, bytes]] = {
    b"ARROW:extension:name": EXTENSION_NAME.encode(),
    b"ARROW:extension:metadata": b"",
}
"""The metadata of a field whose type is the extension type."""


def marked(field: pa.Field) -> pa.Field:
    """The field of a Variant column, with the extension type.

    >>> marked(pa.field("v", variant())).metadata[b"ARROW:extension:name"]
    b'arrow.parquet.variant'
    """
    return field.with_metadata({**(field.metadata or {}), **MARK})


def with_marks(field: pa.Field) -> pa.Field:
    """A field in which every unshredded Variant, found by its type, has the extension type.

    >>> field = with_marks(pa.field("l", pa.list_(pa.field("element", variant()))))
    >>> field.type.value_field.metadata == MARK, field.metadata is None
    (True, True)
    """
    return _with_variants(field, marked)


def without_marks(field: pa.Field) -> pa.Field:
    """The field with structs for Variants: where a program has registered the type, data that passes through
    Arrow's IPC format would come back as extension arrays.

    >>> without_marks(marked(pa.field("v", variant()))).metadata is None
    True
    """
    return _with_variants(field, pa.Field.remove_metadata)


def _with_variants(field: pa.Field, change: Callable[[pa.Field], pa.Field]) -> pa.Field:
    type_ = field.type
    if type_ == variant():
        return change(field)
    below = [] if isinstance(type_, pa.BaseExtensionType) else children(type_)
    if not below:
        return field
    return field.with_type(with_children(type_, [_with_variants(child, change) for _, child in below]))
