"""Spark SQL text to trees: what is taken, what it becomes, and where errors point."""

from __future__ import annotations

import datetime as dt
import pathlib
from decimal import Decimal

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression, UnsupportedExpression
from shredlake.expr import (
    And,
    Arithmetic,
    Cast,
    Column,
    Compare,
    Expr,
    Get,
    In,
    IsNan,
    IsNull,
    IsVariantNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    conjuncts,
    parse_columns,
    parse_predicate,
    parse_type,
    references,
    to_sql,
)
from shredlake.kernels.cast_options import CastOptions
from shredlake.variant import Path

INT, BIGINT, STRING = parse_type("int"), parse_type("bigint"), parse_type("string")
A = Get("v", Path(("a",)), INT)
ONE = Literal(1, INT)


def get(column: str, *steps: str | int, type: str | None = None, strict: bool | None = None) -> Get:
    return Get(column, Path(steps), None if type is None else parse_type(type), strict)


@pytest.mark.parametrize(
    ("sql", "tree"),
    [
        ("v:a", get("v", "a")),
        ("v:a.b[0].c", get("v", "a", "b", 0, "c")),
        ("v:['a b'].c", get("v", "a b", "c")),
        ('v:a["x"]', get("v", "a", "x")),
        ("v:`$type`", get("v", "$type")),
        ("v:`a.b`.c", get("v", "a.b", "c")),
        ("v:[0]", get("v", 0)),
        ("v:select.from", get("v", "select", "from")),
        ("v:a::int", A),
        ("v:a::variant", get("v", "a")),
        ("cast(v:a AS int)", A),
        ("try_cast(v:a AS int)", get("v", "a", type="int", strict=False)),
        ("variant_get(v, '$.a', 'int')", get("v", "a", type="int", strict=True)),
        ("VARIANT_GET(v, '$.a')", get("v", "a", strict=True)),
        ("try_variant_get(v, '$[\"a\"][2]', 'double')", get("v", "a", 2, type="double", strict=False)),
        ("variant_get(v:a, '$.b', 'int')", get("v", "a", "b", type="int", strict=True)),
        ("s.v:a::int", get("s.v", "a", type="int")),
        ("`my col`:a", get("my col", "a")),
        ("`a.b`:c", get("`a.b`", "c")),
        ("v:a::string::int", Cast(get("v", "a", type="string"), INT)),
        ("v:a::struct<x int, y array<string>>", get("v", "a", type="struct<x int, y array<string>>")),
        ("v:a::map<string, double>", get("v", "a", type="map<string, double>")),
        ("c", Column("c")),
        ("s.a.b", Column("s.a.b")),
        ("a.b.c.d.e.f", Column("a.b.c.d.e.f")),
        ("is_variant_null(v:a)", IsVariantNull(get("v", "a"))),
        ("isnan(c)", IsNan(Column("c"))),
        ("-c", Negate(Column("c"))),
        ("c + 1 * 2", Arithmetic("+", Column("c"), Arithmetic("*", ONE, Literal(2, INT)))),
        ("c % 2", Arithmetic("%", Column("c"), Literal(2, INT))),
    ],
)  # fmt: skip
def test_operands(sql: str, tree: Expr) -> None:
    assert parse_columns([sql])[0].expr == tree


@pytest.mark.parametrize(
    ("sql", "tree"),
    [
        ("v:a::int = 1", Compare("=", A, ONE)),
        ("v:a::int == 1", Compare("=", A, ONE)),
        ("v:a::int <> 1", Compare("<>", A, ONE)),
        ("v:a::int != 1", Compare("<>", A, ONE)),
        ("1 < v:a::int", Compare("<", ONE, A)),
        ("v:a::int <=> 1", Compare("<=>", A, ONE)),
        ("v:a::int IS DISTINCT FROM 1", Not(Compare("<=>", A, ONE))),
        ("v:a::int IN (1, NULL)", In(A, (ONE, Literal(None, parse_type("void"))))),
        ("v:a::int NOT IN (1)", Not(In(A, (ONE,)))),
        ("v:a::int IN (1, b)", Or((Compare("=", A, ONE), Compare("=", A, Column("b"))))),
        ("v:a::int BETWEEN 1 AND b", And((Compare(">=", A, ONE), Compare("<=", A, Column("b"))))),
        ("v:a::int NOT BETWEEN 1 AND 1", Not(And((Compare(">=", A, ONE), Compare("<=", A, ONE))))),
        ("c LIKE 'x%'", Like(Column("c"), "x%")),
        ("c NOT LIKE 'x%'", Not(Like(Column("c"), "x%"))),
        ("c LIKE 'x!%' ESCAPE '!'", Like(Column("c"), "x!%", "!")),
        ("startswith(c, '50%')", Like(Column("c"), "50\\%%")),
        ("c IS NULL", IsNull(Column("c"))),
        ("c IS NOT NULL", Not(IsNull(Column("c")))),
        ("isnotnull(c)", Not(IsNull(Column("c")))),
        ("c IS TRUE", Compare("<=>", Column("c"), Literal(True, parse_type("boolean")))),
        ("NOT c", Not(Column("c"))),
        ("!c", Not(Column("c"))),
        ("a AND (b AND c)", And((Column("a"), Column("b"), Column("c")))),
        ("a OR b AND c", Or((Column("a"), And((Column("b"), Column("c")))))),
    ],
)
def test_conditions(sql: str, tree: Expr) -> None:
    assert parse_predicate(sql) == tree


