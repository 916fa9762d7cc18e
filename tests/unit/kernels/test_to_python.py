"""`to_python`: every type and container."""

from __future__ import annotations

import pytest

from mutations import ODD_NUMBERS, SCALARS, SEEDS
from shredlake import (
    Variant,
    to_python,
)
from variant_columns import column

pytestmark = pytest.mark.usefixtures("kernels")


def test_every_scalar_and_container_is_the_python_object_of_the_reference() -> None:
    rows = [*SEEDS, *map(Variant.of, SCALARS), *map(Variant.of, ODD_NUMBERS)]
    assert repr(to_python(column(rows))) == repr([row.to_python() for row in rows])
