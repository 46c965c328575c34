"""Combined reading of PostgreSQL and segments: days whose facts PostgreSQL has deleted come from the files.

| part of the selection's time range | is read from |
|---|---|
| from the oldest day of facts on | PostgreSQL: cells or chunks, as its planner decides |
| from the oldest day of cells on, if cells can answer | PostgreSQL's cells |
| older | the segments of its days, visit by visit |

Both belong to one database, so ids of functions, stacks and labels mean the same in both. One design weights the facts
of both, so an answer is based on all visits. Days in neither are not covered and are listed in `Coverage.missing`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from storage import identity
from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.estimation.covered_time import HOUR_S, Span, cells_horizon, facts_horizon
from storage.query.estimation.sampling_design import (
    Coverage,
    Design,
    VisitWeights,
    random_design,
    read_watched,
)
from storage.query.estimation.strata import Strata, read_strata
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_times import DrawnVisits, VisitTimes, read_drawn, read_visit_times
from storage.query.facts.visit_scan import (
    WHOLE,
    Facts,
    Profiles,
    SampleType,
    campaign_of,
    check_size,
    in_part,
    parts_of,
    parts_to_read,
    sample_type_of,
    scan,
    scan_profiles,
)
from storage.query.samples import Samples, SampleSource, filtered, of_fewer, visits_of
from storage.query.selections import label_names
from storage.query.selections.label_names import Choice
from storage.query.selections.selection import Selection
from storage.query.stacks.definitions import Definition
from storage.query.store_reading import StoreReading
from storage.query.zero_count_bounds import visits_of_event, zero_count_bound_by_visits
from storage.schema import visit
from storage.segments import concatenation, manifest
from storage.segments.catalogue import Catalogue
from storage.segments.duck import DEFAULT, DuckStatements, Limits
from storage.segments.location import Lake
from storage.segments.manifest import Manifest
from storage.segments.name_cache import StoredNames, definitions
from storage.segments.open_days import KnownDays, OpenEngine
from storage.segments.segment_design import Designs
from storage.segments.segment_scan import read_facts, read_profiles
from storage.segments.session import Session
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch

_NONE = np.zeros(0, np.int64)


class SegmentTier:
    """The segments of a PostgreSQL database, as a `storage.query.query_engine.OlderDays`. Thread-safe."""

    def __init__(
        self, lake: Lake, limits: Limits = DEFAULT, open_engine: OpenEngine = DuckStatements
    ) -> None:
        """`limits` apply to the engine that `open_engine` opens; nothing is opened yet."""
        self._lake = lake
        self._known = KnownDays(lake, limits, open_engine)

    @contextmanager
    def reading(
        self, connection: Connection, source: SampleSource, selections: Sequence[Selection]
    ) -> Iterator[StoreReading]:
        """A reading of a snapshot and of the older segments that the selections need. Raises `LakeError`."""
        manifests = self._manifests(connection, selections)
        if not manifests:
            yield StoreReading(connection, source)
            return
        with self._known.of(manifests).session() as session:
            files = _Files(session, manifests, facts_horizon(connection))
            from_hour = int(cells_horizon(connection).timestamp() // HOUR_S)
            yield TieredReading(connection, source.beside(StoredNames(session), from_hour), files)

    def close(self) -> None:
        """Close the idle engine; a later query opens a new one."""
        self._known.close()

    def _manifests(self, connection: Connection, selections: Sequence[Selection]) -> list[Manifest]:
        """The manifests of requested days without facts in PostgreSQL; those of other databases are ignored."""
        until = facts_horizon(connection).date()
        wanted = [
            day
            for day in manifest.days(self._lake)
            if day < until and any(_touches(selection, day) for selection in selections)
        ]
        current = identity.known(connection).current if wanted else None
        found = (manifest.read(self._lake, day) for day in wanted)
        return [each for each in found if each is not None and each.database == current]


def _touches(selection: Selection, day: date) -> bool:
    begins = datetime.combine(day, time(), UTC)
    return begins < selection.end and selection.start < begins + timedelta(days=1)


class _Files:
    """The files of the days of one query."""

    def __init__(self, session: Session, manifests: Sequence[Manifest], until: datetime) -> None:
        """PostgreSQL has the facts from `until`, a midnight, on."""
        self.session = session
        self.catalogue = Catalogue(session)
        self.designs = Designs(session, manifests)
        self.until = until
        self.days = frozenset(manifest.day for manifest in manifests)

    def missing(self, start: datetime, end: datetime) -> tuple[Span, ...]:
        """The parts of [start, end) that the files lack."""
        first = start.astimezone(UTC).date()
        days = (first + timedelta(days=n) for n in range((end.astimezone(UTC).date() - first).days + 1))
        return concatenation.spans((day for day in days if day not in self.days), start, end)


class _Split(NamedTuple):
    """A selection that begins before PostgreSQL's facts."""

    whole: Selection
    earlier: Selection
    later: Selection | None
    """None: it ends before PostgreSQL's facts begin."""


