"""The slowdown of an application beside others on a chip (DIGEST I1-I7).

Degradation as a function of the total pressure is trained by the fleet's own visits or by uploaded experiments; the
answer gives the source. Every prediction comes with the mean of the training mixes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.errors import NotEstimable
from analysis.interference.component_regression import PieceFit
from analysis.interference.pieces import NAMES
from analysis.interference.target import Target
from storage.errors import BadSelection
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Unavailable, left_out
from storage.query.answers.interference import InterferenceAnswer, MixAnswer, PieceRow, SoloRow
from storage.query.facts.selection_echo import machine_selection_echo
from storage.query.models.interference_ground import Ground, Known, chip_of
from storage.query.models.interference_training import Wanted, train
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MOST_NEIGHBOURS = 100


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

    def answer(self, reading: StoreReading) -> InterferenceAnswer:
        """The degradation. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        wanted = Wanted(self.selection, (self.target,), self.platform, self.peak_gbs, self.experiments)
        found = train(reading, wanted)
        ground, trained = found.ground, found.models.get(self.target)
        model = trained.model if trained else None
        known = ground.known
        rows = _rows(model) if model else ()
        return InterferenceAnswer(
            selection=machine_selection_echo(self.selection),
            target=self.target,
            source=found.source,
            chip=chip_of(ground),
            solo=_solo(self.target, known[self.target]) if self.target in known else None,
            typical_lines=float(model.typical.cache[0]) if model else None,
            typical_gigabytes=float(model.typical.bandwidth[0]) if model else None,
            mixes=model.observations if model else 0,
            unknown_neighbour_visits=trained.training.left_out if trained else 0,
            baseline=model.baseline if model else None,
            baseline_error=model.baseline_error if model else None,
            error=model.error if model else None,
            rows=rows,
            rows_total=len(rows),
            mix=_mix(self, ground, known, model) if model and self.beside else None,
            neighbours=tuple(_solo(name, known[name]) for name in sorted(known)),
            left_out=left_out(ground.left_out),
            inputs=ground.inputs,
            because=found.unavailable.get(self.target),
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


def _solo(application: str, known: Known) -> SoloRow:
    return SoloRow(
        application=application,
        cpi=known.cpi,
        time_s=known.time_s,
        lines=known.lines_per_cpu_s,
        gigabytes=known.gigabytes_per_cpu_s,
        cores=known.cores,
        visits=known.visits,
        runs=known.runs,
    )


def _rows(model: Target) -> tuple[PieceRow, ...]:
    return tuple(_row(name, piece) for name, piece in zip(NAMES, model.pieces, strict=True))


def _row(name: str, piece: PieceFit | NotEstimable) -> PieceRow:
    """The function of one piece, or the reason why it has none."""
    if not isinstance(piece, PieceFit):
        return PieceRow(
            piece=name,
            mixes=0,
            outliers=0,
            intercept=None,
            cache=None,
            bandwidth=None,
            cache_mean=None,
            cache_sigma=None,
            bandwidth_mean=None,
            bandwidth_sigma=None,
            r2=None,
            f_p=None,
            t_p=(),
            because=Unavailable(piece.reason, str(piece)),
        )
    (cache_mean, bandwidth_mean), (cache_sigma, bandwidth_sigma) = piece.mean.tolist(), piece.sigma.tolist()
    return PieceRow(
        piece=name,
        mixes=piece.observations,
        outliers=piece.outliers,
        intercept=piece.plane.intercept,
        cache=piece.plane.cache,
        bandwidth=piece.plane.bandwidth,
        cache_mean=cache_mean,
        cache_sigma=cache_sigma,
        bandwidth_mean=bandwidth_mean,
        bandwidth_sigma=bandwidth_sigma,
        r2=piece.r2,
        f_p=piece.f_p,
        t_p=tuple(piece.t_p.tolist()),
        because=None,
    )


def _mix(question: TargetQuestion, ground: Ground, known: Mapping[str, Known], model: Target) -> MixAnswer:
    unknown = sorted({name for name, _ in question.beside if name not in known})
    if unknown:
        detail = f"The pressure of {', '.join(unknown)} is unknown: {ground.why_unknown()}."
        return _no_mix(None, None, Unavailable("too_little", detail))
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
        found = model.predict(lines, gigabytes)
    except NotEstimable as error:
        return _no_mix(lines, gigabytes, Unavailable(error.reason, str(error)))
    return MixAnswer(
        lines=lines,
        gigabytes=gigabytes,
        degradation=figure(found.degradation),
        baseline=found.baseline,
        piece=NAMES[found.piece],
        extrapolated=found.extrapolated,
        because=None,
    )


def _no_mix(lines: float | None, gigabytes: float | None, because: Unavailable) -> MixAnswer:
    """A mix without a prediction; its pressure is None if a neighbour's is unknown."""
    return MixAnswer(
        lines=lines,
        gigabytes=gigabytes,
        degradation=None,
        baseline=None,
        piece=None,
        extrapolated=None,
        because=because,
    )
