"""Functions as answers hold them."""

from typing import Literal

from services.api.answer import Json
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow

StatusName = Literal["full", "symtab", "binary_only", "unknown"]
KindName = Literal["user", "kernel", "marker"]
STATUSES = {status: status.name.lower() for status in Status}
KINDS = {kind: kind.name.lower() for kind in Kind}
"""Of a flame graph there are thousands of functions, and asking a member for its name takes as long as all else here."""


def function_document(row: FunctionRow) -> Json:
    """What a function is called, where it is from, and how far it was symbolized."""
    return {
        "id": row.id,
        "name": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": STATUSES[row.status],
        "kind": KINDS[row.kind],
    }
