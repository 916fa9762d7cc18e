"""Sends objects to Spark's workers, and keeps credentials out of the files that Spark makes of them.

```
objects ─ pickled, without storage options ─▶ broadcast   Spark keeps it in files, unencrypted
        └ storage options, usually one set ─▶ closure     in memory; but one beyond 1 MiB is broadcast, too
```

So everything that can be large is broadcast, and the options travel in the closure, which stays small.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from shredlake.delta.storage.secrets import StorageOptions
from shredlake.spark.settings import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_loading = threading.local()
"""The storage options of the objects that this thread unpickles."""


@dataclass(frozen=True)
class Shared:
    """Objects by their numbers. Each is pickled by itself: a worker unpickles those that it asks for."""

    pickled: Any
    """The bytes of each object: a list, or a broadcast variable with one."""
    options: tuple[StorageOptions, ...]
    """The storage options that the objects refer to by number."""

    def __call__(self, number: int) -> Any:
        pickled = self.pickled if isinstance(self.pickled, list) else self.pickled.value
        _loading.options = self.options
        return pickle.loads(pickled[number])


def shared(spark: SparkSession, objects: Iterable[Any]) -> Shared:
    """Sends objects to the workers, whose functions get them as `found(number)`.

    A worker process loads the list once, however many tasks it runs. Connect has no broadcast variables:
    there every task brings the list along, in memory.
    """
    options: list[StorageOptions] = []
    pickled = list(map(_pickler(options), objects))
    return Shared(pickled if is_connect(spark) else spark.sparkContext.broadcast(pickled), tuple(options))


Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def shared_step(spark: SparkSession, step: Step) -> Step:
    """A function for `mapInArrow` that holds storage options, and may be large."""
    found = shared(spark, [step])
    return lambda batches: found(0)(batches)


def _pickler(options: list[StorageOptions]) -> Callable[[Any], bytes]:
    """Pickles objects with numbers in place of storage options, which `options` collects."""
    from pyspark.cloudpickle import Pickler

    def numbered(found: StorageOptions) -> tuple[Any, ...]:
        if found not in options:
            options.append(found)
        return _options_at, (options.index(found),)

    class WithoutOptions(Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar[Any] = ChainMap({StorageOptions: numbered}, Pickler.dispatch_table)

    def pickled(value: Any) -> bytes:
        written = io.BytesIO()
        WithoutOptions(written).dump(value)
        return written.getvalue()

    return pickled


def _options_at(number: int) -> StorageOptions:
    options: Sequence[StorageOptions] = _loading.options
    return options[number]
