"""The answer about a function's callers and callees."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.functions import NamedFunction
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.table import TableRow
from storage.query.answers.totals import Totals

Side = Literal["caller", "callee"]
"""The place of the function on the other side of a call."""


@dataclass(frozen=True, slots=True)
class CallRow(TableRow):
    """One caller or callee: the function on the other side of a call. A call counts once per stack."""

    side: Side
    of_function: Annotated[
        Share,
        Field(
            description="Its total as a share of the functions' total. With recursion one stack has several calls, so the "
            "sum may exceed 1."
        ),
    ]


@dataclass(frozen=True, slots=True)
class CallTree(Answer):
    """A tree of calls as columns over its nodes, in depth-first preorder, children by descending total.

    Node 0 represents the requested functions, at their outermost occurrences. Each stack is in it once.
    """

    functions: Annotated[
        tuple[NamedFunction, ...], Field(description="The functions that `function` refers to.")
    ]
    total: Annotated[
        tuple[float, ...],
        Field(
            description="Estimated core-seconds of the fleet, or units for events not counted in time. Without a random "
            "design, the observed value."
        ),
    ]
    self: Annotated[
        tuple[float, ...],
        Field(
            description="Like `total`, for self. In the tree of callers: for stacks that begin at the node."
        ),
    ]
    parent: Annotated[tuple[int, ...], Field(description="-1 for node 0.")]
    function: Annotated[tuple[int, ...], Field(description="Index into `functions`.")]
    pruned_nodes: Annotated[
        int,
        Field(
            description="Lower bound of the nodes that were cut off: nodes below light nodes are not counted."
        ),
    ]
    pruned_share: Annotated[
        Share, Field(description="Share of node 0 that is self of nodes that were cut off.")
    ]


@dataclass(frozen=True, slots=True)
class CallersAnswer(Answer):
    """Some functions among their callers and callees."""

    selection: SelectionEcho
    totals: Totals
    functions: Annotated[
        tuple[NamedFunction, ...],
        Field(
            description="The functions that match, at most the heaviest hundred. Empty: no stack has such a function."
        ),
    ]
    functions_total: int
    itself: Annotated[TableRow, Field(description="All the functions as one row. Its key is empty.")]
    borrowed: Annotated[
        bool,
        Field(
            description="The intervals of calls use the design effect of the functions' total, because the answer is from "
            "merged cells, which have no calls."
        ),
    ]
    rows: Annotated[
        tuple[CallRow, ...],
        Field(
            description="Callers, then callees, each by descending total. `self` of a caller is the functions' self when it "
            "calls them; these and `callers_remainder` add up to `itself.self`. `self` of a callee is its self "
            "when the functions call it. An empty key: no caller, the stack begins there."
        ),
    ]
    callers_total: int
    callers_remainder: Annotated[int, Field(description="Units of self of callers that are not shown.")]
    callees_total: int
    callees_remainder: Annotated[int, Field(description="Units of self of callees that are not shown.")]
    above: Annotated[CallTree, Field(description="Callers of the functions, callers of those, and so on.")]
    below: Annotated[CallTree, Field(description="Callees of the functions, callees of those, and so on.")]
