"""Chooses applications to share machines so that none is slowed down more than allowed (DIGEST I7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from analysis.errors import NotEstimable
from analysis.interference.advisor import Tenant, place
from storage.errors import BadSelection
from storage.query.models.interference import check_peak, refuse_applications
from storage.query.models.interference_ground import Source
from storage.query.models.interference_training import Trained, Wanted, train
from storage.query.models.no_answer import Inputs, Unavailable
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MOST_TENANTS = 200
MOST_MACHINES = 200
_LOOKS = 20_000
"""Exchanges that the search evaluates: about a second, since the query is interactive."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One of the programs to be placed."""

    application: str
    machine: int | None
    """From 0; None: see `unavailable`."""
    most: float | None
    """Allowed degradation; None: any."""
    degradation: float | None
    """Predicted degradation beside its neighbours, 0 alone; None: no model predicts it."""
    kept: bool | None
    """Whether its limit is kept; None: the program is not placed."""
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class PlacementAnswer:
    """The best placement found, or the reason why there is none."""

    source: Source
    """Source of all models: the fleet's visits, or one set of experiments."""
    platform: str
    lines: str
    peak_gbs: float | None
    peak_is_seen: bool
    machines: int
    slots: int
    rows: tuple[Placed, ...]
    """In the order of the question."""
    ended: bool
    """The search ended because no exchange improves the result; False: it reached its limit."""
    inputs: Inputs
    left_out: Mapping[str, int]
    unavailable: Unavailable | None


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
        rows, ended, unavailable = _placed(self, found)
        return PlacementAnswer(
            source=found.source,
            platform=ground.platform,
            lines=ground.lines,
            peak_gbs=ground.peak_gbs if np.isfinite(ground.peak_gbs) else None,
            peak_is_seen=ground.peak_is_seen,
            machines=self.machines,
            slots=self.slots,
            rows=rows,
            ended=ended,
            inputs=ground.inputs,
            left_out=ground.left_out,
            unavailable=unavailable,
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
) -> tuple[tuple[Placed, ...], bool, Unavailable | None]:
    lacking = found.unavailable
    if lacking:
        # The effect of a program without known pressure on the others is unknown, so none can be placed.
        rows = tuple(
            Placed(name, None, most, None, None, lacking.get(name)) for name, most in question.tenants
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
        Placed(
            application=name,
            machine=machine[number],
            most=most,
            degradation=value if np.isfinite(value := placement.degradation[number]) else None,
            kept=number not in placement.unmet,
            unavailable=None,
        )
        for number, (name, most) in enumerate(question.tenants)
    )
    return rows, placement.ended, None
