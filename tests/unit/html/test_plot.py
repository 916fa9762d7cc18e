"""Plots: what they say for screen readers, and that all shapes lie inside."""

from __future__ import annotations

import re

from shredlake.html.plot import HEIGHT, WIDTH, Series, depths, ranges, stacked, steps

LABELS = ["0", "1", "2"]


def numbers(svg: str, attribute: str) -> list[float]:
    return [float(found) for found in re.findall(rf'\b{attribute}="([\d.]+)"', svg)]


def test_steps_tell_the_first_and_the_last_value() -> None:
    drawn = str(steps(Series("rows", [1, 5, 3], lambda n: f"{n:.0f}"), LABELS))
    assert "rows: 1 at version 0, 3 at version 2" in drawn
    assert "highest 5" in drawn
    assert 'class="area"' in drawn


def test_steps_leave_a_gap_where_a_value_is_unknown() -> None:
    drawn = str(steps(Series("rows", [1, None, 3], str), LABELS))
    [path] = re.findall(r'<path d="([^"]+)" class="line"', drawn)
    assert path.count("M") == 2
    assert 'class="area"' not in drawn
    assert "version 1: unknown" in drawn


def test_steps_of_nothing() -> None:
    assert "unknown" in str(steps(Series("rows", [], str), []))


def test_equal_neighbours_of_a_layer_are_one_rectangle() -> None:
    drawn = str(stacked("files", [("a", [2, 2, 0]), ("b", [1, 3, 3])], LABELS))
    assert "a: 2 from version 0 to 1" in drawn
    assert drawn.count("<rect") == 1 + 3, "below b, a changes"
    assert all(0 <= y <= HEIGHT for y in numbers(drawn, "y"))


def test_ranges_stay_inside() -> None:
    drawn = str(ranges([(0.0, 1.0), (0.5, 0.5)], "ranges"))
    assert numbers(drawn, "width") == [WIDTH, 1.5]
    assert numbers(drawn, "y") == [0.0, HEIGHT / 2]


def test_depths_are_one_curve() -> None:
    assert str(depths([1, 2, 1], "cover")).count("<path") == 1
    assert str(depths([], "nothing")).count("<path") == 1
