"""The events of the demo: JSON, the same for a seed, in blocks that do not depend on each other."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from shredlake.cli.verbs.demo_data import (
    BASE32,
    BLOCK,
    COLLECTIONS,
    bluesky,
    lines,
    random_base32,
    record_key,
    sentence,
    skewed,
    stamp,
    write_lines,
)

ROWS = BLOCK + 100
"""Two blocks."""


@pytest.fixture(scope="module")
def events() -> list[bytes]:
    return list(lines(bluesky, ROWS))


def test_every_line_is_a_document(events: list[bytes]) -> None:
    assert len(events) == ROWS
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in events)
    documents = [json.loads(line) for line in events]
    kinds = Counter(one["kind"] for one in documents)
    assert set(kinds) == {"commit", "identity", "account"}
    assert all(one["kind"] in one for one in documents), "each has the object of its kind"
    collections = Counter(one["commit"]["collection"] for one in documents if one["kind"] == "commit")
    assert set(collections) == set(COLLECTIONS)
    assert collections.most_common(1)[0][0] == "app.bsky.feed.like"
    assert any(one["commit"].get("record") is None for one in documents if one["kind"] == "commit")


def test_rows_do_not_depend_on_how_many_follow(events: list[bytes]) -> None:
    assert list(lines(bluesky, 10)) == events[:10]
    assert list(islice(lines(bluesky, 10**9), BLOCK + 2)) == events[: BLOCK + 2]
    assert list(lines(bluesky, 10, seed=1)) != events[:10]
    assert list(lines(bluesky, 0)) == []


@pytest.mark.parametrize("name", ["e.ndjson", "e.ndjson.gz"])
def test_files_have_the_same_lines(tmp_path: Path, events: list[bytes], name: str) -> None:
    write_lines(bluesky, tmp_path / name, ROWS)
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith(".gz") else data) == b"".join(events)


def test_keys_of_records_are_sorted_by_time() -> None:
    moments = [0, 1, 31, 32, 2**15, 10**15, 1_732_206_349_000_000, 2**62]
    keys = [record_key(moment) for moment in moments]
    assert sorted(keys) == keys
    assert {len(key) for key in keys} == {13}
    assert set("".join(keys)) <= set(BASE32)


@pytest.mark.parametrize("size", [4, 24, 52])
def test_random_characters(size: int) -> None:
    text = random_base32(Random(1), size)
    assert len(text) == size
    assert set(text) <= set(BASE32)
    assert text != random_base32(Random(2), size)


@pytest.mark.parametrize(
    ("micros", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_732_206_349_123_999, "2024-11-21T16:25:49.123Z"),
        (59_999_999, "1970-01-01T00:00:59.999Z"),
    ],
)
def test_moments(micros: int, text: str) -> None:
    assert stamp(micros) == text


def test_small_numbers_are_common() -> None:
    random = Random(1)
    found = [skewed(random, 100) for _ in range(2_000)]
    assert 0 <= min(found) < max(found) < 100
    assert sum(number < 13 for number in found) > 800, "half of the cube root of 0.13 and more"


def test_words_are_escaped() -> None:
    text = sentence(Random(3), 5_000)
    assert len(json.loads(f'"{text}"')) < len(text)
    assert sentence(Random(3), 0) == ""
