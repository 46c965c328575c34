"""Functions as answers hold them."""

from typing import Literal

from services.api.answer import Json
from storage.query.stacks.functions import FunctionRow

StatusName = Literal["full", "symtab", "binary_only", "unknown"]
KindName = Literal["user", "kernel", "marker"]


def function_document(row: FunctionRow) -> Json:
    """What a function is called, where it is from, and how far it was symbolized."""
    return {
        "id": row.id,
        "name": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": row.status.name.lower(),
        "kind": row.kind.name.lower(),
    }
