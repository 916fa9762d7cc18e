"""Nothing that matches is skipped: each case holds a row that a careless reader of statistics would miss.

Every file has two rows a page and eight a row group, so that skipping happens at both levels; the rows that
must come out stand in the case, not in another reader.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from file_parts import COLUMN_INDEX_LENGTH, COLUMN_INDEX_OFFSET
from shredlake import kernels
from shredlake.parquet.format import footer as numbers
from shredlake.parquet.format.chunks import FILE_COLUMN_ORDERS, META_STATISTICS
from shredlake.parquet.format.footer import footer_bytes, read_footer
from shredlake.parquet.format.thrift import BINARY, Struct, write_struct
from shredlake.parquet.read.scan import Scan, scan_parquet
from shredlake.parquet.read.statistics import MAX_VALUE, MIN_VALUE, OLD_MAX, OLD_MIN
from shredlake.shredding.schema import ShreddingSchema
from shredlake.variant.value import Variant

NAN = math.nan


def variants(values: list[Any]) -> pa.Array:
    """Python values as a Variant column; the string "NULL" is a SQL NULL."""
    rows = [None if value == "NULL" else Variant.of(value) for value in values]
    parts = [None if row is None else {"metadata": row.metadata, "value": row.value} for row in rows]
    return pa.array(parts, kernels.variant())


def file_of(values: list[Any], ddl: str | None, *, page: int = 2, group: int = 8) -> io.BytesIO:
    """A file of `id`, the row's number, and `v`, the values shredded by `ddl`."""
    column = variants(values)
    if ddl is not None:
        column = kernels.shred(column, ShreddingSchema.parse(ddl))
    return plain_file({"id": pa.array(range(len(values))), "v": column}, page=page, group=group)


def plain_file(columns: dict[str, Any], *, page: int = 2, group: int = 8, **options: Any) -> io.BytesIO:
    sink = io.BytesIO()
    pq.write_table(
        pa.table(columns), sink, write_page_index=True, max_rows_per_page=page, row_group_size=group,
        use_dictionary=False, **options,
    )  # fmt: skip
    return sink


def ids(file: io.BytesIO, where: str) -> tuple[list[int], Scan]:
    scan = scan_parquet(file, columns=["id"], where=where, threads=1)
    return scan.to_arrow()["id"].to_pylist(), scan


def rows(*values: Any) -> list[dict[str, Any]]:
    """Objects with the one field `x`; `...` leaves it out."""
    return [{} if value is ... else {"x": value} for value in values]


LONG = "z" * 100
ZEROS = (-0.0, -0.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0)

