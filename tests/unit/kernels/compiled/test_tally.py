"""The compiled counts and parts of moments are those of NumPy."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shredlake.errors import InvalidValue
from shredlake.kernels.dispatch import COMPILED, Tally
from shredlake.kernels.fallback import tally as fallback

if COMPILED:
    from shredlake.kernels.compiled import tally
else:
    pytest.skip("kernels are not compiled", allow_module_level=True)

SECOND = 1_000_000
UNITS = [(3600 * SECOND, 24), (60 * SECOND, 60), (SECOND, 60), (7, 100)]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.sampled_from(UNITS), st.integers(0, 3))
def test_parts_of_moments(moments: list[int], unit: tuple[int, int], skipped: int) -> None:
    column = pa.array(moments, pa.int64()).slice(skipped)
    expected, found = fallback.time_part(column, *unit), tally.time_part(column, *unit)
    assert found is None if expected is None else found is not None and found.equals(expected)


@given(st.lists(st.integers(0, 40)), st.integers(0, 3))
def test_counts(codes: list[int], skipped: int) -> None:
    column = pa.array(codes, pa.int16()).slice(skipped)
    expected = fallback.count_codes(column, 41)
    assert [one.to_pylist() for one in tally.count_codes(column, 41)] == [one.to_pylist() for one in expected]


@pytest.mark.parametrize("code", [-1, 41, 30_000, -(2**15)])
@pytest.mark.parametrize("kernel", [fallback, tally], ids=["fallback", "compiled"])
def test_a_code_out_of_range_is_an_error_that_names_its_row(kernel: Tally, code: int) -> None:
    with pytest.raises(InvalidValue, match=f"^row 2: the code {code} is not between 0 and 40$"):
        kernel.count_codes(pa.array([0, 40, code, 3], pa.int16()), 41)
