"""Calibrated figures of platforms for a terminal."""

from collections.abc import Sequence

from rich.table import Table

from analysis.smt.overlap import NEUTRAL
from storage.calibrations import Calibration, Kind


def meaning(figure: Calibration) -> str:
    """The meaning of a figure, a sentence."""
    if figure.kind is Kind.MEMORY_LATENCY:
        return "the time of a load that misses every cache."
    if figure.kind is Kind.MEMORY_BANDWIDTH:
        return "the total rate at which the cores of one socket read."
    if figure.known.holds(NEUTRAL):
        return "a second busy thread does not change a core's throughput measurably."
    gain = NEUTRAL / figure.value - 1
    return f"a second busy thread {'adds' if gain > 0 else 'removes'} {abs(gain):.0%} of a core's throughput."


def subject(figure: Calibration) -> str:
    """The subject of a figure: its kind, platform and application."""
    return f"{figure.kind} of {figure.platform}{f' for {figure.workload}' if figure.workload else ''}"


def worded(figure: Calibration) -> str:
    """A figure with its unit, and its interval if it has one."""
    value = _value(figure.kind, figure.value)
    if figure.lo is None or figure.hi is None:
        return value
    return f"{value} ({_value(figure.kind, figure.lo)} … {_value(figure.kind, figure.hi)})"


def replaced(before: Sequence[Calibration], after: Sequence[Calibration]) -> list[str]:
    """A sentence for each given figure that a measured one replaces."""
    given = {(old.kind, old.platform, old.workload): old for old in before if not old.measured}
    found = [given.get((new.kind, new.platform, new.workload)) for new in after if new.measured]
    return [
        f"The measured {subject(old)} replaces the given value {worded(old)}."
        for old in found
        if old is not None
    ]


def _value(kind: Kind, value: float) -> str:
    if kind is Kind.SMT:
        return f"{value:.3f}"
    return f"{value:,.1f} ns" if kind is Kind.MEMORY_LATENCY else f"{value / 1e9:,.1f} GB/s"


def table(figures: Sequence[Calibration]) -> Table:
    """One row per figure."""
    rows = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("kind", "platform", "application", "figure", "95 %", "from"):
        rows.add_column(heading, justify="right" if heading == "figure" else "left", overflow="fold")
    for figure in figures:
        ends = () if figure.lo is None or figure.hi is None else (figure.lo, figure.hi)
        source = "given"
        if figure.measured:
            source = f"{figure.repetitions} measurements{f' on {figure.machine}' if figure.machine else ''}"
        rows.add_row(
            figure.kind.value,
            figure.platform,
            figure.workload or "all others",
            _value(figure.kind, figure.value),
            " … ".join(_value(figure.kind, end) for end in ends),
            source,
        )
    return rows