@dataclass(frozen=True)
class TieredReading(StoreReading):
    """A PostgreSQL snapshot and the files of older days; a `storage.query.reading.Reading`.

    Data that only PostgreSQL has, such as source lines and counters, is read by `StoreReading`.
    """

    files: _Files

    def visits(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The selection's samples by visit; beyond the limit of one answer, a random part of the visits."""
        split = self._split(selection)
        if split is None:
            return super().visits(selection, labels)
        kind = sample_type_of(self.connection, selection)
        try:
            with query_budget.given_back():
                return self._read(split, kind, labels, WHOLE)
        except TooMuch:
            parts = self._parts(split, kind)
            campaign_id = campaign_of(self.connection, selection)
            drawn = campaign_id is not None and self._strata(split, campaign_id) is not None
            if parts == WHOLE or not drawn:
                raise
        return of_fewer(lambda fewer: self._read(split, kind, labels, fewer), parts)

    def profiles(
        self, selection: Selection, kind: SampleType, labels: tuple[str, ...]
    ) -> tuple[Profiles, VisitWeights | None]:
        """The selection's profiles without samples, and the visits' weights; None: they were not drawn at random."""
        split = self._split(selection)
        if split is None:
            return super().profiles(selection, kind, labels)
        found = self._profiles(split, kind, labels)
        _, weights = self._design(split, kind, found.stacks)
        return found, weights

    def event_visits(self, event: Selection, kind: SampleType) -> Visits | None:
        """All visits with their totals of an event; None: they were not drawn at random."""
        split = self._split(event)
        if split is None:
            return super().event_visits(event, kind)
        found = self._profiles(split, kind, ())
        design, weights = self._design(split, kind, found.stacks)
        return None if weights is None else visits_of_event(found, design, weights)

    def drawn(self, selection: Selection, start: datetime, end: datetime) -> DrawnVisits:
        """The visits of the selection's campaign, which has begun, that were drawn at random in [start, end)."""
        split = self._split(replace(selection, start=start, end=end))
        campaign_id = campaign_of(self.connection, selection)
        if split is None or campaign_id is None:
            return super().drawn(selection, start, end)
        found = self.files.designs.drawn(campaign_id, split.earlier.start, split.earlier.end)
        if split.later is None:
            return found
        return concatenation.drawn(found, read_drawn(self.connection, campaign_id, split.later.start, end))

    def visit_times(self, selection: Selection) -> VisitTimes:
        """Draw times of the visits in the selection's time range and campaign, and the covered time."""
        split = self._split(selection)
        if split is None:
            return super().visit_times(selection)
        campaign_id = campaign_of(self.connection, selection)
        found = self.files.designs.visit_times(split.earlier, campaign_id)
        if split.later is None:
            return found
        later = read_visit_times(self.connection, campaign_id, split.later.start, split.later.end)
        return concatenation.visit_times(found, later)

    def label_values(self, label: str, ids: Int64) -> Sequence[str]:
        """The values of a label's stored ids, in their order; the files have values that PostgreSQL has swept."""
        known = self.files.catalogue.all_values(label)
        others = [id_ for id_ in np.unique(ids).tolist() if id_ not in known]
        values = label_names.values_of(self.connection, label, np.array(others, np.int64))
        of = {**known, **dict(zip(others, values, strict=True))}
        return [of[id_] for id_ in ids.tolist()]

    def user_labels(self) -> Sequence[str]:
        """Names of the labels in label sets, sorted."""
        return sorted({*super().user_labels(), *self.files.catalogue.user_labels()})

    def definitions(self, ids: Int64) -> Mapping[int, Definition]:
        """Symbol-table names and first lines by function; missing functions are left out."""
        found = super().definitions(ids)
        swept = np.setdiff1d(ids, np.fromiter(found, np.int64, len(found)))
        return {**definitions(self.files.session, swept), **found} if len(swept) else found

    def _split(self, selection: Selection) -> _Split | None:
        """None: PostgreSQL has all its facts."""
        until = self.files.until
        if selection.start >= until:
            return None
        later = replace(selection, start=until) if selection.end > until else None
        return _Split(selection, replace(selection, end=min(selection.end, until)), later)

    def _read(self, split: _Split, kind: SampleType, labels: tuple[str, ...], parts: int) -> Samples:
        session = self.files.session
        selected = read_profiles(
            session,
            split.earlier,
            campaign_of(self.connection, split.whole),
            kind,
            self._choices(split.whole, labels),
            labels,
            parts,
        )
        found = [(selected.profiles, read_facts(session, selected))]
        if split.later is not None:
            found.append(
                scan(self.connection, split.later, kind, labels, parts=parts, cache=self.source.cache)
            )
        profiles, facts = concatenation.profiles(found)
        check_size(profiles.facts)
        design, weights = self._design(split, kind, profiles.stacks, parts)
        shape, _ = self.source.shape(self.connection, facts.stack)
        visits = visits_of(design, weights, profiles, facts)
        if parts == WHOLE:
            visits = zero_count_bound_by_visits(
                visits, split.whole, lambda event: self.event_visits(event, kind)
            )
        weighted = facts.units * visits.weight[profiles.visit[facts.profile]]
        samples = Samples(kind, profiles, facts, weighted, shape, visits)
        return filtered(self.functions, samples, split.whole)

    def _profiles(self, split: _Split, kind: SampleType, labels: tuple[str, ...]) -> Profiles:
        campaign_id = campaign_of(self.connection, split.whole)
        choices = self._choices(split.whole, labels)
        selected = read_profiles(self.files.session, split.earlier, campaign_id, kind, choices, labels)
        found = [selected.profiles]
        if split.later is not None:
            found.append(scan_profiles(self.connection, split.later, kind, labels))
        none = Facts(_NONE, _NONE, _NONE, _NONE)
        return concatenation.profiles([(profiles, none) for profiles in found])[0]

    def _choices(self, selection: Selection, labels: Iterable[str]) -> list[Choice]:
        """Its matchers as ids of both; raises `BadSelection` for a label that neither has."""
        for label in labels:
            self._check_label(label)
        found = []
        for matcher in selection.matchers:
            self._check_label(matcher.label, parameter=matcher.parameter, at=matcher.at)
            column, negative, ids = self.files.catalogue.ids_of(matcher)
            with suppress(BadSelection):  # PostgreSQL may have swept the label
                ids = sorted({*ids, *label_names.choice(self.connection, matcher).ids})
            found.append(Choice(column, negative, ids))
        return found

    def _check_label(self, name: str, *, parameter: str = "by", at: int | None = None) -> None:
        if label_names.is_column(name, parameter=parameter, at=at):
            return
        if name not in (others := self.user_labels()):
            raise label_names.unknown_label(name, others, parameter=parameter, at=at)

    def _design(
        self, split: _Split, kind: SampleType, stacks: bool | None, parts: int = WHOLE
    ) -> tuple[Design, VisitWeights | None]:
        """Like `storage.query.estimation.sampling_design.read_design`, for `parts` of the `WHOLE` parts of visits."""
        campaign_id = campaign_of(self.connection, split.whole)
        strata = None if campaign_id is None else self._strata(split, campaign_id)
        selected_s = (split.whole.end - split.whole.start).total_seconds()
        missing = self.files.missing(split.earlier.start, split.earlier.end)
        if strata is None or campaign_id is None:
            return Design(Coverage(random=False, selected_s=selected_s, missing=missing), None, _NONE), None
        watched = self.files.designs.watched(split.earlier, campaign_id, kind, stacks=stacks, parts=parts)
        if split.later is not None:
            later = read_watched(
                self.connection,
                (split.later.start, split.later.end),
                campaign_id,
                kind.id,
                stacks=stacks,
                only=None if parts == WHOLE else in_part(visit.c.visit_id, parts),
            )
            watched = concatenation.watched(watched, later)
        strata = replace(strata, selected_s=selected_s, missing=missing)
        return random_design(strata, watched, approximate=parts < WHOLE, gauge=kind.gauge)

    def _strata(self, split: _Split, campaign_id: int) -> Strata | None:
        earlier, later = split.earlier, split.later
        found = self.files.designs.strata(campaign_id, earlier.start, earlier.end)
        if later is None:
            return found
        return concatenation.strata(found, read_strata(self.connection, campaign_id, later.start, later.end))

    def _parts(self, split: _Split, kind: SampleType) -> int:
        """The number of `WHOLE` parts whose facts, over both ranges, fit into the limit of one answer."""
        selected = read_profiles(
            self.files.session,
            split.earlier,
            campaign_of(self.connection, split.whole),
            kind,
            self._choices(split.whole, ()),
            (),
        )
        parts = parts_of(int(selected.profiles.facts.sum()), len(selected.profiles))
        if split.later is None:
            return parts
        later = parts_to_read(self.connection, split.later, kind)
        return max(1, int(1 / (1 / parts + 1 / later)))
