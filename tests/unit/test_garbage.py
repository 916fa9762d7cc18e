"""The garbage collector is paused, and runs again."""

from __future__ import annotations

import gc
from threading import Event, Thread

import pytest

from shredlake.garbage import CollectorPaused


def test_it_runs_again_after_the_last_thread() -> None:
    inside, leave = Event(), Event()

    def work() -> None:
        with CollectorPaused():
            inside.set()
            leave.wait(10)

    thread = Thread(target=work)
    thread.start()
    assert inside.wait(10)
    with CollectorPaused():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_it_runs_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="x"), CollectorPaused():
        raise ValueError("x")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with CollectorPaused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
