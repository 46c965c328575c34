"""The answers about shared code: its cost to the fleet, and its users."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Interval
from storage.query.answers.functions import NamedFunction
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.table import TableRow
from storage.query.answers.totals import Totals

MOST_CALLERS = 3
"""Callers reported for each user."""


@dataclass(frozen=True, slots=True)
class Cost(Answer):
    """The cost of code to the fleet. Null members: no random design, an event not counted in time, or no price."""

    cores: Annotated[Interval | None, Field(description="Mean number of busy cores.")]
    core_hours: Annotated[Interval | None, Field(description="Core-hours in `estimated_seconds`.")]
    money: Annotated[Interval | None, Field(description="The core-hours at `price_per_core_hour`.")]
    money_a_year: Annotated[Interval | None, Field(description="The cost per year at the same rate.")]


@dataclass(frozen=True, slots=True)
class SharedRow(TableRow):
    """A function, file or binary that is cold in each application and used by several."""

    applications: Annotated[int, Field(description="Number of applications with a sample of it.")]
    effective_applications: Annotated[
        float,
        Field(
            description="Number of equally large users with the same entropy. 1 if one application has all of it."
        ),
    ]
    largest_application: Annotated[
        str, Field(description="The application with the surest large share of it.")
    ]
    largest_share: Annotated[Share, Field(description="Its share of that application.")]
    largest_lo: Annotated[
        Share,
        Field(
            description="Lower end of that share's interval, with samples taken as independent. `cold` is compared with it."
        ),
    ]
    cost: Cost
    saved: Annotated[Cost, Field(description="The part `saving` of the cost.")]


@dataclass(frozen=True, slots=True)
class SharedCodeAnswer(Answer):
    """Code that is shared and cold, by descending share of the fleet."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    rows: tuple[SharedRow, ...]
    rows_total: int
    share: Annotated[
        Share,
        Field(
            description="Share of the selection of all rows together, including rows that are not shown. By totals, which "
            "overlap: the largest share of a row."
        ),
    ]
    applications: Annotated[int, Field(description="Number of applications with a sample in the selection.")]
    saving: Annotated[Share, Field(description="The requested part.")]
    price_per_core_hour: Annotated[
        float | None,
        Field(description="Mean price of the selection's core-hours, as in `/cost`. Null: no price is set."),
    ]


@dataclass(frozen=True, slots=True)
class UserCaller(Answer):
    """A caller of the requested function, in one application."""

    function: Annotated[
        NamedFunction | None, Field(description="Null: no caller, the stacks begin with the function.")
    ]
    share: Annotated[Share, Field(description="Share of the application's stacks through the functions.")]


@dataclass(frozen=True, slots=True)
class UserRow(TableRow):
    """An application whose stacks contain the requested functions. Self and total both count these stacks."""

    of_function: Annotated[Share, Field(description="Share of all stacks through the functions.")]
    within: Annotated[Share, Field(description="Share of the application's samples.")]
    callers: Annotated[tuple[UserCaller, ...], Field(description=f"The heaviest {MOST_CALLERS} callers.")]


@dataclass(frozen=True, slots=True)
class UsersAnswer(Answer):
    """The users of some functions, the largest first."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    functions: tuple[NamedFunction, ...]
    itself: Annotated[TableRow, Field(description="All the functions as one row. Its key is empty.")]
    rows: tuple[UserRow, ...]
    rows_total: int
    unseen_hi: Annotated[
        float | None,
        Field(
            description="A user that no visit saw has at most this share of the selection, with 95 % confidence. Rare "
            "callers may be missing; large ones are not. Null without a random design."
        ),
    ]
