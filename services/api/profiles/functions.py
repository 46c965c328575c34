"""Functions in answers."""

from typing import Literal

from services.api.answer import Json
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow

StatusName = Literal["full", "symtab", "binary_only", "unknown"]
KindName = Literal["user", "kernel", "marker"]
STATUSES = {status: status.name.lower() for status in Status}
KINDS = {kind: kind.name.lower() for kind in Kind}
"""A flame graph has thousands of functions, and reading an enum member's name takes as long as the rest of a document.
"""


def function_document(row: FunctionRow) -> Json:
    """A function's names, its source, and its symbolization status."""
    return {
        "id": row.id,
        "name": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": STATUSES[row.status],
        "kind": KINDS[row.kind],
    }
