"""Treemaps: areas are in proportion, and small ones are drawn as one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shredlake.html.treemap import Area, squarified, treemap


@example([36_882_816_911, 2])
@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=60))
def test_areas_are_in_proportion_and_do_not_leave_the_map(sizes: list[int]) -> None:
    sizes.sort(reverse=True)
    cells = squarified(sizes, 2.4, 1.0)
    assert len(cells) == len(sizes)
    for size, (x, y, width, height) in zip(sizes, cells, strict=True):
        assert width * height == pytest.approx(2.4 * size / sum(sizes), rel=1e-6, abs=1e-9)
        assert -1e-9 <= x <= x + width <= 2.4 + 1e-6
        assert -1e-9 <= y <= y + height <= 1 + 1e-6


def test_small_areas_are_drawn_as_one() -> None:
    areas = [Area("large", 10**6, "text"), *(Area(f"small {n}", 1, "text") for n in range(50))]
    drawn = treemap(areas, "bytes")
    assert drawn.count('class="cell') == 2
    assert "50 more" in drawn


def test_cells_are_announced_with_the_groups_around_them() -> None:
    user = Area(
        "user", 200, "text", parts=(Area("id", 120, "number", row=3), Area("name", 80, "text", row=4))
    )
    drawn = treemap([user, Area("id", 100, "number", row=1)], "bytes")
    assert 'aria-label="user › id: 120 B, 40.0%"' in drawn
    assert 'aria-label="id: 100 B, 33.3%"' in drawn


def test_an_empty_map() -> None:
    assert treemap([], "bytes").count("<div") == 1
