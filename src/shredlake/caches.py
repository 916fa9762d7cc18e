"""Every process-wide cache: bounded, inspectable, clearable.

    caches.sizes()    how many entries each cache holds
    caches.clear()    empties all of them

A cache of facts about files and schemas is an `LruCache` or an `IdentityCache` with a name. A function whose
results are kept is `cached`. A cache that holds objects of a Spark session is kept on that session
(`of_session`), so that it goes with the session. A name belongs to one cache.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakSet, WeakValueDictionary

Key = TypeVar("Key")
HashableKey = TypeVar("HashableKey", bound=Hashable)
Value = TypeVar("Value")
P = ParamSpec("P")
R = TypeVar("R")


class Cache(Protocol):
    """The operations of all caches."""

    def __len__(self) -> int: ...

    def clear(self) -> None:
        """Removes every entry."""
        ...


_named: WeakValueDictionary[str, Cache] = WeakValueDictionary()
_functions: dict[str, CachedFunction] = {}
_sessions: WeakSet[Any] = WeakSet()


def sizes() -> dict[str, int]:
    """The number of entries of every cache, by name; caches of Spark sessions are added up.

    >>> squares = LruCache[int, int](2, "squares")
    >>> squares.get(3, lambda: 9)
    9
    >>> sizes()["squares"]
    1
    """
    found = {name: len(cache) for name, cache in (*_named.items(), *_functions.items())}
    for session in list(_sessions):
        for name, cache in _kept_on(session).items():
            found[name] = found.get(name, 0) + len(cache)
    return dict(sorted(found.items()))


def clear(*names: str) -> None:
    """Empties every cache, or those of these names. Results stay the same; the next calls take longer.

    >>> squares = LruCache[int, int](2, "squares")
    >>> squares.get(3, lambda: 9)
    9
    >>> clear()
    >>> len(squares)
    0
    """
    kept = [(*_named.items(), *_functions.items()), *(_kept_on(one).items() for one in list(_sessions))]
    for name, cache in chain.from_iterable(kept):
        if not names or name in names:
            cache.clear()


def _register(name: str, cache: Cache) -> None:
    _refuse_known(name)
    _named[name] = cache


def _refuse_known(name: str) -> None:
    """Raises if a cache of the process has this name: `sizes` and `clear` would then see only one of them."""
    if name in _named or name in _functions:
        raise ValueError(f"there is a cache named {name!r} already: give each cache a name of its own")


def _is_same_function(one: Any, other: Any) -> bool:
    """Whether both are one function, defined again because its module was loaded again."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


class LruCache(Generic[HashableKey, Value]):
    """A thread-safe cache that drops the entry used least recently.

    >>> squares = LruCache[int, int](2)
    >>> [squares.get(n, lambda: n * n) for n in (2, 3, 2, 4)]
    [4, 9, 4, 16]
    >>> squares.find(2), squares.find(3)
    (4, None)

    Entries may have weights, which are bounded, too:

    >>> lists = LruCache[str, list[int]](10, heaviest=100)
    >>> for name in "abc":
    ...     _ = lists.put(name, [0] * 40, weight=40)
    >>> len(lists), lists.find("a")
    (2, None)
    """

    def __init__(self, size: int, name: str | None = None, *, heaviest: int | None = None) -> None:
        """The weights of all entries add up to `heaviest` at most, unless one alone is heavier."""
        self._size = size
        self._heaviest = heaviest
        self._entries: OrderedDict[HashableKey, Value] = OrderedDict()
        self._weights: dict[HashableKey, int] = {}
        self._weight = 0
        self._lock = Lock()
        if name is not None:
            _register(name, self)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: HashableKey) -> Value | None:
        """The value of this key, or None."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: HashableKey, value: Value, weight: int = 0) -> Value:
        """Stores a value, replacing any other of that key, and returns it."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            self._weight += weight - self._weights.get(key, 0)
            self._weights[key] = weight
            while len(self._entries) > self._size or self._is_too_heavy():
                dropped, _ = self._entries.popitem(last=False)
                self._weight -= self._weights.pop(dropped)
        return value

    def _is_too_heavy(self) -> bool:
        return self._heaviest is not None and self._weight > self._heaviest and len(self._entries) > 1

    def get(self, key: HashableKey, make: Callable[[], Value], weight: int = 0) -> Value:
        """The value of this key; made and stored if there is none."""
        found = self.find(key)
        return self.put(key, make(), weight) if found is None else found

    def clear(self) -> None:
        """Removes every entry."""
        with self._lock:
            self._entries.clear()
            self._weights.clear()
            self._weight = 0


@dataclass(frozen=True)
class CachedFunction:
    """A function whose results are kept."""

    kept: Any
    """The function, from `functools.lru_cache`."""

    def __len__(self) -> int:
        return int(self.kept.cache_info().currsize)

    def clear(self) -> None:
        """Removes every entry."""
        self.kept.cache_clear()


def cached(size: int, name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keeps the results of a pure function: `functools.lru_cache`, listed and cleared with the others.

    >>> @cached(8, "cubes")
    ... def cube(number: int) -> int:
    ...     return number**3
    >>> cube(3), sizes()["cubes"]
    (27, 1)
    """

    def keep(function: Callable[P, R]) -> Callable[P, R]:
        kept = lru_cache(maxsize=size)(function)
        known = _functions.get(name)
        if known is None or not _is_same_function(known.kept, kept):
            _refuse_known(name)
        _functions[name] = CachedFunction(kept)
        return cast("Callable[P, R]", kept)

    return keep


class IdentityCache(Generic[Key, Value]):
    """A cache of a few entries that compares keys instead of hashing them.

    To hash a wide Arrow type or schema is to walk all of it, which can take longer than a small kernel. To
    compare two that are the same object takes no time. Threads that ask at once may compute a value twice.

    >>> lengths = IdentityCache[str, int](str.__eq__)
    >>> lengths.get("abc", len), lengths.get("abc", lambda _: -1)
    (3, 3)
    """

    SIZE = 8

    def __init__(self, same: Callable[[Key, Key], bool], name: str | None = None) -> None:
        self._same = same
        self._entries: tuple[tuple[Key, Value], ...] = ()
        if name is not None:
            _register(name, self)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, make: Callable[[Key], Value]) -> Value:
        """The value of this key; made and stored if there is none."""
        for known, value in self._entries:
            if self._same(known, key):
                return value
        value = make(key)
        self._entries = ((key, value), *self._entries[: self.SIZE - 1])
        return value

    def clear(self) -> None:
        """Removes every entry."""
        self._entries = ()


_ON_SESSION = "_shredlake_caches"
_lock = Lock()


def of_session(session: Any, name: str, size: int, *, heaviest: int | None = None) -> LruCache[Any, Any]:
    """The cache of that name which belongs to a Spark session, made on first use.

    It is an attribute of the session: entries that hold its DataFrames are garbage together with it.

    >>> class Session: pass
    >>> session = Session()
    >>> of_session(session, "frames", 4) is of_session(session, "frames", 4)
    True
    """
    with _lock:
        kept: dict[str, LruCache[Any, Any]] = session.__dict__.setdefault(_ON_SESSION, {})
        _sessions.add(session)
        if name not in kept:
            _refuse_known(name)
            kept[name] = LruCache(size, heaviest=heaviest)
        return kept[name]


def _kept_on(session: Any) -> dict[str, LruCache[Any, Any]]:
    return dict(session.__dict__.get(_ON_SESSION, {}))
