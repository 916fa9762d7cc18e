"""A report on a table, for the terminal and for a page.

In reading order:

- `report`: `TableReport`, all of it, and `table_report`, which collects it.
- `paths`: how files shred each path; `measure`: bytes, fill and bounds, from the files themselves.
- `versions`: growth, layouts and drift, from the log.
- `drift`: paths that appeared, vanished or changed type; `views`: SQL with one column per path.
- `rejects`: refused documents by reason.
- `suggest`: what to do, why, and the command.
- `page`: the report as HTML.
"""

from typing import Final

MEASURED_FILES: Final = 16
"""Number of files that are measured, evenly spread over the table."""
