"""The models that an answer about interference needs, all of one ground: the fleet's visits, or one set of experiments."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from storage import experiments
from storage.errors import BadSelection, UnknownExperiments
from storage.query.models.interference_experiments import read_experiment_ground
from storage.query.models.interference_fleet import FleetGround
from storage.query.models.interference_ground import Ground, Source, TrainedTarget, source_of
from storage.query.models.interference_inputs import read_interference_inputs
from storage.query.models.told import Inputs, Unsaid
from storage.query.observed.machines import read_machine_visits
from storage.query.reader import Reading
from storage.query.selections.selection import Selection

_MOST_TRIED = 3
"""Sets, the newest first, where nobody names one."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose models, and of what."""

    selection: Selection
    targets: tuple[str, ...]
    platform: str = ""
    peak_gbs: float | None = None
    experiments: str = ""
    """The set that is to train them; "": the fleet's visits, else the newest set that can."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Models by target, why others have none, and what trained them."""

    ground: Ground
    models: Mapping[str, TrainedTarget]
    unsaid: Mapping[str, Unsaid]
    """By target without a model."""
    source: Source


def train(reading: Reading, wanted: Wanted) -> Trained:
    """The models. Raises `BadSelection`, for an unknown set too, `UnknownCampaign`, `DatabaseError`."""
    if wanted.experiments:
        return _by_named(reading, wanted)
    only = wanted.targets[0] if len(wanted.targets) == 1 else ""
    fleet = FleetGround(
        read_interference_inputs(reading, wanted.selection, wanted.platform, wanted.peak_gbs, only)
    )
    found = _trained(fleet, wanted.targets)
    return _by_others(reading, wanted, found) if found.unsaid else found


def _by_named(reading: Reading, wanted: Wanted) -> Trained:
    try:
        named = experiments.find(reading.connection, wanted.experiments)
    except UnknownExperiments as error:
        raise BadSelection(
            f"There are no experiments {wanted.experiments!r}.",
            hint="fleetprof experiments list, or GET /api/v1/experiments, shows those there are.",
            parameter="experiments",
        ) from error
    visits = read_machine_visits(reading.connection, replace(wanted.selection, event="cpu", unit=""))
    inputs = Inputs(visits.coverage, len(visits), 0)
    ground = read_experiment_ground(
        reading,
        named,
        wanted.targets,
        platform=wanted.platform,
        peak_gbs=wanted.peak_gbs,
        inputs=inputs,
        left_out={},
    )
    return _trained(ground, wanted.targets)


def _by_others(reading: Reading, wanted: Wanted, fleet: Trained) -> Trained:
    """Where visits cannot say: the newest experiments that can say it of all targets; the fleet's answer where none can."""
    why = next(iter(fleet.unsaid.values()))
    inputs = replace(fleet.ground.inputs, used=0)
    failed: list[str] = []
    for each in experiments.sets(reading.connection):
        if not all(each.runs_beside(target, wanted.platform) for target in wanted.targets):
            continue
        ground = read_experiment_ground(
            reading,
            each,
            wanted.targets,
            platform=wanted.platform,
            peak_gbs=wanted.peak_gbs,
            inputs=inputs,
            left_out=fleet.ground.left_out,
        )
        found = _trained(ground, wanted.targets, instead_of=why)
        if not found.unsaid:
            return found
        failed.append(next(iter(found.unsaid.values())).detail)
        if len(failed) == _MOST_TRIED:
            break
    if not failed:
        return fleet
    first = {name: Unsaid(told.reason, f"{told.detail} {failed[0]}") for name, told in fleet.unsaid.items()}
    return replace(fleet, unsaid=first)


def _trained(ground: Ground, targets: tuple[str, ...], instead_of: Unsaid | None = None) -> Trained:
    models, unsaid = {}, {}
    for target in dict.fromkeys(targets):
        model, why = ground.trained(target)
        if model is not None:
            models[target] = model
        elif why is not None:
            unsaid[target] = why
    return Trained(ground, models, unsaid, source_of(ground, models, instead_of))
