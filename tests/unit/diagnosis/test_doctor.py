"""Compares the rules on which engines can read a table or file with the engines themselves."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import shredlake as sl
from shredlake.cli.app import app
from shredlake.diagnosis.probes import PROBES

TABLES = {
    "shredded": {"delta.enableVariantShredding": "true"},
    "plain": {"delta.enableVariantShredding": "false"},
    "mapped": {"delta.enableVariantShredding": "true", "delta.columnMapping.mode": "name"},
}


def make(where: Path, kind: str) -> sl.Table:
    table = sl.Table.create(
        where, pa.schema([("id", pa.int64()), ("v", sl.variant())]), properties=TABLES[kind]
    )
    table.append([{"id": n, "v": {"a": n}} for n in range(10)])
    return table


@pytest.mark.parametrize("kind", TABLES)
def test_rules_agree_with_the_engines_about_tables(tmp_path: Path, kind: str) -> None:
    make(tmp_path / "t", kind)
    rules = sl.doctor(tmp_path / "t", run_engines=False)
    tried = sl.doctor(tmp_path / "t")
    asked = [engine for engine, subject in PROBES if subject == "table"]
    assert asked == ["deltalake", "polars"]
    for engine in asked:
        assert tried.of(engine).checked, engine
        assert tried.of(engine).verdict == rules.of(engine).verdict, tried.of(engine)
    assert tried.of("deltalake").verdict == ("yes" if kind == "plain" else "no")


@pytest.mark.parametrize("shredding", [None, "struct<a bigint>"])
@pytest.mark.parametrize("annotated", [True, False])
def test_rules_agree_with_the_engines_about_files(
    tmp_path: Path, shredding: str | None, annotated: bool
) -> None:
    column = sl.from_json(['{"a": 1}', '{"a": "x"}'])
    path = tmp_path / "f.parquet"
    if annotated:
        sl.write_parquet({"v": column}, path, shredding={"v": shredding} if shredding else None)
    else:
        wanted = sl.ShreddingSchema.parse(shredding) if shredding else None
        pq.write_table(pa.table({"v": sl.shred(column, wanted) if wanted else column}), path)
    rules, tried = sl.doctor(path, run_engines=False), sl.doctor(path)
    for engine in ("polars", "duckdb", "pyarrow"):
        assert tried.of(engine).checked
        assert tried.of(engine).verdict == rules.of(engine).verdict, tried.of(engine)
    assert tried.of("polars").verdict == ("no" if annotated else "yes")
    assert ("shredded bigint" in tried.needs) is bool(shredding)


def test_the_fixes_work(tmp_path: Path) -> None:
    """Runs the command that doctor names, and asks again."""
    make(tmp_path / "t", "shredded")
    for engine in ("deltalake", "trino"):
        before = sl.doctor(tmp_path / "t").of(engine)
        assert before.verdict == "no"
        command = before.fix.split()
        assert command[:2] == ["shredlake", "migrate"]
        done = CliRunner().invoke(app, command[1:])
        assert done.exit_code == 0, done.output
        after = sl.doctor(command[3])
        assert after.of(engine).verdict == "yes"
    texts = sl.Table(tmp_path / "t_text").scan(["v"]).to_arrow()["v"].to_pylist()
    assert sorted(texts) == [f'{{"a":{n}}}' for n in range(10)]
    assert sl.doctor(tmp_path / "t_text").of("polars").verdict == "yes"


@pytest.mark.parametrize("name", ["a b", "it's", "100%25"])
def test_a_fix_finds_the_table_whatever_its_name(tmp_path: Path, name: str) -> None:
    make(tmp_path / name, "shredded")
    command = shlex.split(sl.doctor(tmp_path / name, run_engines=False).of("deltalake").fix)
    assert command[2:4] == [str(tmp_path / name), f"{tmp_path / name}_plain"]


@pytest.mark.parametrize("engine", ["duckdb", "trino", "deltalake"])
def test_copies_by_the_name_of_an_engine(tmp_path: Path, engine: str) -> None:
    make(tmp_path / "t", "mapped")
    done = CliRunner().invoke(app, ["migrate", str(tmp_path / "t"), str(tmp_path / "c"), "--compat", engine])
    assert done.exit_code == 0, done.output
    copy = sl.Table(tmp_path / "c")
    assert copy.scan().count() == 10
    assert copy.schema.field("v").type == (pa.string() if engine == "trino" else sl.variant())
    assert "variantShredding" not in (copy.protocol.reader_features or ())


def test_nested_variants_are_not_made_text(tmp_path: Path) -> None:
    schema = pa.schema([("v", sl.variant()), ("s", pa.struct([("x", sl.variant())]))])
    sl.Table.create(tmp_path / "t", schema)
    done = CliRunner().invoke(app, ["migrate", str(tmp_path / "t"), str(tmp_path / "c"), "--compat", "trino"])
    assert isinstance(done.exception, sl.InvalidSchema)
    assert "s.x is a nested Variant" in str(done.exception)
