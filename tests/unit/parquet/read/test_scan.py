"""Scans over files of every writer and layout."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import obstore.store
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from shredlake import kernels
from shredlake.errors import CastError, InvalidExpression, InvalidFile, InvalidSchema, ShreddingConflict
from shredlake.expr import parse_predicate
from shredlake.parquet.format.row_ranges import Rows
from shredlake.parquet.legacy.convert import write_draft
from shredlake.parquet.read import file_reader
from shredlake.parquet.read.open_file import OpenFile
from shredlake.parquet.read.plan import make_plan
from shredlake.parquet.read.scan import Scan, read_parquet, scan_parquet
from shredlake.parquet.write.writer import WriteOptions, write_parquet
from shredlake.shredding.schema import ShreddingSchema

TEXTS = [
    '{"a":1,"b":{"c":"x"},"tags":["p","q"]}',
    '{"a":"n/a","b":{"c":"y","d":true},"other":[1,{"z":2}]}',
    "[1,2,3]",
    None,
    '{"b":7,"tags":[]}',
    "null",
]
LAYOUTS = [
    None,
    "struct<a bigint>",
    "struct<a string, b struct<c string>>",
    "struct<b struct<c string, d boolean>, tags array<string>>",
    "struct<b variant, other array<variant>>",
    "array<bigint>",
    "variant",
]


def column(texts: Sequence[str | None], ddl: str | None = None) -> pa.Array:
    plain = kernels.from_json(pa.array(texts, pa.string()))
    return plain if ddl in (None, "variant") else kernels.shred(plain, ShreddingSchema.parse(ddl))


def written(table: pa.Table | dict[str, Any], **options: Any) -> io.BytesIO:
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink, **options)
    return sink


def annotated(table: dict[str, Any], folder: Path, **shredding: str) -> Path:
    path = folder / "annotated.parquet"
    write_parquet(
        pa.table(table), path, shredding={k: ShreddingSchema.parse(v) for k, v in shredding.items()}
    )
    return path


def texts(table: pa.Table, name: str = "v") -> list[str | None]:
    return kernels.to_json(table[name]).to_pylist()


@pytest.mark.parametrize("ddl", LAYOUTS)
def test_whole_variants_and_paths_of_every_layout(ddl: str | None) -> None:
    file = written({"v": column(TEXTS, ddl)})
    assert texts(read_parquet(file)) == TEXTS
    found = read_parquet(
        file,
        columns=[
            "v:a::string AS a",
            "v:b.c::string AS c",
            "v:b::string AS b",
            "v:tags[1]::string AS tag",
            "v:other[1].z::int AS z",
            "v:[1]::int AS second",
            "v:nowhere::int AS nowhere",
        ],
    )
    assert found.to_pydict() == {
        "a": ["1", "n/a", None, None, None, None],
        "c": ["x", "y", None, None, None, None],
        "b": ['{"c":"x"}', '{"c":"y","d":true}', None, None, "7", None],
        "tag": ["q", None, None, None, None, None],
        "z": [None, 2, None, None, None, None],
        "second": [None, None, 2, None, None, None],
        "nowhere": [None] * 6,
    }


def test_files_of_all_layouts_are_one_data_set(tmp_path: Path) -> None:
    for number, ddl in enumerate(LAYOUTS):
        table = {"id": range(number * 10, number * 10 + len(TEXTS)), "v": column(TEXTS, ddl)}
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet")
    table = read_parquet(tmp_path)
    assert texts(table) == TEXTS * len(LAYOUTS)
    scan = scan_parquet(tmp_path / "*.parquet", columns=["id", "v:a AS a"], where="v:a::string is not null")
    assert scan.to_arrow()["id"].to_pylist() == [n * 10 + row for n in range(len(LAYOUTS)) for row in (0, 1)]
    assert scan.schema == pa.schema([("id", pa.int64()), ("a", kernels.variant())])
    assert scan.explain().files_total == len(LAYOUTS)


def test_three_views(tmp_path: Path) -> None:
    path = annotated({"v": column(TEXTS), "w": column(TEXTS)}, tmp_path, v="struct<a bigint>")
    assert read_parquet(path, variants="json")["v"].to_pylist() == TEXTS
    raw = read_parquet(path, variants="struct")
    assert raw.schema.field("v").type.get_field_index("typed_value") == 2
    assert texts(pa.table({"v": kernels.unshred(raw["v"])})) == TEXTS
    mixed = read_parquet(path, variants={"v": "json", "w": "variant"})
    assert mixed["v"].to_pylist() == TEXTS
    assert mixed.schema.field("w").type == kernels.variant()
    with pytest.raises(
        InvalidExpression, match="variants='text': expected one of 'variant', 'struct', 'json'"
    ):
        read_parquet(path, variants="text")  # type: ignore[arg-type]


@pytest.mark.parametrize("ddl", [None, "struct<a bigint>"])
def test_variants_inside_structs_lists_and_maps(ddl: str | None) -> None:
    v = column(TEXTS, ddl)
    offsets = pa.array([0, 2, None, 4, 6, 6], pa.int32())
    nested = {
        "s": pa.StructArray.from_arrays([v, pa.array(range(6))], names=["inner", "n"]),
        "l": pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 5, 6, 6], pa.int32()), v),
        "m": pa.MapArray.from_arrays(pa.array([0, 1, 3, 3, 4, 6, 6], pa.int32()), list("abcdef"), v),
        "deep": pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([v], names=["x"])).slice(0, 5),
    }
    count = 5
    file = written({name: array.slice(0, count) for name, array in nested.items()}, row_group_size=2)
    table = read_parquet(file, variants="json")
    assert [row["inner"] for row in table["s"].to_pylist()] == TEXTS[:count]
    assert table["l"].to_pylist() == [TEXTS[:2], [], TEXTS[2:3], TEXTS[3:5], TEXTS[5:]]
    assert table["m"].to_pylist()[1] == [("b", TEXTS[1]), ("c", TEXTS[2])]
    assert table["deep"].to_pylist()[3] == [{"x": TEXTS[4]}, {"x": TEXTS[5]}]
    whole = read_parquet(file)
    assert whole.schema.field("l").type.value_type == kernels.variant()
    found = read_parquet(file, columns=["s.n", "s.inner:a::string AS a"], where="s.inner:b.c::string = 'y'")
    assert found.to_pydict() == {"n": [1], "a": ["n/a"]}


def test_field_order_missing_value_and_private_fields() -> None:
    """Layouts of other writers: typed_value first, no value, own fields that start with `_`."""
    rows = [{"x": 5}, {}, None]
    typed = pa.StructArray.from_arrays(
        [pa.array([5, None, None], pa.int64()), pa.array(["?", "?", "?"])], names=["typed_value", "_spark"]
    )
    v = pa.StructArray.from_arrays(
        [
            pa.StructArray.from_arrays([typed], names=["x"], mask=pa.array([False, False, True])),
            pa.array([b"\x01\x01\x00\x01x"] * 3),
            pa.array([1, 2, 3]),
        ],
        names=["typed_value", "metadata", "_private"],
        mask=pa.array([False, False, True]),
    )
    file = written({"v": v})
    assert texts(read_parquet(file)) == ['{"x":5}', "{}", None]
    scan = scan_parquet(file, columns=["v", "v:x::int AS x"])
    assert scan.to_arrow()["x"].to_pylist() == [5, None, None]
    assert scan.explain().columns == ("v.typed_value.x.typed_value", "v.metadata")
    assert len(rows) == 3


def test_unknown_fields_are_refused_where_a_variant_is_meant() -> None:
    v = pa.array([{"metadata": b"\x01\x00\x00", "value": b"\x00", "extra": 1}])
    file = written({"v": v})
    assert read_parquet(file)["v"].to_pylist() == v.to_pylist()  # nothing says that this is a Variant
    with pytest.raises(
        InvalidFile, match=r"the open file: v: expected a group of .* found metadata, value, extra"
    ):
        read_parquet(file, variants={"v": "variant"})
    inner = pa.array([{"value": None, "typed_value": 1, "extra": 1}])
    typed = pa.StructArray.from_arrays([inner], names=["x"])
    shredded = pa.StructArray.from_arrays(
        [pa.array([b"\x01\x00\x00"]), typed], names=["metadata", "typed_value"]
    )
    with pytest.raises(InvalidFile, match=r"v\.typed_value\.x: .* found value, typed_value, extra"):
        read_parquet(written({"v": shredded}))


def test_keys_that_look_like_paths() -> None:
    rows = ['{"a.b":1,"a":{"b":2},"`":3,"it\'s":4,"é":5}'] * 3
    file = written(
        {"v": column(rows, "struct<`a.b` bigint, a struct<b bigint>, ```` bigint, `it's` int, `é` int>")}
    )
    found = read_parquet(
        file, columns=["v:['a.b']::int AS x", "v:a.b::int AS y", "v:['`']::int AS z", "v:['é']::int AS e"]
    )
    assert found.to_pylist() == [{"x": 1, "y": 2, "z": 3, "e": 5}] * 3
    assert texts(read_parquet(file)) == [sorted_keys(row) for row in rows]


def sorted_keys(text: str) -> str | None:
    return kernels.to_json(kernels.from_json(pa.array([text])))[0].as_py()


def test_columns_that_only_some_files_have() -> None:
    one = written({"id": pa.array([1], pa.int32()), "v": column(['{"a":1}'])})
    two = written({"id": pa.array([2], pa.int64()), "name": ["x"]})
    table = read_parquet([one, two])
    assert table.column_names == ["id", "v", "name"]
    assert table.schema.field("id").type == pa.int64()
    assert texts(table) == ['{"a":1}', None]
    assert read_parquet([one, two], columns=["id"], where="v:a::int is null").to_pydict() == {"id": [2]}
    assert read_parquet([one, two], columns=["id"], where="name = 'x'").to_pydict() == {"id": [2]}
    three = written({"id": ["text"]})
    four = written({"id": [[1]]})
    with pytest.raises(InvalidSchema, match=r"id is .* in .* and .* in"):
        read_parquet([three, four])


def test_mistakes_in_a_query_are_explained() -> None:
    file = written({"id": [1], "v": column(['{"a":1}'])})
    with pytest.raises(InvalidExpression, match="no file has a column 'w'; the columns are: id, v"):
        read_parquet(file, columns=["w"])
    with pytest.raises(InvalidExpression, match="no file has a column 'w'"):
        read_parquet(file, where="w:a::int = 1")
    with pytest.raises(InvalidExpression, match="id is not a Variant but int64"):
        read_parquet(file, columns=["id:a::int"])
    with pytest.raises(InvalidExpression, match="columns holds an int; write columns as SQL strings"):
        read_parquet(file, columns=[1])  # type: ignore[list-item]
    with pytest.raises(InvalidFile, match="is not a Parquet file"):
        read_parquet(io.BytesIO(b"this is a text file, not Parquet"))


def test_strict_reading() -> None:
    file = written({"v": column(['{"a":1}', '{"a":"x"}'], "struct<a bigint>")})
    assert read_parquet(file, columns=["v:a::bigint AS a"]).to_pydict() == {"a": [1, None]}
    with pytest.raises(CastError, match="the open file, row group 0"):
        read_parquet(file, columns=["v:a::bigint AS a"], strict=True)
    assert read_parquet(file, columns=["try_variant_get(v, '$.a', 'int') AS a"], strict=True).num_rows == 2
    conflict = pa.array(
        [{"metadata": b"\x01\x00\x00", "value": b"\x0c\x01", "typed_value": 7}],
        pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())]),
    )
    with pytest.raises(ShreddingConflict, match="the open file, row group 0, v"):
        read_parquet(written({"v": conflict}), strict=True)


def test_batches_are_no_larger_than_asked() -> None:
    file = written({"id": range(100)}, row_group_size=30)
    batches = list(scan_parquet(file, batch_size=8).to_batches())
    assert max(batch.num_rows for batch in batches) == 8
    assert pa.Table.from_batches(batches)["id"].to_pylist() == list(range(100))
    assert scan_parquet(file).count() == 100
    assert scan_parquet(file, where="id % 2 = 0").count() == 50
    empty = scan_parquet(file, columns=["id + 1 AS next"], where="id > 1000")
    assert empty.to_arrow().schema == pa.schema([("next", pa.int64())])
    assert empty.explain().row_groups_read == 0


@pytest.mark.parametrize("page_index", [True, False])
@pytest.mark.parametrize("where", [None, "v:n::int % 10 = 3", "id >= 500 and id < 900"])
def test_large_row_groups_are_read_in_windows(
    monkeypatch: pytest.MonkeyPatch, page_index: bool, where: str | None
) -> None:
    monkeypatch.setattr(file_reader, "WINDOW_BYTES", 20_000)
    rows = [f'{{"n":{n},"s":"{"x" * (n % 50)}"}}' for n in range(5000)]
    table = {"id": range(5000), "v": column(rows, "struct<n int>")}
    file = written(table, write_page_index=page_index, max_rows_per_page=500)
    scan = scan_parquet(file, where=where)
    batches = list(scan.to_batches())
    keep = [
        n
        for n in range(5000)
        if where is None or ("%" in where and n % 10 == 3) or (">=" in where and 500 <= n < 900)
    ]
    found = pa.Table.from_batches(batches)
    assert found["id"].to_pylist() == keep
    assert texts(found) == [rows[n] for n in keep]
    if where is None or "%" in where:
        assert len(batches) == 5


def test_the_reader_may_stop_early() -> None:
    file = written({"id": range(1000)}, row_group_size=10)
    scan = scan_parquet(file)
    batches = scan.to_batches()
    assert next(batches).num_rows == 10
    batches.close()  # type: ignore[attr-defined]
    assert 0 < scan.explain().row_groups_read < 20


def test_draft_layout(tmp_path: Path) -> None:
    path = tmp_path / "draft.parquet"
    rows = ['{"a":1,"b":{"c":"x"}}', '{"a":"n/a"}', None, "[1]"]
    write_draft(
        pa.table({"id": range(4), "v": column(rows)}), path, {"v": "struct<a bigint, b struct<c string>>"}
    )
    assert texts(read_parquet(path)) == rows
    found = read_parquet(path, columns=["id", "v:b.c::string AS c"], where="v:a::string = '1'")
    assert found.to_pydict() == {"id": [0], "c": ["x"]}
    today = written({"id": [9], "v": column(['{"a":1}'], "struct<a bigint>")})
    both = read_parquet([path, today], where="v:a::bigint = 1", columns=["id"])
    assert both.to_pydict() == {"id": [0, 9]}


def test_stores_and_file_systems(tmp_path: Path) -> None:
    file = written({"id": range(100), "v": column(['{"a":1}'] * 100, "struct<a int>")}, row_group_size=20)
    memory = obstore.store.MemoryStore()
    obstore.put(memory, "t/one.parquet", file.getvalue())
    obstore.put(memory, "t/two.parquet", file.getvalue())
    assert scan_parquet("t", where="id < 30", store=memory).count() == 60
    (tmp_path / "one.parquet").write_bytes(file.getvalue())
    local = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    assert read_parquet("one.parquet", columns=["id"], where="v:a::int = 1", store=local).num_rows == 100


def test_an_empty_file_has_columns() -> None:
    file = written({"id": pa.array([], pa.int64()), "v": column([], "struct<a int>")})
    table = read_parquet(file, columns=["v", "v:a::int AS a"], where="v:a::int > 1")
    assert table.num_rows == 0
    assert table.schema == pa.schema([("v", kernels.variant()), ("a", pa.int32())])


def test_late_columns_are_read_for_matching_rows_only(tmp_path: Path) -> None:
    rows = [f'{{"n":{n},"payload":"{str(n) * 100}"}}' for n in range(10_000)]
    table = {"v": column(rows, "struct<n int, payload string>")}
    file = written(table, write_page_index=True, max_rows_per_page=500, use_dictionary=False)
    scan = scan_parquet(file, columns=["v"], where="v:n::int in (77, 4321)")
    assert texts(scan.to_arrow()) == [rows[77], rows[4321]]
    explained = scan.explain()
    assert explained.pages_read <= 2 + 3 * 2
    assert explained.bytes_read < explained.bytes_total / 4
    assert "row groups" in str(explained)


@pytest.mark.parametrize("window", [1 << 26, 5_000])
@pytest.mark.parametrize("page_index", [True, False])
def test_deleted_rows_are_left_out(monkeypatch: pytest.MonkeyPatch, window: int, page_index: bool) -> None:
    monkeypatch.setattr(file_reader, "WINDOW_BYTES", window)
    options = {"row_group_size": 2000, "write_page_index": page_index, "max_rows_per_page": 100}
    file = OpenFile(written({"id": range(5000), "v": column(['{"a":1}'] * 5000, "struct<a int>")}, **options))
    live = {file: lambda start, stop: pa.array([row % 3 > 0 for row in range(start, stop)])}
    for where, keep in ((None, range(5000)), ("id >= 1500 and id < 2500", range(1500, 2500))):
        predicate = None if where is None else parse_predicate(where)
        plan = make_plan([file], None, predicate, views="variant", live=live)
        expected = [row for row in keep if row % 3]
        assert Scan(plan).to_arrow()["id"].to_pylist() == expected
        assert Scan(plan).count() == len(expected)


class Marked(pa.ExtensionType):
    """A type of a user's own; Python's default makes it unfit as a key."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "shredlake.test.marked")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Marked:
        return cls()


