"""Moves of load between platforms, and the saving of each."""

from dataclasses import dataclass

from analysis.arrays import Float
from analysis.input_checks import number
from analysis.placement.affinity import Fleet, Plan


@dataclass(frozen=True, slots=True)
class Move:
    """Load of one application that changes platforms."""

    application: int
    source: int
    destination: int
    load: float
    """Instructions."""
    saving: float
    """Cycles; 0 or less for a move that only makes room for another."""


def moves(fleet: Fleet, plan: Plan) -> list[Move]:
    """All moves, largest saving first; their savings add up to the plan's.

    An application that leaves and enters several platforms is paired from its worst to its best.
    """
    found = [move for place in range(fleet.load.shape[1]) for move in _moves_of(place, fleet, plan.load)]
    return sorted(found, key=lambda move: (-move.saving, move.application, move.source, move.destination))


def that_matter(found: list[Move], share: float = 0.8) -> list[Move]:
    """The fewest moves with this share, 0…1, of the total saving of all saving moves; others are left out."""
    saving = [move for move in found if move.saving > 0]
    wanted = number("share of the saving", share, 0, 1) * sum(move.saving for move in saving)
    chosen: list[Move] = []
    for move in saving:
        if sum(earlier.saving for earlier in chosen) >= wanted:
            break
        chosen.append(move)
    return chosen


def _moves_of(application: int, fleet: Fleet, load: Float) -> list[Move]:
    change = load[:, application] - fleet.load[:, application]
    cpi = fleet.cpi[:, application]
    leaving = sorted(
        (place for place in range(len(change)) if change[place] < 0), key=lambda place: -cpi[place]
    )
    entering = sorted(
        (place for place in range(len(change)) if change[place] > 0), key=lambda place: cpi[place]
    )
    left = {place: abs(float(change[place])) for place in (*leaving, *entering)}
    found = []
    for source in leaving:
        for destination in entering:
            amount = min(left[source], left[destination])
            if amount > 0:
                left[source] -= amount
                left[destination] -= amount
                saving = amount * float(cpi[source] - cpi[destination])
                found.append(Move(application, source, destination, amount, saving))
    return found
