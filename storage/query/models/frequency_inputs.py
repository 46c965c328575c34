"""Reads the frequency model's inputs by visit; `frequency_sums` reads those by application."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage import calibrations
from storage.arrays import Bool, Float
from storage.calibrations import Calibration, Kind
from storage.errors import BadSelection
from storage.query.estimation.sampling_design import read_watched
from storage.query.facts.visit_scan import campaign_of, sample_type_of
from storage.query.observed.machine_cpus import read_machine_cpus
from storage.query.observed.machines import MachineVisits, read_machine_visits
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

MISSES = "llc-misses"


@dataclass(frozen=True, slots=True)
class FrequencyInputs:
    """Columns over visits."""

    visits: MachineVisits
    hertz: Float
    """Mean frequency of busy CPUs, weighted by their busy time; NaN: not measured."""
    latency_s: Float
    """Latency of a miss on the visit's platform; NaN: unknown."""
    missed_s: Float
    """Seconds in which misses were watched; 0: never."""
    usable: Bool
    """Visits with all inputs."""
    left_out: Mapping[str, int]
    """The other visits, by cause."""
    latencies: tuple[Calibration, ...]
    """Latencies used."""

    @property
    def base_mhz(self) -> float:
        """The weighted mean frequency of the usable visits, of which there must be at least one."""
        there = self.usable
        return float(np.average(self.hertz[there], weights=self.visits.weight[there])) / 1e6


def read_frequency_inputs(
    reading: StoreReading, selection: Selection, latency_ns: float | None
) -> FrequencyInputs:
    """The inputs of a selection; `latency_ns` is used for platforms without a latency of their own.

    Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
    """
    connection = reading.connection
    time = replace(selection, event="cpu", unit="")
    visits = read_machine_visits(connection, time)
    hertz = read_machine_cpus(connection, time, visits).hertz
    known = calibrations.read(connection, Kind.MEMORY_LATENCY)
    latency, used = _latencies(visits, known, latency_ns)
    missed = _missed_s(reading, selection, visits)
    why = np.full(len(visits), "", "U80")
    for reason, lacking in (
        (f"{MISSES} was not sampled", ~(missed > 0)),
        ("its frequency was not measured", ~np.isfinite(hertz)),
        ("the memory latency of its platform is unknown", ~np.isfinite(latency)),
        ("it has no weight", visits.group < 0),
    ):
        why[lacking & (why == "")] = reason
    usable = why == ""
    return FrequencyInputs(
        visits=visits,
        hertz=hertz,
        latency_s=latency,
        missed_s=missed,
        usable=usable,
        left_out={reason: int((why == reason).sum()) for reason in np.unique(why[~usable]).tolist()},
        latencies=used,
    )


def _latencies(
    visits: MachineVisits, known: Sequence[Calibration], otherwise_ns: float | None
) -> tuple[Float, tuple[Calibration, ...]]:
    platforms = visits.names["platform"]
    found = [calibrations.of_platform(known, platform) for platform in platforms]
    instead = np.nan if otherwise_ns is None else otherwise_ns
    by_platform = np.array([instead if each is None else each.value for each in found] or [np.nan]) / 1e9
    latency: Float = by_platform[visits.values["platform"]]
    return latency, tuple(each for each in found if each is not None)


def _missed_s(reading: StoreReading, selection: Selection, visits: MachineVisits) -> Float:
    """Seconds in which each visit watched misses."""
    seconds = np.zeros(len(visits))
    asked = replace(selection, event=MISSES, unit="")
    try:
        kind = sample_type_of(reading.connection, asked)
    except BadSelection:  # the event was never sampled: no visit watched it
        return seconds
    campaign_id = campaign_of(reading.connection, asked)
    watched = read_watched(
        reading.connection,
        (asked.start, asked.end),
        -1 if campaign_id is None else campaign_id,
        kind.id,
        stacks=None,
    )
    place = visits.places(watched.id)
    seconds[place[place >= 0]] = watched.seconds[place >= 0]
    return seconds
