"""Which implementation runs, the compiled kernels or the row-at-a-time reference: decided here alone.

Every kernel exists twice under one name, with the same functions: `compiled.json_encode` and
`fallback.json_encode` (the reference, one row at a time). Callers write

    engine("json_encode").encode(array, ...)

The reference serves where the compiled modules are missing (no C compiler at install; one warning says so),
and where SHREDLAKE_PURE=1 asks for it, which is how one set of tests checks both.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from types import ModuleType


def _compiled_modules_load() -> bool:
    try:
        import_module("shredlake.kernels.compiled.buffers")
    except ImportError:
        warnings.warn(
            "shredlake runs without its compiled kernels, 50 times slower: install a C compiler "
            "(Debian: apt-get install gcc libc6-dev), then reinstall shredlake",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


COMPILED: bool = os.environ.get("SHREDLAKE_PURE") != "1" and _compiled_modules_load()


def engine(name: str) -> ModuleType:
    """The module that does the work of the kernel called `name`."""
    return import_module(
        f"shredlake.kernels.compiled.{name}" if COMPILED else f"shredlake.kernels.fallback.{name}"
    )
