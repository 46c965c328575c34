"""The answer of a flame graph: a tree of calls as columns."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.functions import KindName, StatusName
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(slots=True)  # a tree has thousands: frozen ones take three times as long to make
class FlameFunction(Answer):
    """A function that nodes of the flame graph refer to."""

    id: Annotated[
        int,
        Field(
            description="0: the root, which represents all samples. Below 0: not a function but the value of a label."
        ),
    ]
    name: str
    file: Annotated[str, Field(description="Empty: not known.")]
    binary: str
    status: StatusName
    kind: Annotated[
        KindName,
        Field(description="marker: not code; the name describes what is missing from the stack there."),
    ]
    label: Annotated[
        str | None, Field(description="The label that `name` is a value of. Null for functions.")
    ]
    effective: Annotated[
        float | None,
        Field(
            description="Effective number of independent samples of the function's share. The intervals of its nodes use "
            "the function's design effect. Null for the root, for light functions, and without a random design."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Pruned(Answer):
    """The part of the flame graph that was cut off."""

    nodes: Annotated[
        int,
        Field(
            description="For an inverted tree this is a lower bound: callers of light nodes are not counted."
        ),
    ]
    share: Annotated[Share, Field(description="Share of the tree that is self of nodes that were cut off.")]


@dataclass(frozen=True, slots=True)
class FlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending total; node 0 is the root."""

    total: Annotated[
        tuple[float, ...],
        Field(
            description="Estimated core-seconds of the fleet, or units for events not counted in time. Without a random "
            "design, the observed value."
        ),
    ]
    self: Annotated[tuple[float, ...], Field(description="Like `total`, for self.")]
    pruned: Annotated[
        tuple[float, ...],
        Field(
            description="Like `total`, of nodes that were cut off below: total = self + pruned + the children's totals."
        ),
    ]
    parent: Annotated[tuple[int, ...], Field(description="-1 for the root.")]
    function: Annotated[tuple[int, ...], Field(description="Index into `functions`.")]


@dataclass(frozen=True, slots=True)
class FlameSummary(Answer):
    """What a flame graph shows, without its nodes and their functions."""

    selection: SelectionEcho
    totals: Totals
    path: Annotated[
        tuple[int, ...],
        Field(
            description="Ids of the functions from the root of the whole tree to the root of this one, which is the last. "
            "Empty for the whole tree."
        ),
    ]
    inverted: Annotated[bool, Field(description="Callees are above their callers.")]
    by: Annotated[tuple[str, ...], Field(description="Labels whose values are the first levels.")]
    pruned: Pruned


@dataclass(frozen=True, slots=True)
class FlameAnswer(FlameSummary):
    """The samples of a selection as a tree of calls."""

    functions: tuple[FlameFunction, ...]
    nodes: FlameNodes
