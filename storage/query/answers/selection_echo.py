"""The resolved selection, as answers repeat it."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer


@dataclass(frozen=True, slots=True)
class SelectionEcho(Answer):
    """The request's selection, with every default and relative time filled in."""

    event: Annotated[str, Field(examples=["cpu"])]
    unit: Annotated[str, Field(description="Unit of a sample's value.", examples=["nanoseconds"])]
    from_: Annotated[str, Field(description="RFC 3339, UTC; inclusive.", examples=["2026-11-21T04:00:00Z"])]
    to: Annotated[str, Field(description="RFC 3339, UTC; exclusive.", examples=["2026-11-21T05:00:00Z"])]
    select: Annotated[
        str, Field(description="The matchers, those on labels first.", examples=['{application="nginx"}'])
    ]
    campaign: Annotated[str, Field(examples=["fleet"])]
    focus: Annotated[str, Field(description="Empty: not set, like the next fields.")]
    ignore: str
    hide: str
    show: str
    show_from: str


@dataclass(frozen=True, slots=True)
class MachineSelectionEcho(Answer):
    """The selected machines and the time range."""

    from_: Annotated[str, Field(description="RFC 3339, UTC; inclusive.")]
    to: Annotated[str, Field(description="RFC 3339, UTC; exclusive.")]
    select: Annotated[str, Field(examples=['{platform=~"AMD.*"}'])]
    campaign: Annotated[str, Field(examples=["fleet"])]
