"""A sort key or a Bloom filter on a path that no row has is said, by ingest and by optimize."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app
from shredlake.jobs.engine import LocalEngine
from shredlake.jobs.ingest.ingest import IngestOptions, ingest_text
from shredlake.jobs.optimize import optimize_table
from shredlake.parquet.write.writer import WriteOptions

SORT_WARNING = "sort key v:nowhere::bigint: no row has a value for $.nowhere in v"
BLOOM_WARNING = "Bloom filter v:no.where: no row has a value for $.no.where in v"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Two files; only one row of the second has `rare`."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        rows = [{"id": n, **({"rare": n} if name == "b" and n == 7 else {})} for n in range(20)]
        (folder / f"{name}.ndjson").write_text("\n".join(map(json.dumps, rows)))
    return folder


def ingested(documents: Path, *sort_by: str, bloom: tuple[str, ...] = ()) -> tuple[str, ...]:
    options = IngestOptions(sort_by=sort_by, writing=WriteOptions(bloom_filters=bloom), task_bytes=100)
    table = str(documents.with_name("t"))
    return ingest_text(LocalEngine(2), str(documents), table, options).warnings


def test_ingest_names_what_no_row_has(documents: Path) -> None:
    warnings = ingested(documents, "v:id::bigint desc", "v:nowhere::bigint", bloom=("v:no.where", "v:id"))
    assert warnings == (SORT_WARNING, BLOOM_WARNING)


def test_one_row_of_one_task_is_enough(documents: Path) -> None:
    assert ingested(documents, "v:rare::bigint", bloom=("v:rare",)) == ()


def test_a_type_that_no_value_casts_to(documents: Path) -> None:
    assert ingested(documents, "v:id::date") == ("sort key v:id::date: no row has a value for $.id in v",)


def test_optimize_names_what_no_row_has(documents: Path) -> None:
    ingested(documents)
    report = optimize_table(
        LocalEngine(2),
        str(documents.with_name("t")),
        sort_by=("v:nowhere::bigint", "v:rare::bigint"),
        writing=WriteOptions(bloom_filters=("v:no.where",)),
    )
    assert report.warnings == (SORT_WARNING, BLOOM_WARNING)
    assert f"warning: {SORT_WARNING}" in str(report)
    assert sl.Table(documents.with_name("t")).scan().count() == 40


def test_a_key_that_looks_like_markup(documents: Path) -> None:
    options = IngestOptions(sort_by=("v:['[/x]']::bigint",))
    report = ingest_text(LocalEngine(2), str(documents), str(documents.with_name("t")), options)
    assert "v:['[/x]']::bigint: no row has a value" in " ".join(str(report).split())


def test_the_terminal_shows_it(documents: Path) -> None:
    table = str(documents.with_name("t"))
    keys = ["--sort-by", "v:nowhere::bigint", "--bloom-filter", "v:no.where"]
    for arguments in (["ingest", str(documents), table], ["optimize", table]):
        shown = CliRunner().invoke(app, [*arguments, *keys, "--engine", "local"])
        assert shown.exit_code == 0, shown.output
        said = " ".join(shown.output.split())
        assert SORT_WARNING in said
        assert BLOOM_WARNING in said


def test_a_check_after_the_commit_that_fails_is_not_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Mixed values of a sort key are counted in the new files, which are committed by then."""

    def fail(*_: object, **__: object) -> None:
        raise OSError("the network is down")

    monkeypatch.setattr("shredlake.jobs.ingest.key_paths.inspect", fail)
    documents = [{"a": n if n % 2 else str(n)} for n in range(40)]
    options = {"sort_by": "v:a::bigint", "shredding": "struct<a bigint>"}
    assert sl.ingest(documents, tmp_path / "t", **options).rows == 40  # type: ignore[arg-type]
    assert sl.Table(tmp_path / "t").scan().count() == 40
    assert "not checked for mixed keys: the network is down" in caplog.text
