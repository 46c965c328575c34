"""The answer of a differential flame graph: the trees of calls of two selections as columns."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.functions import KindName, StatusName
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(slots=True)  # a tree has thousands: frozen ones take several times as long to make
class DiffFlameFunction(Answer):
    """A function that nodes refer to."""

    id: Annotated[int, Field(description="0: the root, which represents all samples.")]
    name: str
    file: Annotated[str, Field(description="Empty: not known.")]
    binary: str
    status: StatusName
    kind: KindName


@dataclass(frozen=True, slots=True)
class DiffFlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending shares of both sides together; node 0 is the root."""

    total: Annotated[
        tuple[float, ...],
        Field(
            description="Estimated core-seconds of the fleet in the selection, or units for events not counted in time. "
            "Without a random design, the observed value. 0: the selection has no such stack."
        ),
    ]
    self: Annotated[tuple[float, ...], Field(description="Like `total`, for self.")]
    base_total: Annotated[tuple[float, ...], Field(description="The same in the base.")]
    base_self: tuple[float, ...]
    delta: Annotated[
        tuple[float, ...],
        Field(
            description="Share of the selection minus share of the base, by total. Positive: heavier in the selection."
        ),
    ]
    parent: Annotated[tuple[int, ...], Field(description="-1 for the root.")]
    function: Annotated[tuple[int, ...], Field(description="Index into `functions`.")]


@dataclass(frozen=True, slots=True)
class DiffFlamePruned(Answer):
    """The part of the tree that was cut off."""

    nodes: int
    heaviest: Annotated[
        Share,
        Field(
            description="Largest share of a node that was cut off, on either side. No larger change is hidden."
        ),
    ]


@dataclass(frozen=True, slots=True)
class FlameDiffAnswer(Answer):
    """The trees of calls of two selections as one. /diff tests whether a function's change is chance."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: Totals
    base_totals: Totals
    whole: Annotated[
        float,
        Field(
            description="The total of the selection that its shares refer to, in the unit of `nodes.total`."
        ),
    ]
    base_whole: Annotated[float, Field(description="The same of the base.")]
    functions: tuple[DiffFlameFunction, ...]
    pruned: DiffFlamePruned
    nodes: DiffFlameNodes
