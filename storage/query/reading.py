"""The interface of one snapshot of the store, as answers read it, independent of the storage.

PostgreSQL answers from merged cells and chunks (`storage.query.store_reading.StoreReading`), segments from Parquet
files (`storage.segments.segment_reading.SegmentReading`). The same code computes weights, moments and intervals for
both:

| a reading gives | from | by |
|---|---|---|
| sums by stack | `samples` | labels, if any |
| sums by function, by application | `functions_of`, `applications_of` | rows of a table |
| sums by stack, with visits | `by_visit` | labels, if any |
| single samples | `visits`, `lined` | visit, profile, source line |
| the sampling design | evidence of `Samples`; `profiles`, `event_visits` | visit |
| times | `visit_times`, `drawn` | visit |
| names | `functions`, `label_values`, `user_labels`, `definitions`, `build_ids` | id |
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from storage.arrays import Int64
from storage.query.binary_builds import Builds
from storage.query.estimation.sampling_design import VisitWeights
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_times import DrawnVisits, VisitTimes
from storage.query.facts.visit_scan import Profiles, SampleType
from storage.query.function_samples import ApplicationSamples, FunctionSamples
from storage.query.line_samples import LinedSamples
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.stacks.definitions import Definition
from storage.query.stacks.function_names import Functions

if TYPE_CHECKING:
    from storage.query.store_reading import StoreReading

_Answer_co = TypeVar("_Answer_co", covariant=True)
_Found = TypeVar("_Found")
_Sums = TypeVar("_Sums")
Make = Callable[[_Sums], _Found]
"""Makes an answer from sums."""


class Reading(Protocol):
    """A snapshot of the store. Every method raises `BadSelection`, `UnknownCampaign`, `StorageError`."""

    @property
    def functions(self) -> Functions:
        """Names of the functions of the samples read here."""
        ...

    @property
    def cells(self) -> "StoreReading | None":
        """The reading whose merged cells give the same sums in another way; None if there are no cells."""
        ...

    def sample_type(self, selection: Selection) -> SampleType:
        """The sample type of a selection."""
        ...

    def samples(
        self, selection: Selection, labels: tuple[str, ...] = (), frame: str | None = None
    ) -> Samples:
        """The selection's samples for rows by these labels and this frame key."""
        ...

    def functions_of(self, selection: Selection, make: Make[FunctionSamples, _Found]) -> _Found | Samples:
        """The result of `make` for the selection's sums by function, if the reading has these; else its samples."""
        ...

    def applications_of(
        self, selection: Selection, make: Make[ApplicationSamples, _Found]
    ) -> _Found | Samples:
        """As `functions_of`, by application."""
        ...

    def visits(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The selection's samples by visit, with the ids of these labels."""
        ...

    def by_visit(self, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """As `visits`, for rows by labels or by frames, not both: facts may be sums over visits by labels and stack."""
        ...

    def lined(self, selection: Selection, labels: tuple[str, ...] = ()) -> LinedSamples:
        """As `visits`, with the samples' source lines."""
        ...

    def profiles(
        self, selection: Selection, kind: SampleType, labels: tuple[str, ...]
    ) -> tuple[Profiles, VisitWeights | None]:
        """The selection's profiles without samples, and the weights of their visits; None if not drawn at random."""
        ...

    def event_visits(self, event: Selection, kind: SampleType) -> Visits | None:
        """All visits with their amounts of an event; None if not drawn at random."""
        ...

    def visit_times(self, selection: Selection) -> VisitTimes:
        """When the visits of the selection's time and campaign were drawn, and which of its time is covered."""
        ...

    def drawn(self, selection: Selection, start: datetime, end: datetime) -> DrawnVisits:
        """The visits of the selection's campaign that were drawn at random in [start, end)."""
        ...

    def builds(self, selection: Selection, profiles: Profiles, names: Iterable[str]) -> Builds:
        """The builds of the binaries of these names in the profiles, which were read with `binary_builds.LABELS`."""
        ...

    def contents(self, keys: Sequence[str], paths: Iterable[str]) -> Mapping[tuple[str, str], bytes]:
        """SHA-256 of the stored sources, by binary key and path."""
        ...

    def label_values(self, label: str, ids: Int64) -> Sequence[str]:
        """The values of a label's stored ids, in their order."""
        ...

    def user_labels(self) -> Sequence[str]:
        """Names of the labels without columns in profiles, sorted."""
        ...

    def definitions(self, ids: Int64) -> Mapping[int, Definition]:
        """Names in symbol tables and first lines, by function, of the functions that have them."""
        ...

    def build_ids(self, names: Sequence[str]) -> Mapping[str, str]:
        """Build-ids in hex by base name, of binaries with unique names; none if the reading has no binaries."""
        ...


class Question(Protocol[_Answer_co]):
    """A question for any reading: a frozen dataclass, so that equal questions are equal."""

    def answer(self, reading: Reading) -> _Answer_co:
        """The answer, from one snapshot."""
        ...
