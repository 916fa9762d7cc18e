"""Arrays from raw content, and rows that are replaced in them."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pyarrow as pa

from shredlake.kernels.arrow.raw_arrays import arrow_type, choose, nested, patched, plain, scalars
from shredlake.kernels.casts.targets import target_of
from shredlake.shredding.schema import Scalar, decimal
from shredlake.variant.types import VariantType

UUIDS = pa.array([UUID(int=n).bytes for n in range(3)], pa.uuid())


def test_rows_are_replaced() -> None:
    found = patched(pa.array([1, 2, None, 4]), pa.array([0, 2], pa.int64()), pa.array([None, 3]))
    assert found.to_pylist() == [None, 2, 3, 4]
    assert patched(pa.array([1]), pa.array([0], pa.int64()), pa.array([5])).to_pylist() == [5]


def test_extension_types_survive() -> None:
    swapped = patched(UUIDS, pa.array([1], pa.int64()), UUIDS.slice(2))
    assert swapped.type == pa.uuid()
    assert swapped.to_pylist() == [UUID(int=0), UUID(int=2), UUID(int=2)]
    chosen = choose(pa.array([True, False, True]), UUIDS, swapped)
    assert chosen.to_pylist() == [UUID(int=0), UUID(int=2), UUID(int=2)]


def test_raw_content() -> None:
    assert scalars([(150, 2), None], decimal(9, 2)).to_pylist() == [Decimal("1.50"), None]
    assert scalars([b"ab", "c"], Scalar(VariantType.STRING)).to_pylist() == ["ab", "c"]
    assert plain((10**37, 0), decimal(38, 0)) == Decimal(10**37), "exact, whatever the context"


def test_nested_content() -> None:
    kind = pa.struct(
        [("a", pa.list_(pa.field("element", pa.string()))), ("m", pa.map_(pa.string(), pa.int64()))]
    )
    target = target_of(kind)
    items = [plain({"a": ["x", None], "m": {"k": 1}}, target), None]
    found = nested(items, target)
    assert found.type == arrow_type(target)
    assert found.to_pylist() == [{"a": ["x", None], "m": [("k", 1)]}, None]
