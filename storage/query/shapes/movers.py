"""The rows that really changed between two selections, and the causes of the changes (DIGEST G21).

The heaviest rows of either selection are compared. Rows that changed by more than chance, and by enough to act on, are
then split by version, compiler, kernel and other labels.
"""

from dataclasses import dataclass

from analysis.errors import NotEstimable
from analysis.movers.attribution import Attribution, Explanation, Kind, attribute
from analysis.movers.significant_movers import LEAST, movers
from storage.errors import BadSelection
from storage.query.answers.answer import extended
from storage.query.answers.diff import DiffRow
from storage.query.answers.figures import Interval
from storage.query.answers.movers import Cause, Explained, Mover, MoversAnswer, MoverUnavailable
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import MOST_ROWS, Compared, compared
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.mover_parts import RowsByProfile
from storage.query.shapes.totals import totals

DIMENSIONS = ("application", "version", "compiler", "kernel", "platform", "datacenter")
MOST_EXPLAINED = 20
_MOST_VISITS = 2_000
"""Visits of both selections that are used to find a cause: half a second per mover."""
_SEED = 1
"""Seed of the permutations: equal queries have equal results."""
RARE = "[rare values]"
"""Stands for the values of a label that are too many to be tested one by one."""


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
        unavailable: MoverUnavailable | None = None
        moved: list[int] = []
        if found.result is None:
            unavailable = MoverUnavailable(
                "no_design", "Visits were not drawn at random, so significance cannot be computed."
            )
        elif not (a.whole > 0 and b.whole > 0):
            unavailable = MoverUnavailable("too_little", "One of the two sides has no samples.")
        else:
            moved = movers(found.result, self.least).tolist()
        by_profile = RowsByProfile.of(reading, found, self.by, labels, _MOST_VISITS) if moved else None
        return MoversAnswer(
            selection=selection_echo(self.selection, a.kind),
            base=selection_echo(self.base, a.kind),
            totals=totals(reading.functions, a),
            base_totals=totals(reading.functions, b),
            by=self.by,
            movers=() if by_profile is None else self._movers(found, moved, by_profile),
            examined=len(found.rows),
            rows_total=found.rows_total,
            least=self.least,
            labels=() if by_profile is None else by_profile.dimensions.names,
            power=None if found.power is None else found.power.power,
            compared_part=found.part,
            interval_level=found.level,
            part=1.0 if by_profile is None else by_profile.part,
            because=unavailable,
        )

    def _movers(self, found: Compared, moved: list[int], by_profile: RowsByProfile) -> tuple[Mover, ...]:
        first, second = found.places
        return tuple(
            _mover(found.rows[row], self._cause(by_profile, number, (int(first[row]), int(second[row]))))
            for number, row in enumerate(moved)
        )

    def _cause(
        self, by_profile: RowsByProfile, number: int, places: tuple[int, int]
    ) -> Cause | MoverUnavailable:
        names = by_profile.dimensions.names
        if number >= self.explain:
            return MoverUnavailable(
                "not_computed", f"Causes are determined only for the {self.explain} largest changes."
            )
        if not names:
            return MoverUnavailable("constant", "None of the labels has more than one value.")
        now, before = (by_profile.parts(side, place, own=self.own) for side, place in enumerate(places))
        try:
            found = attribute(now, before, names, seed=_SEED)
        except NotEstimable as error:
            return MoverUnavailable(error.reason, str(error))
        return _cause(found, by_profile)


def _mover(row: DiffRow, cause: Cause | MoverUnavailable) -> Mover:
    return extended(
        Mover,
        row,
        cause=cause if isinstance(cause, Cause) else None,
        because=cause if isinstance(cause, MoverUnavailable) else None,
    )


def _cause(found: Attribution, by_profile: RowsByProfile) -> Cause:
    dimensions = by_profile.dimensions

    def named(one: Explanation) -> Explained:
        values = dimensions.values[dimensions.names.index(one.dimension)]
        part = one.explained
        return Explained(
            label=one.dimension,
            kind="mix" if one.kind is Kind.MIX else "within",
            value=RARE if one.value < 0 else values[one.value],
            explained=Interval(part.value, part.lo, part.hi),
            p=one.p,
            significant=one.significant,
        )

    visits, base_visits = found.visits
    return Cause(
        best=None if found.cause is None else named(found.cause),
        inseparable=tuple(map(named, found.inseparable)),
        explanations=tuple(map(named, found.explanations)),
        visits=visits,
        base_visits=base_visits,
    )
