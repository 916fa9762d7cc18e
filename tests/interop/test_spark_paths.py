"""Odd paths give the same result as Spark's `try_variant_get`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import shredlake as sl
from shredlake.errors import InvalidExpression
from shredlake.expr.evaluate import evaluate
from shredlake.expr.parse import parse_columns
from shredlake.expr.sql import string_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCUMENT: dict[str, Any] = {
    "a": {"b": 1, "": 2, "b c": 3},
    "fb:testid": 4, "*": 5, "": 6, " ": 7, " a": 8, "a ": 9, "a]": 10, "'q'": 11, '"q"': 12,
    "a\\b": 13, "a\\'b": 14, "ä😀": 15, "0": 16, "-1": 17, "a\nb": 18, "a-b": 19, "a:b": 20, "$": 21,
    "@": 22, "x": [23, [24, {"y": 25}]], "a.b": 26, "a[0": 27, "`t`": 28, "a'b": 29, 'a"b': 30,
    "\t": 31, "a,b": 32, "?(x)": 33, "A": 34, "\u0000": 35, "]": 36,
}  # fmt: skip

PATHS = (
    "$", "", " $", "$ ", "a", "a.b", "$a", "$.", "$..a", "$.a.", "$.a..b", "$.a.b", "$.a['b']",
    '$.a["b"]', "$.a.b c", "$.a['']", "$['']", '$[""]', "$.fb:testid", "$['fb:testid']", "$.*", "$[*]",
    "$['*']", "$. ", "$. a", "$.a ", "$['a ']", "$.a]", "$.]", "$.'q'", '$."q"', "$['a\\b']",
    "$['a\\'b']", "$.a\\b", "$.ä😀", "$['ä😀']", "$.0", "$[0]", "$.-1", "$[-1]", "$['-1']", "$.a\nb",
    "$['a\nb']", "$.a-b", "$.a:b", "$.$", "$.@", "$[$]", "$.x[0]", "$.x[00]", "$.x[1][0]", "$.x[1][1].y",
    "$.x[1].[1]", "$.x[ 0]", "$.x[0 ]", "$.x[+0]", "$.x[1.0]", "$.x[2]", "$.x[2147483647]",
    "$.x[2147483648]", "$.x[99999999999]", "$.x[]", "$.x[", "$.x[0", "$.x]0[", "$.x[0:1]", "$.x[0,1]",
    "$.x.0", "$.x['0']", "$['a.b']", "$.a[0", "$['a[0']", "$['a']['b']", "$[a]", "$['a", "$['a'",
    "$['a\"]", "$.`t`", "$['a'b']", "$[\"a'b\"]", "$['a\"b']", "$.a'b", '$.a"b', "$.\t", "$.a,b",
    "$.?(x)", "$[?(x)]", "$.A", "$.nowhere", "$.a.b.c", "$$", "$.x[\u0660]", "$.x[0]x", "$['x'][0]",
    "$['x']x", "$.\x00", "$['a'].b", "$['a']. b", "$\n", "$.a\r", "$['a']\n", "$.x[1]\n",
)  # fmt: skip

INVALID = "invalid"


def by_spark(spark: SparkSession, path: str) -> object:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    document = F.parse_json(F.lit(json.dumps(DOCUMENT)))
    try:
        [[text]] = spark.range(1).select(F.try_variant_get(document, path, "string")).collect()
    except PySparkException as error:
        if "PATH" not in str(error):
            raise
        return INVALID
    return text


def by_us(path: str) -> object:
    """By an expression, whose constants are quoted as Spark quotes them."""
    column = sl.from_json(pa.array([json.dumps(DOCUMENT)]))
    try:
        [projection] = parse_columns([f"try_variant_get(v, {string_sql(path)}, 'string')"])
        return evaluate(projection.expr, pa.table({"v": column})).to_pylist()[0]
    except InvalidExpression:
        return INVALID


def test_odd_paths_lead_where_spark_leads(spark: SparkSession) -> None:
    expected = {path: by_spark(spark, path) for path in PATHS}
    assert {path: by_us(path) for path in PATHS} == expected
    assert list(expected.values()).count(INVALID) >= 20  # so that both kinds are compared
    assert len(set(expected.values())) >= 20
