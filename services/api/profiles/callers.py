"""A function's callers and callees: /callers."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.formats.stack_profile import Value
from services.api.parameters import Selected
from services.api.profiles.functions import KindName, StatusName, function_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.stack_files import Counted, StackFile, ValueOfStacks, with_stacks
from services.api.profiles.table import TableRow, row_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.selections.grammar import LONGEST as LONGEST_FUNCTION
from storage.query.shapes.callers import MOST_NODES, MOST_ROWS, Callers, CallersQuestion
from storage.query.shapes.callers import CallersAnswer as FoundCallers
from storage.query.shapes.callers import CallTree as FoundTree
from storage.query.shapes.stack_samples import StackSamplesQuestion
from storage.query.shapes.table import Row
from storage.query.subject import parse_subject

FunctionId = Annotated[
    int | None,
    Query(description="Id of the function, from another response.", examples=[17]),
]
FunctionName = Annotated[
    str,
    Query(
        description="The whole name of the function, or matchers on function, file and binary in braces. Several "
        "matching functions count as one.",
        examples=["malloc", '{binary="libz.so.1"}', '{function=~"std::.*sort.*"}'],
        max_length=LONGEST_FUNCTION,
    ),
]


class NamedFunction(Answer):
    """A function."""

    id: int
    name: str
    file: str = Field(description="Empty: not known.")
    binary: str
    status: StatusName
    kind: KindName


class CallRow(TableRow):
    """One caller or callee: the function on the other side of a call. A call counts once per stack."""

    side: Literal["caller", "callee"]
    of_function: float = Field(
        description="Its total as a share of the functions' total. With recursion one stack has several calls, so the "
        "sum may exceed 1.",
        ge=0,
        le=1,
    )


class CallTree(Answer):
    """A tree of calls as columns over its nodes, in depth-first preorder, children by descending total.

    Node 0 represents the requested functions, at their outermost occurrences. Each stack is in it once.
    """

    functions: list[NamedFunction] = Field(description="The functions that `function` refers to.")
    total: list[float] = Field(
        description="Estimated core-seconds of the fleet, or units for events not counted in time. Without a random "
        "design, the observed value."
    )
    self: list[float] = Field(
        description="Like `total`, for self. In the tree of callers: for stacks that begin at the node."
    )
    parent: list[int] = Field(description="-1 for node 0.")
    function: list[int] = Field(description="Index into `functions`.")
    pruned_nodes: int = Field(
        description="Lower bound of the nodes that were cut off: nodes below light nodes are not counted."
    )
    pruned_share: float = Field(
        description="Share of node 0 that is self of nodes that were cut off.", ge=0, le=1
    )


class CallersAnswer(Answer):
    """Some functions among their callers and callees."""

    selection: SelectionEcho
    totals: TotalsAnswer
    functions: list[NamedFunction] = Field(
        description="The functions that match, at most the heaviest hundred. Empty: no stack has such a function."
    )
    functions_total: int
    itself: TableRow = Field(description="All the functions as one row. Its key is empty.")
    borrowed: bool = Field(
        description="The intervals of calls use the design effect of the functions' total, because the answer is from "
        "merged cells, which have no calls."
    )
    rows: list[CallRow] = Field(
        description="Callers, then callees, each by descending total. `self` of a caller is the functions' self when it "
        "calls them; these and `callers_remainder` add up to `itself.self`. `self` of a callee is its self "
        "when the functions call it. An empty key: no caller, the stack begins there."
    )
    callers_total: int
    callers_remainder: int = Field(description="Units of self of callers that are not shown.")
    callees_total: int
    callees_remainder: int = Field(description="Units of self of callees that are not shown.")
    above: CallTree = Field(description="Callers of the functions, callers of those, and so on.")
    below: CallTree = Field(description="Callees of the functions, callees of those, and so on.")


_FORMS = with_stacks(forms_of(CallersAnswer, "rows"))


def callers_document(question: CallersQuestion, found: FoundCallers) -> Json:
    """The answer of /callers."""
    calls, scale = found.callers, found.kind.seconds_per_unit
    return {
        "selection": selection_document(question.selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "functions": [function_document(row) for row in calls.functions],
        "functions_total": calls.functions_total,
        "itself": row_document(calls.itself, scale),
        "borrowed": calls.borrowed,
        "rows": [
            *(_call(row, "caller", calls, scale) for row in calls.callers.rows),
            *(_call(row, "callee", calls, scale) for row in calls.callees.rows),
        ],
        "callers_total": calls.callers.rows_total,
        "callers_remainder": calls.callers.remainder_self,
        "callees_total": calls.callees.rows_total,
        "callees_remainder": calls.callees.remainder_self,
        "above": _tree(calls.above, scale),
        "below": _tree(calls.below, scale),
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/callers",
        summary="Callers and callees of a function",
        description="The calls on both sides of a function: one step as rows, and all steps as two trees. `focus` and "
        "the other filters on frames restrict the stacks. Files of stacks contain the stacks with one of "
        "the functions.",
        response_model=CallersAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def callers(
        *,
        request: Request,
        selection: Selected,
        function_id: FunctionId = None,
        function: FunctionName = "",
        limit: Annotated[
            int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows on each side.")
        ] = 100,
        nodes: Annotated[
            int, Query(ge=1, le=MOST_NODES, description="Largest number of nodes in each tree.")
        ] = 2000,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        subject = parse_subject(function_id=function_id, function=function)
        question = CallersQuestion(selection, subject, limit, nodes)
        stacks = StackFile(
            handler.queries.ask,
            lambda: StackSamplesQuestion(selection, through=subject),
            "callers",
            {"function_id": "" if function_id is None else str(function_id), "function": function},
            value,
        )
        return await handler.answer(
            request,
            _FORMS,
            Counted(lambda: callers_document(question, handler.queries.ask(question)), stacks),
        )


def _call(row: Row, side: str, calls: Callers, scale: float | None) -> Json:
    whole = calls.itself.total_share
    of_function = min(row.total_share / whole, 1.0) if whole > 0 else 0.0
    return {**row_document(row, scale), "side": side, "of_function": of_function}


def _tree(tree: FoundTree, scale: float | None) -> Json:
    factor = 1.0 if scale is None else scale
    return {
        "functions": [function_document(row) for row in tree.functions],
        "total": (tree.total_weight * factor).tolist(),
        "self": (tree.self_weight * factor).tolist(),
        "parent": tree.parent.tolist(),
        "function": tree.function.tolist(),
        "pruned_nodes": tree.pruned_nodes,
        "pruned_share": tree.pruned_share,
    }
