"""The answer of a call graph: functions and the calls between them."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Difference, Share
from storage.query.answers.functions import NamedFunction
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class GraphNode(NamedFunction):
    """A function."""

    self: Annotated[int, Field(description="Observed units of samples whose innermost function this is.")]
    total: Annotated[
        int, Field(description="Observed units of stacks that contain it; each stack counts once.")
    ]
    self_share: Annotated[Share, Field(description="Estimated share of the whole selection.")]
    self_lo: Annotated[
        Share | None,
        Field(description="95 % interval. Null without a random design, as in the other intervals."),
    ]
    self_hi: Share | None
    total_share: Share
    total_lo: Share | None
    total_hi: Share | None
    low_confidence: Annotated[
        bool,
        Field(description="Low confidence: too few visits contribute for a narrow interval."),
    ]
    visits: Annotated[
        int | None,
        Field(
            description="Visits with a sample in its total. Null if merged cells were read, which do not count visits."
        ),
    ]
    machines: int | None
    b_self_share: Annotated[
        Share | None,
        Field(description="Estimated share of the base. Null without a base, like the next two fields."),
    ]
    b_total_share: Share | None
    delta: Annotated[
        Difference | None,
        Field(description="total_share - b_total_share. Positive: heavier in the selection."),
    ]


@dataclass(frozen=True, slots=True)
class GraphEdge(Answer):
    """One function calls another; a stack counts once, however often the call occurs in it."""

    caller: Annotated[int, Field(description="Index into `nodes`.")]
    callee: int
    caller_function: str
    callee_function: str
    units: Annotated[int, Field(description="Observed units.")]
    share: Annotated[Share, Field(description="Estimated share of the whole selection.")]
    lo: Annotated[
        Share | None,
        Field(
            description="95 % interval, from the effective number of samples of the callee's total.",
        ),
    ]
    hi: Share | None
    residual: Annotated[
        bool,
        Field(description="Some of its stacks have functions in between that the graph does not show."),
    ]
    b_share: Annotated[
        Share | None, Field(description="Estimated share of the base. Null without a base, like delta.")
    ]
    delta: Annotated[Difference | None, Field(description="share - b_share.")]


@dataclass(frozen=True, slots=True)
class HiddenCalls(Answer):
    """The part of the graph that is not shown; with a base, the heaviest ones are those of either side."""

    nodes: int
    self_share: Annotated[
        Share, Field(description="Share of the selection whose innermost function is not shown.")
    ]
    heaviest_node: Annotated[Share, Field(description="Largest total share of a function not shown.")]
    edges: Annotated[int, Field(description="Calls among the functions shown.")]
    heaviest_edge: Annotated[Share, Field(description="Largest share of a call not shown.")]


@dataclass(frozen=True, slots=True)
class CallGraphAnswer(Answer):
    """The heaviest functions of a selection, and the calls among them."""

    selection: SelectionEcho
    totals: Totals
    nodes: Annotated[
        tuple[GraphNode, ...],
        Field(
            description="By descending total. With a base: by the larger total of both sides; figures without `b_` are 0 for "
            "a function that only the base has."
        ),
    ]
    edges: Annotated[
        tuple[GraphEdge, ...],
        Field(description="By descending share. With a base: by the larger share of both sides."),
    ]
    left_out: HiddenCalls
    base: Annotated[SelectionEcho | None, Field(description="Null without a base, like base_totals.")]
    base_totals: Totals | None
