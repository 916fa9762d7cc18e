"""Pauses Python's garbage collector while large trees are built."""

from __future__ import annotations

import gc
from contextlib import ContextDecorator
from threading import Lock


class CollectorPaused(ContextDecorator):
    """Builds without collections. Every collection would visit all objects of a tree that is still growing.

    The trees have no cycles, so nothing waits to be collected. On a footer of 5,000 paths, collections took
    half of the time. Threads may overlap: the collector runs again when the last one has finished.

    >>> with CollectorPaused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """

    _lock = Lock()
    _inside = 0
    _was_enabled = False

    def __enter__(self) -> None:
        cls = CollectorPaused
        with cls._lock:
            if not cls._inside:
                cls._was_enabled = gc.isenabled()
                gc.disable()
            cls._inside += 1

    def __exit__(self, *_: object) -> None:
        cls = CollectorPaused
        with cls._lock:
            cls._inside -= 1
            if not cls._inside and cls._was_enabled:
                gc.enable()
