"""What changed in the fleet: first sights of versions, kernels, compilers, platforms …, and marks of deploys."""

from dataclasses import dataclass, replace
from datetime import UTC, timedelta

import numpy as np

from storage import deploys
from storage.arrays import Int64
from storage.deploys import Deploy
from storage.errors import BadSelection
from storage.query.answers.changes import Change, ChangesAnswer
from storage.query.facts.selection_echo import selection_echo
from storage.query.releases.label_reading import read_labels
from storage.query.releases.profile_labels import ProfileLabels
from storage.query.releases.releases import intervals, moment, recent_start
from storage.query.releases.sightings import Sight, sights
from storage.query.releases.versions import VERSION, names_of
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.store_reading import StoreReading
from storage.schema import DIMENSIONS
from storage.schema.facts import OF_THE_MACHINE

LABELS = (APPLICATION, VERSION, "compiler", "kernel", "platform", "datacenter", "cluster")
MOST_CHANGES = 1000
MOST_KNOWN_S = 90 * 86_400.0
_BEFORE = 20
"""Visits before a first sight whose heaviest value is the previous one."""


@dataclass(frozen=True, slots=True)
class ChangesQuestion:
    """The changes in a selection's time range."""

    selection: Selection
    labels: tuple[str, ...] = LABELS
    known_s: float = 7 * 86_400.0
    """Seconds before the range whose visits are read, too: a value that they saw is not new."""
    limit: int = 200

    def __post_init__(self) -> None:
        unknown = [label for label in self.labels if label not in DIMENSIONS]
        if unknown:
            raise BadSelection(
                f"First sights of the label {unknown[0]!r} are not listed.",
                hint=f"Labels: {', '.join(DIMENSIONS)}.",
                parameter="labels",
            )
        if not (1 <= self.limit <= MOST_CHANGES and 0 <= self.known_s <= MOST_KNOWN_S):
            raise BadSelection("The number of changes, or the time before the range, is out of range.")

    def answer(self, reading: StoreReading) -> ChangesAnswer:
        """The changes. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        selection = self.selection
        wide = replace(selection, start=selection.start - timedelta(seconds=self.known_s))
        read = read_labels(reading, wide, tuple(dict.fromkeys((APPLICATION, "kernel", *self.labels))))
        labels = read.labels
        now_from = recent_start(selection)
        found: list[Change] = []
        unsure = 0
        if len(labels.profiles):
            kernels = set(names_of(reading, "kernel", labels.label("kernel")).values())
            applications = names_of(reading, APPLICATION, labels.label(APPLICATION))
            for label in self.labels:
                scope = _scope(labels, label)
                values = names_of(reading, label, labels.label(label))
                for sight in sights(scope, labels.label(label), labels.visit, labels.time):
                    value = values[sight.value]
                    # The version of a kernel thread is its kernel, which is listed once, as a kernel.
                    repeats = label == VERSION and value in kernels
                    if not value or repeats or not self._is_inside(sight.first):
                        continue
                    if not sight.is_new:
                        unsure += sight.before > 0
                        continue
                    application: str | None = value
                    previous: str | None = None
                    if label != APPLICATION:
                        previous = values[_previous(labels, label, scope, sight)]
                        application = None if label in OF_THE_MACHINE else applications[sight.scope]
                    found.append(
                        _first_sight(
                            labels,
                            label,
                            scope,
                            sight,
                            now_from=now_from,
                            names=(application, value, previous),
                        )
                    )
        marks = deploys.between(reading.connection, selection.start, selection.end, MOST_CHANGES)
        found += [_mark(one) for one in marks if _selected(selection, one)]
        found.sort(
            key=lambda one: (one.time, one.kind, one.label, one.application or "", one.value), reverse=True
        )
        return ChangesAnswer(
            selection=selection_echo(selection, read.kind),
            known_from=moment(float(labels.time.min())) if len(labels.time) else None,
            now_from=moment(now_from),
            labels=self.labels,
            changes=tuple(found[: self.limit]),
            changes_total=len(found),
            unsure=unsure,
        )

    def _is_inside(self, seconds: float) -> bool:
        return self.selection.start.timestamp() <= seconds < self.selection.end.timestamp()


def _scope(labels: ProfileLabels, label: str) -> Int64:
    """The application of each profile for labels of programs; 0 for labels of machines and for applications."""
    if label in OF_THE_MACHINE or label == APPLICATION:
        return np.zeros(len(labels.profiles), np.int64)
    return labels.label(APPLICATION)


def _first_sight(
    labels: ProfileLabels,
    label: str,
    scope: Int64,
    sight: Sight,
    *,
    now_from: float,
    names: tuple[str | None, str, str | None],
) -> Change:
    """`names`: the application, the value, the previous value."""
    inside = scope == sight.scope
    row = np.where(inside & (labels.label(label) == sight.value), 0, -1)
    (share,) = intervals(labels.shares(inside, row, 1, since=now_from), 1)
    application, value, previous = names
    return Change(
        kind="first_sight",
        application=application,
        label=label,
        value=value,
        previous=previous,
        time=moment(sight.first),
        last_without=moment(sight.without),
        visits_before=sight.before,
        chance=sight.chance,
        visits=sight.visits,
        share_now=share,
        deploy_id=None,
        text=None,
        link=None,
        added_by=None,
    )


def _previous(labels: ProfileLabels, label: str, scope: Int64, sight: Sight) -> int:
    """The id of the value with the largest amount in the scope's last visits before the first sight."""
    inside = np.flatnonzero((scope == sight.scope) & (labels.time[labels.visit] < sight.first))
    times = np.unique(labels.time[labels.visit[inside]])
    inside = inside[labels.time[labels.visit[inside]] >= times[-min(_BEFORE, len(times))]]
    ids, of = np.unique(labels.label(label)[inside], return_inverse=True)
    return int(ids[np.argmax(np.bincount(of, weights=labels.weighted[inside]))])


def _mark(one: Deploy) -> Change:
    return Change(
        kind="mark",
        application=one.application,
        label=VERSION,
        value=one.version,
        previous=None,
        time=format_time(one.deployed_at.astimezone(UTC)),
        last_without=None,
        visits_before=None,
        chance=None,
        visits=None,
        share_now=None,
        deploy_id=one.deploy_id,
        text=one.text,
        link=one.link,
        added_by=one.added_by,
    )


def _selected(selection: Selection, one: Deploy) -> bool:
    """The selection's matchers on application and version match the mark; others say nothing about it."""
    values = {APPLICATION: one.application, VERSION: one.version}
    return all(
        matcher.positive()(values[matcher.label]) != matcher.operator.negative
        for matcher in selection.matchers
        if matcher.label in values
    )
