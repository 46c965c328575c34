"""Trains all models of an answer about interference from one ground: the fleet's visits, or one set of experiments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from storage import experiments
from storage.errors import BadSelection, UnknownExperiments
from storage.query.answers.inputs import Unavailable
from storage.query.answers.interference import Source
from storage.query.estimation.sampling_design import Coverage
from storage.query.facts.selection_echo import inputs_of
from storage.query.facts.visit_scan import campaign_of
from storage.query.models.interference_experiments import read_experiment_ground
from storage.query.models.interference_fleet import FleetGround
from storage.query.models.interference_ground import Ground, TrainedTarget, source_of
from storage.query.models.interference_inputs import read_interference_inputs
from storage.query.observed.machines import check_machines
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots.query_budget import checkpoint


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requested models: targets, and what to train them with."""

    selection: Selection
    targets: tuple[str, ...]
    platform: str = ""
    peak_gbs: float | None = None
    experiments: str = ""
    """The set that trains them; "": the fleet's visits, else the newest set that can."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Models by target, the reasons of missing ones, and the source of training."""

    ground: Ground
    models: Mapping[str, TrainedTarget]
    unavailable: Mapping[str, Unavailable]
    """By target without a model."""
    source: Source


def train(reading: StoreReading, wanted: Wanted) -> Trained:
    """The models. Raises `BadSelection` (also for an unknown set), `UnknownCampaign`, `DatabaseError`."""
    if wanted.experiments:
        return _by_named(reading, wanted)
    only = wanted.targets[0] if len(wanted.targets) == 1 else ""
    fleet = FleetGround(
        read_interference_inputs(reading, wanted.selection, wanted.platform, wanted.peak_gbs, only)
    )
    found = _trained(fleet, wanted.targets)
    return _by_others(reading, wanted, found) if found.unavailable else found


def _by_named(reading: StoreReading, wanted: Wanted) -> Trained:
    try:
        named = experiments.find(reading.connection, wanted.experiments)
    except UnknownExperiments as error:
        raise BadSelection(
            f"There are no experiments {wanted.experiments!r}.",
            hint="fleetprof experiments list, or GET /api/v1/experiments, shows those there are.",
            parameter="experiments",
        ) from error
    # No visit is read. The selection is checked all the same.
    selection = replace(wanted.selection, event="cpu", unit="")
    check_machines(selection)
    campaign_of(reading.connection, selection)
    selected_s = (selection.end - selection.start).total_seconds()
    inputs = inputs_of(Coverage(random=False, selected_s=selected_s), 0, 0)
    ground = read_experiment_ground(
        reading,
        named.on(_is_meant(selection, wanted.platform)),
        wanted.targets,
        platform=wanted.platform,
        peak_gbs=wanted.peak_gbs,
        inputs=inputs,
        left_out={},
    )
    return _trained(ground, wanted.targets)


def _by_others(reading: StoreReading, wanted: Wanted, fleet: Trained) -> Trained:
    """If visits cannot train all targets: the newest experiments that can; the fleet's answer if none can."""
    why = next(iter(fleet.unavailable.values()))
    inputs = replace(fleet.ground.inputs, used=0)
    # If visits of one platform fail, runs on another platform cannot replace them.
    is_meant = _is_meant(wanted.selection, wanted.platform or fleet.ground.platform)
    failed: list[str] = []
    for each in (found.on(is_meant) for found in experiments.sets(reading.connection)):
        if not each.has_all(wanted.targets):
            continue
        checkpoint()
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
        if not found.unavailable:
            return found
        failed.append(next(iter(found.unavailable.values())).detail)
    if not failed:
        return fleet
    first = {
        name: Unavailable(without.reason, f"{without.detail} {failed[0]}")
        for name, without in fleet.unavailable.items()
    }
    return replace(fleet, unavailable=first)


def _is_meant(selection: Selection, platform: str) -> Callable[[str], bool]:
    """A test for requested platforms: `platform`, or any for "", that the selection's matchers accept."""
    tests = [(each.positive(), each.operator) for each in selection.matchers if each.label == "platform"]

    def is_meant(of: str) -> bool:
        return platform in {"", of} and all(test(of) != operator.negative for test, operator in tests)

    return is_meant


def _trained(ground: Ground, targets: tuple[str, ...], instead_of: Unavailable | None = None) -> Trained:
    models, unavailable = {}, {}
    for target in dict.fromkeys(targets):
        model, why = ground.trained(target)
        if model is not None:
            models[target] = model
        elif why is not None:
            unavailable[target] = why
    return Trained(ground, models, unavailable, source_of(ground, models, instead_of))
