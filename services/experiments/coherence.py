"""Checks across the rows of a file of experiments: missing pressures, and runs that cannot be compared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from services.experiments.csv_columns import BESIDE, CORES, METRIC
from services.experiments.errors import Fault
from storage.experiments import PlatformRun


def incoherences(runs: Sequence[PlatformRun]) -> list[Fault]:
    """Every fault between rows that are valid on their own, at most one per row."""
    if not runs:
        return [Fault(0, "", "the file has no runs", "write one run per line below the heading")]
    if all(not found.run.beside for found in runs):
        return [
            Fault(
                0,
                "",
                "no run is beside others, so no model can be trained",
                "add runs with neighbours in `beside`",
            )
        ]
    alone: dict[tuple[str, str], PlatformRun] = {}
    valued: dict[tuple[str, str], PlatformRun] = {}
    for found in runs:
        if not found.run.beside:
            key = found.platform, found.run.target
            alone.setdefault(key, found)
            if found.run.metric is not None:
                valued.setdefault(key, found)
    return [fault for found in runs for fault in _first(_faults(found, alone, valued))]


def _faults(
    found: PlatformRun,
    alone: Mapping[tuple[str, str], PlatformRun],
    valued: Mapping[tuple[str, str], PlatformRun],
) -> Iterator[Fault]:
    run, key = found.run, (found.platform, found.run.target)
    known = valued.get(key)
    if run.metric is not None and known is not None and run.metric is not known.run.metric:
        what = f"the metric is {run.metric}, but {known.run.metric} in line {known.line}: they cannot be compared"
        yield Fault(found.line, METRIC, what, f"write the same metric in all runs of {run.target}")
    if not run.beside:
        first = alone[key]
        if run.cores != first.run.cores:
            what = (
                f"{run.target} keeps {run.cores:g} cores busy, but {first.run.cores:g} in line {first.line}"
            )
            yield Fault(found.line, CORES, what, "use another name for a program of another size")
        return
    if known is None:
        what = f"no run of {run.target} alone on {found.platform} has a value, so its slowdown cannot be computed"
        yield Fault(
            found.line, BESIDE, what, f"add a line with target {run.target}, `beside` empty, and a value"
        )
    for name in dict.fromkeys(run.beside):
        if (found.platform, name) not in alone:
            what = f"no run of {name} alone on {found.platform} measures its pressure"
            yield Fault(
                found.line,
                BESIDE,
                what,
                f"add a line with target {name} and `beside` empty, or leave this one out",
            )


def _first(faults: Iterable[Fault]) -> list[Fault]:
    return [fault for fault in [next(iter(faults), None)] if fault is not None]
