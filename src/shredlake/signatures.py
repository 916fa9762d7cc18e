"""Signatures of functions that hand their keyword arguments on, as `help()` and notebooks show them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def options_of(job: Callable[..., Any]) -> Callable[[Function], Function]:
    """Shows each option of `**options: Unpack[Arguments]` as a parameter, with the default that `job` has.

    >>> from typing import TypedDict, Unpack
    >>> class SortArguments(TypedDict, total=False):
    ...     descending: bool
    >>> def sort_rows(rows, descending=False): ...
    >>> @options_of(sort_rows)
    ... def sort(rows, **options: Unpack[SortArguments]): ...
    >>> inspect.signature(sort)
    <Signature (rows, *, descending: 'bool' = False)>
    """

    def decorate(function: Function) -> Function:
        own = inspect.signature(function)
        *parameters, packed = own.parameters.values()
        named = re.fullmatch(r"Unpack\[(\w+)\]", str(packed.annotation))
        assert named is not None, f"{function.__name__} does not end in **options: Unpack[...]"
        arguments = function.__globals__[named[1]]
        taken = inspect.signature(job).parameters
        options = [
            taken[name].replace(
                kind=packed.KEYWORD_ONLY, annotation=getattr(annotation, "__forward_arg__", annotation)
            )
            for name, annotation in arguments.__annotations__.items()
        ]
        signature = own.replace(parameters=[*parameters, *options])
        setattr(function, "__signature__", signature)  # noqa: B010 (a function has no such attribute in mypy)
        return function

    return decorate
