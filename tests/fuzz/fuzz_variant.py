"""`make fuzz`: damaged Variants through construction, full validation, decoding, comparison and text."""

from __future__ import annotations

import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from mutations import mutated
from shredlake import MalformedVariant, Path, Variant, VariantBuilder, VariantType


def try_everything(metadata: bytes, value: bytes) -> bool:
    """Whether the bytes are a valid Variant; if not, MalformedVariant is all that may come out."""
    try:
        variant = Variant(metadata, value)
    except MalformedVariant:
        return False
    repr(variant)
    try:
        variant.validate()
    except MalformedVariant:
        for read in (Variant.to_python, Variant.to_json, hash, _visit):
            try:
                read(variant)
            except MalformedVariant:
                continue
        return False
    variant.to_python(exact=True)
    variant.to_json(pretty=True)
    _visit(variant)
    assert VariantBuilder().append_variant(variant).build() == variant
    return True


def _visit(variant: Variant) -> None:
    """Every child of the root, listed and looked up; keys out of order may well not be found."""
    if variant.type is VariantType.OBJECT:
        for key, child in variant.items():
            child.to_python()
            variant.get(Path((key,)))
    elif variant.type is VariantType.ARRAY:
        for index, child in enumerate(variant):
            child.to_python()
            variant.get(Path((index,)))


def main(count: int, seed: int) -> None:
    valid, slowest = 0, 0.0
    started = time.perf_counter()
    for metadata, value in mutated(count, seed):
        before = time.perf_counter()
        try:
            valid += try_everything(metadata, value)
        except Exception:
            print(f"metadata {metadata.hex()}\nvalue {value.hex()}", file=sys.stderr)
            raise
        slowest = max(slowest, time.perf_counter() - before)
    print(
        f"variant: {count} mutated buffers, {valid} valid, {count - valid} MalformedVariant, nothing else; "
        f"slowest {slowest * 1000:.0f} ms, {time.perf_counter() - started:.0f} s in all (seed {seed})"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=200_000)
    arguments.add_argument("--seed", type=int, default=1)
    main(**vars(arguments.parse_args()))
