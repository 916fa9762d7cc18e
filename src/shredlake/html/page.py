"""The document around the sections: style, script and theme, all in one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from shredlake.html.markup import Markup, element, joined


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, a sentence on how to read it, and the content."""

    identity: str
    title: str
    lead: str
    body: Markup


@dataclass(frozen=True)
class Page:
    """A page: its title, a line under it, a few figures, and sections."""

    title: str
    subtitle: str
    figures: Sequence[tuple[str, str]]
    """Pairs of a value and what it counts."""
    sections: Sequence[Section]
    footer: str = ""

    def html(self) -> str:
        """The whole document.

        >>> page = Page("a <b> & c", "", (), [Section("x", "X", "", Markup("<i>y</i>"))]).html()
        >>> "<title>a &lt;b&gt; &amp; c</title>" in page, "<i>y</i>" in page, "://" in page
        (True, True, False)
        """
        style, script = asset("style.css"), asset("page.js")
        # Only this very script may run, and nothing is loaded, so that even unescaped data could do no harm.
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
            "form-action 'none'"
        )
        head = element(
            "head",
            element("meta", charset="utf-8"),
            # The policy holds hashes and quotes that are not data.
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", self.title),
            element("style", Markup(style)),
        )
        body = element(
            "body",
            element("a", "Skip to the content", href="#main", class_="skip"),
            self._header(),
            element("main", *map(_section, self.sections), id="main", tabindex="-1"),
            element("footer", self.footer),
            element("noscript", "Searching, sorting and the tree of paths need JavaScript."),
            element("script", Markup(script)),
        )
        return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"

    def _header(self) -> Markup:
        links = [element("a", one.title, href=f"#{one.identity}") for one in self.sections]
        figures = [
            element("div", element("dt", name), element("dd", value), class_="figure")
            for value, name in self.figures
        ]
        return element(
            "header",
            element(
                "div",
                element("h1", self.title),
                element(
                    "button", "Dark", type="button", id="theme", aria_label="Switch between light and dark"
                ),
                class_="bar",
            ),
            element("p", self.subtitle, class_="subtitle"),
            element("dl", *figures, class_="figures"),
            element("nav", *links, aria_label="Sections"),
        )


def _section(section: Section) -> Markup:
    heading = f"{section.identity}-title"
    return element(
        "section",
        element("h2", section.title, id=heading),
        element("p", section.lead, class_="lead") if section.lead else "",
        section.body,
        id=section.identity,
        aria_labelledby=heading,
    )


def asset(name: str) -> str:
    """A file of this package that goes into every page."""
    return (files(__package__) / name).read_text("utf-8")


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Pairs of a colour's class and its meaning."""
    items = [joined(element("span", class_=f"swatch {kind}"), name) for kind, name in entries]
    return element("ul", *(element("li", item) for item in items), class_="legend")
