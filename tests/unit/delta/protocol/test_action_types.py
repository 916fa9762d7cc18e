"""Fields of actions: each has a type, and a wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest

from shredlake.delta.protocol.action_types import SHAPES, problem_of

GOOD: dict[str, dict[str, Any]] = {
    "protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["variantType"]},
    "metaData": {"id": "x", "schemaString": "{}", "configuration": {"a": "b"}},
    "add": {"path": "f", "size": 1, "partitionValues": {"day": None}},
    "remove": {"path": "f", "deletionTimestamp": 5},
    "cdc": {"path": "f", "size": 0},
    "txn": {"appId": "", "version": -1},
    "domainMetadata": {"domain": "d", "removed": False},
    "commitInfo": {"anything": [1]},
    "sidecar": {"path": "f"},
    "checkpointMetadata": {"version": 0},
}


def test_every_action_has_an_example() -> None:
    assert set(GOOD) == set(SHAPES)


@pytest.mark.parametrize("name", GOOD)
def test_good_actions_and_unknown_fields_pass(name: str) -> None:
    assert problem_of(name, GOOD[name]) is None
    assert problem_of(name, {**GOOD[name], "ofTheFuture": object()}) is None


@pytest.mark.parametrize("name", GOOD)
def test_required_fields(name: str) -> None:
    for field in SHAPES[name].required:
        fields = {key: value for key, value in GOOD[name].items() if key != field}
        assert f"lacks the field {field}" in str(problem_of(name, fields))
        assert problem_of(name, {**fields, field: None}) is not None


@pytest.mark.parametrize(
    ("name", "field", "value", "shown"),
    [
        ("add", "path", "", "a string that is not empty, not ''"),
        ("add", "path", "\udcff", "not '\\udcff'"),
        ("add", "size", -1, "0 or more, not -1"),
        ("add", "size", True, "not True"),
        ("add", "dataChange", 1, "true or false, not 1"),
        ("add", "modificationTime", 1 << 63, "an integer of 64 bits"),
        ("add", "modificationTime", 1 << 200, "not a number of many digits"),
        ("add", "tags", {"a": 1}, "an object of strings, not an object of 1"),
        ("protocol", "readerFeatures", [1, 2], "a list of strings, not a list of 2"),
        ("protocol", "minReaderVersion", 1 << 31, "32 bits"),
        ("commitInfo", "inCommitTimestamp", -1, "between 1970 and 9999"),
        ("txn", "appId", ["x"] * 10_000, "a list of 10000"),
    ],
)
def test_wrong_types_are_named(name: str, field: str, value: object, shown: str) -> None:
    problem = str(problem_of(name, {**GOOD[name], field: value}))
    assert f"the field {field} of " in problem
    assert shown in problem


def test_a_deletion_vector_has_a_shape_of_its_own() -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    assert problem_of("add", {**GOOD["add"], "deletionVector": vector}) is None
    wrong = {**vector, "cardinality": "1"}
    assert "the deletionVector of an add action" in str(
        problem_of("add", {**GOOD["add"], "deletionVector": wrong})
    )


def test_an_action_is_an_object() -> None:
    assert problem_of("add", []) == "an add action must be an object, not a list of 0"


@pytest.mark.parametrize("options", [1e400, ["a"], {"a": 1}, "x"])
def test_the_options_of_a_format_are_an_object_of_strings(options: Any) -> None:
    """A checkpoint writes them as a map."""
    fields = {**GOOD["metaData"], "format": {"provider": "parquet", "options": options}}
    wanted = "the field options of the format of a metaData action must be an object of strings"
    assert str(problem_of("metaData", fields)).startswith(wanted)
    assert problem_of("metaData", {**GOOD["metaData"], "format": {"provider": "parquet"}}) is None
