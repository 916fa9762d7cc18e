"""Texts that Spark may parse: none that it would change, that runs code, or that reads what a log names."""

from __future__ import annotations

import pytest

from shredlake.errors import UnsupportedExpression
from shredlake.spark.columns import logs_text, users_text

CODE = [
    "java_method('java.lang.System', 'exit', 1)", "reflect('java.lang.System', 'getenv', 'HOME') = 'x'",
    "JAVA_METHOD ('a', 'b')", "try_reflect('a', 'b')", "`java_method`('a', 'b')", '"reflect"(\'a\', \'b\')',
    "system.builtin.reflect('a', 'b')", "`system`.`builtin`.`reflect` ('a', 'b')",
    "reflect/* no call */('a', 'b')", "reflect/**/\n('a', 'b')", "reflect -- a call\n('a', 'b')",
    "reflect\u00a0('a', 'b')", "reflect\u3000\t('a')", "identifier('re' || 'flect')('a', 'b')",
    "IDENTIFIER/**/('reflect')('a')", "ident\u0131f\u0131er('reflect')('a')",
    "'\\'' = reflect('a', 'b') or '\\'' = ''", "r'\\' = reflect('a', 'b')",
    "exists (select transform(1) using 'touch /tmp/x')", "exists (from t map 1\nusing 'cat')",
    "1 in (select TRANSFORM(id)/**/USING 'cat' as (x int) from t)", "(from t reduce id using 'cat') = 1",
]  # fmt: skip

READS = [
    "exists (select * from text.`/etc/passwd`)", "(SELECT 1) = 1", "id in (table csv.`/etc/passwd`)",
    "(from t |> aggregate count(*)) > 0", "f(TABLE t)", "(/* a */ select 1) = 1",
    "(with x as (select 1) from x) = 1",
]  # fmt: skip

HARMLESS = [
    "upper(kind) = 'A'", "length(reflect) > 1", "reflect = (1)", "reflection(1)", "a.reflect in (1)",
    "transform(l, x -> x + 1)[0] = 2", "map('a', 1)['a'] = 1", "s = 'identifier'", "java_method > (2)",
    "extract(year from t) = 2024", "trim(both 'x' from s) = ''", "selected and tables",
]  # fmt: skip


@pytest.mark.parametrize("text", CODE)
def test_what_runs_code_is_refused(text: str) -> None:
    for vetted in (users_text, logs_text):
        with pytest.raises(UnsupportedExpression, match="can run code"):
            vetted(text)


@pytest.mark.parametrize("text", READS)
def test_a_subquery_of_a_log_is_refused(text: str) -> None:
    assert users_text(text) == text
    with pytest.raises(UnsupportedExpression, match="can read other tables"):
        logs_text(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_expressions_pass(text: str) -> None:
    assert logs_text(text) == users_text(text) == text


def test_what_spark_would_replace_is_refused() -> None:
    for vetted in (users_text, logs_text):
        with pytest.raises(UnsupportedExpression, match="would replace"):
            vetted("s = '${env:HOME}'")
