"""Byte for byte what Spark's parse_json makes of the same text, and what its to_json prints.

Where Spark departs from the Variant specification or from RFC 8259, shredlake does not follow; the
departures are the tests at the end.
"""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from shredlake import InvalidJson, Variant, from_json, read_parquet, to_json, write_parquet
from spark_versions import is_before

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCUMENTS = 5_000
# No character from U+E000 to U+FFFF: next to one from U+10000 on, its order is a departure, tested below.
WORDS = ["", "a", "id", "name", "user", "é", "漢字", "😀", "x" * 63, "y" * 64, "\\", '"', "\x01", "/"]


class Documents:
    """Random JSON texts, the same on every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self, depth: int = 0) -> str:
        r = self._random
        kind = r.random()
        if depth < 6 and kind < 0.25:
            names = dict.fromkeys(self._words() for _ in range(r.choice([0, 1, 2, 5, 9])))
            fields = [f"{self._space()}{self._quoted(name)}:{self.text(depth + 1)}" for name in names]
            return "{" + ",".join(fields) + "}"
        if depth < 6 and kind < 0.4:
            size = r.choice([255, 256] if depth == 0 and r.random() < 0.02 else [0, 1, 2, 3, 20])
            return "[" + ",".join(self.text(depth + 2) for _ in range(size)) + self._space() + "]"
        if kind < 0.55:
            return r.choice(["null", "true", "false"])
        return self._quoted(self._words()) if kind < 0.7 else self._number()

    def _space(self) -> str:
        return self._random.choice(["", "", " ", "\n", "\t\r\n "])

    def _words(self) -> str:
        r = self._random
        return "".join(r.choices(WORDS, k=r.choice([1, 1, 1, 2, 5]))) + r.choice(["", str(r.randrange(400))])

    def _quoted(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._random.random() < 0.5)

    def _number(self) -> str:
        r = self._random
        whole = str(
            r.choice([0, 1, 127, 128, 32767, 32768, 2**31, 2**63, r.randrange(10 ** r.randint(1, 45))])
        )
        sign = r.choice(["", "-"])
        form = r.random()
        if form < 0.4:
            return sign + whole
        fraction = "".join(r.choices("0123456789", k=r.choice([1, 2, 5, 9, 10, 18, 19, 30, 38, 39])))
        fraction = r.choice([fraction, "0" * r.randint(1, 12) + "1", "10", "0"])
        if form < 0.8:
            return f"{sign}{whole}.{fraction}"
        exponent = r.choice(["e", "E", "e+", "e-"]) + str(r.choice([0, 1, 5, 22, 23, 300, 308, 320, 400]))
        return f"{sign}{whole}" + r.choice(["", f".{fraction}"]) + exponent


def spark_parse(spark: SparkSession, texts: list[str], function: str = "parse_json") -> list[Any]:
    """(metadata, value) that Spark makes of each text, all in one job."""
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")
    rows = frame.selectExpr("id", f"{function}(text) as v").collect()
    found = {row["id"]: row["v"] for row in rows}
    return [found[i] and (bytes(found[i].metadata), bytes(found[i].value)) for i in range(len(texts))]


def test_five_thousand_documents_are_equal_byte_for_byte(spark: SparkSession) -> None:
    source = Documents(seed=20250416)
    texts = [source.text() for _ in range(DOCUMENTS)]
    assert sum(map(len, texts)) > 500_000
    for text, expected in zip(texts, spark_parse(spark, texts), strict=True):
        variant = Variant.from_json(text)
        assert (variant.metadata, variant.value) == expected, text
        variant.validate()


def test_large_documents_take_the_same_widths(spark: SparkSession) -> None:
    texts = [
        json.dumps({f"key {i}": i for i in range(300)}),  # large count, two-byte ids
        json.dumps({f"key {i:05}" + "x" * 40: i for i in range(2000)}),  # three-byte offsets in the metadata
        json.dumps(["x" * 300, "y" * 70_000]),  # three-byte offsets in the value
        json.dumps(["z" * 17_000_000]),  # four
        "[" * 1000 + "]" * 1000,
    ]
    for text, expected in zip(texts, spark_parse(spark, texts), strict=True):
        variant = Variant.from_json(text)
        assert (variant.metadata, variant.value) == expected, text[:60]


def test_last_wins_is_the_same(spark: SparkSession) -> None:
    texts = [
        '{"a":1,"b":{"c":1},"a":[2],"b":3,"d":"x"}',
        '{"a":{"x":1},"a":1}',
        '[{"b":1,"a":2,"b":{"z":3}}]',
    ]
    spark.conf.set("spark.sql.variant.allowDuplicateKeys", "true")
    try:
        expected = spark_parse(spark, texts)
    finally:
        spark.conf.unset("spark.sql.variant.allowDuplicateKeys")
    for text, pair in zip(texts, expected, strict=True):
        variant = Variant.from_json(text, duplicate_keys="last_wins")
        assert (variant.metadata, variant.value) == pair, text


REFUSED = [
    "", " ", "{", "[1,]", '{"a":1,}', "{a:1}", "{'a':1}", "01", "-", "1.", ".5", "+1", "1e", "NaN",
    "Infinity", "-Infinity", "tru", "nul",
    '"\x01"', '"\\x"', '"\\u12"', '"\\ud800"', '"\\udc00\\ud800"', '"abc', "[1 2]",
    '{"a" 1}', '{"a":1 "b":2}', '{"a":1,"a":2}', "[" * 1001 + "]" * 1001, "\ufeff1", "/* */ 1", "1 // x",
    "[1}", "]", "1abc", "[,1]", "\u00a01", "nullx",
]  # fmt: skip


# Half a pair of surrogates was a question mark.
BEFORE_4_2 = ('"\\ud800"', '"\\udc00\\ud800"')


def test_what_spark_refuses_is_refused(spark: SparkSession) -> None:
    found = spark_parse(spark, REFUSED, "try_parse_json")
    for text, spark_value in zip(REFUSED, found, strict=True):
        with pytest.raises(InvalidJson):
            Variant.from_json(text)
        if text not in SPARK_TAKES and not (is_before("4.2") and text in BEFORE_4_2):
            assert spark_value is None, text


# Departures of Spark 4.3, each with its reason.

SPARK_TAKES = {"1 // x"}
"""Text after the first value: Spark stops reading there, RFC 8259 does not allow it."""


def test_departure_spark_ignores_text_after_the_value(spark: SparkSession) -> None:
    texts = ["1 // x", '{"a":1} trailing', "[1] [2]"]
    for text, spark_value in zip(texts, spark_parse(spark, texts, "try_parse_json"), strict=True):
        assert spark_value is not None
        with pytest.raises(InvalidJson, match="after the end of the document"):
            Variant.from_json(text)


def test_departure_spark_sorts_keys_in_utf16_order(spark: SparkSession) -> None:
    """The specification says unsigned UTF-8; the two differ from U+E000 on. Same fields, other order."""
    text = json.dumps({"\uffff": 1, "\U00010000": 2, "a": 3, "\U0001f600x": 4, "\ue000": 5})
    ours = Variant.from_json(text)
    theirs = Variant(*spark_parse(spark, [text])[0])
    assert ours.value != theirs.value
    assert ours == theirs
    assert theirs.keys() != sorted(theirs.keys()) == ours.keys()
    for key in json.loads(text):
        assert theirs[key] == ours[key]


def test_departure_spark_refuses_long_numbers_and_keys(spark: SparkSession) -> None:
    number, key = "1" * 1001, "k" * 50_001
    assert spark_parse(spark, [number, f'{{"{key}":1}}'], "try_parse_json") == [None, None]
    assert Variant.from_json(number).to_python() == math.inf
    assert Variant.from_json(f'{{"{key}":1}}').keys() == [key]


# The other way: text.


def test_to_json_prints_what_spark_prints(spark: SparkSession) -> None:
    """The same texts, digit by digit where no double is in them: older Javas print those otherwise."""
    source = Documents(seed=7)
    texts = [source.text() for _ in range(500)]
    frame = spark.createDataFrame(list(enumerate(texts)), "id int, text string")
    rows = frame.selectExpr("id", "to_json(parse_json(text)) as t").orderBy("id").collect()
    for text, row in zip(texts, rows, strict=True):
        ours = Variant.from_json(text).to_json()
        assert json.loads(ours, parse_int=float) == json.loads(row["t"], parse_int=float), text
        if not re.search(r"\d[eE]|[\d.]{38}", text):
            assert ours == row["t"]


def test_decimals_of_shredded_columns_print_as_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever the scale of the column: the text of a number does not depend on the layout of its file."""
    numbers = ["87", "1.10", "87.00", "0.10", "100", "100.0", "0.00", "0", "-120.50", "12.3"]
    column = from_json(pa.array([f'{{"x":{number}}}' for number in numbers]))
    table = pa.table({"id": range(len(numbers)), "v": column})
    for name, schema in (("shredded", "struct<x decimal(9,2)>"), ("plain", None)):
        path = tmp_path / f"{name}.parquet"
        write_parquet(table, path, shredding={"v": schema})
        rows = spark.read.schema("id long, v variant").parquet(str(path)).selectExpr("id", "to_json(v) t")
        printed = [row["t"] for row in rows.orderBy("id").collect()]
        assert to_json(read_parquet(path)["v"]).to_pylist() == printed == to_json(column).to_pylist()


