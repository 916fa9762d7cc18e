"""The contract of every door (fuzz target), and how it is tested.

A door is an entry point for bytes or text from outside. For any input it gives a value or a
`ShredlakeError`; its time and memory grow linearly with the input; it never ends the process.
"""

from __future__ import annotations

import random
import resource
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shredlake import ShredlakeError


@dataclass(frozen=True)
class Budget:
    """The limits of one call: a base, and an amount per byte of input."""

    seconds: float = 2.0
    seconds_per_megabyte: float = 20.0
    megabytes: int = 256
    bytes_per_byte: int = 2000

    def time(self, size: int) -> float:
        return self.seconds + self.seconds_per_megabyte * size / 1e6

    def memory(self, size: int) -> int:
        return (self.megabytes << 20) + self.bytes_per_byte * size


@dataclass(frozen=True)
class Door:
    """An entry point for input from outside."""

    name: str
    group: str
    seeds: Callable[[], list[bytes]]
    """Inputs to start from: valid ones, and others that are nearly valid."""
    enter: Callable[[bytes], object]
    """Takes any bytes. An AssertionError in it is a broken contract too."""
    mutate: Callable[[bytes, random.Random], bytes]
    """The input with a change that keeps some of its structure."""
    budget: Budget = Budget()


class ContractBroken(Exception):
    """A door raised another error than a ShredlakeError, or took too much time or memory."""

    def __init__(self, door: Door, data: bytes, reason: str, place: str) -> None:
        super().__init__(f"{door.name}: {reason} at {place}; {len(data)} bytes: {data[:400]!r}")
        self.key = f"{reason.partition(':')[0]} at {place}"
        self.data = data


class Outcome(NamedTuple):
    """The result of a door for an input."""

    kind: str
    """"value", or the name of the ShredlakeError."""
    place: str = ""
    """The line that raised the error."""


def attempt(door: Door, data: bytes) -> Outcome:
    """Enters a door once."""
    forget_peak_memory()
    memory = peak_memory()
    started = time.process_time()
    try:
        door.enter(data)
        outcome = Outcome("value")
    except ShredlakeError as error:
        str(error)
        outcome = Outcome(type(error).__name__, _place(error))
    except (Exception, GeneratorExit) as error:
        raise ContractBroken(door, data, f"{type(error).__name__}: {error}", _place(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Rust's, which is not an Exception
            raise
        raise ContractBroken(door, data, f"PanicException: {error}", _place(error)) from error
    taken = time.process_time() - started
    if taken > door.budget.time(len(data)):
        _check_again(door, data, taken)
    grown = peak_memory() - memory
    if grown > door.budget.memory(len(data)):
        raise ContractBroken(door, data, f"memory: {grown >> 20} MB", "one call")
    return outcome


def forget_peak_memory() -> None:
    """Resets the peak of memory to the present use (Linux only): growth below an earlier peak is seen."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """The peak of resident memory since it was reset, in bytes.

    `ru_maxrss` is used only elsewhere: it keeps the peak of the process that started this one.
    """
    with suppress(OSError, StopIteration, ValueError), open("/proc/self/status", encoding="utf-8") as lines:
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) << 10
    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _check_again(door: Door, data: bytes, taken: float) -> None:
    """A slow call is tried again: the first may have imported modules, or been interrupted."""
    started = time.process_time()
    with suppress(ShredlakeError):
        door.enter(data)
    again = time.process_time() - started
    if again > door.budget.time(len(data)):
        raise ContractBroken(door, data, f"time: {min(taken, again):.1f} s", "one call")


def _place(error: BaseException) -> str:
    """The deepest line of shredlake or of the door."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/shredlake/" in frame.filename or "/doors/" in frame.filename]
    found = (ours or frames)[-1]
    return f"{'/'.join(found.filename.split('/')[-2:])}:{found.lineno}"
