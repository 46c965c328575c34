"""Functions as answers hold them."""

from typing import Literal

from services.api.answer import Json
from storage.query.stacks.functions import FunctionRow

StatusName = Literal["full", "symtab", "binary_only", "unknown"]
KindName = Literal["user", "kernel", "marker"]


def function_document(row: FunctionRow) -> Json:
    """The members of every answer's functions."""
    return {
        "id": row.id,
        "name": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": row.status.name.lower(),
        "kind": row.kind.name.lower(),
    }
