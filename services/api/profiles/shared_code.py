"""Code that is cold in each program and hot across the fleet, its cost, and a function's users: /shared-code."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.callers import FunctionId, FunctionName, NamedFunction
from services.api.profiles.estimates import IntervalAnswer, interval_document
from services.api.profiles.functions import function_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.table import TableRow, row_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.estimation.estimates import Interval
from storage.query.shapes import users
from storage.query.shapes.shared_code import MOST_ROWS, SharedCodeQuestion, SharedRow
from storage.query.shapes.shared_code import SharedCodeAnswer as FoundShared
from storage.query.shapes.table import Row
from storage.query.shapes.users import User, UsersQuestion
from storage.query.shapes.users import UsersAnswer as FoundUsers
from storage.query.subject import parse_subject

_HOUR_S = 3600
_YEAR_H = 8766


class Cost(Answer):
    """The cost of code to the fleet. Null members: no random design, an event not counted in time, or no price."""

    cores: IntervalAnswer | None = Field(description="Mean number of busy cores.")
    core_hours: IntervalAnswer | None = Field(description="Core-hours in `weighed_seconds`.")
    money: IntervalAnswer | None = Field(description="The core-hours at the configured price per core-hour.")
    money_a_year: IntervalAnswer | None = Field(description="The cost per year at the same rate.")


class SharedRowAnswer(TableRow):
    """A function, file or binary that is cold in each application and used by several."""

    applications: int = Field(description="Number of applications with a sample of it.")
    effective_applications: float = Field(
        description="Number of equally large users with the same entropy. 1 if one application has all of it."
    )
    largest_application: str = Field(description="The application with the surest large share of it.")
    largest_share: float = Field(description="Its share of that application.", ge=0, le=1)
    largest_lo: float = Field(
        description="Lower end of that share's interval, with samples taken as independent. `cold` is compared with it.",
        ge=0,
        le=1,
    )
    cost: Cost
    saved: Cost = Field(description="The part `saving` of the cost.")


class SharedCodeAnswer(Answer):
    """Code that is shared and cold, by descending share of the fleet."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    rows: list[SharedRowAnswer]
    rows_total: int
    share: float = Field(
        description="Share of the selection of all rows together, including rows that are not shown. By totals, which "
        "overlap: the largest share of a row.",
        ge=0,
        le=1,
    )
    applications: int = Field(description="Number of applications with a sample in the selection.")
    saving: float = Field(description="The requested part.", ge=0, le=1)
    price_per_core_hour: float | None = Field(
        description="The configured price. Null: no price is configured."
    )


class UserCaller(Answer):
    """A caller of the requested function, in one application."""

    function: NamedFunction | None = Field(description="Null: no caller, the stacks begin with the function.")
    share: float = Field(description="Share of the application's stacks through the functions.", ge=0, le=1)


class UserRow(TableRow):
    """An application whose stacks contain the requested functions. Self and total both count these stacks."""

    of_function: float = Field(description="Share of all stacks through the functions.", ge=0, le=1)
    within: float = Field(description="Share of the application's samples.", ge=0, le=1)
    callers: list[UserCaller] = Field(description=f"The heaviest {users.CALLERS} callers.")


