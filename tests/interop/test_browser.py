"""The page in a real browser: search, sorting, keyboard, both themes, print, hostile names, 5,000 paths."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.html.page import Page, Section
from shredlake.html.tree import Column, Row, tree
from shredlake.html.treemap import Area, treemap

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
INSTALLED = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
CHROMIUM = os.environ.get("SHREDLAKE_CHROMIUM") or next(filter(None, INSTALLED), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (Debian: apt-get install chromium)")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHREDDABLE = {"delta.enableVariantShredding": "true"}
HOSTILE = "<script>document.title='broken'</script>\x1b[31m\u202e"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        profile = tmp_path_factory.mktemp("profile")
        context = play.chromium.launch_persistent_context(
            str(profile), executable_path=CHROMIUM, args=FLAGS, headless=True
        )
        context.set_default_timeout(60_000)
        yield context
        context.close()


@pytest.fixture(scope="module")
def table_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    table = sl.Table.create(
        folder / "events", pa.schema([("id", pa.int64()), ("v", sl.variant())]), properties=SHREDDABLE
    )
    for start in range(0, 400, 100):
        rows = [
            {"id": n, "v": {"kind": "a", "user": {"id": n, "name": f"n{n}"}, HOSTILE: HOSTILE, "tags": [n]}}
            for n in range(start, start + 100)
        ]
        table.append(rows)
    page = folder / "page.html"
    page.write_text(table.report().html(), "utf-8")
    return page


@pytest.fixture(scope="module")
def wide_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of 5,101 rows: 100 groups of 50 fields, each with the group's and the field's number."""
    rows = [Row("v", "v", None, (1.0,), ((None, "object"), (0.0, "0")))]
    for group in range(100):
        parent = len(rows)
        rows.append(Row(f"group{group}", f"v:group{group}", 0, (1.0,), ((None, "object"), (0.0, "0"))))
        for field in range(50):
            name = f"v:group{group}.field{field}"
            size = float(group * 50 + field)
            rows.append(
                Row(f"field{field}", name, parent, (0.5,), (("bigint", "bigint"), (size, f"{size:,.0f}")))
            )
    columns = [Column("Type"), Column("Bytes", "right")]
    body = tree(columns, rows, [("typed", "typed")])
    areas = treemap([Area(row.label, n + 1, "text", n) for n, row in enumerate(rows)], "bytes")
    page = tmp_path_factory.mktemp("wide") / "page.html"
    sections = [Section("bytes", "Bytes", "", areas), Section("paths", "Paths", "", body)]
    page.write_text(Page("wide", "", [], sections).html(), "utf-8")
    return page


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens pages; fails at the end if a page wrote to the console, raised, or asked for anything else."""
    problems: list[str] = []
    pages = []

    def open_page(path: Path) -> Any:
        page = browser.new_page()
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: None if request.url == path.as_uri() else problems.append(f"loads {request.url}"),
        )
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []


def labels(page: Any) -> list[str]:
    return list(page.locator("#tree .row .label").all_text_contents())


def test_search(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    page.keyboard.press("/")
    page.keyboard.type("user name")
    assert labels(page) == ["v", "user", "name"]
    assert page.locator("#found").text_content().startswith("1 of ")
    assert page.locator("#tree mark").first.text_content() == "user"
    page.keyboard.press("Escape")
    assert len(labels(page)) > 5
    page.keyboard.type("nothing like this")
    assert labels(page) == []


def test_sorting(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    page.locator("#flat").check()
    page.get_by_role("button", name="Bytes", exact=True).click()
    assert page.locator("[aria-sort=descending]").count() == 1
    rows = json.loads(page.locator("#tree-data").text_content())["rows"]
    sizes = {name: cells[1][0] for _, _, name, _, cells, _ in rows}
    assert [sizes[name] for name in labels(page)] == sorted(sizes.values(), reverse=True)
    page.get_by_role("button", name="Bytes ↓").click()
    assert page.locator("[aria-sort=ascending]").count() == 1
    assert [sizes[name] for name in labels(page)] == sorted(sizes.values())
    page.get_by_role("button", name="Path", exact=True).click()
    assert labels(page) == sorted(sizes)


def test_keyboard(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    page.locator("#tree").focus()
    before = labels(page)
    chosen = page.locator(".row[aria-selected=true] .label")
    assert chosen.text_content() == "v"
    page.keyboard.press("ArrowLeft")
    assert labels(page) == ["v"]
    page.keyboard.press("ArrowRight")
    assert labels(page) == before
    page.keyboard.press("End")
    assert chosen.text_content() == before[-1]
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert chosen.text_content() == before[1]
    assert page.locator("#tree").get_attribute("aria-activedescendant") == "row-1"


def test_the_treemap_leads_to_the_tree(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    cell = page.locator(".treemap .cell[data-row]").first
    name = cell.locator(".label").text_content()
    cell.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "tree"
    assert name in page.locator(".row[aria-selected=true] .label").text_content()
    assert page.locator(".treemap .cell[tabindex='0']").count() == 1, "one stop of the tab key"


def test_both_themes(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    colour = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert light != dark
    page.locator("#theme").click()
    assert page.evaluate(colour) == light, "the button wins over the system"
    assert page.locator("#theme").text_content() == "Dark"


def test_print_shows_the_paths_without_controls(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#search").is_visible()
    assert page.locator("#tree .row").last.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(print_background=True).startswith(b"%PDF")


def test_a_narrow_window_does_not_scroll_sideways(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_hostile_names_are_text(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    assert page.title() == "events"
    assert any("<script>" in label and "\\u001b" in label for label in labels(page))
    assert page.locator("script").count() == 2


def test_names_of_roles(table_page: Path, opened: Any) -> None:
    page = opened(table_page)
    assert page.get_by_role("treegrid", name="Paths").count() == 1
    assert page.get_by_role("searchbox", name="Search").count() == 1
    assert page.get_by_role("navigation", name="Sections").get_by_role("link").count() >= 5
    assert page.locator("svg:not([aria-label])").count() == 0
    assert page.get_by_role("heading", level=1).count() == 1


def test_five_thousand_paths_are_few_elements(wide_page: Path, opened: Any) -> None:
    page = opened(wide_page)
    elements = "document.getElementsByTagName('*').length"
    assert page.locator("#found").text_content() == "5,101 paths"
    page.locator("#expand").click()
    assert page.evaluate(elements) < 2_500
    page.locator("#search").fill("group77.field49")
    assert labels(page) == ["v", "group77", "field49"]
    page.locator("#search").fill("")
    page.locator("#flat").check()
    page.get_by_role("button", name="Bytes", exact=True).click()
    assert labels(page)[0] == "v:group99.field49"
    page.locator("#tree").focus()
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.row[aria-selected=true] .label') !== null")
    assert page.evaluate(elements) < 2_500


def test_the_page_of_a_file(tmp_path: Path, opened: Any) -> None:
    rows = pa.table({"v": sl.from_json(['{"a": 1, "b": {"c": "x"}}', '{"a": "y"}'])})
    sl.write_parquet(rows, tmp_path / "f.parquet", shredding={"v": "struct<a bigint, b struct<c string>>"})
    (tmp_path / "f.html").write_text(sl.inspect(tmp_path / "f.parquet").html(), "utf-8")
    page = opened(tmp_path / "f.html")
    assert labels(page) == ["v", "a", "b", "c"]
    page.locator(".row[data-row='1']").click()
    assert "v:a::bigint" in page.locator("#detail").text_content()
