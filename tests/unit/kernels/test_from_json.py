"""from_json: columns in every layout, bad rows in every mode; tests/unit/json has the rules of JSON."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shredlake import InvalidJson, WrongType, from_json, to_json, to_python
from shredlake.kernels import variant
from shredlake.variant.json import parse
from strategies import json_texts_gone_wrong

pytestmark = pytest.mark.usefixtures("kernels")

TEXTS = ['{"b":1,"a":[true,null]}', None, '"é\\u00e9"', "12.50", "[]", "{}", '{"a":{"a":{"a":{}}}}', " 1 "]
LAYOUTS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(),
]  # fmt: skip


def bytes_of(texts: list[str | None]) -> list[dict[str, bytes] | None]:
    """The result of the reference for each text."""
    parsed = [None if text is None else parse(text) for text in texts]
    return [None if v is None else {"metadata": v.metadata, "value": v.value} for v in parsed]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_texts_in_every_layout_of_arrow(layout: pa.DataType) -> None:
    column = from_json(pa.array(TEXTS, layout))
    assert column.type == variant()
    column.validate(full=True)
    assert column.to_pylist() == bytes_of(TEXTS)


def test_dictionary_encoded_texts() -> None:
    column = from_json(pa.array(["1", "[2]", "1", None]).dictionary_encode())
    assert to_json(column).to_pylist() == ["1", "[2]", "1", None]


def test_a_slice_gives_the_rows_of_the_slice() -> None:
    whole = pa.array(TEXTS)
    for start in range(len(TEXTS)):
        for length in range(len(TEXTS) - start + 1):
            column = from_json(whole.slice(start, length))
            assert column.to_pylist() == bytes_of(TEXTS[start : start + length])


def test_chunks_stay_chunks() -> None:
    column = from_json(pa.chunked_array([TEXTS[:3], [], TEXTS[3:]], pa.string()))
    assert isinstance(column, pa.ChunkedArray)
    assert column.to_pylist() == bytes_of(TEXTS)
    assert from_json(pa.chunked_array([], pa.string())).type == variant()


def test_no_rows_and_only_nulls() -> None:
    assert from_json(pa.array([], pa.string())).to_pylist() == []
    assert from_json(pa.nulls(3)).to_pylist() == [None] * 3
    assert from_json(pa.nulls(3, pa.large_binary())).null_count == 3


def test_a_null_row_has_no_value_and_required_metadata() -> None:
    column = from_json(pa.array([None, "1"]))
    assert column.field("metadata").null_count == 0
    assert column.field("value").null_count == 1


def test_threads_give_the_same_column() -> None:
    texts = pa.array([json.dumps({"id": i, "text": "x" * (i % 100)}) for i in range(2000)])
    assert from_json(texts, threads=3).equals(from_json(texts, threads=1))


def test_an_error_names_the_first_bad_row_and_position() -> None:
    with pytest.raises(
        InvalidJson, match=r"'x', expected a value, at row 2, line 2, column 3 \(byte 4\)"
    ) as info:
        from_json(pa.chunked_array([["1"], ["[]", "[\n1,x", "y"]]))
    assert (info.value.row, info.value.position) == (2, 4)


def test_bad_rows_become_null() -> None:
    column = from_json(pa.array(["1", "nope", None, '{"a":1,"a":2}']), on_error="null")
    assert to_python(column) == [1, None, None, None]
    assert column.null_count == 3


def test_bad_rows_are_collected_with_reasons() -> None:
    column, rejects = from_json(
        pa.chunked_array([["1", "{"], [None, b'"\xff"']], pa.binary()), on_error="collect"
    )
    assert to_python(column) == [1, None, None, None]
    assert rejects.to_pylist() == [
        {
            "row": 1,
            "position": 1,
            "reason": "found the end of the text, expected a key in double quotes",
            "text": b"{",
        },
        {"row": 3, "position": 1, "reason": "the text is not UTF-8", "text": b'"\xff"'},
    ]
    column, rejects = from_json(pa.array(["1"]), on_error="collect")
    assert rejects.num_rows == 0


@pytest.mark.parametrize("text", json_texts_gone_wrong())
def test_errors_are_those_of_the_reference(text: bytes) -> None:
    _, rejects = from_json(pa.array([text], pa.binary()), on_error="collect")
    with pytest.raises(InvalidJson) as expected:
        parse(text)
    assert rejects["reason"].to_pylist() == [expected.value.problem]
    assert rejects["position"].to_pylist() == [expected.value.position]


def test_the_last_of_repeated_keys_wins_on_request() -> None:
    texts = ['{"a":{"x":1},"b":2,"a":[3]}', '{"k":1,"k":2,"k":3}', '{"a":1,"A":2}']
    column = from_json(pa.array(texts), duplicate_keys="last_wins")
    assert to_json(column).to_pylist() == ['{"a":[3],"b":2}', '{"k":3}', '{"A":2,"a":1}']
    expected = [parse(text, duplicate_keys="last_wins") for text in texts]
    assert column.to_pylist() == [{"metadata": v.metadata, "value": v.value} for v in expected]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("[[[1]]]", {"max_depth": 2}),
        ('{"a":{"b":{}}}', {"max_depth": 2}),
        ('["' + "x" * 100 + '"]', {"max_size": 50}),
        ('{"' + "x" * 100 + '":1}', {"max_size": 50}),
        ("[" * 1001 + "]" * 1001, {}),
    ],
)
def test_limits_reject_at_the_position_of_the_reference(text: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidJson) as found:
        from_json(pa.array([text]), **options)
    with pytest.raises(InvalidJson) as expected:
        parse(text, **options)
    assert (found.value.problem, found.value.position) == (expected.value.problem, expected.value.position)


def test_as_deep_as_allowed() -> None:
    text = "[" * 5000 + "]" * 5000
    column = from_json(pa.array([text]), max_depth=5000)
    assert to_json(column).to_pylist() == [text]


def test_what_follows_a_bad_row_is_not_affected() -> None:
    texts = ['{"a":1,"b":[1,2', '{"a":1,"b":[1,2]}', '{"b":1,"a"', '{"a":1,"b":[1,2]}']
    column = from_json(pa.array(texts), on_error="null")
    expected = bytes_of([texts[1]])[0]
    assert column.to_pylist() == [None, expected, None, expected]


def test_keys_that_come_and_go_change_order_and_repeat_at_other_places() -> None:
    source = random.Random(7)
    keys = ["id", "name", "a_rather_long_key", "x", 'quoted "key"', "ключ", "", "id2", "exactly8", "seven77"]

    def value(depth: int) -> Any:
        if depth and source.random() < 0.6:
            return {key: value(depth - 1) for key in source.sample(keys, source.randrange(len(keys)))}
        return source.choice([1, "x", None, [], [{"id": 1}]])

    texts: list[str | None] = [json.dumps(value(3), ensure_ascii=False) for _ in range(150)]
    assert from_json(pa.array(texts)).to_pylist() == bytes_of(texts)


def test_data_used_as_keys() -> None:
    """More distinct keys than the parser remembers from row to row."""
    texts: list[str | None] = [
        json.dumps({f"user{row * 40 + i}": i for i in range(40)}) for row in range(600)
    ]
    column = from_json(pa.array(texts))
    assert column[599].as_py() == bytes_of(texts[599:])[0]
    assert to_json(column.slice(500, 2)).to_pylist() == [
        json.dumps(dict(sorted(json.loads(text or "").items())), separators=(",", ":"))
        for text in texts[500:502]
    ]


def test_objects_larger_than_any_small_size() -> None:
    for count in (255, 256, 257, 2000):
        text = json.dumps({f"key{i}": "v" * (i % 300) for i in range(count)})
        assert from_json(pa.array([text])).to_pylist() == bytes_of([text])
        text = json.dumps(["v" * (i % 300) for i in range(count)])
        assert from_json(pa.array([text])).to_pylist() == bytes_of([text])


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="from_json takes a column of string or binary, not int64"):
        from_json(pa.array([1]))
    with pytest.raises(ValueError, match="on_error must be"):
        from_json(pa.array(["1"]), on_error="ignore")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="duplicate_keys must be"):
        from_json(pa.array(["1"]), duplicate_keys="first_wins")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="threads must be at least 1"):
        from_json(pa.array(["1"]), threads=0)


TEXTS = ['{"a":1}', None, "2"]


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        [b'{"a":1}', None, b"2"],
        np.array(TEXTS, dtype=object),
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int16()), pa.array(TEXTS)),
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_takes_what_holds_texts(texts: Any) -> None:
    assert to_json(from_json(texts)).to_pylist() == TEXTS


def test_takes_pandas_series() -> None:
    pandas = pytest.importorskip("pandas")
    for kind in (object, "string", "category"):
        assert to_json(from_json(pandas.Series(TEXTS, dtype=kind))).to_pylist() == TEXTS


@pytest.mark.parametrize("texts", ["1", b"1", {"a": 1}, None, 5, [1], ["1", 2], [{"a": 1}], ["\ud800"]])
def test_says_what_to_pass_instead(texts: Any) -> None:
    with pytest.raises(WrongType, match="from_json takes"):
        from_json(texts)
    if texts == "1":
        with pytest.raises(WrongType, match=r"for a single text use Variant.from_json"):
            from_json(texts)
