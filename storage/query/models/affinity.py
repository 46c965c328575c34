"""Assigns applications to platforms by their measured cycles per instruction (DIGEST G30).

Load is what each application runs on each platform now, in instructions counted in the covered time. It covers counted
control groups on machines with counters, not the whole fleet. The plan minimizes cycles under the constraints. The
predicted saving is corrected for optimism, because measurements with errors chose the plan.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis import confidence
from analysis.errors import NotEstimable
from analysis.measured import Measured
from analysis.placement import affinity
from analysis.placement.affinity import Fleet
from analysis.placement.moves import moves, that_matter
from analysis.placement.uncertainty import promise
from storage.errors import BadSelection
from storage.query.answers.affinity import AffinityAnswer, MoveRow, Present
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Unavailable
from storage.query.facts.selection_echo import machine_selection_echo
from storage.query.models.ratios import CountedRatios, RatioQuestion
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MOST_APPLICATIONS = 200
_SEED = 1
"""Equal queries have equal results."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The plan."""

    present: float
    """Cycles of the applications in the plan, as they run today."""
    planned: float
    saving: Measured
    """Cycles, with the optimism subtracted."""
    optimism: float
    certain: float
    """Cycles saved even if every CPI is at the worse end of its interval."""
    unknown: int
    """Pairs of an application and a platform without a measured CPI: nothing is moved there."""
    moves: tuple[MoveRow, ...]
    """Largest saving first: the moves with four fifths of the saving, and those that free capacity for them."""
    moves_total: int