CASES: dict[str, tuple[str, list[Any], str, list[int]]] = {
    # NaN is greater than any number and equal to itself, and no statistic counts it
    "nan above": ("struct<x double>", rows(1.0, NAN, 2.0, 3.0), "v:x::double > 5", [1]),
    "nan equal": ("struct<x double>", rows(1.0, NAN, 2.0, 3.0), "v:x::double = double('NaN')", [1]),
    "nan not less": ("struct<x double>", rows(1.0, NAN, 2.0, 3.0), "not v:x::double < 5", [1]),
    "nan not equal": ("struct<x double>", rows(1.0, 1.0, 1.0, NAN), "v:x::double <> 1", [3]),
    "nan alone": ("struct<x double>", rows(NAN, NAN, 1.0, 1.0), "v:x::double >= 1e300", [0, 1]),
    "nan of a float": ("struct<x double>", rows(1.0, 2.0, 3.0, NAN), "isnan(v:x::double)", [3]),
    # -0.0 and 0.0 are equal, whichever of them a bound says
    "zero equal": ("struct<x double>", rows(*ZEROS), "v:x::double = 0.0", [0, 1]),
    "zero at least": ("struct<x double>", rows(*ZEROS), "v:x::double >= 0.0 and v:x::double < 1", [0, 1]),
    "zero at most": ("struct<x double>", rows(0.0, 0.0, 5.0, 5.0), "v:x::double <= -0.0", [0, 1]),
    # nulls of three kinds: no row, no field, the Variant null
    "missing field": ("struct<x bigint>", rows(1, 2, ..., ..., 3, 4), "v:x::bigint is null", [2, 3]),
    "variant null": ("struct<x bigint>", rows(1, 2, None, 5), "v:x::bigint is null", [2]),
    "sql null": ("struct<x bigint>", [*rows(1, 2), "NULL", {"x": 3}], "v:x::bigint is null", [2]),
    "not null": ("struct<x bigint>", rows(..., ..., 7, ...), "v:x::bigint is not null", [2]),
    "null does not match": ("struct<x bigint>", rows(..., ..., 1, 2), "not v:x::bigint = 1", [3]),
    "null safe": ("struct<x bigint>", rows(1, 2, ..., 4), "v:x::bigint <=> null", [2]),
    "column null": ("struct<x bigint>", [*rows(1, 2), "NULL", {"x": 3}], "v is null", [2]),
    "column not null": ("struct<x bigint>", ["NULL", "NULL", "NULL", {}], "v is not null", [3]),
    "cast makes null": ("struct<x bigint>", rows(1, 2, 3, 4000), "v:x::tinyint is null", [3]),
    # what is not of the leaf's type sits in its `value`
    "number in text": ("struct<x bigint>", rows(1, 2, 3, "123"), "v:x::bigint = 123", [3]),
    "fraction": ("struct<x bigint>", rows(1, 2, 3, Decimal("99.5")), "v:x::double > 50", [3]),
    "text": ("struct<x bigint>", rows(1, 2, "n/a", 4), "v:x::string = 'n/a'", [2]),
    "not an object": ("struct<x bigint>", [*rows(1, 2, 3), 5], "v::bigint = 5", [3]),
    "object residual": (
        "struct<x bigint>",
        [{"x": 1, "y": 9}, {"x": 2}, {"x": 3}, {"y": 7}],
        "v:y::int = 7",
        [3],
    ),
    "below a scalar": ("struct<x bigint>", rows(1, 2, 3, {"z": 4}), "v:x.z::bigint = 4", [3]),
    "below an object": (
        "struct<x struct<z int>>",
        rows({"z": 1}, {"z": 2}, {"w": 3}, 4),
        "v:x.w::int = 3",
        [2],
    ),
    # numbers of other types
    "scale": (
        "struct<x decimal(9,2)>",
        rows(Decimal("1.00"), Decimal("1.25"), 3, 4),
        "v:x::decimal(9,1) = 1.3",
        [1],
    ),
    "finer literal": (
        "struct<x decimal(9,2)>",
        rows(1, 2, Decimal("2.50"), 4),
        "v:x::decimal(9,2) > 2.4999",
        [2, 3],
    ),
    "cut to integer": ("struct<x decimal(9,2)>", rows(1, 2, Decimal("2.99"), 9), "v:x::bigint = 2", [1, 2]),
    "rounded up": ("struct<x decimal(9,2)>", rows(1, 2, Decimal("7.96"), 9), "v:x::decimal(9,1) = 8.0", [2]),
    "negative decimals": (
        "struct<x decimal(30,2)>",
        rows(-5, Decimal("-0.01"), 3, 4),
        "v:x::decimal(30,2) < 0",
        [0, 1],
    ),
    "integer as double": (
        "struct<x bigint>",
        rows(2**53 + 1, 1, 2, 3),
        "v:x::double = 9007199254740992",
        [0],
    ),
    "double as integer": ("struct<x double>", rows(1.9, 3.0, 4.0, 5.0), "v:x::bigint = 1", [0]),
    # order of another type: '10' < '5', true > false, a date is not its text
    "numbers as text": ("struct<x bigint>", rows(3, 10, 20, 100), "v:x::string < '2'", [1, 3]),
    "text as numbers": ("struct<x string>", rows("9", "10", "2", "100"), "v:x::bigint > 9", [1, 3]),
    "text as date": (
        "struct<x string>",
        rows("2024-01-09", "2024-1-10", "b", "c"),
        "v:x::date = date'2024-01-10'",
        [1],
    ),
    "dates": (
        "struct<x date>",
        rows(date(2024, 1, 1), date(1969, 1, 1), date(2030, 1, 1), date(2031, 1, 1)),
        "v:x::date < date'1970-01-01'",
        [1],
    ),
    "date as text": (
        "struct<x date>",
        rows(date(999, 1, 1), date(2024, 1, 1), date(2025, 1, 1), date(2026, 1, 1)),
        "v:x::string like '0999%'",
        [0],
    ),
    "instants": (
        "struct<x timestamp>",
        rows(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)),
        "v:x::timestamp >= timestamp'2024-06-01 02:00:00+02:00'",
        [1],
    ),
    "booleans": ("struct<x boolean>", rows(False, False, False, True), "v:x::boolean", [3]),
    "booleans as numbers": ("struct<x boolean>", rows(False, False, False, True), "v:x::int = 1", [3]),
    "binary is unsigned": (
        "struct<x binary>",
        rows(b"\x01", b"\xff", b"\x02", b"\x03"),
        "v:x::binary > x'80'",
        [1],
    ),
    "text is unsigned": ("struct<x string>", rows("a", "é", "b", "c"), "v:x::string > 'z'", [1]),
    "supplementary": ("struct<x string>", rows("a", "\U00010000", "b", "c"), "v:x::string > '\uffff'", [1]),
    "long text": ("struct<x string>", rows("a", LONG + "b", "c", "d"), f"v:x::string = '{LONG}b'", [1]),
    "prefix": ("struct<x string>", rows("a", "abc%", "b", "c"), "v:x::string like 'abc%'", [1]),
    "uuid": (
        "struct<x uuid>",
        rows(UUID(int=1), UUID(int=2**128 - 1), UUID(int=3), UUID(int=4)),
        f"v:x::string = '{UUID(int=2**128 - 1)}'",
        [1],
    ),
    # arrays: a leaf's statistics are those of all elements of all rows
    "element": ("struct<x array<bigint>>", rows([1, 50], [50, 1], [2], []), "v:x[0]::bigint = 50", [1]),
    "no element": ("struct<x array<bigint>>", rows([1], [2], [3, 4], []), "v:x[1]::bigint is not null", [2]),
    "element residual": ("struct<x array<bigint>>", rows([1], [2], ["77"], [4]), "v:x[0]::bigint = 77", [2]),
    # logic
    "or with unknown": (
        "struct<x bigint>",
        [{"x": 1, "y": 5}, {"x": 2}, {"x": 3}, {"x": 9}],
        "v:x::bigint = 9 or v:y::int = 5",
        [0, 3],
    ),
    "not in": ("struct<x bigint>", rows(1, 1, 1, 2), "v:x::bigint not in (1)", [3]),
    "in": ("struct<x bigint>", rows(1, 2, 30, 4), "v:x::bigint in (7, 30, 99)", [2]),
    "between": ("struct<x bigint>", rows(1, 2, 30, 4), "v:x::bigint between 29 and 31", [2]),
    "two paths": (
        "struct<x bigint>",
        rows(5, 2, 30, 4),
        "v:x::bigint > v:x::bigint - 1 and v:x::bigint = 30",
        [2],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_match_is_found(name: str) -> None:
    ddl, values, where, expected = CASES[name]
    for layout in (ddl, None):
        found, _ = ids(file_of(values, layout), where)
        assert found == expected, layout or "unshredded"
    assert scan_parquet(file_of(values, ddl), where=where).count() == len(expected)


def test_skipping_happens() -> None:
    """Otherwise the cases above would prove nothing."""
    file = file_of(rows(*range(64)), "struct<x bigint>")
    found, scan = ids(file, "v:x::bigint between 20 and 21")
    assert found == [20, 21]
    assert scan.explain().row_groups_read == 1
    assert scan.explain().row_groups_total == 8
    assert scan.explain().pages_read == 1 + 1  # of the leaf and of id
    assert scan.explain().columns == ("id", "v.typed_value.x.typed_value")


def test_a_residual_spoils_its_own_page_only() -> None:
    file = file_of(rows(*range(6), "99", 7, *range(8, 40)), "struct<x bigint>")
    found, scan = ids(file, "v:x::bigint = 99")
    assert found == [6]
    assert scan.explain().row_groups_read == 1
    # Of the leaf, its value and the metadata: the page of rows 6 and 7; then id of row 6.
    assert scan.explain().pages_read == 4


def test_a_path_that_is_nowhere_reads_nothing() -> None:
    file = file_of(rows(*range(16)), "struct<x bigint>")
    found, scan = ids(file, "v:y::bigint = 5")
    assert found == []
    assert scan.explain().columns == ()
    assert ids(file, "v:y::bigint is null")[0] == list(range(16))


@pytest.mark.parametrize(
    ("type_", "values", "where", "expected"),
    [
        (pa.uint32(), [1, 2, 3, 2**32 - 1], "c > 3000000000", [3]),
        (pa.uint64(), [1, 2, 3, 2**64 - 1], "c > 9223372036854775807", [3]),
        (pa.int8(), [1, -128, 3, 4], "c < 0", [1]),
        (pa.decimal128(30, 3), [1, Decimal("-1e20"), 3, 4], "c < 0", [1]),
        (pa.float32(), [1.0, NAN, 2.0, 3.0], "c > 100", [1]),
        (pa.float16(), [1.0, 2.0, 500.0, 3.0], "c > 100", [2]),
        (pa.binary(), [b"a", b"\xff", b"b", b"c"], "c > x'7f'", [1]),
    ],
    ids=str,
)
def test_plain_columns(type_: pa.DataType, values: list[Any], where: str, expected: list[int]) -> None:
    file = plain_file({"id": range(len(values)), "c": pa.array(values, type_)})
    assert ids(file, where)[0] == expected


def test_old_timestamps_have_no_order() -> None:
    moments = [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 20, 3, 4)]
    file = plain_file({"id": range(4), "c": moments}, use_deprecated_int96_timestamps=True)
    assert ids(file, "c > timestamp'2024-01-10 00:00:00Z'")[0] == [1]


