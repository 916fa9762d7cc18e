"""Settings of a session: read as a whole, changed for a moment, and what casts follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from shredlake.spark.settings import (
    dialect_of,
    is_connect,
    session_constant,
    session_options,
    settings,
    temporary_settings,
)

pytestmark = pytest.mark.spark

ZONE, UNSET = "spark.sql.session.timeZone", "spark.sql.optimizer.inSetConversionThreshold"


def test_temporary_settings_end_with_the_block(spark: Any) -> None:
    before, default = spark.conf.get(ZONE), spark.conf.get(UNSET)
    everything = settings(spark)
    for fails in (False, True):
        try:
            with temporary_settings(spark, {ZONE: "Asia/Tokyo", UNSET: "7"}):
                assert (spark.conf.get(ZONE), spark.conf.get(UNSET)) == ("Asia/Tokyo", "7")
                assert settings(spark) != everything
                assert session_options(spark).timezone == "Asia/Tokyo"
                if fails:
                    raise KeyError
        except KeyError:
            assert fails
        assert (spark.conf.get(ZONE), spark.conf.get(UNSET)) == (before, default)
        assert settings(spark) == everything, "a setting that was not set is unset again"


def test_options_of_casts(spark: Any) -> None:
    found = session_options(spark, strict=True)
    assert (found.raises, found.timezone, found.dialect) == (True, "UTC", dialect_of(spark))
    assert not session_options(spark).raises
    assert not is_connect(spark)


def test_constants_are_made_once(spark: Any) -> None:
    made: list[int] = []

    def make() -> str:
        made.append(1)
        return "value"

    assert [session_constant(spark, "of a test", make) for _ in range(2)] == ["value"] * 2
    assert made == [1]
