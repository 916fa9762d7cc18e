"""`make fuzz` and `make asan`: the kernels on damaged texts and damaged Variants.

Only a ShredlakeError may come out, and on every text the kernel must agree with the reference. Under
`make asan` the same runs on a build with AddressSanitizer; inputs lie in buffers of their exact size, so that
reading one byte too many is found.

A new kernel joins by a line in OPERATIONS.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from mutations import large_texts, mutated
from shredlake import (
    InvalidJson,
    ShreddingSchema,
    ShredlakeError,
    from_arrow,
    from_json,
    shred,
    to_json,
    to_python,
    unshred,
    validate,
)
from shredlake.kernels import get, reshred, variant
from shredlake.kernels.dispatch import COMPILED
from shredlake.variant.json import parse
from strategies import json_texts_gone_wrong

SCHEMAS = [
    ShreddingSchema.parse(ddl)
    for ddl in (
        "bigint",
        "array<struct<id int, name string, tags array<string>>>",
        "struct<a struct<b struct<c array<int>>>, price decimal(9,2)>",
        "struct<`field 3` tinyint, `field 7` double, `field 12` date, `field 20` uuid, `field 26` string>",
    )
]


def shredded_again(column: pa.StructArray) -> None:
    """Shredded by each schema, put together, and shredded by the next."""
    for schema, other in zip(SCHEMAS, SCHEMAS[1:] + SCHEMAS[:1], strict=True):
        shredded = exact(shred(column, schema))
        unshred(shredded)
        reshred(shredded, other)
        to_json(shredded)


def shredded_and_damaged(column: pa.StructArray) -> None:
    """The bytes of a column where a shredded one keeps its residual: most rows contradict themselves."""
    for schema in SCHEMAS[1:]:
        shredded = shred(column, schema)
        damaged = pa.StructArray.from_arrays(
            [column.field("metadata"), column.field("value"), shredded.field("typed_value")],
            ["metadata", "value", "typed_value"],
        )
        damaged = exact(damaged)
        tolerant(lambda: unshred(damaged))  # noqa: B023
        tolerant(lambda: unshred(damaged, strict=True))  # noqa: B023


def looked_up(column: pa.StructArray) -> None:
    for path, type_ in [
        ("$.a.b.c[0]", pa.int64()), ("$[1].name", pa.string()), ("$['field 12']", pa.date32()), ("$", None),
        ("$[0]", pa.float64()), ("$.price", pa.decimal128(9, 2)), ("$['key 77']", pa.string()),
    ]:  # fmt: skip
        tolerant(lambda path=path, type_=type_: get(column, path, type_))  # type: ignore[misc]


OPERATIONS: dict[str, Callable[[pa.StructArray], object]] = {
    "to_json": to_json,
    "to_python": to_python,
    "validate": validate,
    "from_arrow": lambda column: from_arrow(pa.StructArray.from_arrays([column], ["v"])),
    "shred": shredded_again,
    "unshred": shredded_and_damaged,
    "get": looked_up,
}
"""What is done with a column of damaged Variants."""


def tolerant(work: Callable[[], object]) -> bool:
    """Whether it went through; errors of our own are fine."""
    try:
        work()
    except ShredlakeError:
        return False
    return True


def exact(array: pa.Array) -> pa.Array:
    """The same array in buffers without a byte to spare: of structs and of bytes, the rest as it is."""
    rows = len(array)
    validity = _exact_buffer(array.buffers()[0], (rows + 7) // 8)
    if array.offset:
        return array
    if pa.types.is_struct(array.type):
        children = [exact(array.field(index)) for index in range(array.type.num_fields)]
        return pa.Array.from_buffers(array.type, rows, [validity], children=children)
    if array.type not in (pa.binary(), pa.string()):
        return array
    _, offsets, data = array.buffers()
    used = pa.Array.from_buffers(pa.int32(), rows + 1, [None, offsets])[rows].as_py() if rows else 0
    return pa.Array.from_buffers(
        array.type, rows, [validity, _exact_buffer(offsets, 4 * (rows + 1)), _exact_buffer(data, used)]
    )


def _exact_buffer(buffer: pa.Buffer | None, size: int) -> pa.Buffer | None:
    return None if buffer is None else pa.py_buffer(buffer.to_pybytes()[:size])


class Texts:
    """JSON of every kind, some of it damaged; the same for the same seed."""

    KEYS = (
        "a", "b", "c", "id", "name", "longer_key_name_here", "x" * 7, "x" * 8, "x" * 9, "", "ключ",
        "\U0001f600", "\uffff", "\ue000", 'a"b', "a\\b", "\x00", "\n", "a\x00", "aa", "user", "type",
    )  # fmt: skip
    PIECES = ("a", " ", "é", "日", "😀", '"', "\\", "\n", "\x01", "/", "\x7f", "𐀀", "xyz" * 9)
    NUMBERS = (
        "0", "-0", "-0.0", "1e400", "-1e400", "0e0", "9223372036854775807", "9223372036854775808", "-128",
        "-129", "-9223372036854775808", "-9223372036854775809", "0." + "0" * 37 + "1", "0." + "0" * 38 + "1",
        "9" * 38, "1" + "0" * 38, "32768", "1.0", "5e-324", "2.5e-324", "9007199254740993e0",
    )  # fmt: skip
    MARKS = b'{}[]",:\\u0123456789eE.+-tfn \n\x00\x01\x7f\x80\xe2\xed\xf0\xff'

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.wrong = json_texts_gone_wrong()

    def text(self) -> bytes:
        source = self.source
        text = (self.space() + self.value(source.choice([0, 1, 2, 3, 4])) + self.space()).encode()
        return self.damaged(text) if source.random() < 0.4 else text

    def space(self) -> str:
        return self.source.choice([""] * 12 + [" ", "\n", "\t\r "])

    def value(self, depth: int) -> str:
        source = self.source
        kind = source.randrange(10)
        if depth and kind < 3:
            keys = [source.choice(self.KEYS) for _ in range(source.choice([0, 1, 2, 3, 8, 30]))]
            if source.random() < 0.9:
                keys = list(dict.fromkeys(keys))
            return (
                "{"
                + ",".join(f"{self.quoted(key)}{self.space()}:{self.value(depth - 1)}" for key in keys)
                + "}"
            )
        if depth and kind < 5:
            count = source.choice([0, 1, 2, 5, 300 if depth == 1 else 3])
            return "[" + ",".join(self.value(depth - 1) + self.space() for _ in range(count)) + "]"
        if kind < 7:
            return self.number()
        if kind < 9:
            return self.quoted("".join(source.choices(self.PIECES, k=source.choice([0, 1, 3, 8, 20, 70]))))
        return source.choice(["true", "false", "null"])

    def quoted(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self.source.random() < 0.5)

    def number(self) -> str:
        source = self.source
        digits = source.getrandbits(source.randrange(1, 140))
        return source.choice(
            [
                str(source.randrange(-300, 300)),
                str(source.randrange(-(2**65), 2**65)),
                str(digits),
                f"{source.randrange(-1000, 1000)}.{'0' * source.randrange(30)}{digits}",
                repr(source.random() * 10 ** source.randrange(-30, 30)),
                f"{digits}e{source.randrange(-330, 310)}",
                f"{source.getrandbits(60)}.{digits}E{source.choice('+-')}{source.randrange(30)}",
                source.choice(self.NUMBERS),
            ]
        )

    def damaged(self, text: bytes) -> bytes:
        source = self.source
        damaged = bytearray(text)
        for _ in range(source.randrange(1, 4)):
            at = source.randrange(len(damaged) + 1)
            kind = source.randrange(5)
            if kind == 0:
                del damaged[at : at + 1]
            elif kind == 1:
                damaged[at:at] = bytes([source.choice(self.MARKS)])
            elif kind == 2 and at < len(damaged):
                damaged[at] = source.randrange(256)
            elif kind == 3:
                del damaged[at:]
            else:
                damaged[at:at] = source.choice(self.wrong)
        return bytes(damaged)


def check_texts(texts: list[bytes], source: random.Random, results: Counter[str]) -> None:
    """from_json agrees with the reference on each text: accepted or not, the bytes, the position."""
    options: dict[str, Any] = {
        "duplicate_keys": source.choice(["error", "last_wins"]),
        "max_depth": source.choice([1000, 3, 1]),
        "max_size": source.choice([128 << 20, 200, 60]),
    }
    found, rejects = from_json(exact(pa.array(texts, pa.binary())), on_error="collect", threads=1, **options)
    found.validate(full=True)
    outcomes = [row and (row["metadata"], row["value"]) for row in found.to_pylist()]
    for reject in rejects.to_pylist():
        outcomes[reject["row"]] = reject["reason"], reject["position"]
    for text, outcome in zip(texts, outcomes, strict=True):
        try:
            expected = parse(text, **options)
            reference: tuple[object, object] = expected.metadata, expected.value
            results["JSON"] += 1
        except InvalidJson as error:
            reference = error.problem, error.position
            results["no JSON"] += 1
        if outcome != reference:
            raise AssertionError(f"{text!r} {options}\nkernel {outcome}\nreference {reference}")
    to_json(found)


def check_large(source: random.Random, results: Counter[str]) -> None:
    """Large and deep values, several calls in one process: kernels grow into blocks that others left."""
    texts = large_texts(source)
    column = from_json(exact(pa.array([text.encode() for text in texts], pa.binary())), threads=1)
    for _ in range(2):
        again = from_arrow(column)
        assert to_json(again).to_pylist() == to_json(column).to_pylist()
        assert validate(again).num_rows == 0
        numbers = json.loads(texts[0])
        pairs = [(f"key {number}", number) for number in numbers]
        for array, wanted in (
            (pa.array([numbers]), numbers),
            (pa.array([dict(pairs)]), dict(pairs)),
            (pa.array([pairs], pa.map_(pa.string(), pa.int64())), dict(pairs)),
        ):
            assert to_python(from_arrow(array)) == [wanted]
        results["large"] += 1
    row = column[source.randrange(len(column))].as_py()
    value = bytearray(row["value"])
    for _ in range(3):
        value[source.randrange(len(value))] = source.randrange(256)
    damaged = exact(pa.array([{"metadata": row["metadata"], "value": bytes(value)}], variant()))
    for operation in OPERATIONS.values():
        tolerant(lambda: operation(damaged))  # noqa: B023


def main(count: int, seed: int, only: list[str] | None) -> None:
    texts, source = Texts(seed), random.Random(seed)
    buffers = mutated(count, seed)
    results: Counter[str] = Counter()
    started = time.perf_counter()
    for batch in range(0, count, 50):
        if batch % 250 == 0:
            check_large(source, results)
        check_texts([texts.text() for _ in range(50)], source, results)
        damaged = [
            {"metadata": metadata, "value": value} for metadata, value in (next(buffers) for _ in range(50))
        ]
        for row in damaged:  # alone, so that one bad row does not keep the others from being read
            column = exact(pa.array([row], variant()))
            for name in only or OPERATIONS:
                operation = OPERATIONS[name]
                went_through = tolerant(lambda: operation(column))  # noqa: B023
                results[f"{name} {'ok' if went_through else 'refused'}"] += 1
    print(
        f"kernels ({'compiled' if COMPILED else 'reference'}): {count} texts and {count} Variants, "
        f"{', '.join(f'{name} {number}' for name, number in sorted(results.items()))}; "
        f"{time.perf_counter() - started:.0f} s (seed {seed})"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", nargs="+", choices=sorted(OPERATIONS), help="some operations")
    main(**vars(arguments.parse_args()))
