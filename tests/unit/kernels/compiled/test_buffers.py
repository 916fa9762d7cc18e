"""Arrow buffers made of C memory: padded, never shared, and sound although blocks are used again."""

from __future__ import annotations

import ctypes
import gc
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from shredlake.kernels import from_json, to_json
from shredlake.kernels.dispatch import COMPILED

if COMPILED:
    from shredlake.kernels.compiled.lines import array_elements, line_offsets
else:
    pytest.skip("kernels are not compiled", allow_module_level=True)

SIZES = [1, 2, 1000, 1023, 1024, 1025, 5000, 16_384, 100_000]
"""Numbers of lines: their offsets fill blocks below the smallest that is kept, of it, and far above."""


def numbers(offsets: pa.Buffer, count: int) -> list[int]:
    return pa.Array.from_buffers(pa.int32(), count, [None, offsets]).to_pylist()


@pytest.mark.parametrize("lines", SIZES)
def test_buffers_hold_what_was_written_and_zeros_after_it(lines: int) -> None:
    offsets, count, _ = line_offsets(pa.py_buffer(b"\n" * lines), True)
    assert count == lines
    assert offsets.size == 4 * (lines + 1)
    assert numbers(offsets, lines + 1) == list(range(lines + 1))
    assert ctypes.string_at(offsets.address + offsets.size, 64) == bytes(64)


def test_an_empty_buffer_is_empty() -> None:
    data, offsets, starts, count, *_ = array_elements(pa.py_buffer(b"]"), True, True)
    assert count == 0
    assert data is not None
    assert starts is not None
    assert (data.size, starts.size, numbers(offsets, 1)) == (0, 0, [0])


def test_a_buffer_keeps_its_bytes_while_others_come_and_go() -> None:
    """A block that was given back must not be a buffer that is still in use."""
    held = []
    for lines in SIZES * 5:
        offsets, _, _ = line_offsets(pa.py_buffer(b"\n" * lines), True)
        if lines % 2:
            held.append((lines, offsets))
        del offsets
        gc.collect()
    for lines, offsets in held:
        assert numbers(offsets, lines + 1) == list(range(lines + 1))
    assert len({offsets.address for _, offsets in held}) == len(held)


def test_a_slice_keeps_the_memory_alive() -> None:
    tail = line_offsets(pa.py_buffer(b"\n" * 5000), True)[0].slice(4 * 4990)
    gc.collect()
    for _ in range(20):
        line_offsets(pa.py_buffer(b"x\n" * 5000), True)
    assert numbers(tail, 11) == list(range(4990, 5001))


def test_a_bitmap_without_an_unset_bit_is_left_out() -> None:
    assert from_json(pa.array(["1", "2"])).buffers()[0] is None
    column = from_json(pa.array(["1", None, "3"]))
    assert column.null_count == 1
    assert column.is_valid().to_pylist() == [True, False, True]


def test_threads_share_the_free_blocks() -> None:
    def work(seed: int) -> bool:
        for size in (10, 700, 3000, 9000):
            texts = [f'{{"n":{n * seed},"s":"{"x" * (n % 50)}"}}' for n in range(size // 10)]
            if to_json(from_json(pa.array(texts), threads=1), threads=1).to_pylist() != texts:
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 25)))
