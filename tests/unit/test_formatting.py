"""Sizes, shares and texts as people read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from shredlake.formatting import (
    bytes_text,
    counted,
    escaped,
    html_facts,
    plain_fields,
    share_text,
    with_article,
)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999.4, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (10**12, "1.0 TB"),
        (5 * 10**15, "5,000.0 TB"),
    ],
)
def test_bytes(count: float, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0%"),
        (5, 5, "100%"),
        (7, 5, "140%"),
        (999, 1000, "99.9%"),
        (9_995, 10_000, ">99.9%"),
        (1, 1000, "0.1%"),
    ],
)
def test_shares(part: float, whole: float, text: str) -> None:
    assert share_text(part, whole) == text


def test_nouns() -> None:
    assert [counted(n, "entry", "entries") for n in (0, 1, 2)] == ["0 entries", "1 entry", "2 entries"]
    assert [with_article(noun) for noun in ("Array", "url", "file")] == ["an Array", "an url", "a file"]


def test_facts_for_json_have_numbers_as_numbers_and_no_words_that_json_lacks() -> None:
    @dataclass
    class Facts:
        bounds: tuple[object, ...]

    bounds = (pa.scalar(3), pa.scalar(1.5), pa.scalar(True), pa.scalar("x"), pa.scalar(None, pa.int64()))
    found = plain_fields(Facts((*bounds, pa.scalar(float("inf")), float("nan"), Decimal("1.50"))))
    assert found["bounds"] == [3, 1.5, True, "x", "None", "Infinity", "NaN", "1.50"]
    json.dumps(found, allow_nan=False)


def test_control_characters_are_escaped_except_those_to_keep() -> None:
    assert escaped("a\nb\tc", keep="\n") == "a\nb\\tc"
    assert escaped("\u2028\x9b", form="<{:02x}>") == "\\u2028<9b>"
    assert escaped("é😀 plain") == "é😀 plain"


def test_html_is_escaped() -> None:
    assert "<script>" not in html_facts({"<script>": "<script>"})


def test_fields_are_ready_for_json() -> None:
    @dataclass
    class Inner:
        path: Path

    @dataclass
    class Facts:
        inner: Inner
        many: tuple[Inner, ...]
        by_number: dict[int, datetime]
        none: None = None

    facts = Facts(Inner(Path("a")), (Inner(Path("b")),), {1: datetime(2024, 1, 2, tzinfo=UTC)})
    found = plain_fields(facts)
    assert (
        json.loads(json.dumps(found))
        == found
        == {
            "inner": {"path": "a"},
            "many": [{"path": "b"}],
            "by_number": {"1": "2024-01-02T00:00:00+00:00"},
            "none": None,
        }
    )
