"""Typed keyword arguments of jobs."""

from __future__ import annotations

from dataclasses import fields

from shredlake.jobs.arguments import (
    IngestArguments,
)
from shredlake.jobs.ingest.ingest import IngestOptions

INTERNAL = {"keep_layout", "transaction"}
"""Options that only streams set."""


def test_every_option_of_an_ingest_is_a_typed_argument() -> None:
    assert set(IngestArguments.__annotations__) == {f.name for f in fields(IngestOptions)} - INTERNAL