@dataclass(frozen=True, slots=True)
class AffinityQuestion:
    """The assignment of the largest applications to platforms with the fewest cycles."""

    selection: Selection
    applications: int = 50
    pinned: tuple[str, ...] = ()
    """Applications that must not move; each must be in the plan."""
    largest_share: float = 1.0
    """Largest share of any application on one platform, 0…1: for availability."""
    floor: float = 0.0
    """Share of each application's present load on a platform that must stay there, 0…1: replicas that must not move."""
    room: float = 0.0
    """Share by which a platform may provide more cycles than today, ≥ 0."""
    cautious: bool = True
    """Move only what saves cycles even at the worse ends of the intervals."""

    def answer(self, reading: StoreReading) -> AffinityAnswer:
        """The plan. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        ratios = RatioQuestion(self.selection, "cpi", ("application", "platform"), limit=10_000).ratios(
            reading
        )
        return _answer(self, ratios)


def _check(question: AffinityQuestion) -> None:
    if not 1 <= question.applications <= MOST_APPLICATIONS:
        raise BadSelection(f"A plan has 1 to {MOST_APPLICATIONS} applications.", hint="applications=50")
    for name, value in (("largest_share", question.largest_share), ("floor", question.floor)):
        if not 0 <= value <= 1:
            raise BadSelection(f"{name} must be a share from 0 to 1, not {value:g}.")
    if not 0 <= question.room <= 10:
        raise BadSelection(f"room, the growth of capacity, must be from 0 to 10, not {question.room:g}.")


def _check_pinned(question: AffinityQuestion, applications: list[str], load_of: Mapping[str, float]) -> None:
    """Raises `BadSelection` for a pin without effect, such as a misspelt one."""
    absent = sorted(set(question.pinned) - set(applications))
    if not absent:
        return
    name = absent[0]
    if name not in load_of:
        raise BadSelection(
            f"{name!r} is pinned, but the selection has no counters of it.",
            hint="Remove the pin; the plan then lists the counted applications.",
            parameter="pinned",
        )
    rank = sum((-load, other) <= (-load_of[name], name) for other, load in load_of.items())
    raise BadSelection(
        f"{name!r} is pinned, but it has rank {rank} by work, and the plan has only the first "
        f"{len(applications)} applications.",
        hint=f"applications={rank}"
        if rank <= MOST_APPLICATIONS
        else "Add matchers, so that fewer applications are selected.",
        parameter="pinned",
    )


def _answer(question: AffinityQuestion, ratios: CountedRatios) -> AffinityAnswer:
    if ratios.unavailable is not None:
        return _made(question, ratios, (), None, ratios.unavailable)
    load_of: dict[str, float] = {}
    for row in ratios.rows:
        load_of[row.key["application"]] = load_of.get(row.key["application"], 0.0) + row.x
    applications = sorted(load_of, key=lambda name: (-load_of[name], name))[: question.applications]
    _check_pinned(question, applications, load_of)
    platforms = sorted({row.key["platform"] for row in ratios.rows})
    shape = (len(platforms), len(applications))
    cpi, lo, hi, load = (np.full(shape, fill) for fill in (np.nan, np.nan, np.nan, 0.0))
    known: dict[tuple[str, str], Measured | None] = {}
    for row in ratios.rows:
        if row.value is None or row.key["application"] not in applications:
            continue
        at = platforms.index(row.key["platform"]), applications.index(row.key["application"])
        known[row.key["application"], row.key["platform"]] = row.value
        cpi[at], lo[at], hi[at], load[at] = row.value.value, row.value.lo, row.value.hi, row.x
    present = tuple(
        Present(application, platform, figure(known.get((application, platform))), instructions)
        for application, loads in zip(applications, load.T.tolist(), strict=True)
        for platform, instructions in zip(platforms, loads, strict=True)
    )
    placed, unavailable = _placed(question, applications, platforms, (cpi, lo, hi, load))
    return _made(question, ratios, present, placed, unavailable)


def _made(
    question: AffinityQuestion,
    ratios: CountedRatios,
    present: tuple[Present, ...],
    placed: Placed | None,
    because: Unavailable | None,
) -> AffinityAnswer:
    return AffinityAnswer(
        selection=machine_selection_echo(question.selection),
        present=present,
        present_cycles=None if placed is None else placed.present,
        planned_cycles=None if placed is None else placed.planned,
        saving_cycles=None if placed is None else figure(placed.saving),
        optimism_cycles=None if placed is None else placed.optimism,
        certain_cycles=None if placed is None else placed.certain,
        unknown=None if placed is None else placed.unknown,
        rows=placed.moves if placed else (),
        rows_total=placed.moves_total if placed else 0,
        inputs=ratios.inputs,
        because=because,
    )


def _placed(
    question: AffinityQuestion,
    applications: list[str],
    platforms: list[str],
    known: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> tuple[Placed | None, Unavailable | None]:
    cpi, lo, hi, load = known
    if len(platforms) < 2:
        return None, Unavailable("constant", "All selected work runs on one platform, so there is no choice.")
    present = np.where(load > 0, cpi * load, 0.0).sum(axis=1)
    # A limit below today's share cannot be met: today's share is always allowed.
    held = np.divide(load, load.sum(axis=0), out=np.zeros_like(load), where=load.sum(axis=0) > 0).max(axis=0)
    ends = (lo, hi) if question.cautious else (None, None)
    try:
        fleet = Fleet(
            cpi=cpi,
            load=load,
            capacity=present * (1 + question.room),
            pinned=np.array([name in question.pinned for name in applications], np.bool_),
            floor=load * question.floor,
            largest_share=np.maximum(held, question.largest_share),
        )
        plan = affinity.assign(fleet, cpi_lo=ends[0], cpi_hi=ends[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            error = (np.log(hi) - np.log(lo)) / (2 * confidence.normal())
        found = promise(
            fleet,
            plan,
            np.where(np.isfinite(error), error, np.where(load > 0, 1.0, np.nan)),
            seed=_SEED,
            cpi_lo=ends[0],
            cpi_hi=ends[1],
        )
    except NotEstimable as unavailable:
        return None, Unavailable(unavailable.reason, str(unavailable))
    every = moves(fleet, plan)
    least = {id(move) for move in that_matter(every)}
    total = load.sum(axis=0)
    rows = tuple(
        MoveRow(
            applications[move.application],
            platforms[move.source],
            platforms[move.destination],
            move.load,
            move.load / float(total[move.application]),
            move.saving,
        )
        for move in every
        if id(move) in least or move.saving <= 0
    )
    placed = Placed(
        plan.present,
        plan.cycles,
        found.saving,
        found.optimism,
        plan.certain_saving,
        plan.unknown,
        rows,
        len(every),
    )
    return placed, None
