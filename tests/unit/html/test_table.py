"""Tables and commands of a page."""

from __future__ import annotations

import pytest

from shredlake.html.markup import Markup
from shredlake.html.table import cards, command, nothing, table


def test_numbers_are_aligned_to_the_right() -> None:
    drawn = str(table(["name", "n"], [["a", 1], ["b", 2]], numbers=[1]))
    assert drawn.count('<td class="number">') == 2
    assert "<td>a</td>" in drawn


def test_cells_are_escaped() -> None:
    assert "<b>" not in str(table(["<b>"], [["<b>"]]))
    assert str(table(["x"], [[Markup("<i>y</i>")]])).count("<i>") == 1
    assert "<b>" not in str(command("echo <b>")) + str(nothing("<b>"))


def test_a_row_has_as_many_cells_as_there_are_titles() -> None:
    with pytest.raises(ValueError, match="zip"):
        table(["a", "b"], [["only one"]])


def test_cards_hold_what_they_are_given() -> None:
    assert str(cards([Markup("<i>1</i>"), Markup("<i>2</i>")])) == '<div class="cards"><i>1</i><i>2</i></div>'
