"""The reading of PostgreSQL: merged cells if they can answer, else the chunks of every visit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from storage.arrays import Int64
from storage.errors import BudgetExceeded
from storage.query.access_path import Access, CellPlan, Shape
from storage.query.binary_builds import Builds, read_builds
from storage.query.cells.rollup_scan import NotInRollup
from storage.query.estimation.covered_time import facts_horizon
from storage.query.estimation.sampling_design import VisitWeights, read_design
from storage.query.estimation.strata import read_strata
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_times import DrawnVisits, VisitTimes, read_drawn, read_visit_times
from storage.query.facts.visit_scan import (
    WHOLE,
    Profiles,
    SampleType,
    campaign_of,
    sample_type_of,
    scan_profiles,
)
from storage.query.function_samples import (
    ApplicationSamples,
    FunctionSamples,
    read_applications,
    read_functions,
)
from storage.query.line_samples import LinedSamples, read_lined
from storage.query.samples import Samples, SampleSource, of_fewer
from storage.query.selections import label_names
from storage.query.selections.selection import Selection
from storage.query.stacks.definitions import Definition, build_ids, definitions
from storage.query.stacks.function_names import Functions
from storage.query.zero_count_bounds import read_event
from storage.rollup.cubes import APPLICATION
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch
from storage.symbols.sources import read_contents

_Answer_co = TypeVar("_Answer_co", covariant=True)
_Found = TypeVar("_Found")
_Cells = TypeVar("_Cells")
_Make = Callable[[_Cells], _Found]
"""Makes an answer from sums of cells."""
_BySums = Callable[[SampleSource, Connection, Selection, SampleType, CellPlan], _Found | None]

FUNCTIONS = Shape(frame="function", stacks=False)
APPLICATIONS = Shape(APPLICATION.keys, stacks=False)


def _by_stack(
    source: SampleSource, connection: Connection, selection: Selection, kind: SampleType, plan: CellPlan
) -> Samples | None:
    return source.read_merged(connection, selection, kind, plan)


@dataclass(frozen=True, slots=True)
class StoreReading:
    """A snapshot of PostgreSQL and the sample source of one answer; a `storage.query.reading.Reading`."""

    connection: Connection
    source: SampleSource

    @property
    def functions(self) -> Functions:
        """Names of the functions of the samples read here."""
        return self.source.functions

    @property
    def cells(self) -> "StoreReading":
        """This reading."""
        return self

    def sample_type(self, selection: Selection) -> SampleType:
        """The sample type of a selection. Raises `BadSelection` for an event that was never sampled."""
        return sample_type_of(self.connection, selection)

    def samples(
        self, selection: Selection, labels: tuple[str, ...] = (), frame: str | None = None
    ) -> Samples:
        """The selection's samples for rows by these labels and this frame key.

        Uses the cheapest access path that can answer. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
        """
        return self._answer(selection, Shape(labels, frame), _by_stack)

    def functions_of(self, selection: Selection, make: _Make[FunctionSamples, _Found]) -> _Found | Samples:
        """The result of `make` for the sums of cells by function, for rows that are functions without labels.

        Returns the selection's samples if cells cannot answer, or if making the result exceeds a limit. Raises as
        `samples` does.
        """
        return self._answer(selection, FUNCTIONS, partial(read_functions, make=make))

    def functions_of_cells(self, selection: Selection, make: _Make[FunctionSamples, _Found]) -> _Found | None:
        """As `functions_of`; None if the sums by function cannot answer.

        Also raises `NotInRollup`, `TooMuch`, `BudgetExceeded`.
        """
        return self._by_sums(selection, FUNCTIONS, partial(read_functions, make=make))

    def applications_of(
        self, selection: Selection, make: _Make[ApplicationSamples, _Found]
    ) -> _Found | Samples:
        """As `functions_of`, for rows that are applications."""
        return self._answer(selection, APPLICATIONS, partial(read_applications, make=make))

    def applications_of_cells(
        self, selection: Selection, make: _Make[ApplicationSamples, _Found]
    ) -> _Found | None:
        """As `functions_of_cells`, for rows that are applications."""
        return self._by_sums(selection, APPLICATIONS, partial(read_applications, make=make))

    def _by_sums(self, selection: Selection, shape: Shape, by_sums: _BySums[_Found]) -> _Found | None:
        kind = sample_type_of(self.connection, selection)
        plan = self.source.planner.plan(self.connection, selection, kind, shape)
        if plan.cells is None:
            return None
        return by_sums(self.source, self.connection, selection, kind, plan.cells)

    def _answer(self, selection: Selection, shape: Shape, by_sums: _BySums[_Found]) -> _Found | Samples:
        """Use the first access path that can answer; a path that cannot gives its share of the budget back."""
        kind = sample_type_of(self.connection, selection)
        for plan in self.source.planner.plans(self.connection, selection, kind, shape):
            if plan.cells is None:
                break
            read = by_sums if plan.access is Access.FUNCTION_SUMS else _by_stack
            try:
                with query_budget.given_back():
                    found = read(self.source, self.connection, selection, kind, plan.cells)
            except NotInRollup:
                continue
            except TooMuch:  # a random part of the chunks can be read
                break
            except BudgetExceeded as error:
                if error.limit != "memory" or shape.stacks:
                    raise
                continue
            if found is None:
                break
            return found
        return self.visits(selection, shape.labels)

    def visits(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The selection's samples by visit, with the ids of these labels. Raises as `samples` does."""
        return self.source.read(self.connection, selection, labels)

    def some_visits(self, selection: Selection, labels: tuple[str, ...], about: int) -> Samples:
        """As `visits`, from a random part of about so many visits, which represents all of them.

        Only visits with facts in PostgreSQL are read. The time does not depend on the length of the selection.
        """
        campaign_id = campaign_of(self.connection, selection)
        start = min(max(selection.start, facts_horizon(self.connection)), selection.end)
        strata = None
        if campaign_id is not None:
            strata = read_strata(self.connection, campaign_id, start, selection.end)
        drawn = 0 if strata is None else int(strata.drawn.sum())
        parts = WHOLE if drawn <= about else max(1, WHOLE * about // drawn)
        kind = sample_type_of(self.connection, selection)
        return of_fewer(
            lambda fewer: self.source.read_part(self.connection, selection, kind, labels, fewer), parts
        )

    def by_visit(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """As `visits`."""
        return self.visits(selection, labels)

    def lined(self, selection: Selection, labels: tuple[str, ...] = ()) -> LinedSamples:
        """As `visits`, with the samples' source lines. Raises `BadSelection` for a selection that filters stacks."""
        return read_lined(self.source, self.connection, selection, labels)

    def profiles(
        self, selection: Selection, kind: SampleType, labels: tuple[str, ...]
    ) -> tuple[Profiles, VisitWeights | None]:
        """The selection's profiles without samples, and the weights of their visits; None if not drawn at random."""
        profiles = scan_profiles(self.connection, selection, kind, labels)
        _, weights = read_design(
            self.connection,
            selection,
            campaign_of(self.connection, selection),
            kind.id,
            stacks=profiles.stacks,
            gauge=kind.gauge,
        )
        return profiles, weights

    def event_visits(self, event: Selection, kind: SampleType) -> Visits | None:
        """All visits with their amounts of an event; None if not drawn at random."""
        return read_event(self.connection, event, kind)

    def drawn(self, selection: Selection, start: datetime, end: datetime) -> DrawnVisits:
        """The visits of the selection's campaign, which has begun, that were drawn at random in [start, end)."""
        campaign_id = campaign_of(self.connection, selection)
        assert campaign_id is not None, "a campaign without visits has no steps"
        return read_drawn(self.connection, campaign_id, start, end)

    def visit_times(self, selection: Selection) -> VisitTimes:
        """When the visits of the selection's time and campaign were drawn, and which of its hours are covered.

        Raises `UnknownCampaign`.
        """
        campaign_id = campaign_of(self.connection, selection)
        return read_visit_times(self.connection, campaign_id, selection.start, selection.end)

    def builds(self, selection: Selection, profiles: Profiles, names: Iterable[str]) -> Builds:
        """The builds of the binaries of these names in the profiles, which were read with `binary_builds.LABELS`."""
        return read_builds(self.connection, selection, profiles, names)

    def contents(self, keys: Sequence[str], paths: Iterable[str]) -> Mapping[tuple[str, str], bytes]:
        """SHA-256 of the stored sources, by binary key and path."""
        return read_contents(self.connection, keys, paths)

    def label_values(self, label: str, ids: Int64) -> Sequence[str]:
        """The values of a label's stored ids, in their order."""
        return label_names.values_of(self.connection, label, ids)

    def user_labels(self) -> Sequence[str]:
        """Names of the labels in label sets, sorted."""
        return label_names.user_labels(self.connection)

    def definitions(self, ids: Int64) -> Mapping[int, Definition]:
        """Names in symbol tables and first lines, by function, of the functions that have them."""
        return definitions(self.connection, ids)

    def build_ids(self, names: Sequence[str]) -> Mapping[str, str]:
        """Build-ids in hex by base name, of binaries with unique names."""
        return build_ids(self.connection, names)


class StoreQuestion(Protocol[_Answer_co]):
    """A question for PostgreSQL: as `storage.query.reading.Question`, or about data that only PostgreSQL has."""

    def answer(self, reading: StoreReading) -> _Answer_co:
        """The answer, from one snapshot."""
        ...
