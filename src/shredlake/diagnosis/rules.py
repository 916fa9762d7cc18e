"""The features that each engine can and can't read, as a table of data.

A rule holds for tables or for files that have a need. The first rule of an engine that applies decides. An
engine without a rule that applies can read the table or file. The versions are those that were tested. The
rules of engines that are not tested here follow the documentation of their projects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from shredlake.diagnosis.facts import Facts, Subject

Verdict = Literal["yes", "partly", "no", "unknown"]

ANY: Final = ""
"""The need of a rule that holds for every table or file."""

UNSHRED: Final = "shredlake migrate {address} {address}_plain --unshred"
TEXT: Final = "shredlake migrate {address} {address}_text --compat trino"
RESHRED: Final = "write it again, with another type in shredding= of sl.write_parquet"
SCAN: Final = "from Python, pass sl.Table({address!r}).scan(...) to it: a scan is an Arrow stream"


@dataclass(frozen=True)
class Rule:
    """The verdict of an engine on one feature."""

    engine: str
    subject: Subject
    need: str
    verdict: Verdict
    why: str
    fix: str = ""


ENGINES: Final[Mapping[str, str]] = {
    "shredlake": "this version, with and without Spark 4.1 to 4.3",
    "delta-spark": "4.4 on Spark 4.2",
    "spark": "4.3 without Delta",
    "duckdb": "2.0",
    "deltalake": "1.6",
    "polars": "2.1",
    "pyarrow": "26",
    "trino": "not tested here",
}
"""The engines, and the versions that the rules are about."""

RULES: Final = (
    Rule(
        "spark",
        "table",
        ANY,
        "no",
        "Spark has no Delta reader of its own",
        "add delta-spark, or use sls.read",
    ),
    Rule("pyarrow", "table", ANY, "no", "pyarrow has no Delta reader", SCAN),
    Rule(
        "deltalake",
        "table",
        "feature variantShredding",
        "no",
        "it refuses the reader feature variantShredding",
        UNSHRED,
    ),
    Rule(
        "deltalake",
        "table",
        "feature variantShredding-preview",
        "no",
        "it refuses the reader feature variantShredding-preview",
        UNSHRED,
    ),
    Rule(
        "polars",
        "table",
        "feature variantShredding",
        "no",
        "it reads tables through deltalake, which refuses the reader feature variantShredding",
        "sl.scan_polars({address!r}), or " + TEXT,
    ),
    Rule(
        "polars",
        "table",
        "variant",
        "no",
        "it refuses Parquet files with Variants",
        "sl.scan_polars({address!r}), or " + TEXT,
    ),
    Rule(
        "duckdb",
        "table",
        "shredded",
        "no",
        "its delta extension reads Variants only in files that are not shredded",
        UNSHRED + ", or " + SCAN,
    ),
    Rule("duckdb", "table", "variant", "unknown", "its delta extension is not tested here", SCAN),
    Rule(
        "trino",
        "table",
        "variant",
        "no",
        "Variants in its Delta connector are a draft (trinodb/trino#22403)",
        TEXT,
    ),
    Rule("delta-spark", "file", ANY, "unknown", "it reads tables; Spark reads files"),
    Rule("deltalake", "file", ANY, "unknown", "it reads tables, not files"),
    Rule("trino", "file", ANY, "unknown", "it reads tables, not files"),
    Rule(
        "polars",
        "file",
        "annotated",
        "no",
        "it refuses files with annotated Variants",
        "sl.scan_parquet({address!r}).to_polars()",
    ),
    *(
        Rule("spark", "file", f"shredded {kind}", "no", f"it can't read a path shredded as {kind}", RESHRED)
        for kind in ("time", "uuid", "timestamp_nanos", "timestamp_ntz_nanos")
    ),
    *(
        Rule(
            engine,
            "file",
            "not annotated",
            "partly",
            "it sees a struct of metadata and value",
            "write the file again with sl.write_parquet, which annotates",
        )
        for engine in ("spark", "duckdb")
    ),
    Rule(
        "pyarrow",
        "file",
        "shredded",
        "partly",
        "it sees the columns of the layout, not Variants",
        "sl.read_parquet({address!r})",
    ),
    Rule(
        "pyarrow",
        "file",
        "variant",
        "partly",
        "it sees a struct of metadata and value",
        "sl.read_parquet({address!r})",
    ),
)


def rule_for(engine: str, facts: Facts) -> Rule:
    """The rule that decides.

    >>> rule_for("trino", Facts("table", "events", frozenset({"variant"}))).verdict
    'no'
    >>> rule_for("trino", Facts("table", "events", frozenset())).verdict
    'yes'
    """
    for rule in RULES:
        if (rule.engine, rule.subject) == (engine, facts.subject) and rule.need in (ANY, *facts.needs):
            return rule
    return Rule(engine, facts.subject, ANY, "yes", "")
