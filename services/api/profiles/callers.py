"""A function's callers and callees: /callers."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.formats.stack_profile import Value
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.stack_files import Counted, StackFile, ValueOfStacks, with_stacks
from storage.query.answers.callers import CallersAnswer
from storage.query.selections.grammar import LONGEST as LONGEST_FUNCTION
from storage.query.shapes.callers import MOST_NODES, MOST_ROWS, CallersQuestion
from storage.query.shapes.stack_samples import StackSamplesQuestion
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


_FORMS = with_stacks(forms_of(CallersAnswer, "rows"))


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/callers",
        summary="Callers and callees of a function",
        description="The calls on both sides of a function: one step as rows, and all steps as two trees. `focus` and "
        "the other filters on frames restrict the stacks. Files of stacks contain the stacks with one of "
        "the functions.",
        response_model=described_by(CallersAnswer),
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
        return await handler.answer(request, _FORMS, Counted(lambda: handler.queries.ask(question), stacks))