@pytest.fixture
def marked() -> Iterator[pa.DataType]:
    pa.register_extension_type(Marked())
    yield Marked()
    pa.unregister_extension_type("shredlake.test.marked")


def test_texts_from_dictionaries_are_as_others(tmp_path: Path, marked: pa.DataType) -> None:
    """Chunks inside structs with only dictionary pages are read as indexes; the result is the same."""
    names = ["red", "green", None, "blue"] * 500
    nested = [None if name is None else {"a": {"b": name}} for name in names]
    twins = pa.StructArray.from_arrays(
        [pa.array(names), pa.array(range(2000))],
        fields=[pa.field("a", pa.string()), pa.field("a", pa.int64())],
    )
    columns = {
        "few": pa.array(names),
        "bytes": pa.array(names).cast(pa.binary()),
        "many": pa.array([f"{n:032}" for n in range(2000)]),
        "large": pa.array(names, pa.large_string()),
        "view": pa.array(names, pa.string_view()),
        "indexes": pa.array(names).dictionary_encode(),
        "nested": pa.array(nested),
        "twins": twins,
        "marked": pa.ExtensionArray.from_storage(marked, pa.array(names)),
        "lists": pa.array([[name, "x"] if n % 3 else [] for n, name in enumerate(names)]),
        "views": pa.array([[name] for name in names], pa.list_view(pa.string())),
        "maps": pa.array([[("k", name)] for name in names], pa.map_(pa.string(), pa.string())),
        "nothing": pa.array([None] * 2000, pa.string()),
    }
    path = tmp_path / "f.parquet"
    # Dictionaries of 4 kB: `many` begins with one and goes on without.
    pq.write_table(
        pa.table(columns),
        path,
        dictionary_pagesize_limit=4096,
        write_batch_size=50,
        row_group_size=700,
        use_compliant_nested_type=False,
    )
    file = OpenFile(str(path))
    expected = pq.read_table(path)
    as_indexes = set()
    for number, leaf in file.leaves.items():
        [(name, found)] = file.read(1, frozenset({number}), Rows.all(700)).items()
        if name not in ("twins", "maps"):  # which have two leaves
            plain = file.plain(name, found)
            assert plain.equals(expected.column(name).combine_chunks()[700:1400]), name
        as_indexes |= {leaf.path for chosen in file._readers if number in chosen}
    assert as_indexes == {("few",), ("bytes",), ("nested", "a", "b"), ("nothing",)}
    assert read_parquet(path).equals(expected)
    one = read_parquet(path, columns=["nested.a.b AS b"], where="few = 'green'")
    assert one.column("b").to_pylist() == ["green"] * 500


