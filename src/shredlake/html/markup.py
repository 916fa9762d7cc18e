"""HTML elements. Text and attribute values are escaped; only `Markup` is taken as HTML."""

from __future__ import annotations

import html
import json
from typing import Any, Final

from shredlake.formatting import escaped

VOID: Final = {"meta", "input", "br", "rect", "line", "path", "polyline"}
"""Elements without content."""


class Markup(str):
    """A piece of HTML. Everything that is not of this type is text."""

    __slots__ = ()


def text(value: object) -> Markup:
    r"""A value as text of a page: markup and control characters are escaped.

    >>> print(text("<b>\x1b[1m"))
    &lt;b&gt;\x1b[1m
    """
    return value if isinstance(value, Markup) else Markup(html.escape(escaped(str(value))))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """An element. Underscores in attribute names are hyphens, a trailing one is dropped, None is left out.

    >>> print(element("p", "a < b", element("b", "!"), class_="note", aria_label='"x"', hidden=None))
    <p class="note" aria-label="&quot;x&quot;">a &lt; b<b>!</b></p>
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        plain = name.rstrip("_").replace("_", "-")
        parts.append(f" {plain}" if value is True else f' {plain}="{html.escape(escaped(str(value)))}"')
    if tag in VOID:
        parts.append("/>")  # SVG inside HTML needs the slash
    else:
        parts.append(">")
        parts.extend(text(item) for item in content)
        parts.append(f"</{tag}>")
    return Markup("".join(parts))


def joined(*parts: object) -> Markup:
    """Several pieces, one after the other."""
    return Markup("".join(text(part) for part in parts))


def data(value: Any, identity: str) -> Markup:
    r"""A value for the page's script, as JSON that can't end the element that holds it.

    >>> print(data("</script>", "x"))
    <script type="application/json" id="x">"\u003c/script>"</script>
    """
    content = json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{html.escape(identity)}">{content}</script>')
