"""Draws the pictures of docs/report.md with Chromium: `make screenshots`.

The tables are generated: clicks of a shop over eight days, and one document shape with 5,000 paths.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import shredlake as sl

DOCS: Final = Path(__file__).parents[1] / "docs"
DAYS: Final = 8
CLICKS: Final = 2_400
GROUPS, FIELDS = 50, 100
WIDE: Final = {"width": 1240, "height": 1180}
NARROW: Final = {"width": 390, "height": 1380}

Theme = Literal["light", "dark"]


def clicks(day: int) -> Iterator[str]:
    """The clicks of a day. From the fifth day on they name the device. Some lines are cut off."""
    random = Random(day)
    for number in range(CLICKS):
        title = random.choice(["Home", "Search", "Offers", "Checkout"])
        click: dict[str, Any] = {
            "id": day * CLICKS + number,
            "kind": random.choice(["view", "view", "view", "buy"]),
            "ts": f"2026-11-{day + 1:02}T{number * 24 // CLICKS:02}:{random.randrange(60):02}:00Z",
            "ms": random.randrange(9000) if random.random() < 0.97 else "slow",
            "user": {
                "id": random.randrange(900),
                "name": f"user{random.randrange(900)}",
                "city": random.choice(["Oslo", "Bern", "Rome", "Riga"]),
            },
            "page": {
                "title": title,
                "url": f"https://shop.example/{title.lower()}/{random.getrandbits(40):x}",
            },
            "tags": random.sample(["new", "sale", "vip", "mobile"], 2),
        }
        if click["kind"] == "buy":
            price = round(random.uniform(1, 90), 2)
            click["cart"] = [
                {"sku": f"S{random.randrange(400)}", "price": price if number % 9 else str(price)}
            ]
        if day > 3:
            click["device"] = {"os": random.choice(["ios", "android"])}
        text = json.dumps(click)
        yield text if number % 500 else text[: len(text) // 2]


def shop(folder: Path) -> Path:
    """The page of a table with drift, mixed types and rejects."""
    for day in range(DAYS):
        file = folder / f"day{day}.ndjson"
        file.write_text("\n".join(clicks(day)) + "\n", "utf-8")
        sl.ingest(str(file), folder / "events", max_rejects="2%")
    return page_of(folder / "events")


def many_paths(folder: Path) -> Path:
    """The page of a table whose layout has 5,000 paths."""
    groups = {f"group{group}": [f"field{field}" for field in range(FIELDS)] for group in range(GROUPS)}
    layout = ", ".join(
        f"{group} struct<{', '.join(f'{field} bigint' for field in fields)}>"
        for group, fields in groups.items()
    )
    rows = (
        {
            group: {field: row * number for number, field in enumerate(fields)}
            for group, fields in groups.items()
        }
        for row in range(40)
    )
    sl.ingest(rows, folder / "metrics", shredding=f"struct<{layout}>")
    return page_of(folder / "metrics")


def page_of(table: Path) -> Path:
    page = table.with_suffix(".html")
    page.write_text(sl.Table(table).report().html(), "utf-8")
    return page


def main() -> None:
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("no Chromium found: install it (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory(prefix="lake-") as folder, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        events, metrics = shop(Path(folder)), many_paths(Path(folder))
        pictures: list[tuple[str, Path, dict[str, int], Theme, str, str]] = [
            ("report-light.png", events, WIDE, "light", "", ""),
            ("report-dark.png", events, WIDE, "dark", "paths", ""),
            ("report-5000-paths.png", metrics, WIDE, "light", "paths", "field42"),
            ("report-narrow.png", events, NARROW, "light", "", ""),
        ]
        for name, page, size, theme, section, search in pictures:
            view = browser.new_page(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
            view.goto(page.as_uri())
            if section:
                if search:
                    view.get_by_label("Search").fill(search)
                view.locator(f"#{section}").evaluate("part => part.scrollIntoView({behavior: 'instant'})")
            view.screenshot(path=DOCS / name)
            view.close()
            print(DOCS / name)
        browser.close()


if __name__ == "__main__":
    main()
