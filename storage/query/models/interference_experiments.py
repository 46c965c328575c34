"""Trains a target with uploaded experiments: its runs beside others, relative to its runs alone (DIGEST I1, I2, I8)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from analysis.errors import Contradictory, NotEstimable
from analysis.interference.experiments import Metric, Program, Run, programs, training
from analysis.interference.pieces import of_peak
from analysis.interference.target import fit_target
from storage import calibrations, experiments
from storage.calibrations import Kind
from storage.experiments import ExperimentSet, Part
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.models.interference_ground import Known, TrainedTarget
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class ExperimentGround:
    """The runs of a set on one platform."""

    experiments: str
    platform: str
    """"": the set has none of the requested platforms."""
    runs: Sequence[Run]
    programs: Mapping[str, Program | Contradictory]
    peak_gbs: float
    inputs: Inputs
    left_out: Mapping[str, int]

    @property
    def lines(self) -> str:
        """Empty: the counter is the experiments' own."""
        return ""

    @property
    def peak_is_seen(self) -> bool:
        """False: pressures of runs alone add up to more than a memory moves."""
        return False

    @property
    def known(self) -> Mapping[str, Known]:
        """Applications whose runs alone agree, by name."""
        return {name: _known(each) for name, each in self.programs.items() if isinstance(each, Program)}

    def trained(self, application: str) -> tuple[TrainedTarget | None, Unavailable | None]:
        """The model of an application, or the reason why there is none."""
        if not any(run.beside and run.target == application for run in self.runs):
            return None, self._nothing_of(application)
        if not isfinite(self.peak_gbs):
            return None, Unavailable(
                "too_little",
                f"The peak memory bandwidth of a chip of {self.platform} is unknown, and the pieces "
                "of the model depend on it. Set it for this query (peak_gbs, --peak-gbs), or store "
                "it: fleetprof calibrate memory MACHINE, or fleetprof calibrate set memory-bandwidth "
                f"'{self.platform}' BYTES_PER_S.",
            )
        try:
            trained = training(self.runs, application, self.peak_gbs)
            model = fit_target(trained.own, trained.mixes, trained.degradation, of_peak(self.peak_gbs))
        except NotEstimable as error:
            return None, Unavailable(
                error.reason, f"The experiments {self.experiments} do not suffice: {error}"
            )
        return TrainedTarget(model, trained), None

    def why_unknown(self) -> str:
        """The reason why an application is not among the known ones."""
        return (
            f"the experiments {self.experiments} have no run of it alone on {self.platform}, or "
            "contradictory runs"
        )

    def _nothing_of(self, application: str) -> Unavailable:
        there = sorted({run.target for run in self.runs if run.beside})
        where = f" on {self.platform or 'any platform of the selection'}"
        others = f"; they have {', '.join(there[:5])}{' …' if len(there) > 5 else ''}" if there else ""
        return Unavailable(
            "too_little",
            f"The experiments {self.experiments} have no run of {application!r} beside others{where}{others}.",
        )


def read_experiment_ground(
    reading: StoreReading,
    found: ExperimentSet,
    targets: Collection[str],
    *,
    platform: str,
    peak_gbs: float | None,
    inputs: Inputs,
    left_out: Mapping[str, int],
) -> ExperimentGround:
    """A set's runs on a platform; "": the one that has most of the targets beside others, then most runs of them.

    `inputs` and `left_out` describe the visits that were read before. Raises `DatabaseError`.
    """
    at = platform or _platform(found, targets)
    runs = tuple(each.run for each in experiments.read(reading.connection, found.set_id, at))
    return ExperimentGround(
        experiments=found.name,
        platform=at,
        runs=runs,
        programs=programs(runs),
        peak_gbs=_peak(reading, at, peak_gbs),
        inputs=inputs,
        left_out=left_out,
    )


def _platform(found: ExperimentSet, targets: Collection[str]) -> str:
    """The best platform: each target needs a model, so more targets count before more runs."""
    wanted = frozenset(targets)

    def order(part: Part) -> tuple[int, int, int, str]:
        runs = part.runs_of(wanted)
        return -len(runs), -sum(runs), -part.beside, part.platform

    best = min(found.parts, key=order, default=None)
    return "" if best is None else best.platform


def _peak(reading: StoreReading, platform: str, given: float | None) -> float:
    """Peak bandwidth in GB/s; NaN: unknown."""
    if given is not None:
        return given
    known = calibrations.of_platform(calibrations.read(reading.connection, Kind.MEMORY_BANDWIDTH), platform)
    return np.nan if known is None else known.value / 1e9


def _known(program: Program) -> Known:
    is_time = program.metric is Metric.TIME
    figure = program.slowness if isfinite(program.slowness) else None
    return Known(
        lines_per_cpu_s=program.lines / program.cores,
        gigabytes_per_cpu_s=program.gigabytes / program.cores,
        cpi=None if is_time else figure,
        time_s=figure if is_time else None,
        cores=program.cores,
        runs=program.runs,
    )
