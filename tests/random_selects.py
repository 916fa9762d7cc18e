"""Random queries of several SELECTs over a random table: joins, subqueries, windows and set operations.

Every column of their results has a name, and their conditions compare with constants of the same type, so
that most of them can be planned from their text alone.
"""

from __future__ import annotations

import random

JOINS = [
    "JOIN",
    "CROSS JOIN",
    "LEFT JOIN",
    "RIGHT OUTER JOIN",
    "FULL JOIN",
    "LEFT SEMI JOIN",
    "LEFT ANTI JOIN",
]
WITHOUT_RIGHT = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
SET_OPERATIONS = ["UNION ALL", "UNION", "EXCEPT", "INTERSECT ALL"]
PATHS = [("a", "bigint"), ("a", "int"), ("s", "string"), ("o.x", "bigint"), ("d", "double"), ("none", "int")]
WINDOWS = [
    "row_number() OVER (PARTITION BY {p}p ORDER BY {p}id DESC)",
    "count(*) OVER (PARTITION BY {x} ORDER BY {p}id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "lag({p}id) OVER (ORDER BY {p}id)",
]


def random_selects(dice: random.Random) -> str:
    """A query over the table `t`."""
    return dice.choice([_joined, _filtered_by_subquery, _over_subquery, _set_operation, _grouped])(dice)


def path(dice: random.Random, qualifier: str = "", kind: str = "") -> str:
    """A typed path of `v` or `w`; a value that can't be cast is null."""
    name, found = dice.choice([(name, one) for name, one in PATHS if kind in ("", one)])
    before = f"{qualifier}." if qualifier else ""
    column = dice.choice(["v", "v", "w"])
    if dice.random() < 0.5:
        return f"try_variant_get({before}{column}, '$.{name}', '{found}')"
    return f"try_cast({before}{column}:{name} AS {found})"


def comparison(dice: random.Random, qualifier: str = "") -> str:
    before = f"{qualifier}." if qualifier else ""
    kind = dice.choice(["bigint", "string", "id", "id", "p"])
    if kind in ("id", "bigint"):
        value = f"{before}id" if kind == "id" else path(dice, qualifier, "bigint")
        low = dice.randrange(350) if kind == "id" else dice.randrange(40)
        tests = [
            f"< {low}",
            f">= {low}",
            f"= {low}",
            f"IN ({low}, {low + 1})",
            f"BETWEEN {low} AND {low + 9}",
        ]
        tests += [f"<=> {low}", "IS NULL", "IS NOT NULL", f"<> {low}"]
    else:
        value = f"{before}p" if kind == "p" else path(dice, qualifier, "string")
        tests = ["= 'one'", "LIKE 'x0%'", "> 'x1'", "IS NULL", "NOT IN ('x01', 'one')", "<=> 'x05'"]
    return f"{value} {dice.choice(tests)}"


def condition(dice: random.Random, qualifier: str = "") -> str:
    """A condition on one table."""
    one, other = comparison(dice, qualifier), comparison(dice, qualifier)
    return dice.choice([one, one, f"NOT ({one})", f"({one} OR {other})", f"{one} AND {other}"])


def conditions(dice: random.Random, *qualifiers: str) -> str:
    """Conditions on some of these tables."""
    return " AND ".join([condition(dice, dice.choice(qualifiers)) for _ in range(dice.randrange(1, 3))])


def _joined(dice: random.Random) -> str:
    join, last = dice.choice(JOINS), dice.choice(["JOIN", "LEFT JOIN", "FULL OUTER JOIN"])
    key = dice.choice(["bigint", "string"])
    on = dice.choice(["a.id = b.id", f"{path(dice, 'a', key)} = {path(dice, 'b', key)}", "a.id = b.id + 1"])
    if dice.random() < 0.7:
        on += f" AND {conditions(dice, 'a', 'b')}"
    shown = ["a"] if join in WITHOUT_RIGHT else ["a", "b"]
    text = "" if join == "CROSS JOIN" else f" ON {on}"
    tables = f"t a {join} t b{text}"
    if join == "CROSS JOIN":
        tables = dice.choice(["t a, t AS b", tables])
    elif dice.random() < 0.3:
        shown.append("c")
        tables += f" {last} t c ON c.id = {dice.choice(shown[:-1])}.id AND {condition(dice, 'c')}"
    columns = [f"{name}.id AS {name}{name}" for name in shown]
    columns.append(f"{path(dice, dice.choice(shown))} AS x")
    where = f" WHERE {conditions(dice, *shown)}" if dice.random() < 0.8 or join == "CROSS JOIN" else ""
    if join == "CROSS JOIN":
        where += " AND a.id < 10"
    return f"SELECT {', '.join(columns)} FROM {tables}{where}"


def _filtered_by_subquery(dice: random.Random) -> str:
    key = dice.choice(["bigint", "string"])
    inner, outer = condition(dice, "b"), condition(dice, "a")
    no = dice.choice(["", "NOT "])
    test = dice.choice([
        f"{no}EXISTS (SELECT 1 FROM t b WHERE {path(dice, 'b', key)} = {path(dice, 'a', key)} AND {inner})",
        f"{path(dice, 'a', key)} IN (SELECT {path(dice, 'b', key)} FROM t b WHERE {inner})",
        f"{path(dice, 'a', 'bigint')} > (SELECT min({path(dice, 'b', 'bigint')}) FROM t b WHERE {inner})",
        f"a.id > (SELECT count(*) FROM t b WHERE b.id < a.id AND {inner})",
    ])  # fmt: skip
    return f"SELECT a.id, {path(dice, 'a')} AS x FROM t a WHERE {outer} AND {test}"


def _over_subquery(dice: random.Random) -> str:
    window = dice.choice(WINDOWS).format(p="", x=path(dice))
    inner = f"SELECT id, {path(dice, kind='bigint')} AS x, {window} AS n FROM t WHERE {condition(dice)}"
    if dice.random() < 0.5:
        return f"SELECT s.id, x, s.n FROM ({inner}) s WHERE n < {dice.randrange(1, 6)}"
    joined = f"s LEFT JOIN t c ON s.x = {path(dice, 'c', 'bigint')} AND {condition(dice, 'c')}"
    return f"WITH s AS ({inner}) SELECT s.id, c.id AS other, s.n FROM {joined} WHERE s.n > 1"


def _set_operation(dice: random.Random) -> str:
    key = dice.choice(["bigint", "string"])
    parts = [f"SELECT id, {path(dice, kind=key)} AS x FROM t WHERE {condition(dice)}" for _ in range(2)]
    if dice.random() < 0.3:
        parts[0] = f"({parts[0]})"
    text = f" {dice.choice(SET_OPERATIONS)} ".join(parts)
    if dice.random() < 0.3:
        return f"SELECT count(*) AS n, max(u.x) AS m FROM ({text}) u"
    return text


def _grouped(dice: random.Random) -> str:
    having = dice.choice(["count(*) > 1", f"max({path(dice, kind='bigint')}) > 3"])
    return (
        f"SELECT {path(dice)} AS k, count(*) AS n, sum({path(dice, kind='int')}) AS s FROM t "
        f"WHERE {condition(dice)} GROUP BY 1 HAVING {having}"
    )
