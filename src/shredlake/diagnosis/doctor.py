"""`doctor`: which engines can read a table or file, why not, and what makes it readable for them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shredlake.delta.log.snapshot import load_snapshot
from shredlake.delta.storage.storage import Storage, as_argument, normalized_uri
from shredlake.diagnosis.facts import Facts, file_facts, table_facts
from shredlake.diagnosis.probes import Probed, probe
from shredlake.diagnosis.rules import ENGINES, Verdict, rule_for
from shredlake.formatting import html_text


@dataclass(frozen=True)
class EngineVerdict:
    """Whether an engine can read a table or file."""

    engine: str
    version: str
    verdict: Verdict
    checked: bool
    """Whether the engine itself tried to read it; otherwise a rule decided."""
    why: str
    fix: str


@dataclass(frozen=True)
class Diagnosis:
    """The engines that can read a table or file."""

    address: str
    needs: tuple[str, ...]
    engines: tuple[EngineVerdict, ...]

    def of(self, engine: str) -> EngineVerdict:
        """The verdict of one engine."""
        return next(one for one in self.engines if one.engine == engine)

    def __str__(self) -> str:
        lines = [f"{self.address} needs: {', '.join(self.needs) or 'nothing special'}"]
        for one in self.engines:
            how = "tried here" if one.checked else "by rule"
            lines.append(f"{one.engine:<12} {one.version:<46} {one.verdict:<8} {how:<13} {one.why}")
            lines += [f"{'':<12} {one.fix}"] if one.fix else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_text(str(self))


def doctor(
    address: str | os.PathLike[str],
    *,
    run_engines: bool = True,
    run_spark: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Tells which engines can read a Delta table or a Parquet file.

    Engines that are installed are asked to read one row, unless `run_engines` is False; Spark, which takes
    seconds to start, only if `run_spark` is set.

    >>> from shredlake.example import example_table
    >>> diagnosis = doctor(example_table("doctor").uri, run_engines=False)
    >>> diagnosis.of("shredlake").verdict, diagnosis.of("trino").verdict
    ('yes', 'no')
    """
    options = dict(storage_options or {})
    facts = _facts(os.fspath(address), options)
    engines = []
    for engine, version in ENGINES.items():
        probed = probe(engine, facts, options, slow=run_spark) if run_engines else None
        engines.append(_verdict(engine, version, facts, probed))
    return Diagnosis(facts.address, tuple(sorted(facts.needs)), tuple(engines))


def _facts(address: str, options: Mapping[str, Any]) -> Facts:
    if "://" not in address and Path(address).is_file():
        return file_facts(address)
    return table_facts(load_snapshot(Storage(normalized_uri(address), dict(options))))


def _verdict(engine: str, version: str, facts: Facts, probed: Probed | None) -> EngineVerdict:
    """The verdict of the engine itself if it was probed, otherwise that of a rule."""
    rule = rule_for(engine, facts)
    fix = rule.fix.format(address=shlex.quote(as_argument(facts.address)))
    if probed is None:
        return EngineVerdict(engine, version, rule.verdict, False, rule.why, fix)
    if probed.error is not None:
        return EngineVerdict(engine, probed.version, "no", True, probed.error, fix)
    if rule.verdict == "partly":
        return EngineVerdict(engine, probed.version, "partly", True, rule.why, fix)
    return EngineVerdict(engine, probed.version, "yes", True, "", "")
