"""The rows that really changed between two selections, and the causes of the changes (DIGEST G21).

The heaviest rows of either selection are compared. Rows that changed by more than chance, and by enough to act on, are
then split by version, compiler, kernel and other labels.
"""

from dataclasses import dataclass

from analysis.errors import NotEstimable
from analysis.measured import Measured
from analysis.movers.attribution import Attribution, Explanation, Kind, attribute
from analysis.movers.significant_movers import LEAST, movers
from storage.errors import BadSelection
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import MOST_ROWS, Compared, Comparison, DiffRow, compared
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.mover_parts import RowsByProfile
from storage.query.shapes.totals import Totals, totals

DIMENSIONS = ("application", "version", "compiler", "kernel", "platform", "datacenter")
MOST_EXPLAINED = 20
_MOST_VISITS = 2_000
"""Visits of both selections that are used to find a cause: half a second per mover."""
_SEED = 1
"""Seed of the permutations: equal queries have equal results."""
RARE = "[rare values]"
"""Stands for the values of a label that are too many to be tested one by one."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The part of a change that one label explains."""

    label: str
    kind: Kind
    value: str
    """The value with the largest effect: one that came or went (mix), or that changed (within)."""
    explained: Measured
    """Part of the change, 1: all of it; below 0 or above 1 if other changes counteract."""
    p: float
    significant: bool


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a row's share changed."""

    best: Explained | None
    """The best significant explanation, if it covers at least half of the change."""
    inseparable: tuple[Explained, ...]
    """Other explanations of the same size, by values that occur together with the best one's."""
    explanations: tuple[Explained, ...]
    """All explanations, best first, two for each label."""
    visits: tuple[int, int]
    """Visits used, of the selection and of its base."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The reason why there is no cause."""

    reason: str
    """One word for programs, as in `analysis.errors`."""
    detail: str
    """A sentence."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A row that changed."""

    row: DiffRow
    cause: Cause | Unavailable


@dataclass(frozen=True, slots=True)
class MoversAnswer:
    """The movers, largest change first, and the totals of both selections."""

    kind: SampleType
    totals: Totals
    base_totals: Totals
    by: tuple[str, ...]
    comparison: Comparison
    """All rows examined."""
    movers: tuple[Mover, ...]
    labels: tuple[str, ...]
    """Labels examined for causes: the requested ones that have several values."""
    part: float
    """Share of the visits used to find causes, 0…1."""
    unavailable: Unavailable | None
    """The reason why no mover can be determined."""


@dataclass(frozen=True, slots=True)
class MoversQuestion:
    """The rows that changed between a base and the selection, and why. The base's event is the selection's."""

    selection: Selection
    base: Selection
    by: tuple[str, ...] = ("function",)
    examined: int = 200
    """Rows examined, the heaviest of either side."""
    least: float = LEAST
    """Smallest relevant change of share, 0…1."""
    explain: int = 5
    """The number of largest movers whose cause is determined."""
    own: bool = True
    """Compare self; else totals."""
    labels: tuple[str, ...] = DIMENSIONS
    """Labels to find causes in."""

    def __post_init__(self) -> None:
        if not (
            0 <= self.least <= 1 and 1 <= self.examined <= MOST_ROWS and 0 <= self.explain <= MOST_EXPLAINED
        ):
            raise BadSelection(
                "The least change or the number of rows to examine or to explain is out of range."
            )

    def answer(self, reading: Reading) -> MoversAnswer:
        """The movers. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        keys = split_keys(self.by)
        labels = tuple(label for label in self.labels if label not in self.by)
        a, b = (reading.visits(side, (*keys.labels, *labels)) for side in (self.selection, self.base))
        found = compared(reading, a, b, self.by, limit=self.examined, own=self.own)
        unavailable: Unavailable | None = None
        moved: list[int] = []
        if found.result is None:
            unavailable = Unavailable(
                "no_design", "Visits were not drawn at random, so significance cannot be computed."
            )
        elif not (a.whole > 0 and b.whole > 0):
            unavailable = Unavailable("too_little", "One of the two sides has no samples.")
        else:
            moved = movers(found.result, self.least).tolist()
        by_profile = RowsByProfile.of(reading, found, self.by, labels, _MOST_VISITS) if moved else None
        return MoversAnswer(
            kind=a.kind,
            totals=totals(reading.functions, a),
            base_totals=totals(reading.functions, b),
            by=self.by,
            comparison=found.comparison,
            movers=() if by_profile is None else self._movers(found, moved, by_profile),
            labels=() if by_profile is None else by_profile.dimensions.names,
            part=1.0 if by_profile is None else by_profile.part,
            unavailable=unavailable,
        )

    def _movers(self, found: Compared, moved: list[int], by_profile: RowsByProfile) -> tuple[Mover, ...]:
        first, second = found.places
        return tuple(
            Mover(found.rows[row], self._cause(by_profile, number, (int(first[row]), int(second[row]))))
            for number, row in enumerate(moved)
        )

    def _cause(self, by_profile: RowsByProfile, number: int, places: tuple[int, int]) -> Cause | Unavailable:
        names = by_profile.dimensions.names
        if number >= self.explain:
            return Unavailable(
                "not_asked", f"Causes are determined only for the {self.explain} largest changes."
            )
        if not names:
            return Unavailable("constant", "None of the labels has more than one value.")
        now, before = (by_profile.parts(side, place, own=self.own) for side, place in enumerate(places))
        try:
            found = attribute(now, before, names, seed=_SEED)
        except NotEstimable as error:
            return Unavailable(error.reason, str(error))
        return _cause(found, by_profile)


def _cause(found: Attribution, by_profile: RowsByProfile) -> Cause:
    dimensions = by_profile.dimensions

    def named(one: Explanation) -> Explained:
        values = dimensions.values[dimensions.names.index(one.dimension)]
        value = RARE if one.value < 0 else values[one.value]
        return Explained(one.dimension, one.kind, value, one.explained, one.p, one.significant)

    return Cause(
        None if found.cause is None else named(found.cause),
        tuple(map(named, found.inseparable)),
        tuple(map(named, found.explanations)),
        found.visits,
    )
