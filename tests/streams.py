"""Streams of Spark, run to their end."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def finished(writing: Any, place: Path) -> Any:
    """The query, run to its end.

    Spark gives the process of a stream's source ten seconds to start. A busy machine takes longer, and the
    query is started again.
    """
    for attempt in range(5):
        query = writing.start(str(place))
        try:
            query.awaitTermination()
            break
        except Exception as error:
            if "failed to connect back" not in str(error) or attempt == 4:
                raise
    return query
