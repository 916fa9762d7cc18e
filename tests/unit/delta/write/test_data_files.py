"""Writers of data files travel between processes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import shredlake as sl
from delta_tables import (
    ID_AND_VARIANT,
    SHREDDED,
    numbered,
)
from shredlake.delta.protocol.actions import Add
from shredlake.delta.write.data_files import DataFileWriter, file_spec
from shredlake.delta.write.layout import choose


def test_data_file_writers_travel(tmp_path: Path) -> None:
    """Workers get the spec pickled, write, and send the action back as JSON."""
    table = sl.Table.create(tmp_path, ID_AND_VARIANT, properties=SHREDDED)
    spec = file_spec(table.snapshot, choose(table.snapshot, None, lambda place: None))
    writer = DataFileWriter(pickle.loads(pickle.dumps(spec)))
    for batch in numbered(0, 10).to_batches(max_chunksize=3):
        writer.write(batch)
    add = Add.from_json(json.loads(json.dumps(writer.close().to_json())))
    assert json.loads(add.stats or "")["numRecords"] == 10
    assert (tmp_path / add.path).stat().st_size == add.size
