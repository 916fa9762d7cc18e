"""A memory that forgets what was not asked for the longest."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LastUsed(Generic[Key, Value]):
    """Things made once, by key: so many of them at the most.

    >>> squares = LastUsed[int, int](2)
    >>> [squares.get(n, lambda: n * n) for n in (2, 3, 2, 4)]
    [4, 9, 4, 16]
    >>> squares.find(2), squares.find(3)
    (4, None)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def find(self, key: Key) -> Value | None:
        """What is remembered under this key."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def put(self, key: Key, value: Value) -> Value:
        """Remembers a value, in place of another of that key."""
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return value

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """What is remembered, or else is made now."""
        found = self.find(key)
        return self.put(key, make()) if found is None else found
