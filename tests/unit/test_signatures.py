"""Signatures of functions that hand their options on."""

from __future__ import annotations

import inspect
from typing import Any, TypedDict, Unpack

import pytest

from shredlake.signatures import options_of


class Options(TypedDict, total=False):
    size: int
    name: str


def job(rows: Any, *, size: int = 5, name: str = "x", inner: bool = False) -> None: ...


@options_of(job)
def verb(rows: Any, **options: Unpack[Options]) -> dict[str, Any]:
    return dict(options)


def test_options_are_shown_with_the_defaults_of_the_job() -> None:
    shown = inspect.signature(verb).parameters
    assert list(shown) == ["rows", "size", "name"]
    assert (shown["size"].default, shown["size"].annotation) == (5, "int")
    assert shown["name"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_function_still_works() -> None:
    assert verb([], size=3) == {"size": 3}


def test_a_function_without_options_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="does not end in"):

        @options_of(job)
        def other(rows: Any, **options: Any) -> None: ...
