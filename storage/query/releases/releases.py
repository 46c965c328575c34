"""The versions of applications in a time range, the progress of roll-outs, and each newest version's verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from analysis import estimate
from analysis.estimate import Estimates
from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.answers.figures import Interval
from storage.query.answers.inputs import Unavailable
from storage.query.answers.releases import ReleasedApplication, ReleasedVersion, ReleasesAnswer
from storage.query.estimation.visit_totals import of_pairs
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import WHOLE
from storage.query.models.labelled import parts_with
from storage.query.releases.comparison import Sides, comparison_of, untested
from storage.query.releases.label_reading import LabelReading, read_labels
from storage.query.releases.profile_labels import ProfileLabels
from storage.query.releases.release_pairs import ReleasePair, release_pairs
from storage.query.releases.versions import ENOUGH_VISITS, VERSION, Application, applications
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.diff import judged
from storage.query.store_reading import StoreReading

MOST_APPLICATIONS = 100
MOST_VERSIONS = 20
_FACTS = 600_000
"""Facts read to compare versions: about a second. More visits are represented by a random part."""
_RECENT = 8
"""The share now is that of the last part of the range, one in this many."""


@dataclass(frozen=True, slots=True)
class ReleasesQuestion:
    """The releases of the heaviest applications of a selection."""

    selection: Selection
    limit: int = 40

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MOST_APPLICATIONS:
            raise BadSelection(f"An answer has 1 to {MOST_APPLICATIONS} applications.", parameter="limit")

    def answer(self, reading: StoreReading) -> ReleasesAnswer:
        """The releases. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        selection = self.selection
        read = read_labels(reading, selection, (APPLICATION, VERSION))
        labels = read.labels
        found = applications(reading, labels)
        shown = found[: self.limit]
        # Only the newest version is judged here; a release that is too new hides no older one, which has its own page.
        testable = [one for one in shown if _is_testable(one)]
        pairs = _pairs(reading, selection, read, testable) if labels.at_random else []
        compared = judged([pair.match for pair in pairs])
        now_from = recent_start(selection)
        of_name = {pair.release.application: (pair, one) for pair, one in zip(pairs, compared, strict=True)}
        whole = read.visits.whole
        rows = []
        for one in shown:
            versions = _versions(read, one, now_from)
            newest, *older = one.versions
            comparison = None
            because: Unavailable | None = None
            if not labels.at_random:
                because = Unavailable("not_random", "Visits by hand are not a random sample.")
            elif not older:
                because = Unavailable("too_little", "Only one version ran in the time range.")
            elif one.name in of_name:
                pair, result = of_name[one.name]
                cores = versions[0].cores
                comparison = comparison_of(
                    sides_of(pair), result, None if cores is None else cores.value, pair.part
                )
            else:
                sides = Sides(
                    "release",
                    newest.name,
                    older[0].name,
                    newest.sight.visits,
                    older[0].sight.visits,
                    same_time=False,
                )
                comparison = untested(sides)
                because = Unavailable(
                    "too_little",
                    f"Not enough visits yet: {newest.name} was seen by {newest.sight.visits}, {older[0].name} by "
                    f"{older[0].sight.visits}; each needs {ENOUGH_VISITS}.",
                )
            rows.append(
                ReleasedApplication(
                    application=one.name,
                    share=min(one.weighted / whole, 1.0) if whole > 0 else 0.0,
                    visits=_visits(labels, one),
                    newest=newest.name,
                    previous=older[0].name if older else None,
                    versions=versions,
                    versions_total=len(one.versions),
                    comparison=comparison,
                    because=because,
                )
            )
        level = next((one.level for one in compared), None)
        return ReleasesAnswer(
            selection=selection_echo(selection, read.kind),
            visits=len(read.visits),
            now_from=moment(now_from),
            applications=tuple(rows),
            applications_total=len(found),
            tested=sum(len(one.rows) for one in compared),
            interval_level=level,
        )


def recent_start(selection: Selection) -> float:
    """Start of the time that stands for now: the last eighth of the range; seconds since 1970."""
    start, end = selection.start.timestamp(), selection.end.timestamp()
    return end - (end - start) / _RECENT


def moment(seconds: float) -> str:
    """Seconds since 1970 UTC as RFC 3339."""
    return format_time(datetime.fromtimestamp(round(seconds), UTC))


def intervals(found: Estimates | None, rows: int) -> Sequence[Interval | None]:
    """The estimates row by row; None for each if there are none."""
    if found is None:
        return [None] * rows
    return [
        Interval(*values)
        for values in zip(found.value.tolist(), found.lo.tolist(), found.hi.tolist(), strict=True)
    ]


def _is_testable(one: Application) -> bool:
    return len(one.versions) > 1 and min(v.sight.visits for v in one.versions[:2]) >= ENOUGH_VISITS


def _pairs(
    reading: StoreReading, selection: Selection, read: LabelReading, testable: list[Application]
) -> list[ReleasePair]:
    """The comparisons, by a random part of the visits if all have more facts than a page can wait for."""
    if not testable:
        return []
    parts = parts_with(read.labels.profiles, _FACTS)
    samples = reading.source.read_part(
        reading.connection, selection, read.kind, (APPLICATION, VERSION), parts
    )
    return release_pairs(
        reading, selection, samples, ("function",), known=testable, most=len(testable), part=parts / WHOLE
    )


def sides_of(pair: ReleasePair) -> Sides:
    """The sides of a compared pair."""
    return Sides("release", pair.newer.name, pair.older.name, *pair.visits, pair.same_time)


def _visits(labels: ProfileLabels, one: Application) -> int:
    return len(np.unique(labels.visit[labels.label(APPLICATION) == one.id]))


def _versions(read: LabelReading, one: Application, now_from: float) -> tuple[ReleasedVersion, ...]:
    """The newest versions, with shares of the application's time and cores."""
    labels = read.labels
    shown = one.versions[:MOST_VERSIONS]
    inside = labels.label(APPLICATION) == one.id
    row = np.full(len(inside), -1, np.int64)
    for number, version in enumerate(shown):
        row[inside & (labels.label(VERSION) == version.sight.value)] = number
    whole = intervals(labels.shares(inside, row, len(shown)), len(shown))
    now = intervals(labels.shares(inside, row, len(shown), since=now_from), len(shown))
    cores = _cores(read, row, len(shown))
    return tuple(
        ReleasedVersion(
            version=version.name,
            first_seen=moment(version.sight.first) if version.sight.is_new else None,
            last_without=moment(version.sight.without) if version.sight.is_new else None,
            last_seen=moment(version.sight.last),
            visits=version.sight.visits,
            share=whole[number],
            share_now=now[number],
            cores=cores[number],
        )
        for number, version in enumerate(shown)
    )


def _cores(read: LabelReading, row: Int64, rows: int) -> Sequence[Interval | None]:
    """Mean cores of each row of profiles."""
    labels, scale = read.labels, read.kind.seconds_per_unit
    seconds = read.visits.design.coverage.estimated_s
    found = of_pairs(row, labels.visit, labels.profiles.units, rows=rows, visits=len(read.visits))
    moments = read.visits.moments(found)
    if moments is None or scale is None or not seconds > 0:
        return [None] * rows
    return intervals(estimate.totals(moments.scaled(scale / seconds)), rows)
