"""Caches are bounded, listed and cleared; those of a Spark session go with it."""

from __future__ import annotations

import ast
import gc
import re
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import shredlake as sl
import source_trees
from shredlake import caches
from shredlake.caches import IdentityCache, LruCache
from source_trees import SOURCE


class Session:
    """Stands in for a Spark session: attributes can be set on it."""


def test_the_least_recently_used_entry_is_dropped() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.find("a") == 1
    cache.put("c", 3)
    assert (cache.find("a"), cache.find("b"), cache.find("c"), len(cache)) == (1, None, 3, 2)


def test_heavy_entries_drop_others_and_the_newest_stays() -> None:
    cache = LruCache[str, int](5, heaviest=10)
    for name, weight in (("a", 4), ("b", 4), ("light", 0)):
        cache.put(name, weight, weight)
    assert cache.get("a", lambda: 0) == 4
    cache.put("c", 3, 3)  # 11 in all: the entry used least recently goes
    assert (cache.find("b"), cache.find("light"), cache.find("a"), cache.find("c")) == (None, 0, 4, 3)
    cache.put("a", 1, 1)  # the weight of the value that it replaces no longer counts
    cache.put("d", 6, 6)
    assert (cache.find("c"), cache.find("a"), cache.find("d")) == (3, 1, 6)
    cache.put("huge", 99, 99)
    assert (len(cache), cache.find("huge")) == (1, 99)
    cache.put("e", 10, 10)
    assert (len(cache), cache.find("e")) == (1, 10)
    cache.clear()
    cache.put("f", 10, 10)
    cache.put("light", 0)
    assert len(cache) == 2


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


def test_a_function_whose_results_are_kept_is_listed_and_cleared() -> None:
    found = sl.Path.parse("$.a.b[3]")
    assert caches.sizes()["paths"] >= 1
    caches.clear("paths")
    assert caches.sizes()["paths"] == 0
    assert sl.Path.parse("$.a.b[3]") == found


def test_a_name_belongs_to_one_cache() -> None:
    """Otherwise `sizes` and `clear` would only see the cache that was made last."""
    cache = LruCache[str, int](2, "test names")
    for make in (LruCache[str, int], IdentityCache[str, int]):
        with pytest.raises(ValueError, match="a cache named 'test names' already"):
            make(2, "test names")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'test names' already"):
        caches.cached(2, "test names")(len)
    with pytest.raises(ValueError, match="'test names' already"):
        caches.of_session(Session(), "test names", 2)
    with pytest.raises(ValueError, match="'paths' already"):
        caches.cached(2, "paths")(len)
    cache.put("a", 1)
    assert caches.sizes()["test names"] == 1
    del cache
    LruCache[str, int](2, "test names")


def test_a_function_may_be_defined_again() -> None:
    """As when its module is loaded again."""
    for _ in range(2):
        kept = caches.cached(2, "test functions")(_double)
    assert kept(2) == 4
    assert caches.sizes()["test functions"] == 1


def _double(number: int) -> int:
    return 2 * number


def names_of_caches() -> Iterator[str]:
    """The names that the source gives to caches."""
    for source in source_trees.modules():
        for node in ast.walk(source_trees.tree(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in NAMING:
                yield from (
                    one.value
                    for one in node.args
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


def test_no_two_caches_of_the_source_have_one_name() -> None:
    """Not even of modules that are seldom imported together."""
    names = list(names_of_caches())
    assert {"snapshots", "frames", "paths", "flat schemas"} <= set(names)
    assert [name for name, count in Counter(names).items() if count > 1] == []


RUNS_ONCE = {("spark/worker.py", "prepare_worker")}
"""Functions that do something once per process, and keep nothing."""

STATE = {
    ("delta/protocol/properties.py", "KNOWN"),
    ("delta/storage/store_files.py", "_memory_stores"),
    ("sql/path_tokens.py", "HEREDOC_STRINGS"),
}
"""A table of the code itself, the contents of memory:// addresses, which can't be made again, and an option
of sqlglot's tokenizer."""


def last_name(call: ast.expr) -> str:
    """The name of what is called or decorates, without its module, arguments and type parameters."""
    return re.split(r"[(\[]", ast.unparse(call), maxsplit=1)[0].rpartition(".")[2]


def unregistered(source: Path) -> Iterator[str]:
    """Names of unregistered caches: functions under functools' caches, containers of modules and classes."""
    tree = source_trees.tree(source)
    for node in ast.walk(tree):
        names = {last_name(one) for one in getattr(node, "decorator_list", [])}
        if isinstance(node, ast.FunctionDef) and {"cache", "lru_cache"} & names:
            yield node.name
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for node in [*tree.body, *(statement for one in classes for statement in one.body)]:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        emptied = isinstance(value, ast.Dict | ast.List | ast.Set) and not (
            value.keys if isinstance(value, ast.Dict) else value.elts
        )
        made = isinstance(value, ast.Call) and last_name(value) in MUTABLE and not value.args
        unnamed = isinstance(value, ast.Call) and last_name(value) in OURS and len(value.args) < 2
        if emptied or made or unnamed:
            yield from (target.id for target in targets if isinstance(target, ast.Name))


MUTABLE = {"dict", "list", "set", "OrderedDict", "WeakKeyDictionary", "WeakValueDictionary", "defaultdict"}
OURS = {"LruCache", "IdentityCache"}
NAMING = {*OURS, "cached", "of_session"}


def test_the_search_finds_caches_that_are_not_registered(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        "@lru_cache(maxsize=4)\ndef f(): ...\n@cache\ndef g(): ...\n_seen: dict[str, int] = {}\n"
        "_sizes = LruCache(4)\n_named = LruCache(4, 'sizes')\n_order = OrderedDict()\n"
        "@cached(4, 'h')\ndef h(): ...\n@functools.lru_cache(maxsize=4)\ndef i(): ...\n"
        "class A:\n    found = {}\n    @staticmethod\n    @cache\n    def j(): ...\n"
        "_typed = LruCache[str, int](4)\n_weak = weakref.WeakValueDictionary()\n"
    )
    found = {"f", "g", "i", "j", "_seen", "_sizes", "_order", "found", "_typed", "_weak"}
    assert set(unregistered(source)) == found


def test_every_cache_is_registered() -> None:
    found = {
        (str(source.relative_to(SOURCE)), name)
        for source in source_trees.modules()
        if source != SOURCE / "caches.py"
        for name in unregistered(source)
    }
    assert found == RUNS_ONCE | STATE


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
