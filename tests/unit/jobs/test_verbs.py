"""The pipeline without Spark: the same options and reports as on Spark."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import PipelineError
from shredlake.jobs import verbs
from shredlake.jobs.arguments import (
    ConvertArguments,
    MigrateArguments,
    OptimizeArguments,
    UnshredArguments,
)
from shredlake.jobs.convert.convert import ConvertOptions
from shredlake.jobs.migrate import migrate_files
from shredlake.jobs.optimize import optimize_table
from shredlake.jobs.unshred import unshred_table
from shredlake.spark import verbs as spark_verbs


@pytest.mark.parametrize(
    ("arguments", "job", "internal"),
    [
        (OptimizeArguments, optimize_table, set()),
        (ConvertArguments, ConvertOptions, set()),
        (MigrateArguments, migrate_files, set()),
        (UnshredArguments, unshred_table, {"as_text"}),
    ],
)
def test_the_arguments_of_a_verb_are_those_of_its_job(arguments: Any, job: Any, internal: set[str]) -> None:
    """With the same types; `internal` ones are set by the command line alone."""
    taken = {
        name: one.annotation
        for name, one in inspect.signature(job).parameters.items()
        if one.default is not one.empty
    }
    given = {name: kind.__forward_arg__ for name, kind in arguments.__annotations__.items()}
    assert given == {name: kind for name, kind in taken.items() if name not in internal}


@pytest.mark.parametrize("verb", ["ingest", "optimize", "convert", "migrate_draft"])
def test_verbs_take_the_same_arguments_with_and_without_spark(verb: str) -> None:
    def parameters(module: Any) -> dict[str, Any]:
        found = inspect.signature(getattr(module, verb)).parameters.values()
        return {one.name: one.default for one in found if one.name not in ("spark", "threads")}

    assert parameters(verbs) == parameters(spark_verbs)


@pytest.mark.parametrize("verb", ["ingest", "stream", "optimize", "migrate_draft", "unshred"])
def test_no_argument_of_a_verb_is_untyped(verb: str) -> None:
    for parameter in inspect.signature(getattr(spark_verbs, verb)).parameters.values():
        assert parameter.annotation not in ("Any", inspect.Parameter.empty), parameter


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="ingest has no option 'colunm'; it has: column, computed"):
        sl.ingest("x.ndjson", tmp_path, colunm="v")  # type: ignore[call-arg]


def test_ingest_optimize_and_query_without_spark(tmp_path: Path) -> None:
    table = tmp_path / "table"
    for number in (2, 1):
        (tmp_path / f"{number}.ndjson").write_text(f'{{"id": {number}}}\n')
        sl.ingest(tmp_path / f"{number}.ndjson", table, threads=1)
    data = pa.table({"body": ['{"id": 0}', "{"], "n": [7, 8]})
    with pytest.raises(sl.InvalidSchema, match="has no column 'v'"):
        sl.ingest(data, tmp_path / "other")
    report = sl.ingest(data, tmp_path / "other", document="body")
    assert (report.documents, report.rows, report.rejects) == (2, 1, 1)
    assert sl.ingest([tmp_path / "1.ndjson"], table).already_done
    done = sl.optimize(table, sort_by="v:id::bigint")
    assert (done.files_before, done.files_after, done.rows) == (2, 1, 2)
    assert sl.Table(table).scan(["v:id::int AS id"]).to_arrow().column("id").to_pylist() == [1, 2]
