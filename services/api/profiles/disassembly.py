"""The instructions of a function: /disassembly."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.auth import Access
from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.callers import FunctionId, FunctionName
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.request_auth import caller_of
from services.api.upstream_slots import UpstreamSlots
from services.disassembly.service import DisassemblyQuestion, DisassemblyService
from storage.query.answers.disassembly import DisassemblyAnswer
from storage.query.shapes.function_visits import MOST_CAPTURES
from storage.query.subject import parse_function_subject

CONCURRENT_LISTINGS = 1
"""A large symbol table takes up to a gigabyte, and a download from a debuginfod server seconds of a query's slot."""
_PATIENCE_S = 10.0
_LONGEST = 1024

_FORMS = forms_of(DisassemblyAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler, service: DisassemblyService, access: Access) -> None:
    """Add the route."""
    slots = UpstreamSlots(
        CONCURRENT_LISTINGS, of_one=1, patience_s=_PATIENCE_S, what="listings of instructions"
    )

    @router.get(
        "/disassembly",
        summary="Instructions with samples",
        description="The instructions of a function in one build, with the samples at each. Addresses are only in raw "
        "captures, so the captures of a random part of the visits are read; `captures` says how many of how many. "
        "`focus` and other filters on frames are refused. Samples in functions that are inlined into the function "
        "count, because their instructions are its own.",
        response_model=described_by(DisassemblyAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def disassembly(
        *,
        request: Request,
        selection: Selected,
        function_id: FunctionId = None,
        function: FunctionName = "",
        binary: Annotated[
            str,
            Query(description="The function in this binary only, by the binary's name.", max_length=_LONGEST),
        ] = "",
        build_id: Annotated[
            str,
            Query(
                description="Key of the build, as in `builds`. Default: the heaviest build.",
                max_length=_LONGEST,
            ),
        ] = "",
        captures: Annotated[
            int, Query(ge=1, le=MOST_CAPTURES, description="Largest number of captures to read.")
        ] = 200,
    ) -> Response:
        subject = parse_function_subject(function_id=function_id, function=function, binary=binary)
        question = DisassemblyQuestion(selection, subject, build_id, captures)
        async with slots.acquired(caller_of(request, access)):
            return await handler.answer(request, _FORMS, lambda: service.answer(question))
