"""The report of an inferred schema: a schema like others, with reasons as text and as figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from shredlake.shredding.inference.infer import infer_schema
from shredlake.shredding.inference.profile_reference import profile_values
from shredlake.shredding.inference.report import Decision, Estimate, InferredSchema, Outcome, render
from shredlake.shredding.schema import ARRAY_ELEMENT, ShreddingSchema, Steps
from shredlake.variant import Variant

ROWS = 400


def inferred(row: Callable[[int], Any]) -> InferredSchema:
    return infer_schema(profile_values(Variant.of(row(number)) for number in range(ROWS)))


def test_the_result_is_a_schema() -> None:
    schema = inferred(lambda n: {"id": n})
    plain = ShreddingSchema.parse("struct<id bigint>")
    assert schema == plain
    assert plain == schema
    assert hash(schema) == hash(plain)
    assert schema != ShreddingSchema.parse("struct<id string>")
    assert len({schema, plain}) == 1


def test_the_report_says_why() -> None:
    report = inferred(lambda n: {"id": n, "status": "n/a" if n % 50 == 0 else n, "gone": None}).report()
    assert report.splitlines()[0].startswith("400 rows, 2 leaves of 300, expected size -")
    assert "2.0% string in value" in report
    assert "only nulls" in report


def test_every_decision_has_figures_for_machines() -> None:
    found = inferred(lambda n: {"id": n, "gone": None}).to_dict()
    assert found["shredding"] == "struct<id bigint>"
    assert found["expected_bytes_after"] < found["expected_bytes_before"]
    paths = {entry["path"]: entry for entry in found["decisions"]}
    assert paths["$['id']"] | {"saved": 0, "bytes_share": 0} == {
        "path": "$['id']",
        "outcome": "typed",
        "type": "bigint",
        "reason": "",
        "share": 1.0,
        "fits": 1.0,
        "bytes_share": 0,
        "saved": 0,
        "note": "",
    }


def decision(steps: Steps, outcome: Outcome, type_: str = "", **facts: Any) -> Decision:
    figures = {"share": 0.5, "fits": 0.98, "bytes_share": 0.25, "saved": 1.25}
    return Decision(steps, outcome, type_, facts.pop("reason", ""), **(figures | facts))


def report(*decisions: Decision, ddl: str = "struct<a bigint>", **facts: Any) -> InferredSchema:
    return InferredSchema(ShreddingSchema.parse(ddl).root, decisions, rows=10, max_leaves=300, **facts)


def test_each_kind_of_decision_has_its_line() -> None:
    lines = render(
        report(
            decision((), Outcome.OBJECT, "object"),
            decision(("a",), Outcome.TYPED, "bigint", note="sorted"),
            decision(("l", ARRAY_ELEMENT), Outcome.VARIANT, reason="mixed"),
            decision(("rare",), Outcome.LEFT, reason="too rare"),
            estimate=Estimate(200, 150),
        )
    ).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "10 rows, 1 leaf of 300, expected size -25%",
        "$ object 50.0% of rows",
        "a bigint 50.0% of rows 98.0% fit, 25.0% of bytes, saves 1.2 a row sorted",
        "[*] variant 50.0% of rows 25.0% of bytes mixed",
        "rare left 50.0% of rows 25.0% of bytes too rare",
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 0, 2, 4, 2]
    assert len({line.index("50.0%") for line in lines[1:]}) == 1, "figures are aligned"


def test_nothing_to_estimate_is_no_change() -> None:
    assert render(report()) == "10 rows, 1 leaf of 300, expected size +0%"
    assert render(report(ddl="struct<a int, b int>")).startswith("10 rows, 2 leaves of 300")


def test_names_can_not_inject_markup() -> None:
    html = report(decision(("<script>",), Outcome.LEFT))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_figures_are_json() -> None:
    schema = report(decision(("a", ARRAY_ELEMENT), Outcome.VARIANT, share=1 / 3), estimate=Estimate(9.6, 3.2))
    found = json.loads(json.dumps(schema.to_dict()))
    assert found["decisions"][0]["path"] == "$['a'][*]"
    assert found["decisions"][0]["share"] == 0.3333
    assert (found["expected_bytes_before"], found["expected_bytes_after"], found["leaves"]) == (10, 3, 1)


@pytest.mark.parametrize("other", ["struct<a bigint>", 5, None])
def test_a_schema_differs_from_what_is_not_a_schema(other: object) -> None:
    assert report() != other
    assert repr(report()) == "InferredSchema('struct<a bigint>')"
