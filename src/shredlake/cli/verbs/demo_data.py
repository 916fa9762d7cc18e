"""The events of `shredlake demo`: posts, likes and follows of a social network; seeded, streamed, any number.

>>> import json
>>> first = next(lines(bluesky, 1))
>>> sorted(json.loads(first))
['commit', 'did', 'kind', 'time_us']

A stream consists of blocks of rows. Each block has its own random generator, seeded by (shape, seed, block):
blocks can be generated in any order and in any process, and the first rows do not depend on how many follow.
"""

from __future__ import annotations

import gzip
import os
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import IO, Any, cast

from shredlake.caches import cached

BLOCK = 4096

# (random generator, number of the first row, rows of this block, rows in all) -> one JSON text per row
Shape = Callable[[Random, int, int, int], Iterator[str]]


def lines(shape: Shape, rows: int, seed: int = 0) -> Iterator[bytes]:
    """The rows of a shape as NDJSON lines, each ending in a newline.

    >>> found = list(lines(bluesky, 3, seed=1))
    >>> len(found), found == list(lines(bluesky, 3, seed=1))
    (3, True)
    """
    for first in range(0, rows, BLOCK):
        for text in _block(shape, first, rows, seed):
            yield text.encode() + b"\n"


def write_lines(shape: Shape, path: str | Path, rows: int, seed: int = 0) -> None:
    """Writes rows of a shape as NDJSON; a path that ends in `.gz` is compressed.

    Blocks are generated on all cores and written in order.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_lines(bluesky, Path(folder) / "events.ndjson", 10)
    ...     len((Path(folder) / "events.ndjson").read_text().splitlines())
    10
    """
    opener = cast(Callable[..., IO[bytes]], gzip.open if str(path).endswith(".gz") else open)
    with opener(path, "wb") as out:
        if rows <= 4 * BLOCK:
            out.writelines(lines(shape, rows, seed))
            return
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            starts = iter(range(0, rows, BLOCK))
            # A window of blocks, not all of them: a finished block waits in memory for its turn.
            waiting = [pool.submit(_block_bytes, shape, first, rows, seed) for first in islice(starts, 8)]
            while waiting:
                out.write(waiting.pop(0).result())
                waiting += [
                    pool.submit(_block_bytes, shape, first, rows, seed) for first in islice(starts, 1)
                ]


def _block(shape: Shape, first: int, rows: int, seed: int) -> Iterator[str]:
    name = cast(Any, shape).__name__
    return shape(Random(f"{name}/{seed}/{first // BLOCK}"), first, min(BLOCK, rows - first), rows)


def _block_bytes(shape: Shape, first: int, rows: int, seed: int) -> bytes:
    return ("\n".join(_block(shape, first, rows, seed)) + "\n").encode()


# ── The events ──────────────────────────────────────────────────────────────────────────────────────────

USERS = 200_000
START = datetime(2024, 11, 21, 16, 25, 49, tzinfo=UTC)
START_US = int(START.timestamp()) * 1_000_000


@cached(1, "demo vocabulary")
def vocabulary() -> list[str]:
    """3,000 words, the most common first; a few need escapes or several bytes per character."""
    random = Random("vocabulary")
    consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
    words = ["the", "a", "to", "and", "of", "in", "is", "for", "it", "you", "that", "on", "with", "this"]
    while len(words) < 2950:
        syllables = random.randint(1, 4)
        words.append("".join(random.choice(consonants) + random.choice(vowels) for _ in range(syllables)))
    spice = ["🚀", "❤️", "naïve", "東京", "\\n", '\\"so\\"', "\\ud83d\\ude00", "привет", "100%", "C:\\\\x"]
    return words + spice * 5


@cached(1, "demo word weights")
def word_weights() -> list[float]:
    total, weights = 0.0, []
    for rank in range(1, len(vocabulary()) + 1):
        total += 1 / (rank + 2)
        weights.append(total)
    return weights


def sentence(random: Random, words: int) -> str:
    """Words drawn by Zipf's law, already escaped for JSON."""
    return " ".join(random.choices(vocabulary(), cum_weights=word_weights(), k=words))


def skewed(random: Random, count: int) -> int:
    """A number below `count`; small numbers are much more common."""
    return int(count * random.random() ** 3)


BASE32 = "234567abcdefghijklmnopqrstuvwxyz"
TO_BASE32 = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 2 * BASE32.encode()
)


