"""The slowdown of an application beside others on a chip (DIGEST I1-I7).

Degradation as a function of the total pressure is trained by the fleet's own visits or by uploaded experiments; the
answer gives the source. Every prediction comes with the mean of the training mixes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.errors import NotEstimable
from analysis.interference.component_regression import PieceFit
from analysis.interference.pieces import NAMES
from analysis.interference.target import Prediction, Target
from storage.errors import BadSelection
from storage.query.models.interference_ground import Ground, Known, Source
from storage.query.models.interference_training import Wanted, train
from storage.query.models.no_answer import Inputs, Unavailable
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MOST_NEIGHBOURS = 100


@dataclass(frozen=True, slots=True)
class Piece:
    """The function of one piece, or the reason why it has none."""

    name: str
    fit: PieceFit | None
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class Mix:
    """The requested mix."""

    lines: float
    """Millions per second of all applications in the mix, with the target."""
    gigabytes: float
    """Per second."""
    prediction: Prediction | None
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """The degradation of one application, or the reason why it is unknown."""

    target: str
    source: Source
    platform: str
    lines: str
    """The counter used for lines brought into the cache; "": the one that the experiments counted."""
    peak_gbs: float | None
    peak_is_seen: bool
    solo: Known | None
    model: Target | None
    pieces: tuple[Piece, ...]
    mix: Mix | None
    """None: no mix was requested, or there is no model."""
    neighbours: Mapping[str, Known]
    """Applications with known pressure, including the target."""
    strangers: int
    """Visits of the target beside applications with unknown pressure: they are not used for training."""
    inputs: Inputs
    left_out: Mapping[str, int]
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class TargetQuestion:
    """The degradation of `target`, also in a mix with others if some are given."""

    selection: Selection
    target: str
    platform: str = ""
    """"": the platform with most visits, or runs, of the target."""
    beside: tuple[tuple[str, float | None], ...] = ()
    """Applications, and the cores that each keeps busy on the chip; None: one, or in experiments as many as alone."""
    cores: float | None = None
    """Cores that the target keeps busy; None: the average."""
    peak_gbs: float | None = None
    """Peak bandwidth of a chip's memory; None: the calibrated one, else the largest observed."""
    experiments: str = ""
    """The set of experiments that trains the model; "": the fleet's visits, else the target's newest set."""

    def answer(self, reading: StoreReading) -> TargetAnswer:
        """The degradation. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        wanted = Wanted(self.selection, (self.target,), self.platform, self.peak_gbs, self.experiments)
        found = train(reading, wanted)
        ground, trained = found.ground, found.models.get(self.target)
        model = trained.model if trained else None
        known = ground.known
        return TargetAnswer(
            target=self.target,
            source=found.source,
            platform=ground.platform,
            lines=ground.lines,
            peak_gbs=ground.peak_gbs if np.isfinite(ground.peak_gbs) else None,
            peak_is_seen=ground.peak_is_seen,
            solo=known.get(self.target),
            model=model,
            pieces=_pieces(model) if model else (),
            mix=_mix(self, ground, known, model) if model and self.beside else None,
            neighbours=known,
            strangers=trained.training.left_out if trained else 0,
            inputs=ground.inputs,
            left_out=ground.left_out,
            unavailable=found.unavailable.get(self.target),
        )


def refuse_applications(selection: Selection) -> None:
    """Raises `BadSelection` for a selection of applications: neighbours on a chip must be included."""
    if any(matcher.label == APPLICATION for matcher in selection.matchers):
        raise BadSelection(
            "All applications of a machine affect each other, so they cannot be selected by application.",
            hint="Name the application as target=…, and select machines only.",
        )


def check_peak(peak_gbs: float | None) -> None:
    """Raises `BadSelection` for a bandwidth that no memory has."""
    if peak_gbs is not None and not 0.1 <= peak_gbs <= 100_000:
        raise BadSelection(
            "A chip's memory bandwidth must be from 0.1 to 100000 GB/s.", hint="peak_gbs=204.8"
        )


def _check(question: TargetQuestion) -> None:
    refuse_applications(question.selection)
    check_peak(question.peak_gbs)
    if not question.target:
        raise BadSelection("The target application is missing.", hint="target=checkout, for example.")
    if len(question.beside) > MOST_NEIGHBOURS:
        raise BadSelection(f"The limit is {MOST_NEIGHBOURS} neighbours.")
    cores = (*(each for _, each in question.beside), question.cores)
    if any(each is not None and not 0 < each <= 10_000 for each in cores):
        raise BadSelection("The busy cores of an application must be above 0, at most 10000.")


def _pieces(model: Target) -> tuple[Piece, ...]:
    return tuple(
        Piece(name, piece, None)
        if isinstance(piece, PieceFit)
        else Piece(name, None, Unavailable(piece.reason, str(piece)))
        for name, piece in zip(NAMES, model.pieces, strict=True)
    )


def _mix(question: TargetQuestion, ground: Ground, known: Mapping[str, Known], model: Target) -> Mix:
    unknown = sorted({name for name, _ in question.beside if name not in known})
    if unknown:
        detail = f"The pressure of {', '.join(unknown)} is unknown: {ground.stranger()}."
        return Mix(np.nan, np.nan, None, Unavailable("too_little", detail))
    own = known[question.target]
    if question.cores is None:
        lines, gigabytes = (float(each[0]) for each in (model.typical.cache, model.typical.bandwidth))
    else:
        lines, gigabytes = own.lines_per_cpu_s * question.cores, own.gigabytes_per_cpu_s * question.cores
    for name, given in question.beside:
        cores = known[name].cores if given is None else given
        lines += known[name].lines_per_cpu_s * cores
        gigabytes += known[name].gigabytes_per_cpu_s * cores
    try:
        return Mix(lines, gigabytes, model.predict(lines, gigabytes), None)
    except NotEstimable as error:
        return Mix(lines, gigabytes, None, Unavailable(error.reason, str(error)))
