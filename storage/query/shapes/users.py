"""The users of a function: the applications whose stacks go through it, and its callers there (DIGEST G23).

Sampled visits may miss an application that rarely calls the function; the answer has an upper bound for its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.estimation.estimates import estimates
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.occurrences import Occurrences
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.shared_code import application_wholes
from storage.query.shapes.table import Row, grouped, only_row, shown_rows
from storage.query.shapes.table_rows import LabelRows
from storage.query.shapes.totals import Totals, totals
from storage.query.stack_filter import through_any
from storage.query.stacks.function_names import FunctionRow
from storage.query.subject import Subject

MOST_ROWS = 1000
CALLERS = 3
"""Callers reported for each user."""


@dataclass(frozen=True, slots=True)
class UserCaller:
    """A caller of the functions in a user's stacks."""

    function: FunctionRow | None
    """None: stacks begin with the functions."""
    share: float
    """Share of the user's stacks through the functions that have this call, 0…1."""


@dataclass(frozen=True, slots=True)
class User:
    """An application, or other combination of labels, with stacks through the queried functions."""

    row: Row
    """Self and total are both the units of these stacks."""
    of_function: float
    """Share of all stacks through the functions, 0…1."""
    within: float
    """Share of the application, 0…1."""
    callers: tuple[UserCaller, ...]
    """The heaviest `CALLERS`."""


@dataclass(frozen=True, slots=True)
class Users:
    """The users of some functions, heaviest first."""

    functions: tuple[FunctionRow, ...]
    itself: Row
    """All functions as one row."""
    users: tuple[User, ...]
    users_total: int
    unseen: float | None
    """Upper 95 % bound for the share of the selection of an unobserved user; None without a random design."""


@dataclass(frozen=True, slots=True)
class UsersAnswer:
    """Users, and the totals of the selection."""

    kind: SampleType
    totals: Totals
    users: Users


@dataclass(frozen=True, slots=True)
class UsersQuestion:
    """The applications, or values of other labels, that have stacks through some functions."""

    selection: Selection
    subject: Subject
    by: tuple[str, ...] = (APPLICATION,)
    limit: int = 100

    def answer(self, reading: Reading) -> UsersAnswer:
        """The users; none if no stack has the functions. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        keys = split_keys(self.by)
        if keys.frames:
            raise BadSelection(
                "Users can only be grouped by labels.",
                hint="For example by=application,version.",
                parameter="by",
            )
        samples = reading.visits(self.selection, self.by)
        found = users_of(reading, samples, self.subject, self.by, self.limit)
        return UsersAnswer(samples.kind, totals(reading.functions, samples), found)


def users_of(reading: Reading, samples: Samples, subject: Subject, by: tuple[str, ...], limit: int) -> Users:
    """The users of the subject, in samples that were read visit by visit with the labels `by`."""
    functions = reading.functions
    grouping = grouped(reading, samples.profiles, by)
    found = Occurrences.of(functions, samples, subject)
    chosen = np.zeros(len(samples.shape), np.bool_)
    chosen[found.outermost] = True
    through = samples.of(through_any(chosen, samples.shape))
    through = replace(through, shape=through.shape.above_its_leaves())
    rows = LabelRows(through, grouping)
    order = ordered(rows, Page(Sort.TOTAL_DESC, limit))
    shown = order[:limit]
    itself = only_row(samples, found.together())
    wholes, _ = application_wholes(samples, grouping)
    groups = rows.groups(shown)
    number = np.full(len(grouping.labels), len(groups), np.int64)
    number[groups] = np.arange(len(groups))
    parts = through.in_groups(number[grouping.of], len(groups) + 1)
    whole = samples.whole
    return Users(
        functions=tuple(functions.row(id_) for id_ in found.functions[:100].tolist()),
        itself=itself,
        users=tuple(
            User(
                row=row,
                of_function=_share(row.total_share, itself.total_share),
                within=_share(row.total_share * whole, float(wholes[group])),
                callers=_callers(Occurrences.of(functions, part, subject), reading),
            )
            for group, part, row in zip(
                groups.tolist(), parts[: len(groups)], shown_rows(through, rows, shown), strict=True
            )
        ),
        users_total=len(order),
        unseen=_unseen(samples),
    )


def _callers(found: Occurrences, reading: Reading) -> tuple[UserCaller, ...]:
    calls = found.callers()
    whole = float(found.borne.total_weight[found.outermost].sum())
    ids: Sequence[int] = calls.functions.tolist()
    order: Int64 = ordered(calls, Page(Sort.TOTAL_DESC, CALLERS))[:CALLERS]
    return tuple(
        UserCaller(
            reading.functions.row(ids[place]) if ids[place] else None,
            _share(float(calls.total_weight[place]), whole),
        )
        for place in order.tolist()
    )


def _unseen(samples: Samples) -> float | None:
    nothing = np.zeros(0, np.int64)
    moments = samples.evidence.of_functions(nothing, PerVisit(nothing, nothing, nothing, 1), own=False)
    (estimate,) = estimates(moments, 1)
    return None if estimate is None else estimate.share.hi


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole > 0 else 0.0
