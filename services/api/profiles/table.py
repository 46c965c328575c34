"""Hot functions, or any other grouping: /table."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.encoded_response import as_json
from services.api.formats.documents import Document, forms_of
from services.api.formats.forms import Form, Forms
from services.api.formats.stack_profile import Value
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.stack_files import Counted, StackFile, ValueOfStacks, with_stacks
from storage.query.answers.table import TableAnswer
from storage.query.answers.table_columns import TableColumnsAnswer, table_columns
from storage.query.selections.patterns import LONGEST as LONGEST_PATTERN
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.stack_samples import StackSamplesQuestion
from storage.query.shapes.table import MOST_ROWS, TableQuestion

FORMS = forms_of(TableAnswer, "rows")


def _as_columns(ask: Document) -> bytes:
    found = ask()
    assert isinstance(found, TableAnswer)
    return as_json(table_columns(found))[0]


_COLUMNS = Form(
    "json-columns",
    "application/vnd.fleetprof.table+json",
    "json",
    _as_columns,
    answer=TableColumnsAnswer,
)
_FORMS = with_stacks(Forms((*FORMS.forms, _COLUMNS)))


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/table",
        summary="Hot functions, or another grouping",
        description="The samples of a selection, grouped by any of their dimensions and sorted. Rows and `remainder` "
        "add up to `totals.units`, like the root of /flame for the same selection. Files of stacks contain "
        "all stacks of the selection, divided by the labels among `by`. `Accept: "
        "application/vnd.fleetprof.table+json` gets the rows as columns, a third of the bytes.",
        response_model=described_by(TableAnswer, TableColumnsAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def table(
        *,
        request: Request,
        selection: Selected,
        by: Keys = "function",
        sort: Annotated[
            Sort,
            Query(
                description="With a minus: largest first, or names in descending order. Ties are sorted by name."
            ),
        ] = Sort.SELF_DESC,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 100,
        offset: Annotated[int, Query(ge=0, le=100_000_000, description="Number of rows to skip.")] = 0,
        find: Annotated[
            str,
            Query(
                max_length=200,
                description="Only rows with a name that contains this text, regardless of case.",
            ),
        ] = "",
        find_regex: Annotated[
            str,
            Query(
                max_length=LONGEST_PATTERN,
                description="Only rows with a name that this RE2 expression matches in any part.",
            ),
        ] = "",
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        keys = keys_of(by)

        question = TableQuestion(selection, keys, Page(sort, limit, offset, find, find_regex))

        def behind() -> StackSamplesQuestion:
            by_ = split_keys(keys)
            return StackSamplesQuestion(selection, by_.labels, lined=by_.by_line)

        stacks = StackFile(handler.queries.ask, behind, "table", {"by": by}, value)
        return await handler.answer(request, _FORMS, Counted(lambda: handler.queries.ask(question), stacks))