def test_to_json_of_what_json_lacks(spark: SparkSession) -> None:
    query = """
        select to_json(to_variant_object(named_struct(
            'date', v.d, 'timestamp', v.t, 'ntz', v.n, 'binary', v.b, 'float', v.f, 'double', v.g)))
        from (select explode(array(
            named_struct('d', date'2025-04-16', 't', timestamp'2025-04-16 12:34:56.780', 'f', float(0.1),
                'n', timestamp_ntz'1969-12-31 23:59:59.999999', 'b', X'0313', 'g', 1e10D),
            named_struct('d', date'0001-01-01', 't', timestamp'1970-01-01 00:00:00', 'f', float('-Infinity'),
                'n', timestamp_ntz'2262-04-12 00:00:00.1', 'b', X'', 'g', double('NaN')),
            named_struct('d', date'9999-12-31', 't', timestamp'0001-01-01 00:00:00.000001', 'f', float(3e38),
                'n', timestamp_ntz'9999-12-31 23:59:59', 'b', X'ff', 'g', -0.0D),
            named_struct('d', date'+12345-06-07', 't', timestamp'-0044-03-15 12:00:00', 'f', float(1.5e-10),
                'n', timestamp_ntz'+20000-01-01 00:00:00', 'b', X'ff', 'g', 123456789.125D)
        )) as v)
    """
    variants = query.replace("to_json(to_variant_object(", "to_variant_object(").replace(
        "v.g)))", "v.g)) as v"
    )
    printed = [row[0] for row in spark.sql(query).collect()]
    for row, text in zip(spark.sql(variants).collect(), printed, strict=True):
        variant = Variant(bytes(row["v"].metadata), bytes(row["v"].value))
        assert variant.to_json() == text
