"""After any operations, a table equals a list of dicts at every version."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shredlake as sl
from delta_tables import variants
from shredlake.errors import ConstraintViolation

HISTORIES = int(os.environ.get("SHREDLAKE_HISTORIES", "5"))
STEPS = 14

Row = dict[str, Any]

CONDITIONS: list[tuple[str, Callable[[Row], bool]]] = [
    ("id < 5", lambda row: row["id"] is not None and row["id"] < 5),
    ("id % 3 = 1", lambda row: row["id"] is not None and row["id"] % 3 == 1),
    ("id IS NULL", lambda row: row["id"] is None),
    ("s = 'b'", lambda row: row["s"] == "b"),
    ("s IS NULL OR s = 'a'", lambda row: row["s"] in (None, "a")),
    ("v:a::bigint > 7", lambda row: isinstance(row["v"], dict) and row["v"].get("a", 0) > 7),
    ("v IS NULL", lambda row: row["v"] is ...),
    ("true", lambda row: True),
    ("s = 'absent'", lambda row: False),
]


class Model:
    """The rows of each version, and the columns it had."""

    def __init__(self, table: sl.Table, dice: random.Random) -> None:
        self.table = table
        self.dice = dice
        self.next = 0
        self.versions: dict[int, tuple[list[str], list[Row]]] = {}
        self.record([])

    @property
    def rows(self) -> list[Row]:
        return self.versions[self.table.version][1]

    @property
    def names(self) -> list[str]:
        return list(self.table.schema.names)

    def record(self, rows: list[Row]) -> None:
        """Records the rows of the new version; versions without an entry only changed metadata."""
        self.versions[self.table.version] = self.names, rows

    def new_rows(self, test: Callable[[Row], bool] = lambda row: True) -> list[Row]:
        rows = []
        for _ in range(self.dice.choice([0, 1, 3, 12])):
            self.next += 1
            row: Row = {
                "id": self.dice.choice([self.next, self.next, None]),
                "s": self.dice.choice(["a", "b", None, "two/%="]),
                "v": self.dice.choice(
                    [..., None, {"a": self.next}, {"a": self.next, "x": [1, "é"]}, [1.5], "t"]
                ),
            }
            row |= {name: self.dice.choice([None, self.next]) for name in self.names if name.startswith("c")}
            if test(row):
                rows.append(row)
        return rows

    def arrow(self, rows: list[Row]) -> pa.Table:
        schema = self.table.schema
        arrays = [
            variants(row["v"] for row in rows)
            if name == "v"
            else pa.array([row.get(name) for row in rows], schema.field(name).type)
            for name in schema.names
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    # Operations

    def append(self) -> None:
        rows, before = self.new_rows(), self.rows
        self.table.append(
            self.arrow(rows), shredding=self.dice.choice(["infer", None, {"v": "struct<a bigint>"}])
        )
        self.record(before + rows)

    def overwrite(self) -> None:
        rows = self.new_rows()
        self.table.overwrite(self.arrow(rows))
        self.record(rows)

    def overwrite_where(self) -> None:
        where, test = self.dice.choice(CONDITIONS)
        before, rows = self.rows, self.new_rows(test)
        self.table.overwrite(self.arrow(rows), where=where)
        self.record([row for row in before if not test(row)] + rows)

    def overwrite_where_refused(self) -> None:
        rows, version = [{"id": 3, "s": "b", "v": ...}], self.table.version
        with pytest.raises(ConstraintViolation):
            self.table.overwrite(self.arrow(rows), where="s = 'absent'")
        assert sl.Table(self.table.uri).version == version

    def delete(self) -> None:
        where, test = self.dice.choice(CONDITIONS)
        before = self.rows
        self.table.delete(where)
        self.record([row for row in before if not test(row)])

    def optimize(self) -> None:
        before = self.rows
        self.table.optimize(sort_by=self.dice.choice([(), "id", "v:a::bigint DESC"]))
        self.record(before)

    def restore(self) -> None:
        version = self.dice.choice(list(self.versions))
        _, rows = self.versions[version]
        self.table.restore(version)
        self.record(rows)

    def add_column(self) -> None:
        before = self.rows
        self.table.add_column(pa.field(f"c{self.table.version}", pa.int64()))
        self.record(before)

    def set_properties(self) -> None:
        before = self.rows
        self.table.set_properties({"delta.checkpointInterval": str(self.dice.randrange(2, 9))})
        self.record(before)

    def checkpoint(self) -> None:
        self.table.checkpoint()

    def vacuum(self) -> None:
        """Deletes nothing, because no file is old enough; every version stays readable."""
        assert self.table.vacuum(dry_run=False) == []

    OPERATIONS = (
        append, append, append, overwrite, overwrite_where, overwrite_where_refused, delete, delete, optimize,
        restore, add_column, set_properties, checkpoint, vacuum,
    )  # fmt: skip

    # Comparison

    def check(self, version: int) -> None:
        names, rows = self.versions[version]
        table = sl.Table(self.table.uri, version)
        assert table.schema.names == names
        assert _seen(table.scan(threads=1).to_arrow()) == _modelled(rows, names), f"version {version}"


def _seen(table: pa.Table) -> list[str]:
    """Rows in any order, Variants as JSON; SQL NULL stays apart from Variant null."""
    table = table.set_column(table.schema.get_field_index("v"), "v", sl.to_json(table["v"]))
    return sorted(repr(row) for row in table.to_pylist())


def _modelled(rows: list[Row], names: list[str]) -> list[str]:
    found = []
    for row in rows:
        value = None if row["v"] is ... else sl.Variant.of(row["v"]).to_json()
        found.append(repr({name: value if name == "v" else row.get(name) for name in names}))
    return sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(HISTORIES))
def test_every_version_is_what_the_model_says(number: int, tmp_path: Path) -> None:
    dice = random.Random(number)
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("v", sl.variant())])
    properties = {
        "delta.enableVariantShredding": "true",
        "delta.enableChangeDataFeed": dice.choice(["true", "false"]),
        "delta.columnMapping.mode": dice.choice(["none", "name"]),
    }
    place = tmp_path / "t" if number % 2 else f"memory://model/{number}"
    model = Model(sl.Table.create(place, schema, dice.choice([[], ["s"]]), properties), dice)
    done = []
    for _ in range(STEPS):
        operation = dice.choice(Model.OPERATIONS)
        done.append(operation.__name__)
        operation(model)
        model.check(model.table.version)
    for version in range(model.table.version + 1):
        assert version in model.versions, done
        model.check(version)
    model.table.vacuum(retention_hours=0, enforce_retention=False, dry_run=False)
    model.check(model.table.version)


def test_a_wrong_row_is_noticed(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("v", sl.variant())])
    model = Model(sl.Table.create(tmp_path / "t", schema), random.Random(1))
    model.table.append(model.arrow([{"id": 1, "s": None, "v": ...}]))
    model.record([{"id": 1, "s": None, "v": None}])
    with pytest.raises(AssertionError, match="version 1"):
        model.check(1)
