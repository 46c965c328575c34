"""All distinct stacks, also as files for other profilers' tools: /stacks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.encoded_response import as_json
from services.api.formats import arrow, csv_text, profile_files
from services.api.formats.forms import Form, Forms
from services.api.formats.row_columns import Rows
from services.api.formats.stack_profile import StackProfile, Value
from services.api.parameters import Selected, keys_of
from services.api.profiles.estimates import IntervalAnswer, as_seconds, interval_document
from services.api.profiles.functions import KindName
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.stack_files import StackFile, ValueOfStacks
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.errors import BadSelection
from storage.query.selections.selection import Selection
from storage.query.shapes.stack_samples import MOST_ESTIMATED, MOST_STACKS, StackSamplesQuestion
from storage.query.shapes.stack_samples import StacksAnswer as FoundStacks

_ROWS = 1000
"""Default number of rows."""


class StackFrame(Answer):
    """A function in a stack."""

    function: str
    file: str = Field(description="Empty: not known.")
    binary: str
    kind: KindName


class StackRow(Answer):
    """A stack, in the profiles with one combination of the requested labels."""

    key: dict[str, str] = Field(
        description="One member for each of `labels`. The empty text: the profile does not have the label.",
        examples=[{"application": "nginx"}],
    )
    frames: list[StackFrame] = Field(description="Outermost first.")
    samples: int
    units: int = Field(description="Sum of the units that each sample stands for.")
    seconds: float | None = Field(description="Observed seconds. Null for events not counted in time.")
    share: float = Field(
        description="Estimated share of the whole selection, before filters on stacks. Without a random design, the "
        "observed share.",
        ge=0,
        le=1,
    )
    lo: float | None = Field(description="95 % interval of the share. Null without a random design.")
    hi: float | None
    core_seconds: IntervalAnswer | None = Field(
        description="CPU time of the whole fleet in `weighed_seconds`. Null for events not counted in time."
    )
    low_confidence: bool = Field(
        description="Low confidence: too few visits contribute for a narrow interval, so it is widened."
    )


class StacksRemainder(Answer):
    """The stacks that are not shown. With the shown stacks they add up to the whole."""

    stacks: int
    samples: int
    units: int
    seconds: float | None
    share: float = Field(description="Estimated share, like those of the rows.", ge=0, le=1)


class StacksAnswer(Answer):
    """The distinct stacks of a selection."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str] = Field(description="Labels that divide the stacks.")
    rows: list[StackRow] = Field(description="Heaviest first.")
    rows_total: int
    remainder: StacksRemainder


@dataclass(frozen=True, slots=True)
class StacksRequest:
    """A request for stacks, in any form."""

    ask: Callable[[StackSamplesQuestion], FoundStacks]
    selection: Selection
    labels: tuple[str, ...] = ()
    limit: int | None = None
    """None: the form's default."""
    value: Value = Value.ESTIMATE
    """The unit of forms with one number per stack."""

    def document(self) -> Json:
        """The JSON answer of /stacks. Raises `BadSelection` for more rows than can have intervals."""
        limit = self.limit or _ROWS
        if limit > MOST_ESTIMATED:
            raise BadSelection(
                f"A response has at most {MOST_ESTIMATED:,} rows with intervals.",
                hint="Reduce `limit`, or get all stacks as pprof, speedscope or collapsed.",
                parameter="limit",
            )
        question = StackSamplesQuestion(self.selection, self.labels, limit, estimated=True)
        return stacks_document(self.selection, self.ask(question))

    def profile(self) -> StackProfile:
        """The stacks as profile files contain them."""

        def question() -> StackSamplesQuestion:
            return StackSamplesQuestion(self.selection, self.labels, self.limit or MOST_STACKS)

        return StackFile(self.ask, question, "stacks", {"labels": ",".join(self.labels)}).profile()


def stacks_document(selection: Selection, found: FoundStacks) -> Json:
    """The answer of /stacks, with estimates."""
    scale, table = found.kind.seconds_per_unit, found.table
    left = table.remainder
    return {
        "selection": selection_document(selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "by": list(table.labels),
        "rows": [_row(found, place) for place in table.heaviest_first.tolist()],
        "rows_total": len(table) + left.stacks,
        "remainder": {
            "stacks": left.stacks,
            "samples": left.samples,
            "units": left.units,
            "seconds": as_seconds(left.units, scale),
            "share": _share(left.weight, found.whole),
        },
    }


def _row(found: FoundStacks, place: int) -> Json:
    scale, table = found.kind.seconds_per_unit, found.table
    estimate = None if found.estimates is None else found.estimates[place]
    functions = [table.functions[number] for number in table.frames(place)]
    return {
        "key": dict(zip(table.labels, table.groups[int(table.group[place])], strict=True)),
        "frames": [
            {"function": row.name, "file": row.file, "binary": row.binary, "kind": row.kind.name.lower()}
            for row in functions
        ],
        "samples": int(table.samples[place]),
        "units": int(table.units[place]),
        "seconds": as_seconds(int(table.units[place]), scale),
        "share": _share(float(table.weight[place]), found.whole),
        "lo": estimate and estimate.share.lo,
        "hi": estimate and estimate.share.hi,
        "core_seconds": estimate and interval_document(estimate.units, scale),
        "low_confidence": bool(estimate and estimate.low_confidence),
    }


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


_COLUMNS = Rows(StacksAnswer, ("rows",))
FORMS: Forms[StacksRequest] = Forms(
    (
        Form("json", "application/json", "json", lambda query: as_json(query.document())[0]),
        arrow.form(lambda query: _COLUMNS.table(query.document())),
        csv_text.form(lambda query: _COLUMNS.table(query.document())),
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
        response_model=StacksAnswer,
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
                description=f"Largest number of stacks, the heaviest first. Default: {_ROWS:,} rows (at most "
                f"{MOST_ESTIMATED:,}), or all stacks in a file.",
            ),
        ] = None,
        value: ValueOfStacks = Value.ESTIMATE,
    ) -> Response:
        names = keys_of(labels) if labels.strip() else ()
        return await handler.answer(
            request, FORMS, StacksRequest(handler.queries.ask, selection, names, limit, value)
        )