def test_old_timestamps_end_later_than_nanoseconds_do() -> None:
    """Spark writes INT96 beyond 2262; pyarrow writes what it can hold, so the day is set in the page."""
    last = datetime(2262, 4, 11, tzinfo=UTC)
    file = plain_file(
        {"id": range(2), "c": [datetime(2024, 1, 1, tzinfo=UTC), last]},
        use_deprecated_int96_timestamps=True,
        compression="none",
    )
    day = (last - datetime(1970, 1, 1, tzinfo=UTC)).days + 2_440_588  # the Julian day
    later = day + 2_824_000  # in the year 9993
    assert file.getvalue().count(day.to_bytes(4, "little")) == 1
    changed = io.BytesIO(file.getvalue().replace(day.to_bytes(4, "little"), later.to_bytes(4, "little")))
    assert ids(changed, "c > timestamp'2262-05-01 00:00:00Z'")[0] == [1]
    assert ids(changed, "c between timestamp'9993-01-01 00:00:00Z' and timestamp'9995-01-01 00:00:00Z'")[
        0
    ] == [1]


# Files whose statistics are not as pyarrow writes them: the footer is replaced, nothing points into it.


def rewritten(file: io.BytesIO, change: Callable[[Struct], None], *, keep_index: bool = False) -> io.BytesIO:
    footer = read_footer(file)
    tree = footer.tree
    change(tree)
    if not keep_index:
        for group in tree.structs(numbers.FILE_ROW_GROUPS):
            for chunk in group.structs(numbers.ROW_GROUP_COLUMNS):
                for number in (4, 5, 6, 7):
                    chunk.remove(number)
    return io.BytesIO(file.getvalue()[: footer.start] + footer_bytes(write_struct(tree)))


