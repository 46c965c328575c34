"""The badge of a profile: its reliability in one word, from its convergence and its daily entropy (DIGEST G25–G27).

Visits are read one by one: convergence compares the profiles of random subsets of visits, and the interval of an
entropy comes from leaving some of them out. Cells hold sums over visits that cannot be split again.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from analysis.measured import Measured
from analysis.reliability import entropy_of
from analysis.stability import judge
from storage.errors import BadSelection
from storage.query.answers.figures import definite, figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.stability import DayRow, StabilityAnswer
from storage.query.answers.totals import Totals
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.selection_echo import selection_echo
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.reliability import SeenProfile, fit_of, seen_profile
from storage.query.shapes.steps import DAY_S
from storage.query.shapes.totals import totals
from storage.query.store_reading import StoreReading

MOST_DAYS = 100
"""Days of a selection whose profile is held in memory by day."""


@dataclass(frozen=True, slots=True)
class _Day:
    """The profile on one UTC day with visits."""

    start: datetime
    visits: int
    samples: float
    entropy: Measured
    """Nats; the interval has no width if only one visit has it."""


@dataclass(frozen=True, slots=True)
class StabilityQuestion:
    """The badge of the selection's profile by these keys."""

    selection: Selection
    by: tuple[str, ...] = ("function",)

    def answer(self, reading: StoreReading) -> StabilityAnswer:
        """The badge. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        length = (self.selection.end - self.selection.start).total_seconds()
        if length > MOST_DAYS * DAY_S:
            raise BadSelection(
                f"Stability is computed by day, over at most {MOST_DAYS} days.",
                hint="Choose a shorter time range.",
                parameter="from",
            )
        labels, _ = split_keys(self.by)
        samples = reading.visits(self.selection, labels)
        evidence = samples.evidence
        behind = totals(reading.functions, samples)
        echo = selection_echo(self.selection, samples.kind)
        if not isinstance(evidence, Visits):
            raise TypeError("stability needs the samples by visit")
        if evidence.design.weights is None:
            why = "Visits by hand are not a random sample, so they give no fleet estimates."
            return self._unrated(echo, behind, Unavailable("not_random", why))
        if not behind.samples:
            why = "The selection has no samples."
            return self._unrated(echo, behind, Unavailable("too_little", why))
        found = seen_profile(reading, samples, self.by)
        days = _days(found, reading.visit_times(self.selection).of(found.ids))
        judged = judge(
            fit_of(found),
            float(found.samples.sum()) or float(behind.samples),
            [day.entropy for day in days],
            day_visits=[day.visits for day in days],
            day_samples=[day.samples for day in days],
        )
        return StabilityAnswer(
            selection=echo,
            totals=behind,
            by=self.by,
            badge=judged.badge.value,
            misplaced=figure(judged.misplaced),
            samples=judged.samples,
            more_visits=judged.more_visits,
            rows=tuple(_row(day, shifted=number in judged.shifted) for number, day in enumerate(days)),
            because=None,
        )

    def _unrated(self, echo: SelectionEcho, behind: Totals, because: Unavailable) -> StabilityAnswer:
        return StabilityAnswer(
            selection=echo,
            totals=behind,
            by=self.by,
            badge=None,
            misplaced=None,
            samples=None,
            more_visits=None,
            rows=(),
            because=because,
        )


def _row(day: _Day, *, shifted: bool) -> DayRow:
    return DayRow(format_time(day.start), day.visits, day.samples, definite(day.entropy), shifted)


def _days(found: SeenProfile, drawn_at: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[_Day]:
    """The days with visits of the profile, in order."""
    if found.table is None:
        return []
    numbers, of = np.unique((drawn_at // DAY_S).astype(np.int64), return_inverse=True)
    days = []
    for place, number in enumerate(numbers.tolist()):
        here = np.flatnonzero(of == place)
        entropy = entropy_of(found.table.of(here))
        start = datetime.fromtimestamp(number * DAY_S, UTC)
        days.append(_Day(start, len(here), float(found.samples[here].sum()), entropy))
    return days
