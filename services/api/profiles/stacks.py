"""All distinct stacks, also as files for other profilers' tools: /stacks."""

from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text, profile_files
from services.api.formats.forms import Form, Forms
from services.api.formats.row_columns import Rows
from services.api.formats.stack_profile import StackProfile, Value
from services.api.parameters import Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.stack_files import StackFile, ValueOfStacks
from storage.query.answers.answer import as_document
from storage.query.answers.stacks import StacksAnswer
from storage.query.reading import Question
from storage.query.selections.selection import Selection
from storage.query.shapes.stack_samples import MOST_ESTIMATED, MOST_STACKS, StackSamplesQuestion
from storage.query.shapes.stacks import DEFAULT_ROWS, StacksQuestion

_Answer = TypeVar("_Answer")


class Ask(Protocol):
    """Answers questions."""

    def __call__(self, question: Question[_Answer], /) -> _Answer:
        """The question's answer."""
        ...


@dataclass(frozen=True, slots=True)
class StacksRequest:
    """A request for stacks, in any form."""

    ask: Ask
    selection: Selection
    labels: tuple[str, ...] = ()
    limit: int | None = None
    """None: the form's default."""
    value: Value = Value.ESTIMATE
    """The unit of forms with one number per stack."""

    def answer(self) -> StacksAnswer:
        """The rows of /stacks. Raises `BadSelection`, also for more rows than can have intervals."""
        return self.ask(StacksQuestion(self.selection, self.labels, self.limit or DEFAULT_ROWS))

    def profile(self) -> StackProfile:
        """The stacks as profile files contain them."""

        def question() -> StackSamplesQuestion:
            return StackSamplesQuestion(self.selection, self.labels, self.limit or MOST_STACKS)

        return StackFile(self.ask, question, "stacks", {"labels": ",".join(self.labels)}).profile()


_COLUMNS = Rows(StacksAnswer, ("rows",))
FORMS: Forms[StacksRequest] = Forms(
    (
        Form("json", "application/json", "json", lambda query: as_json(query.answer())[0]),
        arrow.form(lambda query: _COLUMNS.table(as_document(query.answer()))),
        csv_text.form(lambda query: _COLUMNS.table(as_document(query.answer()))),
        *profile_files.forms(StacksRequest.profile, lambda query: query.value),
    )
)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/stacks",
        summary="The distinct stacks of a selection",
        description="The distinct stacks of a selection, as rows or as a file for `go tool pprof`, speedscope or "
        "flamegraph.pl. The stacks are from the samples of each visit. Rows, or the file's stacks, and the "
        "remainder add up to `totals`.",
        response_model=described_by(StacksAnswer),
        responses=PROBLEMS,
        openapi_extra=FORMS.openapi,
    )
    async def stacks(
        *,
        request: Request,
        selection: Selected,
        labels: Annotated[
            str,
            Query(
                description="Labels, separated by commas, whose values divide the stacks. They become labels of pprof's "
                "samples, or the first frames of collapsed stacks.",
                examples=["application,version"],
                max_length=500,
            ),
        ] = "",
        limit: Annotated[
            int | None,
            Query(
                ge=1,
                le=MOST_STACKS,
                description=f"Largest number of stacks, the heaviest first. Default: {DEFAULT_ROWS:,} rows (at most "
                f"{MOST_ESTIMATED:,}), or all stacks in a file.",
            ),
        ] = None,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        names = keys_of(labels) if labels.strip() else ()
        return await handler.answer(
            request, FORMS, StacksRequest(handler.queries.ask, selection, names, limit, value)
        )
