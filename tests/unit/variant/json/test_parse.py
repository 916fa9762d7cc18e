"""Text to Variant: types of numbers, strict syntax, errors with positions, limits."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from decimal import Decimal
from typing import Any

import pytest

from shredlake import InvalidJson, Variant, VariantType
from shredlake.variant.json import parse

NUMBERS: list[tuple[str, VariantType, object]] = [
    ("0", VariantType.INT8, 0),
    ("-0", VariantType.INT8, 0),
    ("-128", VariantType.INT8, -128),
    ("128", VariantType.INT16, 128),
    ("-32769", VariantType.INT32, -32769),
    ("2147483648", VariantType.INT64, 2147483648),
    ("9223372036854775807", VariantType.INT64, 2**63 - 1),
    ("9223372036854775808", VariantType.DECIMAL16, Decimal(2**63)),
    ("-" + "9" * 38, VariantType.DECIMAL16, Decimal("-" + "9" * 38)),
    ("1" + "0" * 38, VariantType.DOUBLE, 1e38),
    ("1.10", VariantType.DECIMAL4, Decimal("1.10")),
    ("-0.0", VariantType.DECIMAL4, Decimal("0.0")),
    ("0.000000001", VariantType.DECIMAL4, Decimal("1e-9")),
    ("0.0000000001", VariantType.DECIMAL8, Decimal("1e-10")),
    ("12345678.90", VariantType.DECIMAL8, Decimal("12345678.90")),
    ("1234567890123456789.5", VariantType.DECIMAL16, Decimal("1234567890123456789.5")),
    ("0." + "0" * 37 + "1", VariantType.DECIMAL16, Decimal("1e-38")),
    ("0." + "0" * 38 + "1", VariantType.DOUBLE, 1e-39),
    ("1." + "0" * 38, VariantType.DOUBLE, 1.0),
    ("1e2", VariantType.DOUBLE, 100.0),
    ("1E-2", VariantType.DOUBLE, 0.01),
    ("-0e0", VariantType.DOUBLE, -0.0),
    ("1.5e+3", VariantType.DOUBLE, 1500.0),
    ("9007199254740993e0", VariantType.DOUBLE, 9007199254740992.0),
    ("1e400", VariantType.DOUBLE, math.inf),
    ("1e-400", VariantType.DOUBLE, 0.0),
    ("1" * 5000, VariantType.DOUBLE, math.inf),
]


@pytest.mark.parametrize(("text", "type_", "value"), NUMBERS, ids=lambda x: str(x)[:25])
def test_numbers_keep_every_digit_they_can(text: str, type_: VariantType, value: object) -> None:
    variant = parse(text)
    assert variant.type is type_
    assert repr(variant.to_python()) == repr(value)
    if type_.is_decimal:
        digits = text.lstrip("-")
        assert variant.to_json().lstrip("-") == (digits.rstrip("0").rstrip(".") if "." in digits else digits)


DOCUMENTS: list[tuple[str, Any]] = [
    (' { "a" : [ ] , "b" : { } } ', {"a": [], "b": {}}),
    ("\r\n\t[\n1\t,\r2 ]\n", [1, 2]),
    ('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"', '"\\/\b\f\n\r\té😀'),
    ('"\\uFFFF\\u0000"', "\uffff\x00"),
    ('"\x7f\u2028é"', "\x7f\u2028é"),
    ('{"":{"":null}}', {"": {"": None}}),
    ("[[[[[[true,false,null]]]]]]", [[[[[[True, False, None]]]]]]),
    ('{"a":1,"b":{"a":2}}', {"a": 1, "b": {"a": 2}}),
]


@pytest.mark.parametrize(("text", "value"), DOCUMENTS)
def test_documents(text: str, value: Any) -> None:
    assert parse(text).validate().to_python() == value
    assert parse(text.encode()) == parse(text)


# Text, byte position, line, column, problem.
REFUSED: list[tuple[str | bytes, int, int, int, str]] = [
    ("", 0, 1, 1, "the end of the text, expected a value"),
    ("  ", 2, 1, 3, "the end of the text, expected a value"),
    ("[1,\n 2,\n x]", 9, 3, 2, "'x', expected a value"),
    ('{"é": nope}', 7, 1, 7, "'n', expected a value"),
    ("[1,]", 3, 1, 4, "found a comma before ']'"),
    ('{"a":1,}', 7, 1, 8, "a comma before '}'"),
    ("[,1]", 1, 1, 2, "',', expected a value"),
    ("[1 2]", 3, 1, 4, "'2', expected ',' or ']'"),
    ("[1", 2, 1, 3, "the end of the text, expected ',' or ']'"),
    ('{"a":1', 6, 1, 7, "the end of the text, expected ',' or '}'"),
    ("{a:1}", 1, 1, 2, "'a', expected a key in double quotes"),
    ("{'a':1}", 1, 1, 2, "expected a key in double quotes"),
    ('{"a" 1}', 5, 1, 6, "'1', expected ':'"),
    ("[1}", 2, 1, 3, "'}', expected ',' or ']'"),
    ("1 2", 2, 1, 3, "'2' after the end of the document"),
    ("null,", 4, 1, 5, "',' after the end"),
    ("truex", 4, 1, 5, "after the end"),
    ("01", 1, 1, 2, "a leading zero"),
    ("-", 1, 1, 2, "without digits"),
    ("-a", 1, 1, 2, "without digits"),
    ("1.", 1, 1, 2, "malformed number"),
    ("1.e3", 1, 1, 2, "malformed number"),
    ("1e", 1, 1, 2, "malformed number"),
    ("1e+", 1, 1, 2, "malformed number"),
    (".5", 0, 1, 1, "expected a value"),
    ("+1", 0, 1, 1, "expected a value"),
    ("0x10", 1, 1, 2, "malformed number"),
    ("NaN", 0, 1, 1, "NaN is not JSON"),
    ("[Infinity]", 1, 1, 2, "Infinity is not JSON"),
    ("-Infinity", 0, 1, 1, "-Infinity is not JSON"),
    ("None", 0, 1, 1, "None is not JSON"),
    ('"a\nb"', 2, 1, 3, "the control character U+000A"),
    ('"a', 0, 1, 1, "never closed"),
    ('"\\', 1, 1, 2, "is not an escape"),
    ('"\\x"', 1, 1, 2, "\\x is not an escape"),
    ('"\\u12g4"', 1, 1, 2, "four hexadecimal digits"),
    ('"é\\ud800"', 3, 1, 3, "half a surrogate pair, \\ud800"),
    ('"\\udc00"', 1, 1, 2, "half a surrogate pair"),
    ('"\\ud800\\u0041"', 1, 1, 2, "half a surrogate pair"),
    ('"\ud800"', 1, 1, 2, "half a surrogate pair, U+D800"),
    ('{"a":1,\n"a":2}', 8, 2, 1, "the key 'a' occurs twice"),
    ('{"a":1,"\\u0061":2}', 7, 1, 8, "the key 'a' occurs twice"),
    ("\ufeff1", 0, 1, 1, "byte order mark"),
    (b'["\xff"]', 2, 1, 3, "not UTF-8"),
    (b'\n"\xc3\xa9\xed\xa0\x80"', 4, 2, 3, "not UTF-8"),
    ("[" * 1001, 1000, 1, 1001, "nested deeper than 1000 levels"),
    ("\x00", 0, 1, 1, "the character U+0000, expected a value"),
    ("\u00a01", 0, 1, 1, "the character U+00A0, expected a value"),
    ("１", 0, 1, 1, "expected a value"),
]


@pytest.mark.parametrize(
    ("text", "position", "line", "column", "problem"), REFUSED, ids=lambda x: repr(x)[:25]
)
def test_errors_say_what_and_where(
    text: str | bytes, position: int, line: int, column: int, problem: str
) -> None:
    with pytest.raises(InvalidJson) as caught:
        parse(text)
    error = caught.value
    assert (error.position, error.line, error.column) == (position, line, column)
    assert problem in str(error)
    assert f"line {line}, column {column} (byte {position})" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_python_refuses_is_refused() -> None:
    """Every prefix of a document, and the document with any one character dropped."""
    text = '{"a": [1, -2.5e+3, "x\\u00e9\\n", true], "b": {"c": null}, "d": 1e5}'
    cuts = [text[:i] for i in range(len(text))] + [text[:i] + text[i + 1 :] for i in range(len(text))]
    for cut in cuts:
        try:
            json.loads(cut)
        except ValueError:
            with pytest.raises(InvalidJson):
                parse(cut)
        else:
            parse(cut)


def test_last_wins() -> None:
    variant = parse('{"a":1,"b":2,"a":{"c":3}}', duplicate_keys="last_wins")
    assert variant.validate().to_python() == {"a": {"c": 3}, "b": 2}
    assert parse('[{"a":1},{"a":2}]').to_python() == [{"a": 1}, {"a": 2}]


def test_depth_can_be_set() -> None:
    assert parse("[" * 1000 + "]" * 1000).type is VariantType.ARRAY
    deep = parse("[" * 20_000 + "]" * 20_000, max_depth=20_000)
    assert deep.to_json() == "[" * 20_000 + "]" * 20_000
    with pytest.raises(InvalidJson, match="deeper than 2 levels"):
        parse('[{"a":[]}]', max_depth=2)


def test_size_can_be_set() -> None:
    assert parse('"1234567"', max_size=8).to_python() == "1234567"
    with pytest.raises(InvalidJson, match="exceeds 8 bytes") as caught:
        parse('"12345678"', max_size=8)
    assert caught.value.position == 10
    with pytest.raises(InvalidJson, match="exceeds 20 bytes"):
        parse('{"a long name of a key": 1}', max_size=20)
    with pytest.raises(InvalidJson, match="exceeds 100 bytes"):
        parse("[" + "1," * 40 + "1]", max_size=100)


def test_from_json_takes_the_same_options() -> None:
    assert Variant.from_json('{"a":1,"a":2}', duplicate_keys="last_wins").to_python() == {"a": 2}
    defaults = [inspect.signature(function).parameters for function in (parse, Variant.from_json)]
    for option in ("duplicate_keys", "max_depth", "max_size"):
        assert defaults[0][option].default == defaults[1][option].default