def each_statistics(tree: Struct, path: str) -> list[Struct]:
    found = []
    for group in tree.structs(numbers.FILE_ROW_GROUPS):
        for chunk in group.structs(numbers.ROW_GROUP_COLUMNS):
            meta = chunk.struct(numbers.CHUNK_META)
            assert meta is not None
            if b".".join(meta.sequence(3)).decode() == path:  # type: ignore[arg-type]
                statistics = meta.struct(META_STATISTICS)
                assert statistics is not None
                found.append(statistics)
    return found


LEAF = "v.typed_value.x.typed_value"
RESIDUAL = "v.typed_value.x.value"


def test_bounds_cut_short_still_bound() -> None:
    """As writers do that keep the first bytes only: the minimum as it is, the maximum rounded up."""

    def cut(tree: Struct) -> None:
        for statistics in each_statistics(tree, LEAF):
            statistics.set(MIN_VALUE, BINARY, (statistics.binary(MIN_VALUE) or b"")[:3])
            maximum = (statistics.binary(MAX_VALUE) or b"")[:3]
            statistics.set(MAX_VALUE, BINARY, maximum[:-1] + bytes([maximum[-1] + 1]))

    values = rows(*("aaaa", "aaaz") * 4, *("bbbb", "bbbz") * 4)
    file = rewritten(file_of(values, "struct<x string>"), cut)
    found, scan = ids(file, "v:x::string = 'aaaz'")
    assert found == [1, 3, 5, 7]
    assert scan.explain().row_groups_read == 1
    assert ids(file, "v:x::string <> 'aab'")[0] == list(range(16))
    assert ids(file, "v:x::string > 'bbbb'")[0] == [9, 11, 13, 15]


