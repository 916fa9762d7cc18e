"""Where engines differ in what becomes of a value: Arrow's rules are ours, Spark's are Java's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHORTEST_DIGITS: Final = 19
"""The first Java that prints the shortest digits that read back as the same number."""


@dataclass(frozen=True)
class Dialect:
    """What an engine expects of casts."""

    any_bytes: bool = False
    """Whether a binary is a string whatever its bytes are. A string of Arrow's is UTF-8, and nothing else."""
    old_java: bool = False
    """Whether floats and doubles have the digits of an older Java, as texts and as decimals."""


ARROW: Final = Dialect()


def spark_on(java: int) -> Dialect:
    """What Spark makes of values on this version of Java.

    >>> spark_on(17), spark_on(21)
    (Dialect(any_bytes=True, old_java=True), Dialect(any_bytes=True, old_java=False))
    """
    return Dialect(any_bytes=True, old_java=java < SHORTEST_DIGITS)