@pytest.mark.parametrize(
    ("sql", "value", "type_"),
    [
        ("5", 5, "int"),
        ("-5", -5, "int"),
        ("2147483647", 2**31 - 1, "int"),
        ("2147483648", 2**31, "bigint"),
        ("-2147483648", -(2**31), "int"),
        ("-9223372036854775808", -(2**63), "bigint"),
        ("9223372036854775808", Decimal(2**63), "decimal(19,0)"),
        ("1.50", Decimal("1.50"), "decimal(3,2)"),
        (".5", Decimal("0.5"), "decimal(1,1)"),
        ("1e3", 1000.0, "double"),
        ("5L", 5, "bigint"),
        ("5Y", 5, "tinyint"),
        ("-128Y", -128, "tinyint"),
        ("-128::tinyint", -128, "tinyint"),
        ("-9223372036854775808L", -(2**63), "bigint"),
        ("-1.5D", -1.5, "double"),
        ("1.5D", 1.5, "double"),
        ("1.5F", 1.5, "float"),
        ("1.5BD", Decimal("1.5"), "decimal(2,1)"),
        ("'a' 'b'", "ab", "string"),
        ("'a''b'", "a'b", "string"),
        ("''''", "'", "string"),
        ("'a'''", "a'", "string"),
        ('"a""b"', 'a"b', "string"),
        ("'a'\"b\"", "ab", "string"),
        (r"'a\''''", "a''", "string"),
        (r"'a\'b\n'", "a'b\n", "string"),
        (r"r'a\n'", r"a\n", "string"),
        ("X'1f'", b"\x1f", "binary"),
        ("true", True, "boolean"),
        ("NULL", None, "void"),
        ("DATE '2024-02-29'", dt.date(2024, 2, 29), "date"),
        ("TIMESTAMP '2024-02-29 12:00:00'", dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC), "timestamp"),
        ("TIMESTAMP '2024-02-29 12:00:00+02:00'", dt.datetime(2024, 2, 29, 10, tzinfo=dt.UTC), "timestamp"),
        ("TIMESTAMP_NTZ '2024-02-29 12:00:00'", dt.datetime(2024, 2, 29, 12), "timestamp_ntz"),
        ("CAST('12' AS bigint)", 12, "bigint"),
        ("'12'::decimal(5,1)", Decimal("12.0"), "decimal(5,1)"),
        ("try_cast('x' AS int)", None, "int"),
    ],
)
def test_constants_have_the_types_spark_gives_them(sql: str, value: object, type_: str) -> None:
    literal = parse_columns([sql])[0].expr
    assert literal == Literal(value, parse_type(type_))
    assert type(literal.value) is type(value)


def test_timestamps_without_zone_are_in_the_sessions() -> None:
    literal = parse_predicate(
        "a > TIMESTAMP '2024-07-01 00:00:00'", CastOptions(timezone="Europe/Paris")
    ).right
    assert literal.value == dt.datetime(2024, 6, 30, 22, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("sql", "problem", "at"),
    [
        ("v:a::int >", "an operand is missing", 9),
        ("v:a::foo > 3", "unknown type", 5),
        ("(a", "expected a closing parenthesis", 1),
        ("v:$type = 'x'", "needs backticks", 2),
        ("a IN ()", "at least one value", 0),
        ("variant_get(v, '$.a..b', 'int') = 1", "expected .key", 15),
        ("variant_get(v, '$.a', 'foo') = 1", "'foo' is not a type", 22),
        ("variant_get(v) = 1", "takes a column, a path and a type", 0),
        ("a = 1 b", "a name (AS) is not allowed here", 6),
        ("a LIKE 'x\\\\y'", "may only precede", 7),
        ("a = b IN (c)", "add parentheses", 0),
        ("a = b < c", "add parentheses", 0),
        ("a <> b NOT LIKE 'x'", "add parentheses", 0),
        ("a = DATE '2024-02-30'", "is not a valid date", 9),
        ("a = 1 AND\n  b = '5'::int AND c = 'x'::int", "is not a valid int", 33),
        ("a = 123456789012345678901234567890123456789", "more digits than any number type", 4),
        ("v:a::decimal(40,2) = 1", "is invalid", 0),
    ],
)
def test_errors_point_at_the_character(sql: str, problem: str, at: int) -> None:
    with pytest.raises(
        InvalidExpression, match="(?s)" + problem.replace("(", r"\(").replace(")", r"\)")
    ) as error:
        parse_predicate(sql)
    *_, line, caret = str(error.value).split("\n")
    shown = sql[sql.rfind("\n", 0, at) + 1 :].split("\n")[0]
    assert line == f"  {shown}"
    assert caret.index("^") - 2 == at - (sql.rfind("\n", 0, at) + 1)


