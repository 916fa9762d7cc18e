"""The layouts of five kinds of data: the decisions that matter, and that noise does not change them."""

from __future__ import annotations

import random
from functools import cache

import pyarrow as pa
import pytest

import shredlake as sl
from datagen import generate
from rivals import SPARK, infer_by
from shredlake.shredding.inference.report import Decision, InferredSchema, Outcome
from shredlake.shredding.schema import Scalar, Untyped

ROWS = {"bluesky": 20_000, "github": 10_000, "logs": 20_000, "telemetry": 1_500, "map_by_id": 3_000}


@cache
def column(shape: str) -> pa.StructArray:
    return sl.from_json(pa.array([line.decode() for line in generate(shape, ROWS[shape])]))


@cache
def inferred(shape: str) -> InferredSchema:
    return sl.infer_schema(column(shape))


def types(shape: str) -> dict[str, str]:
    return {
        ".".join("[*]" if not isinstance(step, str) else step for step in decision.steps): decision.type
        for decision in inferred(shape).decisions
        if decision.outcome is not Outcome.LEFT
    }


def decision(shape: str, *steps: str) -> Decision:
    return next(found for found in inferred(shape).decisions if found.steps == steps)


def test_commits_of_a_social_network() -> None:
    found = types("bluesky")
    assert found["time_us"] == "bigint"
    assert found["commit.collection"] == found["did"] == found["kind"] == "string"
    assert found["commit.record.$type"] == "string"
    assert found["commit.record.langs.[*]"] == "string"
    assert found["commit.record.subject.uri"] == "string", "though a subject is a string in a quarter of them"
    assert "ascending in the file" in decision("bluesky", "time_us").note
    assert "strings that are all timestamps" in decision("bluesky", "commit", "record", "createdAt").note
    for rare in (("account",), ("identity",), ("commit", "record", "list")):
        assert decision("bluesky", *rare).outcome is Outcome.LEFT


def test_events_of_a_code_forge() -> None:
    found = types("github")
    assert found["id"] == "string"
    assert "strings that are all numbers" in decision("github", "id").note
    assert found["actor.login"] == found["type"] == found["repo.name"] == "string"
    assert found["public"] == "boolean"
    assert found["payload.commits.[*].author.email"] == found["payload.commits.[*].sha"] == "string"
    assert found["payload.pull_request"] == "variant", "rare, but half of the bytes: apart, and whole"
    assert decision("github", "payload", "release").outcome is Outcome.LEFT
    assert len(list(inferred("github").leaves())) < 60, "hundreds of rare paths get no column"


def test_logs_whose_types_drift() -> None:
    found = types("logs")
    assert found["status"] == "bigint", "2% say n/a"
    assert decision("logs", "status").fits == pytest.approx(0.98, abs=0.005)
    assert found["duration"] == "decimal(9,2)", "ints, then decimals, then doubles"
    assert decision("logs", "duration").fits == pytest.approx(0.9, abs=0.01)
    assert found["user_id"] == "bigint"
    assert found["ts"] == "string"
    assert found["x_001"] == "bigint"
    spark = dict(infer_by(SPARK, sl.profile(column("logs"))).leaves())
    for name in ("status", "duration", "user_id", "ts"):
        assert spark[(name,)] == Untyped(), "Spark gives up where types are mixed"


def test_wide_telemetry() -> None:
    leaves = dict(inferred("telemetry").leaves())
    assert len(leaves) == 300, "of about 1,300"
    assert all(isinstance(node, Scalar) for node in leaves.values())
    assert {"device", "model", "firmware", "seq", "at"} <= {steps[0] for steps in leaves}
    assert str(leaves["part00", "m0", "voltage"]) == "Scalar(decimal(9,3))"
    assert not any(str(steps[0]) >= "part06" for steps in leaves if str(steps[0]).startswith("part")), (
        "what only larger models have comes later"
    )
    assert decision("telemetry", "part00", "m0", "temperature_c").outcome is Outcome.LEFT, "a late name"


def test_maps_keyed_by_id() -> None:
    assert str(inferred("map_by_id")) == "struct<counts variant, day string, region string, shard bigint>"
    assert decision("map_by_id", "counts").reason.startswith("map-like: about ")
    assert decision("map_by_id", "day").note == "strings that are all dates, ascending in the file"


@pytest.mark.slow
@pytest.mark.parametrize("shape", ROWS)
def test_two_samples_lead_to_one_layout(shape: str) -> None:
    chance = random.Random(shape)
    whole, rows = column(shape), ROWS[shape]
    samples = [sorted(chance.sample(range(rows), rows // 2)) for _ in range(4)]
    layouts = {str(sl.infer_schema(whole.take(pa.array(sample)))) for sample in samples}
    assert layouts == {str(inferred(shape))}


@pytest.mark.parametrize("shape", ROWS)
def test_a_percent_of_drift_changes_nothing(shape: str) -> None:
    odd = sl.from_json(
        pa.array(['{"brand_new": {"a": 1}, "id": "x", "status": [1], "did": 5}'] * (ROWS[shape] // 100))
    )
    drifted = pa.chunked_array([column(shape), odd])
    before = inferred(shape)
    assert sl.infer_schema(drifted, previous=before) == before
    assert sl.infer_schema(drifted) == before, "and would not even without it"
