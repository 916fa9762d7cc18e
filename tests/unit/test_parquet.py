"""Files and tables in a program that has registered Arrow's extension type for Variants.

Registration is for the whole process, so each test is a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REGISTER = """
import sys
import pyarrow as pa
import shredlake as sl

class VariantExtension(pa.ExtensionType):
    def __init__(self, storage):
        super().__init__(storage, "arrow.parquet.variant")
    def __arrow_ext_serialize__(self):
        return b""
    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)

pa.register_extension_type(VariantExtension(sl.variant()))
column = sl.from_json(pa.array([f'{{"a": {n}, "b": "x{n}"}}' for n in range(5000)]))
kinds = {
    "plain": ("v", column, lambda table: table["v"]),
    "extended": (
        "v", pa.ExtensionArray.from_storage(VariantExtension(column.type), column), lambda table: table["v"]
    ),
    "nested": (
        "s.v",
        pa.StructArray.from_arrays([column], ["v"]),
        lambda table: table["s"].combine_chunks().field("v"),
    ),
}
place, values, variants_in = kinds[sys.argv[1]]
rows = pa.table({"id": range(5000), place.split(".")[0]: values})
a, narrow = f"{place}:a::bigint AS a", f"{place}:a::bigint between 2100 and 2102"
texts = sl.to_json(column).to_pylist()
"""

FILES = """
for shredding in (None, "infer"):
    file = f"{sys.argv[2]}/{shredding}.parquet"
    sl.write_parquet(rows, file, shredding=shredding)
    assert sl.to_json(variants_in(sl.read_parquet(file))).to_pylist() == texts
    found = sl.read_parquet(file, columns=["id", a], where=narrow)
    assert found.to_pylist() == [{"id": n, "a": n} for n in (2100, 2101, 2102)]
    assert sl.check(file) == []
    assert sl.inspect(file).path == file
"""

TABLES = """
type_ = sl.variant() if place == "v" else values.type
schema = pa.schema([("id", pa.int64()), (rows.column_names[1], type_)])
table = sl.Table.create(sys.argv[2] + "/t", schema, properties={"delta.enableVariantShredding": "true"})
for _ in range(2):
    table.append(rows)
assert table.scan([a], where=narrow).to_arrow().to_pylist() == [{"a": n} for n in (2100, 2101, 2102)] * 2
streamed = pa.table(table.scan())
if place == "v":
    assert isinstance(streamed.schema.field("v").type, VariantExtension)
    copy = sl.Table.create(sys.argv[2] + "/copy", streamed.schema)
    copy.append(table.scan())
    assert copy.schema.equals(table.schema, check_metadata=True)
    assert sl.to_json(copy.scan(["v"]).to_arrow()["v"]).to_pylist() == texts * 2
sl.optimize(table.uri, sort_by=f"{place}:a::bigint")
assert table.refresh().scan(["id"]).to_arrow()["id"].to_pylist() == sorted([*range(5000)] * 2)
table.delete("id > 0")
assert sl.to_json(variants_in(table.scan().to_arrow())).to_pylist() == texts[:1] * 2
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "extended", "nested"])
@pytest.mark.parametrize("work", [FILES, TABLES], ids=["files", "tables"])
def test_variants_are_read_and_written(work: str, kind: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", REGISTER + work, kind, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
