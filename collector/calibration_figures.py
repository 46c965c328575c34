"""A platform's figures from a gateway's measurements, or from a person's own stress test (DIGEST A1, D2)."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from analysis.measured import Measured
from analysis.repeated_measurements import mean_of
from analysis.smt.overlap import from_throughput
from collector.calibration_runner import CalibrationResult
from storage.calibrations import ANY, Calibration, Kind


def overlap_figure(
    single: Sequence[float], both: Sequence[float], platform: str, workload: str = ANY, machine: str = ""
) -> Calibration:
    """The overlap coefficient from throughputs of one thread and of both, one entry per repetition.

    Raises `analysis.errors.NotEstimable`: contradictory if both threads did more than twice the work of one.
    """
    found = from_throughput(single, both)
    figure = Calibration(
        Kind.SMT,
        platform,
        workload,
        found.coefficient,
        measured=True,
        machine=machine,
        repetitions=found.repetitions,
    )
    return _bounded(figure, found.lo, found.hi)


def memory_figures(found: CalibrationResult, machine: str) -> tuple[Calibration, Calibration]:
    """Latency in ns and bandwidth in bytes a second, of any workload. Raises `analysis.errors.NotEstimable`."""
    return (
        _of_repetitions(Kind.MEMORY_LATENCY, mean_of("latencies", found.latency_ns), len(found.latency_ns), found, machine),
        _of_repetitions(Kind.MEMORY_BANDWIDTH, mean_of("bandwidths", found.bytes_per_s), len(found.bytes_per_s), found, machine),
    )  # fmt: skip


def _of_repetitions(
    kind: Kind, mean: Measured, repetitions: int, found: CalibrationResult, machine: str
) -> Calibration:
    figure = Calibration(
        kind, found.platform, ANY, mean.value, measured=True, machine=machine, repetitions=repetitions
    )
    return _bounded(figure, mean.lo, mean.hi)


def _bounded(figure: Calibration, lo: float, hi: float) -> Calibration:
    """The figure with its interval, if there were repetitions."""
    return replace(figure, lo=lo, hi=hi) if isfinite(hi) else figure