@pytest.mark.parametrize("compliant", [True, False])
@pytest.mark.parametrize(
    ("nested", "kind"),
    [
        (lambda text: text, lambda text: text),
        (lambda text: {"t": text}, lambda text: pa.struct([("t", text)])),
        (lambda text: [text], pa.list_),
        (lambda text: [{"t": [text]}], lambda text: pa.list_(pa.struct([("t", pa.list_(text))]))),
    ],
    ids=["plain", "struct", "list", "deep"],
)
@pytest.mark.parametrize("text", [pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_indexes_beyond_the_dictionary_are_damage(
    tmp_path: Path, nested: Any, kind: Any, text: pa.DataType, compliant: bool
) -> None:
    """Also where the file's Arrow schema declares dictionaries; DuckDB would follow such indexes anywhere."""
    path = tmp_path / "f.parquet"
    table = pa.table({"s": pa.array([nested(value) for value in "abca" * 16], kind(text))})
    pq.write_table(table, path, compression="none", use_compliant_nested_type=compliant)
    chunk = pq.read_metadata(path).row_group(0).column(0)
    raw = bytearray(path.read_bytes())
    last = chunk.dictionary_page_offset + chunk.total_compressed_size - 1
    assert raw[last] == 0b00_10_01_00  # the last four of the indexes, two bits each
    raw[last] = 0b11_10_01_00
    path.write_bytes(raw)
    with pytest.raises(InvalidFile, match=r"f\.parquet, row group 0: "):
        read_parquet(path)


def test_a_page_read_for_a_variant_and_for_a_path_of_it_counts_once(tmp_path: Path) -> None:
    texts = [f'{{"id": {row}, "kind": "k{row % 3}"}}' for row in range(1000)]
    file = tmp_path / "pages.parquet"
    rows = pa.table({"v": kernels.from_json(pa.array(texts))})
    write_parquet(rows, file, options=WriteOptions(page_rows=100), shredding="infer")
    for where in (None, "v:id::bigint % 2 = 0", "v:id::bigint between 150 and 320"):
        explained = scan_parquet(file, ["v", "v:id::bigint AS id"], where).explain()
        assert 0 < explained.pages_read <= explained.pages_total
