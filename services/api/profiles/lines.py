"""Source lines, for an annotated source: /lines."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.formats.stack_profile import Value
from services.api.parameters import BaseIfGiven, Selected
from services.api.profiles.callers import FunctionId, FunctionName
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.stack_files import Counted, StackFile, ValueOfStacks, with_stacks
from storage.query.answers.lines import LinesAnswer
from storage.query.shapes.lines import MOST_ROWS, LinesQuestion
from storage.query.shapes.stack_samples import StackSamplesQuestion
from storage.query.subject import parse_lines_subject

_LONGEST = 1024


_FORMS = with_stacks(forms_of(LinesAnswer, "rows"))


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/lines",
        summary="Source lines with samples",
        description="The source lines of a function, or of a file in all binaries or in one, for display beside the "
        "text from /source. `focus` and other filters on frames are refused, because lines are stored apart "
        "from stacks. With a base, each line also has its share there. Files of stacks contain the "
        "selection's stacks with the function, or with a function of the file.",
        response_model=described_by(LinesAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def lines(
        *,
        request: Request,
        selection: Selected,
        base: BaseIfGiven,
        function_id: FunctionId = None,
        function: FunctionName = "",
        file: Annotated[
            str,
            Query(
                description="A source file instead of a function, by its path as in other responses.",
                max_length=_LONGEST,
            ),
        ] = "",
        binary: Annotated[
            str, Query(description="The file in this binary only, by the binary's name.", max_length=_LONGEST)
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of lines.")] = 2000,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        subject = parse_lines_subject(function_id=function_id, function=function, file=file, binary=binary)
        question = LinesQuestion(selection, subject, limit, base)
        more = {
            "function_id": "" if function_id is None else str(function_id),
            "function": function,
            "file": file,
            "binary": binary,
        }

        def behind() -> StackSamplesQuestion:
            return StackSamplesQuestion(selection, through=subject, lined=True)

        stacks = StackFile(handler.queries.ask, behind, "lines", more, value)
        return await handler.answer(request, _FORMS, Counted(lambda: handler.queries.ask(question), stacks))
