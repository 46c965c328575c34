"""What the frequency model is fed with, out of the store: by visit, and by visit and application."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from storage import calibrations
from storage.calibrations import Calibration, Kind
from storage.errors import BadSelection
from storage.query.arrays import Bool, Float, Int64, weight_at
from storage.query.facts.scan import campaign_of, sample_type_of
from storage.query.observed.cpus import LogicalCpus, read_cpus
from storage.query.observed.machines import APPLICATION, MachineVisits, read_machine_visits
from storage.query.observed.time_used import TimeUsed, UnitsUsed, read_time_used, read_units_used
from storage.query.reader import Reading
from storage.query.selections.selection import Selection
from storage.query.weighing.design import read_watched

MISSES = "llc-misses"
_ID_BITS = 32


@dataclass(frozen=True, slots=True)
class FrequencyInputs:
    """Columns over visits, and over pairs of a visit and an application."""

    visits: MachineVisits
    hertz: Float
    """At which busy CPUs ran, a mean by their busy time; NaN: not measured. By visit, as the next one."""
    latency_s: Float
    """Of a miss, on the visit's platform; NaN: not known."""
    usable: Bool
    """Visits that have all of it."""
    left_out: Mapping[str, int]
    """The others, by why."""
    visit: Int64
    """Place of each pair's visit."""
    application: npt.NDArray[np.str_]
    seconds: Float
    """CPU time of each pair, as watched; 0 where only misses of it were sampled."""
    misses: Float
    """Of the last cache, in that time."""
    latencies: tuple[Calibration, ...]
    """Figures that were used."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Columns over pairs of a visit and an application, each once, in order."""

    visit: Int64
    application: Int64
    """Id of the dimension's value."""
    seconds: Float
    misses: Float
    """As sampled."""

    def of(self, keep: Bool) -> "Pairs":
        """Some of them."""
        return Pairs(self.visit[keep], self.application[keep], self.seconds[keep], self.misses[keep])


def pairs_of(cpu: TimeUsed, missed: UnitsUsed) -> Pairs:
    """The pairs of which either event saw anything, with 0 of what was not seen.

    Both are samples: small applications have many visits with a sample of one event alone. Of those with CPU time only,
    the ratio of sums lacks misses: with a CPU sample a visit, on average, 0.25 where it should be 0.40.
    """
    spent, went = cpu.seconds > 0, missed.units > 0
    key = np.unique(
        np.concatenate(
            (
                _keys(cpu.visit[spent], cpu.application[spent]),
                _keys(missed.visit[went], missed.application[went]),
            )
        )
    )
    visit, application = key >> _ID_BITS, key & ((1 << _ID_BITS) - 1)
    time = UnitsUsed(cpu.visit, cpu.application, cpu.seconds)
    return Pairs(visit, application, _of_keys(time, key), _of_keys(missed, key))


def read_frequency_inputs(
    reading: Reading, selection: Selection, latency_ns: float | None
) -> FrequencyInputs:
    """The inputs of a selection; `latency_ns` serves platforms without a figure of their own.

    Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
    """
    connection = reading.connection
    time = replace(selection, event="cpu", unit="")
    visits = read_machine_visits(connection, time)
    cpu = read_time_used(connection, time, visits)
    hertz = _hertz(read_cpus(connection, time, visits), len(visits))
    known = calibrations.read(connection, Kind.MEMORY_LATENCY)
    latency, used = _latencies(visits, known, latency_ns)
    watched, missed = _missed(reading, selection, visits)
    why = np.full(len(visits), "", "U80")
    for reason, lacking in (
        (f"{MISSES} was not sampled", ~(watched > 0)),
        ("its frequency was not measured", ~np.isfinite(hertz)),
        ("no memory latency of its platform", ~np.isfinite(latency)),
        ("it stands for nothing", visits.group < 0),
    ):
        why[lacking & (why == "")] = reason
    usable = why == ""
    pairs = pairs_of(cpu, missed)
    pairs = pairs.of(usable[pairs.visit])
    ids = np.unique(pairs.application)
    names = np.array(list(reading.label_values(APPLICATION, ids)) or [""], np.str_)
    at = pairs.visit
    # The event may have had a turn of its own: what counts is how often it happened in a second of the window.
    scale = np.divide(visits.seconds[at], watched[at], out=np.zeros(len(at)), where=watched[at] > 0)
    return FrequencyInputs(
        visits=visits,
        hertz=hertz,
        latency_s=latency,
        usable=usable,
        left_out={reason: int((why == reason).sum()) for reason in np.unique(why[~usable]).tolist()},
        visit=at,
        application=names[np.searchsorted(ids, pairs.application)],
        seconds=pairs.seconds,
        misses=pairs.misses * scale,
        latencies=used,
    )


def _hertz(cpus: LogicalCpus, visits: int) -> Float:
    known = np.isfinite(cpus.mhz)
    busy = np.where(known, cpus.busy_s, 0.0)
    total = weight_at(cpus.visit, busy, visits)
    cycles = weight_at(cpus.visit, busy * np.where(known, cpus.mhz, 0.0), visits) * 1e6
    hertz: Float = np.divide(cycles, total, out=np.full(visits, np.nan), where=total > 0)
    return hertz


def _latencies(
    visits: MachineVisits, known: Sequence[Calibration], otherwise_ns: float | None
) -> tuple[Float, tuple[Calibration, ...]]:
    platforms = visits.names["platform"]
    found = [calibrations.of_platform(known, platform) for platform in platforms]
    instead = np.nan if otherwise_ns is None else otherwise_ns
    by_platform = np.array([instead if each is None else each.value for each in found] or [np.nan]) / 1e9
    latency: Float = by_platform[visits.values["platform"]]
    return latency, tuple(each for each in found if each is not None)


def _missed(reading: Reading, selection: Selection, visits: MachineVisits) -> tuple[Float, UnitsUsed]:
    """For how long each visit watched misses, and what it saw of them."""
    none = np.zeros(0, np.int64)
    seconds = np.zeros(len(visits))
    asked = replace(selection, event=MISSES, unit="")
    try:
        kind = sample_type_of(reading.connection, asked)
    except BadSelection:  # nobody ever sampled it: every visit says so
        return seconds, UnitsUsed(none, none, np.zeros(0))
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
    return seconds, read_units_used(reading.connection, asked, kind, visits)


def _keys(visit: Int64, application: Int64) -> Int64:
    keys: Int64 = (visit << _ID_BITS) | application
    return keys


def _of_keys(used: UnitsUsed, wanted: Int64) -> Float:
    """The units of these pairs; 0 for one of which none was seen."""
    key = _keys(used.visit, used.application)
    order = np.argsort(key)
    if not len(key):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    return np.where(key[order][place] == wanted, used.units[order][place], 0.0)
