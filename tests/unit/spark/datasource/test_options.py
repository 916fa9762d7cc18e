"""Options of `format("shredlake")`: names, values, and where each may be used."""

from __future__ import annotations

import pytest

from shredlake.errors import PipelineError
from shredlake.spark.datasource.options import (
    OPTIONS,
    READ,
    STREAM_READ,
    STREAM_WRITE,
    WRITE,
    SourceOptions,
)


def of(use: str, **given: str) -> SourceOptions:
    """Options as Spark hands them over: names in lower case."""
    return SourceOptions.of({"path": "/t", **{name.lower(): text for name, text in given.items()}}, use)


def test_values_are_parsed() -> None:
    found = of(WRITE, partition_by="day, `a.b`", shredding="none", fileBytes="64m")
    assert found["partitionBy"] == ("day", "a.b")
    assert (found["shredding"], found["fileBytes"], found["txnVersion"]) == (None, 64 << 20, None)
    assert of(WRITE, shredding='{"v": "struct<a int>"}')["shredding"] == {"v": "struct<a int>"}
    assert of(STREAM_READ, startingVersion="latest")["startingVersion"] == "latest"
    assert of(STREAM_READ, maxBytesPerTrigger="1kb")["maxBytesPerTrigger"] == 1024
    assert SourceOptions.of({"path": "/t", "storage.endpoint": "x"}, READ).storage == {"endpoint": "x"}
    assert SourceOptions.of({"location": "file:/t", "provider": "shredlake"}, READ).path == "file:/t"


@pytest.mark.parametrize(
    ("use", "name", "text", "message"),
    [
        (READ, "colums", "id", "did you mean 'columns'"),
        (READ, "something", "x", "it has path, columns"),
        (READ, "paths", "x", "reads one table"),
        (READ, "strict", "yes", "true or false"),
        (READ, "version", "-1", "a whole number, 0 or more"),
        (READ, "ignoreDeletes", "true", "an option of a stream read, not of a read"),
        (STREAM_READ, "version", "1", "not of a stream read"),
        (STREAM_WRITE, "replaceWhere", "a", "not of a stream write"),
        (WRITE, "partitionOverwriteMode", "sometimes", "static or dynamic"),
        (WRITE, "shredding", "{broken", "infer, none, a schema"),
        (WRITE, "fileBytes", "0", "a number of bytes"),
        (STREAM_READ, "startingVersion", "first", "a whole number"),
    ],
)
def test_mistakes(use: str, name: str, text: str, message: str) -> None:
    with pytest.raises(PipelineError) as error:
        of(use, **{name: text})
    assert message in str(error.value)


def test_a_table_needs_an_address() -> None:
    with pytest.raises(PipelineError, match="needs the address of a table"):
        _ = SourceOptions.of({}, WRITE).path


def test_a_view_is_read_and_written_with_the_same_options() -> None:
    assert of(READ, shredding="none")["columns"] is None
    assert of(WRITE, timeZone="UTC").given("timeZone", "columns") == ["timeZone"]


def test_the_documentation_names_every_option() -> None:
    from pathlib import Path

    page = (Path(__file__).parents[4] / "docs" / "spark-source.md").read_text()
    missing = [option.name for option in OPTIONS.values() if f"`{option.name}" not in page]
    assert missing == ["path"] or not missing
