"""The budget: leaves that queries use come first, then objects whose leaves are worth most."""

from __future__ import annotations

from shredlake.shredding.inference.budget import Leaf, within_budget
from shredlake.shredding.schema import Scalar
from shredlake.variant.types import VariantType

NUMBER = Scalar(VariantType.INT64)


def leaf(path: str, rows: int, worth: float, hinted: bool = False) -> Leaf:
    return Leaf(tuple(path.split(".")), NUMBER, rows, worth, hinted)


def paths(leaves: list[Leaf], budget: int) -> list[str]:
    return [".".join(map(str, one.steps)) for one in within_budget(leaves, budget)]


def test_all_leaves_within_the_budget_keep_their_order() -> None:
    leaves = [leaf("b", 1, 0.1), leaf("a", 9, 9.0)]
    assert within_budget(leaves, 2) == leaves


def test_leaves_that_queries_use_come_first() -> None:
    assert paths([leaf("a", 100, 9.0), leaf("b", 1, 0.1, hinted=True)], 1) == ["b"]


def test_siblings_that_occur_together_stay_together() -> None:
    leaves = [leaf("o.x", 100, 4.0), leaf("o.y", 95, 2.0), leaf("p.z", 50, 2.5), leaf("p.w", 45, 0.1)]
    assert paths(leaves, 2) == ["o.x", "o.y"]


def test_rare_siblings_are_a_group_of_their_own() -> None:
    leaves = [leaf("o.x", 100, 4.0), leaf("o.rare", 20, 0.1), leaf("p.z", 90, 3.0)]
    assert paths(leaves, 2) == ["o.x", "p.z"]


def test_noise_does_not_decide() -> None:
    for first, second in ((1.0, 1.1), (1.1, 1.0)):
        assert paths([leaf("b.x", 100, first), leaf("a.x", 100, second)], 1) == ["a.x"]
