"""The users of a function: the applications whose stacks go through it, and its callers there (DIGEST G23).

Sampled visits may miss an application that rarely calls the function; the answer has an upper bound for its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.answers.answer import extended
from storage.query.answers.shared_code import MOST_CALLERS, UserCaller, UserRow, UsersAnswer
from storage.query.estimation.estimates import estimates
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.occurrences import Occurrences
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.shared_code import application_wholes
from storage.query.shapes.table import grouped, only_row, shown_rows
from storage.query.shapes.table_rows import LabelRows
from storage.query.shapes.totals import totals
from storage.query.stack_filter import through_any
from storage.query.stacks.function_names import Functions
from storage.query.subject import Subject

MOST_ROWS = 1000
MOST_NAMED = 100


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
        samples, functions = reading.visits(self.selection, self.by), reading.functions
        grouping = grouped(reading, samples.profiles, self.by)
        found = Occurrences.of(functions, samples, self.subject)
        through = _through(samples, found)
        rows = LabelRows(through, grouping)
        order = ordered(rows, Page(Sort.TOTAL_DESC, self.limit))
        shown = order[: self.limit]
        itself = only_row(samples, found.together())
        wholes, _ = application_wholes(samples, grouping)
        groups = rows.groups(shown)
        number = np.full(len(grouping.labels), len(groups), np.int64)
        number[groups] = np.arange(len(groups))
        parts = through.in_groups(number[grouping.of], len(groups) + 1)
        users = zip(groups.tolist(), parts[: len(groups)], shown_rows(through, rows, shown), strict=True)
        return UsersAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(functions, samples),
            by=self.by,
            functions=tuple(functions.row(id_).named() for id_ in found.functions[:MOST_NAMED].tolist()),
            itself=itself,
            rows=tuple(
                extended(
                    UserRow,
                    row,
                    of_function=_share(row.total_share, itself.total_share),
                    within=_share(row.total_share * samples.whole, float(wholes[group])),
                    callers=_callers(Occurrences.of(functions, part, self.subject), functions),
                )
                for group, part, row in users
            ),
            rows_total=len(order),
            unseen_hi=_unseen(samples),
        )


def _through(samples: Samples, found: Occurrences) -> Samples:
    """The samples whose stacks have the functions."""
    chosen = np.zeros(len(samples.shape), np.bool_)
    chosen[found.outermost] = True
    through = samples.of(through_any(chosen, samples.shape))
    return replace(through, shape=through.shape.above_its_leaves())


def _callers(found: Occurrences, functions: Functions) -> tuple[UserCaller, ...]:
    calls = found.callers()
    whole = float(found.borne.total_weight[found.outermost].sum())
    ids: Sequence[int] = calls.functions.tolist()
    order: Int64 = ordered(calls, Page(Sort.TOTAL_DESC, MOST_CALLERS))[:MOST_CALLERS]
    return tuple(
        UserCaller(
            functions.row(ids[place]).named() if ids[place] else None,
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
