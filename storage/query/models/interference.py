"""How much slower an application runs beside others on a chip, from the fleet's own visits (DIGEST I1-I7).

Visits in which an application had its chip to itself say its CPI alone and how it presses on others; all other visits train
its degradation as a function of the total pressure. Beside every prediction stands the mean of the training mixes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.errors import CannotSay
from analysis.interference.colocation import LEAST_ALONE, Solo, Training, training
from analysis.interference.component_regression import PieceFit
from analysis.interference.pieces import NAMES, of_peak
from analysis.interference.target import Prediction, Target, fit_target
from storage.errors import BadSelection
from storage.query.models.interference_inputs import InterferenceInputs, read_interference_inputs
from storage.query.models.told import Inputs, Unsaid
from storage.query.observed.machines import APPLICATION
from storage.query.reader import Reading
from storage.query.selections.selection import Selection

MOST_NEIGHBOURS = 100


@dataclass(frozen=True, slots=True)
class Piece:
    """The function of one piece, or why it has none."""

    name: str
    fit: PieceFit | None
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class Mix:
    """A mix that was asked about."""

    lines: float
    """Millions per second, of all in the mix; the target's own among them."""
    gigabytes: float
    """Per second."""
    prediction: Prediction | None
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """The degradation of one application, or why it is not known."""

    target: str
    platform: str
    lines: str
    """The counter that stood for lines brought into the cache."""
    peak_gbs: float | None
    peak_is_seen: bool
    solo: Solo | None
    model: Target | None
    pieces: tuple[Piece, ...]
    mix: Mix | None
    """None: none was asked about, or there is no model."""
    neighbours: Mapping[str, Solo]
    """Applications whose pressure is known, the target among them."""
    strangers: int
    """Visits of the target beside others whose pressure is not known: they train nothing."""
    inputs: Inputs
    left_out: Mapping[str, int]
    unsaid: Unsaid | None


@dataclass(frozen=True, slots=True)
class TargetQuestion:
    """The degradation of `target`, and in a mix with others if some are named."""

    selection: Selection
    target: str
    platform: str = ""
    """"": the one with most visits of the target."""
    beside: tuple[tuple[str, float], ...] = ()
    """Names of applications, and the cores that each keeps busy on the chip."""
    cores: float | None = None
    """That the target keeps busy; None: as many as on average."""
    peak_gbs: float | None = None
    """Of a chip's memory; None: as calibrated, else the most that was seen."""

    def answer(self, reading: Reading) -> TargetAnswer:
        """The degradation. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        found = read_interference_inputs(reading, self.selection, self.platform, self.peak_gbs, self.target)
        number = found.number(self.target)
        trained, unsaid = trained_target(found, self.target)
        model = trained.model if trained else None
        return TargetAnswer(
            target=self.target,
            platform=found.platform,
            lines=found.lines,
            peak_gbs=found.peak_gbs if np.isfinite(found.peak_gbs) else None,
            peak_is_seen=found.peak_is_seen,
            solo=found.solos.get(number),
            model=model,
            pieces=_pieces(model) if model else (),
            mix=_mix(self, found, model) if model and self.beside else None,
            neighbours=known_neighbours(found),
            strangers=trained.training.left_out if trained else 0,
            inputs=found.inputs,
            left_out=found.left_out,
            unsaid=unsaid,
        )


@dataclass(frozen=True, slots=True)
class TrainedTarget:
    """A target's model and what it was made of."""

    model: Target
    training: Training


