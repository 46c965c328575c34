"""Reads sums and samples of a lake's days from Parquet with DuckDB; weights come from the same code as PostgreSQL's."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.binary_builds import Builds
from storage.query.estimation.sampling_design import VisitWeights
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_times import DrawnVisits, VisitTimes
from storage.query.facts.visit_scan import WHOLE, Facts, Profiles, SampleType, check_size, parts_of
from storage.query.function_samples import ApplicationSamples, FunctionSamples
from storage.query.line_samples import LinedSamples, refuse_frames
from storage.query.reading import Make
from storage.query.samples import Samples, filtered, of_fewer, visits_of
from storage.query.selections.selection import Selection
from storage.query.stacks.definitions import Definition
from storage.query.stacks.function_names import Functions
from storage.query.zero_count_bounds import visits_of_event, zero_count_bound_by_visits
from storage.rollup.cubes import APPLICATION
from storage.segments.catalogue import Catalogue
from storage.segments.manifest import Manifest
from storage.segments.name_cache import Dictionary, definitions
from storage.segments.segment_design import Designs
from storage.segments.segment_scan import Selected, read_facts, read_profiles
from storage.segments.session import Session
from storage.segments.sums import ByLabels, FactsInFiles, sums_by_stack
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch

_Found = TypeVar("_Found")


class SegmentReading:
    """A set of days of one database, as a `storage.query.reading.Reading`."""

    cells = None

    def __init__(self, session: Session, manifests: Sequence[Manifest], dictionary: Dictionary) -> None:
        """`session` and `dictionary` are of the days of the manifests."""
        self._session = session
        self._dictionary = dictionary
        self._catalogue = Catalogue(session)
        self._designs = Designs(session, manifests)

    @property
    def functions(self) -> Functions:
        """The functions of the samples read here."""
        return self._dictionary.functions

    def sample_type(self, selection: Selection) -> SampleType:
        """The selection's sample type. Raises `BadSelection` for an event that was never sampled."""
        return self._catalogue.sample_type(selection)

    def samples(
        self,
        selection: Selection,
        labels: tuple[str, ...] = (),
        frame: str | None = None,
    ) -> Samples:
        """The selection's samples, summed by stack if rows are of labels alone.

        Raises `BadSelection`, `UnknownCampaign`, `LakeError`.
        """
        if frame is None and labels:
            return self.by_visit(selection, labels)
        return self.visits(selection, labels)

    def by_visit(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The selection's samples, summed by labels and stack, or by visit if some stacks are filtered out."""
        if selection.filters_stacks:
            return self.visits(selection, labels)
        return self._within_limits(selection, labels, self._by_stack)

    def functions_of(
        self,
        selection: Selection,
        make: Make[FunctionSamples, _Found],  # noqa: ARG002 - as `Reading`
    ) -> _Found | Samples:
        """The selection's samples by stack, from which rows of functions are computed."""
        return self.visits(selection)

    def applications_of(
        self,
        selection: Selection,
        make: Make[ApplicationSamples, _Found],  # noqa: ARG002 - as `Reading`
    ) -> _Found | Samples:
        """The selection's samples, summed by application and stack."""
        return self.by_visit(selection, APPLICATION.keys)

    def visits(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The selection's samples by visit, with the ids of these labels."""
        return self._within_limits(selection, labels, self._one_by_one)

    def _within_limits(
        self,
        selection: Selection,
        labels: tuple[str, ...],
        read: Callable[[Selection, SampleType, tuple[str, ...], Selected, int], Samples],
    ) -> Samples:
        """Read the selection; beyond the limit of one answer, a random part of the visits, as from PostgreSQL."""
        kind, campaign_id = self.sample_type(selection), self._catalogue.campaign(selection)
        selected = self._selected(selection, kind, labels)
        try:
            with query_budget.given_back():
                return read(selection, kind, labels, selected, WHOLE)
        except TooMuch:
            parts = parts_of(int(selected.profiles.facts.sum()), len(selected.profiles))
            if parts == WHOLE or campaign_id is None or not self._designs.draws(campaign_id):
                raise
        return of_fewer(
            lambda fewer: read(
                selection, kind, labels, self._selected(selection, kind, labels, fewer), fewer
            ),
            parts,
        )

    def _selected(
        self, selection: Selection, kind: SampleType, labels: tuple[str, ...], parts: int = WHOLE
    ) -> Selected:
        for label in labels:
            self._catalogue.check_label(label)
        choices = [self._catalogue.choice(matcher) for matcher in selection.matchers]
        campaign_id = self._catalogue.campaign(selection)
        return read_profiles(self._session, selection, campaign_id, kind, choices, labels, parts)

    def _one_by_one(
        self,
        selection: Selection,
        kind: SampleType,
        labels: tuple[str, ...],  # noqa: ARG002 - as `_by_stack`
        selected: Selected,
        parts: int,
    ) -> Samples:
        facts, profiles = read_facts(self._session, selected), selected.profiles
        visits = self._visits(selection, kind, selected, parts)
        weighted = facts.units * visits.weight[profiles.visit[facts.profile]]
        shape = self._dictionary.shape(self._session, facts.stack)
        samples = Samples(kind, profiles, facts, weighted, shape, visits)
        return filtered(self.functions, samples, selection)

    def _by_stack(
        self,
        selection: Selection,
        kind: SampleType,
        labels: tuple[str, ...],
        selected: Selected,
        parts: int,
    ) -> Samples:
        profiles, groups = selected.profiles, ByLabels.of(selected.profiles, labels)
        check_size(profiles.facts)
        visits = self._visits(selection, kind, selected, parts)
        facts, weighted = sums_by_stack(self._session, selected, visits, groups)
        shape = self._dictionary.shape(self._session, facts.stack)
        return Samples(
            kind,
            groups.profiles,
            facts,
            weighted,
            shape,
            visits,
            summed=FactsInFiles(self._session, selected, visits, groups, facts.stack),
        )

    def _visits(self, selection: Selection, kind: SampleType, selected: Selected, parts: int) -> Visits:
        """The selection's visits with their totals."""
        profiles, campaign_id = selected.profiles, self._catalogue.campaign(selection)
        design, weights = self._designs.design(
            selection, campaign_id, kind, stacks=profiles.stacks, parts=parts
        )
        each = np.arange(len(profiles))
        units = Facts(each, each, profiles.samples, profiles.units)
        visits = visits_of(design, weights, profiles, units)
        if parts < WHOLE:
            return visits
        return zero_count_bound_by_visits(visits, selection, lambda event: self.event_visits(event, kind))

    def lined(self, selection: Selection, labels: tuple[str, ...] = ()) -> LinedSamples:  # noqa: ARG002 - as `Reading`
        """Raise `BadSelection`: the lake has no source lines."""
        refuse_frames(selection)
        raise BadSelection("A lake has no source lines.", hint="Use the database, or group by function.")

    def profiles(
        self, selection: Selection, kind: SampleType, labels: tuple[str, ...]
    ) -> tuple[Profiles, VisitWeights | None]:
        """The selection's profiles without samples, and the visits' weights; None: they were not drawn at random."""
        profiles = self._selected(selection, kind, labels).profiles
        campaign_id = self._catalogue.campaign(selection)
        _, weights = self._designs.design(selection, campaign_id, kind, stacks=profiles.stacks)
        return profiles, weights

    def event_visits(self, event: Selection, kind: SampleType) -> Visits | None:
        """All visits with their totals of an event; None: they were not drawn at random."""
        profiles = self._selected(event, kind, ()).profiles
        campaign_id = self._catalogue.campaign(event)
        design, weights = self._designs.design(event, campaign_id, kind, stacks=profiles.stacks)
        return None if weights is None else visits_of_event(profiles, design, weights)

    def visit_times(self, selection: Selection) -> VisitTimes:
        """Draw times of the visits in the selection's time range and campaign, and the covered time."""
        return self._designs.visit_times(selection, self._catalogue.campaign(selection))

    def drawn(self, selection: Selection, start: datetime, end: datetime) -> DrawnVisits:
        """The visits of the selection's campaign, which has begun, that were drawn at random in [start, end)."""
        campaign_id = self._catalogue.campaign(selection)
        assert campaign_id is not None, "a campaign without visits has no steps"
        return self._designs.drawn(campaign_id, start, end)

    def builds(self, selection: Selection, profiles: Profiles, names: Iterable[str]) -> Builds:  # noqa: ARG002 - as `Reading`
        """Raise `BadSelection`: builds are only needed for source lines, which the lake does not have."""
        raise BadSelection("A lake has no source lines.", hint="Use the database, or group by function.")

    def contents(self, keys: Sequence[str], paths: Iterable[str]) -> Mapping[tuple[str, str], bytes]:  # noqa: ARG002 - as `Reading`
        """Empty: sources are not exported."""
        return {}

    def label_values(self, label: str, ids: Int64) -> Sequence[str]:
        """The values of a label's stored ids, in their order."""
        return self._catalogue.values_of(label, ids)

    def user_labels(self) -> Sequence[str]:
        """Names of the labels in label sets, sorted."""
        return self._catalogue.user_labels()

    def definitions(self, ids: Int64) -> Mapping[int, Definition]:
        """Symbol-table names and first lines by function; missing functions are left out."""
        return definitions(self._session, ids)

    def build_ids(self, names: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002 - as `Reading`
        """Empty: binaries are not exported."""
        return {}
