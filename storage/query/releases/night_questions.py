"""The comparisons of a night, one application at a time: memory is bounded by one application's samples."""

from dataclasses import dataclass, replace
from datetime import timedelta

from storage.query.reading import Reading
from storage.query.releases.comparison import Sides
from storage.query.releases.label_reading import read_labels
from storage.query.releases.profile_labels import ProfileLabels
from storage.query.releases.release_pairs import MOST_ROWS
from storage.query.releases.versions import (
    ENOUGH_VISITS,
    VERSION,
    Application,
    VersionSamples,
    applications,
)
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION, Matcher, Operator
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import Matched, Side, Unjudged, matched
from storage.query.store_reading import StoreReading

_WEEK = timedelta(days=7)
_PART = 0.25
"""Time of one application's test, relative to that of a comparison: half a second."""


@dataclass(frozen=True, slots=True)
class NightApplication:
    """An application of the week, heaviest first."""

    name: str
    share: float
    """Estimated share of the fleet, 0…1."""


@dataclass(frozen=True, slots=True)
class ApplicationsQuestion:
    """The heaviest applications of the week that have versions."""

    selection: Selection
    limit: int

    def answer(self, reading: StoreReading) -> tuple[NightApplication, ...]:
        """The applications. Raises `UnknownCampaign`, `DatabaseError`."""
        read = read_labels(reading, self.selection, (APPLICATION, VERSION))
        whole = read.visits.whole
        if not (read.labels.at_random and whole > 0):
            return ()
        found = applications(reading, read.labels)[: self.limit]
        return tuple(NightApplication(one.name, min(one.weighted / whole, 1.0)) for one in found)


@dataclass(frozen=True, slots=True)
class NightComparison:
    """The comparison of one application, not judged yet."""

    sides: Sides
    unjudged: Unjudged | None
    """None: one of the sides has too few visits."""
    cores: float | None
    """Mean number of cores of the first side."""


@dataclass(frozen=True, slots=True)
class NightQuestion:
    """The newest version of one application against the one before, or this week against last week."""

    week: Selection
    application: str

    def answer(self, reading: Reading) -> NightComparison:
        """The comparison. Raises `UnknownCampaign`, `DatabaseError`."""
        matcher = Matcher(APPLICATION, Operator.EQUAL, self.application)
        week = replace(self.week, matchers=(matcher,))
        samples = reading.visits(week, (APPLICATION, VERSION))
        labels = ProfileLabels.of_samples(reading, week, samples)
        found = next(iter(applications(reading, labels)), None)
        if found is None or len(found.versions) < 2 or found.versions[1].sight.visits < ENOUGH_VISITS:
            return _weeks(reading, week, samples)
        return _versions(reading, samples, labels, found)


def _versions(
    reading: Reading, samples: Samples, labels: ProfileLabels, found: Application
) -> NightComparison:
    newer, older = found.versions[:2]
    if newer.sight.visits < ENOUGH_VISITS:
        sides = Sides(
            "release", newer.name, older.name, newer.sight.visits, older.sight.visits, same_time=False
        )
        return NightComparison(sides, None, None)
    pair = VersionSamples.of(samples, labels, found, (newer, older))
    match = _matched(reading, pair.newer, pair.older)
    sides = Sides("release", newer.name, older.name, *_visits(match), pair.same_time)
    return NightComparison(sides, match.unjudged, _cores(match.sides[0]))


def _weeks(reading: Reading, week: Selection, samples: Samples) -> NightComparison:
    before = reading.visits(replace(week, start=week.start - _WEEK, end=week.start))
    match = _matched(reading, samples, before)
    visits = _visits(match)
    sides = Sides("week", "", "", *visits, same_time=False)
    if min(visits) < ENOUGH_VISITS:
        return NightComparison(sides, None, None)
    return NightComparison(sides, match.unjudged, _cores(match.sides[0]))


def _matched(reading: Reading, now: Samples, before: Samples) -> Matched:
    return matched(reading, now, before, ("function",), limit=MOST_ROWS, part=_PART)


def _visits(match: Matched) -> tuple[int, int]:
    now, before = (len(side.visits) for side in match.sides)
    return now, before


def _cores(side: Side) -> float | None:
    scale, seconds = side.samples.kind.seconds_per_unit, side.visits.design.coverage.estimated_s
    return None if scale is None or not seconds > 0 else side.visits.whole * scale / seconds
