"""The answer about one function."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.functions import NamedFunction, StatusName


@dataclass(frozen=True, slots=True)
class FunctionBuild(Answer):
    """A build of the function's binary."""

    key: Annotated[str, Field(description="Key of the binary, for /source and /symbols.")]
    path: Annotated[str, Field(description="Path at which it was first seen.")]
    status: Annotated[StatusName, Field(description="Its best symbols so far.")]
    reason: Annotated[str, Field(description="The reason why the status is not full, as a sentence.")]
    first_seen: Annotated[str, Field(description="RFC 3339, UTC.")]


@dataclass(frozen=True, slots=True)
class FunctionAnswer(NamedFunction):
    """What is known of a function, whatever was sampled."""

    line: Annotated[int | None, Field(description="Its first line in `file`. Null: not known.")]
    raw_name: Annotated[
        str, Field(description="Name in the symbol table, which may be mangled.", examples=["_ZN3foo3barEv"])
    ]
    builds: Annotated[
        tuple[FunctionBuild, ...],
        Field(
            description="The builds with the name of its binary, the newest first, at most a hundred. A function is the same "
            "in all of them."
        ),
    ]
    builds_total: int
    others: Annotated[
        tuple[NamedFunction, ...],
        Field(description="Other functions of the same name, in other binaries or files, at most a hundred."),
    ]
    others_total: int