class UsersAnswer(Answer):
    """The users of some functions, the largest first."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    functions: list[NamedFunction]
    itself: TableRow = Field(description="All the functions as one row. Its key is empty.")
    rows: list[UserRow]
    rows_total: int
    unseen_hi: float | None = Field(
        description="A user that no visit saw has at most this share of the selection, with 95 % confidence. Rare "
        "callers may be missing; large ones are not. Null without a random design."
    )


_SHARED = forms_of(SharedCodeAnswer, "rows")
_USERS = forms_of(UsersAnswer, "rows")


def shared_code_document(
    question: SharedCodeQuestion, found: FoundShared, *, saving: float, price_per_core_hour: float | None
) -> Json:
    """The answer of /shared-code."""
    shared, scale, price = found.shared, found.kind.seconds_per_unit, price_per_core_hour
    weighed = found.totals.coverage.weighed_s
    return {
        "selection": selection_document(question.selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "by": [question.by],
        "rows": [_shared(row, question, scale, weighed, saving, price) for row in shared.rows],
        "rows_total": shared.rows_total,
        "share": shared.share,
        "applications": shared.applications,
        "saving": saving,
        "price_per_core_hour": price,
    }


def users_document(question: UsersQuestion, found: FoundUsers) -> Json:
    """The answer of /shared-code/users."""
    scale, users = found.kind.seconds_per_unit, found.users
    return {
        "selection": selection_document(question.selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "by": list(question.by),
        "functions": [function_document(row) for row in users.functions],
        "itself": row_document(users.itself, scale),
        "rows": [_user(user, scale) for user in users.users],
        "rows_total": users.users_total,
        "unseen_hi": users.unseen,
    }


def add(router: APIRouter, handler: QueryHandler, price_per_core_hour: float | None) -> None:
    """Add the routes. Amounts of money need a price."""

    @router.get(
        "/shared-code",
        summary="Code with a small share in each program and a large cost in the fleet",
        description="Functions, files or binaries that several applications use and that have a small share in each. "
        "The answer has their cost to the fleet, and the value of a saving.",
        response_model=SharedCodeAnswer,
        responses=PROBLEMS,
        openapi_extra=_SHARED.openapi,
    )
    async def shared_code(
        *,
        request: Request,
        selection: Selected,
        by: Annotated[
            Literal["function", "file", "binary"], Query(description="Kind of code: one row for each.")
        ] = "function",
        share: Annotated[
            Literal["self", "total"], Query(description="Compare shares of self or of totals.")
        ] = "self",
        cold: Annotated[
            float,
            Query(ge=0, le=1, description="Omit code that certainly has a larger share of some application."),
        ] = 0.05,
        applications: Annotated[
            int, Query(ge=1, le=1_000_000, description="Omit code that fewer applications use.")
        ] = 2,
        saving: Annotated[
            float, Query(ge=0, le=1, description="Part of the cost that counts as `saved`.")
        ] = 0.1,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        question = SharedCodeQuestion(selection, by, share == "self", cold, applications, limit)

        def document() -> Json:
            found = handler.queries.ask(question)
            return shared_code_document(
                question, found, saving=saving, price_per_core_hour=price_per_core_hour
            )

        return await handler.answer(request, _SHARED, document)

    @router.get(
        "/shared-code/users",
        summary="Users of a function",
        description="The applications, or other values of labels, whose stacks contain a function, and the function's "
        "callers there.",
        response_model=UsersAnswer,
        responses=PROBLEMS,
        openapi_extra=_USERS.openapi,
    )
    async def shared_code_users(
        *,
        request: Request,
        selection: Selected,
        function_id: FunctionId = None,
        function: FunctionName = "",
        by: Annotated[
            str,
            Query(
                description="Labels, separated by commas.",
                examples=["application", "application,version"],
                max_length=500,
            ),
        ] = "application",
        limit: Annotated[int, Query(ge=1, le=users.MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        subject = parse_subject(function_id=function_id, function=function)
        question = UsersQuestion(selection, subject, keys_of(by), limit)
        return await handler.answer(
            request, _USERS, lambda: users_document(question, handler.queries.ask(question))
        )


def _shared(  # noqa: PLR0917 - all that a row shows
    found: SharedRow,
    question: SharedCodeQuestion,
    scale: float | None,
    weighed_s: float,
    saving: float,
    price: float | None,
) -> Json:
    seconds = _seconds(found.row, scale, own=question.own)
    return {
        **row_document(found.row, scale),
        "applications": found.applications,
        "effective_applications": found.effective,
        "largest_application": found.largest,
        "largest_share": found.largest_share,
        "largest_lo": found.largest_lo,
        "cost": _cost(seconds, weighed_s, price),
        "saved": _cost(seconds and seconds.scaled(saving), weighed_s, price),
    }


def _seconds(row: Row, scale: float | None, *, own: bool) -> Interval | None:
    estimate = row.own_estimate if own else row.total_estimate
    return None if estimate is None or scale is None else estimate.units.scaled(scale)


def _cost(seconds: Interval | None, weighed_s: float, price: float | None) -> Json:
    """The cost; members are null without an estimate in core-seconds or without a price."""
    a_year = price and weighed_s and price * _YEAR_H / weighed_s
    return {
        "cores": interval_document(seconds, weighed_s and 1 / weighed_s),
        "core_hours": interval_document(seconds, 1 / _HOUR_S),
        "money": interval_document(seconds, price and price / _HOUR_S),
        "money_a_year": interval_document(seconds, a_year),
    }


def _user(user: User, scale: float | None) -> Json:
    return {
        **row_document(user.row, scale),
        "of_function": user.of_function,
        "within": user.within,
        "callers": [
            {"function": caller.function and function_document(caller.function), "share": caller.share}
            for caller in user.callers
        ],
    }
