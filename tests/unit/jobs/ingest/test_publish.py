"""Publishing the files of a job: one commit, also if another writer creates the table first."""

from __future__ import annotations

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.delta.storage.storage import Storage
from shredlake.delta.write.create import planned
from shredlake.errors import CommitConflict
from shredlake.jobs.ingest.publish import created_concurrently

SCHEMA = pa.schema([("id", pa.int64())])


def test_the_same_table_of_another_writer_is_used() -> None:
    plan = planned(Storage("memory://publish-same/t"), SCHEMA)
    sl.Table.create("memory://publish-same/t", SCHEMA)
    assert created_concurrently(plan, []).version == 0


def test_another_table_is_a_conflict() -> None:
    plan = planned(Storage("memory://publish-other/t"), SCHEMA)
    sl.Table.create("memory://publish-other/t", pa.schema([("id", pa.string())]))
    with pytest.raises(CommitConflict, match="with a different definition"):
        created_concurrently(plan, [])
