"""Cutting columns into pieces and putting them together; and which implementation runs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from importlib import import_module

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shredlake.kernels import dispatch as compiled
from shredlake.kernels import threads as chunks
from shredlake.kernels.threads import assemble, map_pieces, pieces, thread_count


def test_pieces_cover_every_row_once_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LARGEST_PIECE_BYTES", 1000)
    monkeypatch.setattr(chunks, "SMALL_BYTES", 100)
    column = pa.chunked_array([pa.array(range(700)), pa.array([], pa.int64()), pa.array(range(700, 1000))])
    for threads in (1, 2, 5):
        cut = pieces(column, threads)
        assert all(piece[0].as_py() == row for row, piece in cut if len(piece))
        assert pa.chunked_array([piece for _, piece in cut]).to_pylist() == list(range(1000))
        assert all(piece.nbytes <= 1500 for _, piece in cut)


def test_one_huge_row_among_small_ones_is_a_piece_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LARGEST_PIECE_BYTES", 1000)
    cut = pieces(pa.array(["x"] * 100 + ["y" * 5000] + ["z"] * 100), 1)
    assert max(piece.nbytes for _, piece in cut) < 6500
    assert len(cut) > 1
    assert sum(len(piece) for _, piece in cut) == 201


def test_the_last_pieces_for_two_threads_are_small_whatever_the_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "SMALL_BYTES", 1000)
    thirteen = pa.chunked_array([pa.array(range(1000))] * 13)
    for column in (thirteen, thirteen.combine_chunks()):
        sizes = [piece.nbytes for _, piece in pieces(column, 2)]
        assert sum(sizes) == column.nbytes
        assert sizes[-1] <= 1500 < sizes[0]


def test_a_second_thread_works_on_large_columns_only() -> None:
    seen: set[str] = set()

    def work(row: int, piece: pa.Array) -> pa.Array:
        seen.add(threading.current_thread().name)
        return pc.add(piece, 1)

    small = pa.array(range(100))
    assert map_pieces(work, small, threads=2).equals(pc.add(small, 1))
    assert seen == {threading.current_thread().name}
    large = pa.array(range(1 << 20))
    assert map_pieces(work, large, threads=2).equals(pc.add(large, 1))
    assert any(name.startswith("shredlake") for name in seen)


def test_the_first_bad_row_is_the_one_reported() -> None:
    def work(row: int, piece: pa.Array) -> pa.Array:
        if row:
            raise ValueError(f"row {row}")
        return piece

    first = pieces(pa.array(range(1 << 20)), 2)[1][0]
    with pytest.raises(ValueError, match=f"^row {first}$"):
        map_pieces(work, pa.array(range(1 << 20)), threads=2)


def test_an_array_stays_one_unless_it_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = [pa.array([1, 2]), pa.array([3])]
    assert assemble(pa.array([0]), halves).equals(pa.array([1, 2, 3]))
    assert isinstance(assemble(pa.chunked_array([[0]]), halves), pa.ChunkedArray)
    monkeypatch.setattr(chunks, "LARGEST_ARRAY_BYTES", 16)
    assert assemble(pa.array([0]), halves).equals(pa.chunked_array(halves))


def test_threads_default_to_the_cores_of_this_process() -> None:
    assert thread_count(None) >= 1
    assert thread_count(3) == 3


def test_the_implementation_is_chosen_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COMPILED", False)
    assert compiled.dispatch("json_encode") is import_module("shredlake.kernels.fallback.json_encode")


def test_pure_python_on_request_and_without_a_warning() -> None:
    code = "from shredlake.kernels.dispatch import COMPILED; print(COMPILED)"
    found = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        env={**os.environ, "SHREDLAKE_PURE": "1"},
        capture_output=True,
        text=True,
    )
    assert found.stdout == "False\n", found.stderr


@pytest.mark.slow
def test_one_warning_where_nothing_is_compiled() -> None:
    code = (
        "import sys, warnings\n"
        "sys.modules['shredlake.kernels.compiled.buffers'] = None\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import shredlake, pyarrow as pa\n"
        "    print(shredlake.to_json(shredlake.from_json(pa.array(['[1]']))).to_pylist())\n"
        "    print([str(w.message)[:44] for w in caught if issubclass(w.category, RuntimeWarning)])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "['[1]']\n['shredlake runs without its compiled kernels,']\n", found.stderr


def test_an_error_ends_the_work_and_leaves_no_thread_behind() -> None:
    done: list[int] = []

    def work(row: int, piece: pa.Array) -> pa.Array:
        done.append(row)
        raise ValueError("bad")

    column = pa.array(range(1 << 21))
    with pytest.raises(ValueError, match="bad"):
        map_pieces(work, column, threads=2)
    assert len(done) <= 2 < len(pieces(column, 2))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("shredlake-")]


def test_an_interrupt_is_not_hidden_by_an_error() -> None:
    both = threading.Barrier(2, timeout=60)

    def work(row: int, piece: pa.Array) -> pa.Array:
        both.wait()
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        raise ValueError("bad")

    with pytest.raises(KeyboardInterrupt):
        chunks.run(work, [(row, pa.array([row])) for row in range(4)], 2)


def test_without_more_threads_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    column = pa.array(range(1 << 20))
    assert map_pieces(lambda row, piece: pc.add(piece, 1), column, threads=4).equals(pc.add(column, 1))
