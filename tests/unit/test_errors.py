"""Errors: all of one family, and they survive the way to another process."""

from __future__ import annotations

import pickle

import pytest

import shredlake as sl
from shredlake import errors
from shredlake.errors import InvalidJson, InvalidPath, MalformedVariant, ShredlakeError

ALL = [
    found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, ShredlakeError)
]


def test_there_are_errors() -> None:
    assert len(ALL) > 20


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_has_a_docstring(kind: type[ShredlakeError]) -> None:
    assert kind.__doc__


RICH = {MalformedVariant, InvalidJson, InvalidPath}


@pytest.mark.parametrize("kind", [one for one in ALL if one not in RICH], ids=lambda kind: kind.__name__)
def test_an_error_comes_back_from_another_process(kind: type[ShredlakeError]) -> None:
    again = pickle.loads(pickle.dumps(kind("what happened")))
    assert type(again) is kind
    assert str(again) == str(kind("what happened"))


def raised(text: str) -> ShredlakeError:
    with pytest.raises(ShredlakeError) as caught:
        sl.from_json(["1", text])
    return caught.value


def test_facts_of_an_error_come_back_too() -> None:
    error = raised('{"a": }')
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, InvalidJson)
    assert (str(again), again.position, again.line, again.column) == (
        str(error),
        error.position,
        error.line,
        error.column,
    )
    malformed = MalformedVariant("cut", part="metadata", offset=5, path="$.a")
    again = pickle.loads(pickle.dumps(malformed))
    assert (str(again), again.offset, again.path) == (str(malformed), 5, "$.a")
