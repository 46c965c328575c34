"""The rows that really changed between two selections, and the causes of the changes (DIGEST G21).

The heaviest rows of either selection are compared. Within the selection, the newest version of each application is
compared with the one before: a release that runs on a tenth of the machines hardly changes the sum of a day. Rows that
changed by more than chance, and by enough to act on, are then split by version, compiler, kernel and other labels.
"""

from dataclasses import dataclass

from analysis.errors import NotEstimable
from analysis.movers.attribution import Attribution, Explanation, Kind, attribute
from analysis.movers.significant_movers import LEAST, movers
from storage.errors import BadSelection
from storage.query.answers.answer import extended
from storage.query.answers.figures import Interval
from storage.query.answers.movers import Cause, Explained, Mover, MoversAnswer, MoverUnavailable, Release
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.releases.release_pairs import release_pairs
from storage.query.releases.versions import VERSION
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import MOST_ROWS, Compared, judged, matched
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
    releases: bool = True
    """Compare the newest version of each application with the one before, too."""

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
        release_labels = (APPLICATION, VERSION) if self._tests_releases else ()
        read = tuple(dict.fromkeys((*keys.labels, *labels, *release_labels)))
        a, b = (reading.visits(side, read) for side in (self.selection, self.base))
        of_time = matched(reading, a, b, self.by, limit=self.examined, own=self.own)
        pairs = release_pairs(reading, self.selection, a, self.by) if self._tests_releases else []
        found, *of_releases = judged([of_time, *(pair.match for pair in pairs)])
        unavailable = _why_unavailable(found, a, b)
        compared_by = [_Comparison(reading, found, None, 1.0, self.own, self.by, labels)]
        compared_by += [
            _Comparison(reading, one, pair.release, pair.share, False, self.by, labels)
            for one, pair in zip(of_releases, pairs, strict=True)
        ]
        moved = [
            (one, row)
            for one in compared_by
            if one.found.result is not None and not (one.release is None and unavailable)
            for row in movers(one.found.result, self.least).tolist()
        ]
        moved.sort(key=lambda mover: -abs(mover[0].effect(mover[1])))
        shown = tuple(
            one.mover(row, explained=number < self.explain, most=self.explain)
            for number, (one, row) in enumerate(moved)
        )
        return MoversAnswer(
            selection=selection_echo(self.selection, a.kind),
            base=selection_echo(self.base, a.kind),
            totals=totals(reading.functions, a),
            base_totals=totals(reading.functions, b),
            by=self.by,
            movers=shown,
            releases=tuple(pair.compared(one) for pair, one in zip(pairs, of_releases, strict=True)),
            examined=len(found.rows),
            rows_total=found.rows_total,
            least=self.least,
            labels=tuple(label for label in labels if any(label in one.searched for one in compared_by)),
            power=None if found.power is None else found.power.power,
            compared_part=found.part,
            interval_level=found.level,
            part=min(one.part for one in compared_by),
            because=None if moved else unavailable,
        )

    @property
    def _tests_releases(self) -> bool:
        return self.releases and VERSION not in self.by


@dataclass(slots=True)
class _Comparison:
    """A comparison, of the two selections or of two versions, whose movers are explained."""

    reading: Reading
    found: Compared
    release: Release | None
    share: float
    """Share of the first side in the selection."""
    own: bool
    by: tuple[str, ...]
    labels: tuple[str, ...]
    _by_profile: RowsByProfile | None = None

    @property
    def by_profile(self) -> RowsByProfile:
        """The rows of both sides by profile, read when the first mover is explained."""
        if self._by_profile is None:
            self._by_profile = RowsByProfile.of(self.reading, self.found, self.by, self.labels, _MOST_VISITS)
        return self._by_profile

    @property
    def searched(self) -> tuple[str, ...]:
        """The labels that were searched for causes."""
        return () if self._by_profile is None else self._by_profile.dimensions.names

    @property
    def part(self) -> float:
        """Share of the visits that were searched for causes, 0…1."""
        return 1.0 if self._by_profile is None else self._by_profile.part

    def effect(self, row: int) -> float:
        """The row's change as a share of the selection."""
        return self.found.rows[row].delta * self.share

    def mover(self, row: int, *, explained: bool, most: int) -> Mover:
        """The row with its cause, if it is among the `most` that are explained."""
        cause: Cause | MoverUnavailable = (
            self._cause(row)
            if explained
            else MoverUnavailable(
                "not_computed", f"Causes are determined only for the {most} largest changes."
            )
        )
        return extended(
            Mover,
            self.found.rows[row],
            release=self.release,
            selection_delta=self.effect(row),
            cause=cause if isinstance(cause, Cause) else None,
            because=cause if isinstance(cause, MoverUnavailable) else None,
        )

    def _cause(self, row: int) -> Cause | MoverUnavailable:
        names = self.by_profile.dimensions.names
        if not names:
            return MoverUnavailable("constant", "None of the labels has more than one value.")
        now, before = (
            self.by_profile.parts(side, int(places[row]), own=self.own)
            for side, places in enumerate(self.found.places)
        )
        try:
            found = attribute(now, before, names, seed=_SEED)
        except NotEstimable as error:
            return MoverUnavailable(error.reason, str(error))
        return _cause(found, self.by_profile, self.release)


def _why_unavailable(found: Compared, a: Samples, b: Samples) -> MoverUnavailable | None:
    if found.result is None:
        return MoverUnavailable(
            "no_design", "Visits were not drawn at random, so significance cannot be computed."
        )
    if not (a.whole > 0 and b.whole > 0):
        return MoverUnavailable("too_little", "One of the two sides has no samples.")
    return None


def _cause(found: Attribution, by_profile: RowsByProfile, release: Release | None) -> Cause:
    dimensions = by_profile.dimensions

    def named(one: Explanation) -> Explained:
        values = dimensions.values[dimensions.names.index(one.dimension)]
        value = RARE if one.value < 0 else values[one.value]
        if release is not None and one.dimension == VERSION:
            value = release.version  # all profiles of one side have it, all of the other the previous one
        part = one.explained
        return Explained(
            label=one.dimension,
            kind="mix" if one.kind is Kind.MIX else "within",
            value=value,
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
