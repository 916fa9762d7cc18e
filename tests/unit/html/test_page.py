"""A page: one file that loads nothing, and whose only script is ours."""

from __future__ import annotations

import base64
import hashlib
import re

from shredlake.html.markup import Markup
from shredlake.html.page import Page, Section, asset, legend

PAGE = Page(
    "A table",
    "of <files>",
    [("5", "files")],
    [
        Section("one", "One & all", "Read this.", Markup("<i>1</i>")),
        Section("two", "Two", "", Markup("<i>2</i>")),
    ],
    footer="made by <us>",
).html()


def test_every_section_has_a_link() -> None:
    for identity in ("one", "two"):
        assert f'href="#{identity}"' in PAGE
        assert f'id="{identity}"' in PAGE
    assert PAGE.count('class="lead"') == 1, "the second section has no lead"


def test_text_is_escaped_and_markup_is_not() -> None:
    assert "of &lt;files&gt;" in PAGE
    assert "One &amp; all" in PAGE
    assert "made by &lt;us&gt;" in PAGE
    assert "<i>2</i>" in PAGE


def test_the_policy_allows_this_script_alone() -> None:
    [allowed] = re.findall(r"script-src 'sha256-([^']+)'", PAGE)
    [script] = re.findall(r"<script>(.*?)</script>", PAGE, re.DOTALL)
    assert script == asset("page.js")
    assert base64.b64decode(allowed) == hashlib.sha256(script.encode()).digest()


def test_nothing_is_loaded() -> None:
    assert not re.search(r"\b(?:src|href)=\"(?!#)", PAGE)


def test_a_legend_names_its_colours() -> None:
    assert str(legend([("typed", "typed <values>")])).count("<li>") == 1
    assert "typed &lt;values&gt;" in str(legend([("typed", "typed <values>")]))


def test_each_figure_is_a_term_and_then_its_value() -> None:
    [figures] = re.findall(r'<dl class="figures">(.*?)</dl>', PAGE)
    assert re.findall(r"<(d[td])>([^<]*)", figures) == [("dt", "files"), ("dd", "5")]


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_layers_of_a_plot_can_be_told_from_both_backgrounds() -> None:
    """WCAG asks for a contrast of 3 between graphics and what is around them."""
    style = asset("style.css")
    layers = re.findall(r"--l\d: (#\w{6});", style)
    backgrounds = re.findall(r"--(?:page|card): light-dark\((#\w{6}), (#\w{6})\)", style)
    assert len(layers) == 8
    assert len(backgrounds) == 2
    for layer in layers:
        for background in (colour for pair in backgrounds for colour in pair):
            low, high = sorted((_luminance(layer), _luminance(background)))
            assert (high + 0.05) / (low + 0.05) >= 3, f"{layer} on {background}"
