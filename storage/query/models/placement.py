"""Chooses applications to share machines so that none is slowed down more than allowed (DIGEST I7)."""

from dataclasses import dataclass
from math import inf

import numpy as np

from analysis.errors import NotEstimable
from analysis.interference.advisor import Tenant, place
from storage.errors import BadSelection
from storage.query.answers.inputs import Unavailable, left_out
from storage.query.answers.placement import PlacedRow, PlacementAnswer
from storage.query.facts.selection_echo import machine_selection_echo
from storage.query.models.interference import check_peak, refuse_applications
from storage.query.models.interference_ground import chip_of
from storage.query.models.interference_training import Trained, Wanted, train
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MOST_TENANTS = 200
MOST_MACHINES = 200
_LOOKS = 20_000
"""Exchanges that the search evaluates: about a second, since the query is interactive."""


@dataclass(frozen=True, slots=True)
class PlacementQuestion:
    """Programs on equal machines with one chip; an application named twice is two programs."""

    selection: Selection
    tenants: tuple[tuple[str, float | None], ...]
    """Applications, and the allowed degradation of each, 0.1 for a tenth; None: any."""
    machines: int
    slots: int = 2
    """Most programs on a machine."""
    platform: str = ""
    """"": the platform with most visits, or runs."""
    peak_gbs: float | None = None
    cautious: bool = False
    """Limits apply to the upper end of a prediction's interval."""
    experiments: str = ""
    """The set of experiments that trains all models; "": the fleet's visits, else the newest set that can."""

    def answer(self, reading: StoreReading) -> PlacementAnswer:
        """The placement. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        targets = tuple(dict.fromkeys(name for name, _ in self.tenants))
        found = train(
            reading, Wanted(self.selection, targets, self.platform, self.peak_gbs, self.experiments)
        )
        ground = found.ground
        rows, ended, because = _placed(self, found)
        return PlacementAnswer(
            selection=machine_selection_echo(self.selection),
            source=found.source,
            chip=chip_of(ground),
            machines=self.machines,
            slots=self.slots,
            rows=rows,
            rows_total=len(rows),
            ended=ended,
            left_out=left_out(ground.left_out),
            inputs=ground.inputs,
            because=because,
        )


def _check(question: PlacementQuestion) -> None:
    refuse_applications(question.selection)
    check_peak(question.peak_gbs)
    if not 1 <= len(question.tenants) <= MOST_TENANTS:
        raise BadSelection(
            f"The number of programs must be from 1 to {MOST_TENANTS}.",
            hint="tenants=checkout:0.1,feed, for example.",
        )
    if any(most is not None and not 0 <= most <= 100 for _, most in question.tenants):
        raise BadSelection("The allowed degradation of a program must be from 0 to 100; 0.1 is 10 %.")
    if not (1 <= question.machines <= MOST_MACHINES and 1 <= question.slots <= MOST_TENANTS):
        raise BadSelection(
            f"The number of machines must be from 1 to {MOST_MACHINES}, with 1 to {MOST_TENANTS} programs "
            "each."
        )


def _placed(
    question: PlacementQuestion, found: Trained
) -> tuple[tuple[PlacedRow, ...], bool, Unavailable | None]:
    lacking = found.unavailable
    if lacking:
        # The effect of a program without known pressure on the others is unknown, so none can be placed.
        rows = tuple(
            PlacedRow(name, None, most, None, None, lacking.get(name)) for name, most in question.tenants
        )
        first = next(iter(lacking.values()))
        if len(lacking) == 1:
            return rows, False, first
        return (
            rows,
            False,
            Unavailable(first.reason, f"No data for {', '.join(lacking)}. The first reason: {first.detail}"),
        )
    tenants = [
        Tenant(found.models[name].model, inf if most is None else most) for name, most in question.tenants
    ]
    try:
        placement = place(
            tenants, question.machines, question.slots, cautious=question.cautious, looks=_LOOKS
        )
    except NotEstimable as error:
        return (), False, Unavailable(error.reason, str(error))
    machine = {tenant: at for at, members in enumerate(placement.machines) for tenant in members}
    rows = tuple(
        PlacedRow(
            application=name,
            machine=machine[number],
            most=most,
            degradation=value if np.isfinite(value := placement.degradation[number]) else None,
            kept=number not in placement.unmet,
            because=None,
        )
        for number, (name, most) in enumerate(question.tenants)
    )
    return rows, placement.ended, None
