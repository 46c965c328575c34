"""Functions, as answers have them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer

StatusName = Literal["full", "symtab", "binary_only", "unknown"]
KindName = Literal["user", "kernel", "marker"]


@dataclass(frozen=True, slots=True)
class NamedFunction(Answer):
    """A function."""

    id: int
    name: str
    file: Annotated[str, Field(description="Empty: not known.")]
    binary: str
    status: StatusName
    kind: KindName