def trained_target(found: InterferenceInputs, application: str) -> tuple[TrainedTarget | None, Unsaid | None]:
    """The model of an application from these visits, or why there is none."""
    if not found.inputs.visits:
        return None, Unsaid("too_little", "No visit of the selection has landed.")
    if not len(found.chips.seconds):
        return None, _nothing_usable(found)
    number = found.number(application)
    if number < 0 or not (found.chips.application == number).any():
        return None, Unsaid(
            "too_little",
            f"No visit of a machine of one socket with {found.platform or 'any platform'} counted {application!r}. "
            "Count control groups: fleetprof campaigns set … --cgroups 16.",
        )
    if number not in found.solos:
        return None, Unsaid(
            "too_little",
            f"{application} had a chip of {found.platform} to itself in fewer than {LEAST_ALONE} visits, so nobody knows "
            "what it would do alone. Give some machines nothing else to do.",
        )
    try:
        trained = training(found.chips, number, dict(found.solos))
        model = fit_target(
            trained.own, trained.mixes, trained.degradation, of_peak(found.peak_gbs), typical=trained.typical
        )
    except CannotSay as error:
        return None, Unsaid(error.reason, str(error))
    return TrainedTarget(model, trained), None


def known_neighbours(found: InterferenceInputs) -> Mapping[str, Solo]:
    """Applications whose pressure is known, by name."""
    return {found.names[number]: solo for number, solo in found.solos.items() if number < len(found.names)}


def refuse_applications(selection: Selection) -> None:
    """Raises `BadSelection` for a selection of applications: neighbours are part of the question."""
    if any(matcher.label == APPLICATION for matcher in selection.matchers):
        raise BadSelection(
            "All applications of a machine press on each other, so a selection of some would be wrong.",
            hint="Name the application as target=…, and select machines only.",
        )


def check_peak(peak_gbs: float | None) -> None:
    """Raises `BadSelection` for a bandwidth that no memory has."""
    if peak_gbs is not None and not 0.1 <= peak_gbs <= 100_000:
        raise BadSelection("A chip's memory moves between 0.1 and 100000 GB/s.", hint="peak_gbs=204.8")


def _check(question: TargetQuestion) -> None:
    refuse_applications(question.selection)
    check_peak(question.peak_gbs)
    if not question.target:
        raise BadSelection("Whose degradation is wanted?", hint="target=checkout, for example.")
    if len(question.beside) > MOST_NEIGHBOURS:
        raise BadSelection(f"There are more than {MOST_NEIGHBOURS} neighbours.")
    cores = [*(each for _, each in question.beside), *([] if question.cores is None else [question.cores])]
    if any(not 0 < each <= 10_000 for each in cores):
        raise BadSelection("An application keeps more than 0 and at most 10000 cores busy.")


def _nothing_usable(found: InterferenceInputs) -> Unsaid:
    if not found.left_out:
        return Unsaid("too_little", "No visit has CPU time.")
    why = max(found.left_out, key=found.left_out.__getitem__)
    return Unsaid(
        "too_little",
        f"No visit has all that is needed; of most, {why}. Machines of one socket are needed, whose memory traffic and "
        "control groups are counted: fleetprof campaigns set … --cgroups 16.",
    )


def _pieces(model: Target) -> tuple[Piece, ...]:
    return tuple(
        Piece(name, piece, None)
        if isinstance(piece, PieceFit)
        else Piece(name, None, Unsaid(piece.reason, str(piece)))
        for name, piece in zip(NAMES, model.pieces, strict=True)
    )


def _mix(question: TargetQuestion, found: InterferenceInputs, model: Target) -> Mix:
    solos = known_neighbours(found)
    unknown = sorted({name for name, _ in question.beside if name not in solos})
    if unknown:
        detail = f"Nobody knows how much {', '.join(unknown)} presses: it had no chip to itself in {LEAST_ALONE} visits."
        return Mix(np.nan, np.nan, None, Unsaid("too_little", detail))
    own = solos[question.target]
    if question.cores is None:
        lines, gigabytes = (float(each[0]) for each in (model.typical.cache, model.typical.bandwidth))
    else:
        lines, gigabytes = own.lines_per_cpu_s * question.cores, own.gigabytes_per_cpu_s * question.cores
    for name, cores in question.beside:
        lines += solos[name].lines_per_cpu_s * cores
        gigabytes += solos[name].gigabytes_per_cpu_s * cores
    try:
        return Mix(lines, gigabytes, model.predict(lines, gigabytes), None)
    except CannotSay as error:
        return Mix(lines, gigabytes, None, Unsaid(error.reason, str(error)))