@pytest.mark.parametrize(
    "sql",
    [
        "count(*) > 1", "a RLIKE 'x'", "a IN (SELECT 1)", "CASE WHEN a THEN b END", "v:a[*] = 1",
        "v:a[b]::int = 1", "a LIKE b", "a || b = 'x'", "coalesce(a, 1) = 1", "schema_of_variant(v) = 'x'",
        "current_date() > a", "variant_get(v, p, 'int') = 1", "v:a[-1]::int = 1", "a ILIKE 'x'",
        "a BETWEEN SYMMETRIC 5 AND 1",
    ],
)  # fmt: skip
def test_what_only_spark_evaluates_is_unsupported_with_advice(sql: str) -> None:
    with pytest.raises(UnsupportedExpression, match="is not supported here: "):
        parse_predicate(sql)


@pytest.mark.parametrize("sql", ["", "  ", "a; b", "a >> ", "'unclosed", "select 1"])
def test_what_is_no_expression(sql: str) -> None:
    with pytest.raises(InvalidExpression):
        parse_predicate(sql)


def test_names_of_columns() -> None:
    columns = parse_columns(
        ["v:user.id::bigint", "v:tags[0]::string AS tag", "v", "s.a", "v:x[1][2]", "w:[0]", "v:p b", "a + 1"]
    )
    assert [column.name for column in columns] == ["id", "tag", "v", "a", "x", "w", "b", "a + 1"]


def test_two_columns_of_one_name() -> None:
    with pytest.raises(InvalidExpression, match=r"two columns are named 'id'\. Rename one with AS"):
        parse_columns(["v:a.id", "v:b.id"])


def test_star_is_refused_with_advice() -> None:
    with pytest.raises(InvalidExpression, match="omit `columns` to select all"):
        parse_columns(["*"])


def test_references_and_conjuncts() -> None:
    predicate = parse_predicate("v:a::int > 5 and (b = 1 or v:a::int < 0) and c is null")
    assert references(predicate) == {A, Column("b"), Column("c")}
    assert len(conjuncts(predicate)) == 3


def test_long_conditions_are_no_problem() -> None:
    assert len(conjuncts(parse_predicate(" and ".join(f"a > {i}" for i in range(300))))) == 300


@pytest.mark.parametrize(
    "sql",
    [
        "v:user.id::bigint > 5", "variant_get(v, '$.a', 'int') = 1", "a IN (1, 2.5, NULL) AND NOT b",
        "c LIKE 'a!%' ESCAPE '!' OR c IS NOT NULL", "v:`it's`.`a b`[3]::decimal(9,2) <=> 1.5", "X'ff' = d",
        "ts >= TIMESTAMP '2024-02-29 12:00:00.5'", "n = TIMESTAMP_NTZ '2024-02-29 12:00:00'",
        "d < DATE '2024-02-29'", "x = 1.5D AND y = 1.5F AND z = 5L", "`a.b`.c = 'it\\'s \\\\ x'",
        "-(a + 1) * 2 < b % 3", "is_variant_null(v:a) OR isnan(x)",
    ],
)  # fmt: skip
def test_printed_sql_reads_back_as_the_same_tree(sql: str) -> None:
    tree = parse_predicate(sql)
    printed = to_sql(tree)
    again = parse_predicate(printed)
    assert to_sql(again) == printed
    assert {(ref.column, ref.path, ref.type) for ref in references(again) if isinstance(ref, Get)} == {
        (ref.column, ref.path, ref.type) for ref in references(tree) if isinstance(ref, Get)
    }


def test_paths_that_spark_cannot_say() -> None:
    with pytest.raises(UnsupportedExpression, match="both quotes"):
        to_sql(Get("v", Path(("a'b\".c",)), INT))


def test_every_way_of_reading_refuses_two_columns_of_one_name(tmp_path: pathlib.Path) -> None:
    data = pa.table({"v": sl.from_json(pa.array(['{"user": {"id": 1}, "id": 2}']))})
    sl.write_parquet(data, tmp_path / "f.parquet")
    table = sl.Table.create(tmp_path / "t", data.schema)
    table.append(data)
    wanted = ["v:user.id::int", "v:id::int"]
    for read in (
        lambda: table.scan(wanted),
        lambda: table.scan([*parse_columns(wanted[:1]), wanted[1]]),
        lambda: table.scan(["v", "v"]),
        lambda: sl.read_parquet(tmp_path / "f.parquet", columns=wanted),
    ):
        with pytest.raises(InvalidExpression, match=r"two columns are named '(id|v)'. Rename one with AS"):
            read()
    assert table.scan(["v:user.id::int AS a", "v:id::int"]).to_arrow().to_pylist() == [{"a": 1, "id": 2}]
