"""One object holds what a cast depends on: it travels with queries, between processes too."""

from __future__ import annotations

import pickle

import pytest

from shredlake.errors import CastError, InvalidExpression
from shredlake.kernels.cast_options import ARROW, DEFAULT, CastOptions, spark_on
from shredlake.kernels.casts.table import cast_value
from shredlake.shredding.schema import Scalar
from shredlake.variant import Variant, VariantType


def test_the_keywords_of_public_functions_become_options() -> None:
    assert CastOptions.of(strict=False) == DEFAULT == CastOptions("null", "UTC", ARROW)
    assert CastOptions.of(strict=True, timezone="GMT", dialect=spark_on(17)) == CastOptions(
        "raise", "GMT", spark_on(17)
    )


@pytest.mark.parametrize("timezone", ["UTC", "Z", "GMT", "Europe/Paris", "+02:00"])
def test_options_are_the_same_in_another_process(timezone: str) -> None:
    options = CastOptions(timezone=timezone)
    used = options.is_utc
    copy = pickle.loads(pickle.dumps(options))
    assert copy == options
    assert hash(copy) == hash(options)
    assert copy.is_utc == used == (timezone in ("UTC", "Z", "GMT"))


def test_a_time_zone_that_does_not_exist() -> None:
    options = CastOptions(timezone="Mars")
    with pytest.raises(InvalidExpression, match="no time zone 'Mars'"):
        options.check()
    with pytest.raises(InvalidExpression, match="no time zone 'Mars'"):
        _ = options.zone


@pytest.mark.parametrize("of_query", [False, True])
def test_a_cast_decides_before_the_query_does(of_query: bool) -> None:
    options = CastOptions.of(strict=of_query, timezone="+01:00", dialect=spark_on(21))
    assert options.overridden_by(None) is options
    assert options.overridden_by(of_query) is options
    other = options.overridden_by(not of_query)
    assert other == CastOptions.of(strict=not of_query, timezone="+01:00", dialect=spark_on(21))


def test_a_value_that_does_not_cast() -> None:
    value, target = Variant.of("n/a"), Scalar(VariantType.INT64)
    assert cast_value(value, target) is None
    with pytest.raises(CastError, match=r"\$\.a: \"n/a\" \(string\) can't be cast to bigint"):
        cast_value(value, target, CastOptions(on_error="raise"), "$.a")