def random_base32(random: Random, size: int) -> str:
    """Random characters; their number is a multiple of four."""
    return b2a_base64(random.randbytes(size // 4 * 3), newline=False).translate(TO_BASE32).decode()


@cached(USERS, "demo users")
def did(user: int) -> str:
    return "did:plc:" + random_base32(Random(user), 24)


def content_id(random: Random) -> str:
    return "bafyrei" + random_base32(random, 52)


@cached(1, "demo triples")
def triples() -> list[str]:
    """15 bits in base 32."""
    return [BASE32[bits >> 10] + BASE32[bits >> 5 & 31] + BASE32[bits & 31] for bits in range(1 << 15)]


def record_key(micros: int) -> str:
    """The sortable id of a record: the time in base 32, 13 characters."""
    three, low = triples(), 32767
    return (
        f"{BASE32[micros >> 60 & 31]}{three[micros >> 45 & low]}{three[micros >> 30 & low]}"
        f"{three[micros >> 15 & low]}{three[micros & low]}"
    )


# The share of each collection among commits, as running totals.
COLLECTIONS = {
    "app.bsky.feed.like": 0.45,
    "app.bsky.feed.post": 0.66,
    "app.bsky.graph.follow": 0.84,
    "app.bsky.feed.repost": 0.945,
    "app.bsky.graph.block": 0.965,
    "app.bsky.actor.profile": 0.985,
    "app.bsky.graph.listitem": 0.995,
    "app.bsky.feed.threadgate": 1.0,
}
LANGUAGES = ['["en"]', '["en"]', '["en"]', '["ja"]', '["pt"]', '["de"]', '["es","en"]', "[]"]


def bluesky(random: Random, first: int, count: int, rows: int) -> Iterator[str]:
    """Commits to a social network: what a record holds depends on its collection."""
    names, totals = list(COLLECTIONS), list(COLLECTIONS.values())
    for row in range(first, first + count):
        micros = START_US + row * 1900 + random.randrange(40_000)
        who = did(skewed(random, USERS))
        kind = random.random()
        if kind < 0.004:
            body = (
                f'"kind":"identity","identity":{{"did":"{who}","handle":"{sentence(random, 1)}.bsky.social",'
                f'"seq":{409 * 10**7 + row},"time":"{stamp(micros)}"}}'
            )
        elif kind < 0.008:
            body = (
                f'"kind":"account","account":{{"active":{json_bool(random.random() < 0.8)},"did":"{who}",'
                f'"seq":{409 * 10**7 + row},"time":"{stamp(micros)}"}}'
            )
        else:
            collection = random.choices(names, cum_weights=totals)[0]
            body = f'"kind":"commit","commit":{commit(random, micros, collection)}'
        yield f'{{"did":"{who}","time_us":{micros},{body}}}'


def commit(random: Random, micros: int, collection: str) -> str:
    key = record_key(micros - random.randrange(2_000_000))
    draw = random.random()
    operation = "create" if draw < 0.93 else "delete" if draw < 0.99 else "update"
    head = (
        f'{{"rev":"{record_key(micros)}","operation":"{operation}","collection":"{collection}","rkey":"{key}"'
    )
    if operation == "delete":
        return head + "}"
    # A client's clock: mostly right, sometimes a day off.
    created = stamp(micros - random.randrange(3_000_000 if random.random() < 0.98 else 86_400_000_000))
    record = f'{{"$type":"{collection}","createdAt":"{created}"{fields(random, collection)}}}'
    return f'{head},"record":{record},"cid":"{content_id(random)}"}}'


def fields(random: Random, collection: str) -> str:
    """The part of a record that only its collection has."""
    if collection in ("app.bsky.feed.like", "app.bsky.feed.repost"):
        return f',"subject":{reference(random)}'
    if collection in ("app.bsky.graph.follow", "app.bsky.graph.block"):
        return f',"subject":"{did(skewed(random, USERS))}"'
    if collection == "app.bsky.feed.post":
        return post(random)
    if collection == "app.bsky.actor.profile":
        return f',"displayName":"{sentence(random, 2)}","description":"{sentence(random, 12)}"'
    if collection == "app.bsky.graph.listitem":
        return f',"list":"{uri(random, "app.bsky.graph.list")}","subject":"{did(skewed(random, USERS))}"'
    return (
        f',"post":"{uri(random, "app.bsky.feed.post")}","allow":[{{"$type":"app.bsky.feed.threadgate#all"}}]'
    )


def post(random: Random) -> str:
    parts = [f',"langs":{random.choice(LANGUAGES)},"text":"{sentence(random, 1 + skewed(random, 50))}"']
    if random.random() < 0.45:
        parts.append(f',"reply":{{"parent":{reference(random)},"root":{reference(random)}}}')
    draw = random.random()
    if draw < 0.12:
        height, width = random.choice(((750, 1000), (1080, 1920), (2000, 1500)))
        blob = f'"ref":{{"$link":"{content_id(random)}"}},"size":{random.randrange(20_000, 976_000)}'
        image = (
            f'{{"alt":"{sentence(random, skewed(random, 12))}",'
            f'"aspectRatio":{{"height":{height},"width":{width}}},'
            f'"image":{{"$type":"blob","mimeType":"image/jpeg",{blob}}}}}'
        )
        parts.append(f',"embed":{{"$type":"app.bsky.embed.images","images":[{image}]}}')
    elif draw < 0.2:
        parts.append(
            f',"embed":{{"$type":"app.bsky.embed.external",'
            f'"external":{{"description":"{sentence(random, 15)}",'
            f'"title":"{sentence(random, 6)}",'
            f'"uri":"https://{sentence(random, 1)}.example/{random.getrandbits(40):x}"}}}}'
        )
    elif draw < 0.25:
        parts.append(f',"embed":{{"$type":"app.bsky.embed.record","record":{reference(random)}}}')
    return "".join(parts)


def reference(random: Random) -> str:
    return f'{{"cid":"{content_id(random)}","uri":"{uri(random, "app.bsky.feed.post")}"}}'


def uri(random: Random, collection: str) -> str:
    key = record_key(START_US - skewed(random, 10**12))
    return f"at://{did(skewed(random, USERS))}/{collection}/{key}"


def stamp(micros: int) -> str:
    """2024-11-21T16:25:49.123Z; the part up to the minute is cached."""
    minute, rest = divmod(micros, 60_000_000)
    return f"{_minute(minute)}{rest // 1_000_000:02d}.{rest // 1000 % 1000:03d}Z"


@cached(4096, "demo minutes")
def _minute(minutes: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:")


def quoted(text: str) -> str:
    return f'"{text}"'


def json_bool(value: bool) -> str:
    return "true" if value else "false"
