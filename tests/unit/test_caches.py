"""Caches are bounded, listed and cleared; those of a Spark session go with it."""

from __future__ import annotations

import gc
import weakref
from threading import Thread

import shredlake as sl
from shredlake import caches
from shredlake.caches import IdentityCache, LruCache


class Session:
    """Stands for a Spark session: an object that attributes can be set on."""


def test_the_least_recently_used_entry_is_dropped() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.find("a") == 1
    cache.put("c", 3)
    assert (cache.find("a"), cache.find("b"), cache.find("c"), len(cache)) == (1, None, 3, 2)


def test_threads_share_a_cache_within_its_bound() -> None:
    cache = LruCache[int, int](50)

    def work() -> None:
        for number in range(500):
            assert cache.get(number % 80, lambda number=number: number % 80) == number % 80  # type: ignore[misc]

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 50


def test_an_identity_cache_keeps_a_few_entries() -> None:
    cache = IdentityCache[int, int](int.__eq__)
    for number in range(100):
        cache.get(number, lambda key: -key)
    assert len(cache) == IdentityCache.SIZE
    assert cache.get(99, lambda _: 0) == -99
    assert cache.get(0, lambda _: 7) == 7


def test_every_named_cache_is_listed_and_cleared() -> None:
    sl.shredding_schema(sl.shredded_type(sl.ShreddingSchema.parse("struct<a bigint>")))
    assert caches.sizes()["schemas of Arrow types"] >= 1
    caches.clear()
    assert set(caches.sizes().values()) == {0}


def test_a_session_keeps_its_own_caches() -> None:
    one, other = Session(), Session()
    caches.of_session(one, "test frames", 4).put("key", "of one")
    assert caches.of_session(other, "test frames", 4).find("key") is None
    caches.of_session(other, "test frames", 4).put("key", "of other")
    assert caches.sizes()["test frames"] == 2
    caches.clear()
    assert caches.sizes()["test frames"] == 0


def test_the_caches_of_a_session_go_with_it() -> None:
    session = Session()
    caches.of_session(session, "test frames", 4).put("key", session)  # as a DataFrame holds its session
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
