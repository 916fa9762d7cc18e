"""Chooses the implementation of each kernel: the compiled module, or the row-at-a-time fallback.

Every kernel exists twice under one name with the same functions: `compiled.json_encode` and
`fallback.json_encode`. Callers write

    dispatch("json_encode").encode(array, ...)

The fallback runs if the compiled modules are missing (no C compiler at install time; one warning says so),
or if SHREDLAKE_PURE=1 requests it, so that one set of tests checks both. Each kernel has a protocol here;
mypy checks the stub of the compiled module, the fallback and every call against it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload

if TYPE_CHECKING:
    import pyarrow as pa

    from shredlake.errors import InvalidJson
    from shredlake.kernels.arrow.flat_schema import Plan
    from shredlake.kernels.arrow.nodes import ArrowNode
    from shredlake.kernels.cast_options import CastOptions
    from shredlake.shredding.schema import Scalar


def _compiled_modules_load() -> bool:
    try:
        import_module("shredlake.kernels.compiled.buffers")
    except ImportError:
        warnings.warn(
            "shredlake runs without its compiled kernels, 50 times slower. Install a C compiler "
            "(Debian: apt-get install gcc libc6-dev), then reinstall shredlake",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


COMPILED: bool = os.environ.get("SHREDLAKE_PURE") != "1" and _compiled_modules_load()


def uses_compiled() -> bool:
    """Whether kernels run compiled."""
    return COMPILED


class Checksum(Protocol):
    def checksum(self, metadata: pa.Array, value: pa.Array, validity: pa.Array | None) -> tuple[int, int]: ...


class FooterPlaces(Protocol):
    def footer_places(self, raw: bytes) -> tuple[dict[int, int], list[int], list[list[int]]] | None: ...
    def chunk_numbers(self, raw: bytes, position: int) -> tuple[int, ...] | None: ...


class FromArrow(Protocol):
    def encode(
        self, node: ArrowNode, from_row: int, variant_type: pa.DataType
    ) -> tuple[pa.Array, int, bool]: ...


class Get(Protocol):
    def extract(
        self,
        metadata: pa.Array,
        value: pa.Array,
        validity: pa.Array | None,
        steps: tuple[str | int, ...],
        target: Scalar | None,
        options: CastOptions,
        *,
        first_row: int,
    ) -> tuple[pa.Array, pa.Array]: ...


class JsonEncode(Protocol):
    def encode(
        self,
        array: pa.Array,
        last_wins: bool,
        max_depth: int,
        max_size: int,
        stop_at_first: bool,
        variant_type: pa.DataType,
    ) -> tuple[pa.Array | None, list[tuple[int, InvalidJson]]]: ...


class JsonRender(Protocol):
    def render(
        self, metadata: pa.Array, value: pa.Array, validity: pa.Array | None, from_row: int
    ) -> tuple[pa.Array, int, bool]: ...


class Lines(Protocol):
    def line_offsets(self, buffer: pa.Buffer, final: bool) -> tuple[pa.Buffer, int, int]: ...
    def array_elements(
        self, buffer: pa.Buffer, final: bool, first: bool
    ) -> tuple[pa.Buffer | None, pa.Buffer, pa.Buffer | None, int, int, bool]: ...
    def json_documents(
        self, buffer: pa.Buffer, final: bool
    ) -> tuple[pa.Buffer | None, pa.Buffer, pa.Buffer | None, int, int]: ...


class Profile(Protocol):
    def summarize(
        self,
        metadata: pa.BinaryArray,
        value: pa.BinaryArray,
        validity: pa.BooleanArray | None,
        max_paths: int,
        max_depth: int,
    ) -> bytes | int: ...
    def merge(self, parts: Iterable[bytes], max_paths: int) -> bytes: ...


class Shred(Protocol):
    def shred(
        self,
        metadata: pa.Array,
        value: pa.Array,
        validity: pa.Array | None,
        plan: Plan,
        exact_types: bool,
        first_row: int,
    ) -> tuple[pa.Array, pa.Array | None]: ...


class Tally(Protocol):
    def time_part(self, moments: pa.Array, unit: int, cycle: int) -> pa.Array | None: ...
    def count_codes(self, codes: pa.Array, size: int) -> tuple[pa.Array, pa.Array]: ...


class ToPython(Protocol):
    def to_python(
        self, metadata: pa.Array, value: pa.Array, validity: pa.Array | None
    ) -> tuple[list[Any], int]: ...


class Unshred(Protocol):
    def unshred(
        self, piece: pa.StructArray, plan: Plan, reject_conflicts: bool, first_row: int
    ) -> list[pa.StructArray]: ...


class Validate(Protocol):
    def invalid_rows(self, metadata: pa.Array, value: pa.Array, validity: pa.Array | None) -> list[int]: ...


@overload
def dispatch(name: Literal["checksum"]) -> Checksum: ...
@overload
def dispatch(name: Literal["footer_places"]) -> FooterPlaces: ...
@overload
def dispatch(name: Literal["from_arrow"]) -> FromArrow: ...
@overload
def dispatch(name: Literal["get"]) -> Get: ...
@overload
def dispatch(name: Literal["json_encode"]) -> JsonEncode: ...
@overload
def dispatch(name: Literal["json_render"]) -> JsonRender: ...
@overload
def dispatch(name: Literal["lines"]) -> Lines: ...
@overload
def dispatch(name: Literal["profile"]) -> Profile: ...
@overload
def dispatch(name: Literal["shred"]) -> Shred: ...
@overload
def dispatch(name: Literal["tally"]) -> Tally: ...
@overload
def dispatch(name: Literal["to_python"]) -> ToPython: ...
@overload
def dispatch(name: Literal["unshred"]) -> Unshred: ...
@overload
def dispatch(name: Literal["validate"]) -> Validate: ...
def dispatch(name: str) -> Any:
    """Returns the module that implements the kernel called `name`."""
    package = "compiled" if uses_compiled() else "fallback"
    return import_module(f"shredlake.kernels.{package}.{name}")


if TYPE_CHECKING:
    # mypy checks this, nothing runs it: the fallback has the functions of the protocols. The stub of a
    # compiled module takes its signatures from the fallback.
    _Kernels: TypeAlias = tuple[
        Checksum, FooterPlaces, FromArrow, Get, JsonEncode, JsonRender, Lines, Profile, Shred, Tally,
        ToPython, Unshred, Validate,
    ]  # fmt: skip

    def _fallback() -> _Kernels:
        from shredlake.kernels.fallback import (
            checksum,
            footer_places,
            from_arrow,
            get,
            json_encode,
            json_render,
            lines,
            profile,
            shred,
            tally,
            to_python,
            unshred,
            validate,
        )

        return (
            checksum, footer_places, from_arrow, get, json_encode, json_render, lines, profile, shred, tally,
            to_python, unshred, validate,
        )  # fmt: skip
