"""Hot functions, or any other grouping: /table."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.formats.stack_profile import Value
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.estimates import IntervalAnswer, as_seconds, interval_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.stack_files import Counted, StackFile, ValueOfStacks, with_stacks
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.selections.patterns import LONGEST as LONGEST_PATTERN
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.stack_samples import StackSamplesQuestion
from storage.query.shapes.table import MOST_ROWS, Row, TableQuestion
from storage.query.shapes.table import TableAnswer as FoundTable


class TableRow(Answer):
    """One row; a sample counts once in a row's total, recursion or not."""

    key: dict[str, str] = Field(
        description="One member for each key of `by`. With function also file, binary, status and kind; with line also "
        "file. The empty text: the profile does not have the label. Line 0: the part of a function without "
        "a known line.",
        examples=[
            {
                "function": "malloc",
                "file": "malloc.c",
                "binary": "libc.so.6",
                "status": "full",
                "kind": "user",
            }
        ],
    )
    function_id: int | None = Field(description="Null unless `by` contains function.")
    self: int = Field(description="Units of the samples whose innermost function is in this row.")
    total: int = Field(
        description="Units of the samples with a function of this row anywhere in their stack."
    )
    self_samples: int | None = Field(
        description="Null if merged cells were read, which do not count samples; likewise total_samples."
    )
    total_samples: int | None
    self_seconds: float | None = Field(
        description="Observed seconds. Null for events not counted in time, like total_seconds."
    )
    total_seconds: float | None
    self_share: float = Field(
        description="Estimated share of the whole selection, before focus and ignore. Without a random design, the "
        "observed share. Likewise total_share.",
        ge=0,
        le=1,
    )
    self_lo: float | None = Field(
        description="95 % interval of the share. Null without a random design, like all intervals.",
        ge=0,
        le=1,
    )
    self_hi: float | None = Field(ge=0, le=1)
    total_share: float = Field(ge=0, le=1)
    total_lo: float | None = Field(ge=0, le=1)
    total_hi: float | None = Field(ge=0, le=1)
    self_core_seconds: IntervalAnswer | None = Field(
        description="CPU time of the whole fleet in `weighed_seconds`. Null for events not counted in time, like "
        "total_core_seconds."
    )
    total_core_seconds: IntervalAnswer | None
    low_confidence: bool = Field(
        description="Low confidence: too few visits contribute for a narrow interval, so it is widened."
    )
    visits: int | None = Field(description="Visits with a sample in the row's total.")
    machines: int | None = Field(
        description="Machines with a sample in the row's total. Null if merged cells were read, which do not count "
        "machines."
    )


class Remainder(Answer):
    """The rows that are not shown. With the shown rows they add up to the whole."""

    rows: int
    self: int = Field(description="Units.")
    self_seconds: float | None
    self_share: float = Field(description="Estimated share, like those of the rows.", ge=0, le=1)


class TableAnswer(Answer):
    """The samples of a selection, grouped."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    rows: list[TableRow]
    rows_total: int = Field(description="Rows that match `find` and `find_regex`. Without both: all rows.")
    remainder: Remainder


FORMS = forms_of(TableAnswer, "rows")
_FORMS = with_stacks(FORMS)


def table_document(selection: Selection, found: FoundTable) -> Json:
    """The answer of /table."""
    scale = found.kind.seconds_per_unit
    return {
        "selection": selection_document(selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "by": list(found.table.by),
        "rows": [row_document(row, scale) for row in found.table.rows],
        "rows_total": found.table.rows_total,
        "remainder": {
            "rows": found.table.remainder_rows,
            "self": found.table.remainder_self,
            "self_seconds": as_seconds(found.table.remainder_self, scale),
            "self_share": found.table.remainder_share,
        },
    }


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/table",
        summary="Hot functions, or another grouping",
        description="The samples of a selection, grouped by any of their dimensions and sorted. Rows and `remainder` "
        "add up to `totals.units`, like the root of /flame for the same selection. Files of stacks contain "
        "all stacks of the selection, divided by the labels among `by`.",
        response_model=TableAnswer,
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

        def document() -> Json:
            question = TableQuestion(selection, keys, Page(sort, limit, offset, find, find_regex))
            return table_document(selection, handler.queries.ask(question))

        def behind() -> StackSamplesQuestion:
            by_ = split_keys(keys)
            return StackSamplesQuestion(selection, by_.labels, lined=by_.by_line)

        stacks = StackFile(handler.queries.ask, behind, "table", {"by": by}, value)
        return await handler.answer(request, _FORMS, Counted(document, stacks))


def row_document(row: Row, scale: float | None) -> Json:
    """One row; `scale` is the core-seconds of a unit."""
    own, total = row.own_estimate, row.total_estimate
    return {
        "key": row.key,
        "function_id": row.function_id,
        "self": row.self,
        "total": row.total,
        "self_samples": row.self_samples,
        "total_samples": row.total_samples,
        "self_seconds": as_seconds(row.self, scale),
        "total_seconds": as_seconds(row.total, scale),
        "self_share": row.self_share,
        "self_lo": own and own.share.lo,
        "self_hi": own and own.share.hi,
        "total_share": row.total_share,
        "total_lo": total and total.share.lo,
        "total_hi": total and total.share.hi,
        "self_core_seconds": own and interval_document(own.units, scale),
        "total_core_seconds": total and interval_document(total.units, scale),
        "low_confidence": bool((own and own.low_confidence) or (total and total.low_confidence)),
        "visits": row.visits,
        "machines": row.machines,
    }