def test_text_cut_inside_a_character() -> None:
    """The é of both bounds loses its second byte: fine below, no bound above."""

    def cut(tree: Struct) -> None:
        for statistics in each_statistics(tree, LEAF):
            statistics.set(MIN_VALUE, BINARY, (statistics.binary(MIN_VALUE) or b"")[:2])
            statistics.set(MAX_VALUE, BINARY, (statistics.binary(MAX_VALUE) or b"")[:2])

    file = rewritten(file_of(rows("aé", "aéz"), "struct<x string>"), cut)
    assert ids(file, "v:x::string = 'aéz'")[0] == [1]
    assert ids(file, "v:x::string < 'b'")[0] == [0, 1]


def test_without_a_declared_order_bounds_mean_nothing() -> None:
    def lie(tree: Struct) -> None:
        tree.remove(FILE_COLUMN_ORDERS)
        for statistics in each_statistics(tree, LEAF):
            statistics.set(MIN_VALUE, BINARY, (100).to_bytes(8, "little"))
            statistics.set(MAX_VALUE, BINARY, (200).to_bytes(8, "little"))
            statistics.remove(OLD_MIN)
            statistics.remove(OLD_MAX)

    assert ids(rewritten(file_of(rows(1, 2, 3, 4), "struct<x bigint>"), lie), "v:x::bigint = 3")[0] == [2]


def test_an_unknown_order_means_nothing_either() -> None:
    def lie(tree: Struct) -> None:
        for order in tree.structs(FILE_COLUMN_ORDERS):
            order.fields = {9: order.fields.pop(1)}
        for statistics in each_statistics(tree, LEAF):
            for number in (MIN_VALUE, MAX_VALUE):
                statistics.set(number, BINARY, (100).to_bytes(8, "little"))
            statistics.remove(OLD_MIN)
            statistics.remove(OLD_MAX)

    assert ids(rewritten(file_of(rows(1, 2, 3, 4), "struct<x bigint>"), lie), "v:x::bigint = 3")[0] == [2]


