"""The answer of a search for names: functions, files, binaries, applications and machines."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.selection_echo import SelectionEcho

HitKind = Literal["function", "file", "binary", "application", "machine"]


@dataclass(frozen=True, slots=True)
class SearchHit(Answer):
    """A name that contains the text."""

    kind: HitKind
    text: Annotated[str, Field(description="The name.", examples=["malloc"])]
    function_id: Annotated[int | None, Field(description="Null unless the hit is a function.")]
    file: Annotated[str | None, Field(description="Path of the file, or of the function's file; else null.")]
    binary: Annotated[str | None, Field(description="The binary, or the function's binary; else null.")]
    label: Annotated[str | None, Field(description="The label that `text` is a value of, for `select`.")]
    share: Annotated[
        Share | None,
        Field(
            description="Estimated share of the selection: self of a function and of the functions of a file or binary, "
            "all of an application. Null: not among the visits read, and for machines."
        ),
    ]


@dataclass(frozen=True, slots=True)
class SearchAnswer(Answer):
    """The names that contain a text."""

    selection: SelectionEcho
    q: str
    visits_read: Annotated[
        int,
        Field(
            description="Visits that shares are estimated from: a random part of the selection's visits, so that the search "
            "is fast. /table has exact shares."
        ),
    ]
    hits: Annotated[
        tuple[SearchHit, ...],
        Field(description="At most `limit` of each kind; by kind, then by descending share."),
    ]