def test_old_statistics_serve_integers_but_not_text() -> None:
    """They compared bytes as signed, so é came before a."""

    def age(tree: Struct) -> None:
        for statistics in each_statistics(tree, LEAF):
            for old, new in ((OLD_MIN, MIN_VALUE), (OLD_MAX, MAX_VALUE)):
                statistics.set(old, BINARY, statistics.binary(new) or b"")
                statistics.remove(new)

    def age_and_swap(tree: Struct) -> None:
        age(tree)
        for statistics in each_statistics(tree, LEAF):
            statistics.set(OLD_MIN, BINARY, "é".encode())
            statistics.set(OLD_MAX, BINARY, b"a")

    numbers_file = rewritten(file_of(rows(*range(16)), "struct<x bigint>"), age)
    found, scan = ids(numbers_file, "v:x::bigint = 9")
    assert found == [9]
    assert scan.explain().row_groups_read == 1
    text_file = rewritten(file_of(rows("a", "é", "b", "c"), "struct<x string>"), age_and_swap)
    assert ids(text_file, "v:x::string = 'b'")[0] == [2]


def test_a_residual_of_unknown_size_may_hold_anything() -> None:
    def forget(tree: Struct) -> None:
        for statistics in each_statistics(tree, RESIDUAL):
            statistics.remove(3)

    file = rewritten(file_of(rows(1, 2, 3, "50"), "struct<x bigint>"), forget)
    assert ids(file, "v:x::bigint = 50")[0] == [3]


def test_a_bound_that_is_nan_is_no_bound() -> None:
    def spoil(tree: Struct) -> None:
        for statistics in each_statistics(tree, LEAF):
            for number in (MIN_VALUE, MAX_VALUE):
                statistics.set(number, BINARY, bytes.fromhex("000000000000f87f"))

    file = rewritten(file_of(rows(1.0, 2.0, 3.0, 4.0), "struct<x double>"), spoil)
    assert ids(file, "v:x::double = 3")[0] == [2]


def test_without_column_index_rows_are_still_read_by_page() -> None:
    """An offset index alone says where pages are: nothing is skipped by it, yet late columns profit."""

    def forget(tree: Struct) -> None:
        for group in tree.structs(numbers.FILE_ROW_GROUPS):
            for chunk in group.structs(numbers.ROW_GROUP_COLUMNS):
                chunk.remove(COLUMN_INDEX_OFFSET)
                chunk.remove(COLUMN_INDEX_LENGTH)

    file = rewritten(file_of(rows(*range(16)), "struct<x bigint>", group=16), forget, keep_index=True)
    found, scan = ids(file, "v:x::bigint = 9")
    assert found == [9]
    assert scan.explain().pages_read == 8 + 1


def test_a_page_cut_by_the_breaks_of_another_column_keeps_its_nulls_unknown() -> None:
    """x has one page with a null in it; s, long text, has many: the null may be in any part of the page."""
    numbers_column = [None if n == 5 else n for n in range(16)]
    texts = [f"{n:02}" + "s" * 200 for n in range(16)]
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"id": range(16), "x": numbers_column, "s": texts}), sink, write_page_index=True,
        data_page_size=300, write_batch_size=2, use_dictionary=False, compression="none",
    )  # fmt: skip
    found, scan = ids(sink, "x is null and s > '04'")
    assert found == [5]
    assert scan.explain().pages_total > 8
    assert ids(sink, "x is null and s > '06'")[0] == []
    assert ids(sink, "x is not null and s < '02'")[0] == [0, 1]


def test_a_page_of_lists_has_more_values_than_rows() -> None:
    """As many nulls as the page has rows are not all of its values: the last list has one more."""
    values = [{"l": [[1], [2]]}, {"l": [[3]]}, {"l": [[4]]}, {"l": [[5], {"k": 7}]}]
    found, _ = ids(file_of(values, "struct<l array<array<bigint>>>"), "v:l[1].k::bigint = 7")
    assert found == [3]
    found, _ = ids(file_of(values, "struct<l array<array<bigint>>>"), "v:l[1].k::bigint IS NOT NULL")
    assert found == [3]
