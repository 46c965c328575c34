"""Reads the inputs of the interference model: visits of machines with one chip, and the applications on each.

Counters of a chip are known by socket, but applications are not: gateways add up a control group's readings over all
CPUs, and samples too. So visits of machines with several sockets cannot be used, and the answer counts them
(docs/models.md describes what a gateway would have to report). On a machine with one socket, the counters of the whole
machine are those of its chip.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.errors import NotEstimable
from analysis.interference.colocation import Chips, Solo, alone
from storage import calibrations
from storage.arrays import Bool, Float, Int64, weight_at
from storage.calibrations import Kind
from storage.query.answers.inputs import Inputs
from storage.query.facts.selection_echo import inputs_of
from storage.query.observed.counter_totals import read_totals
from storage.query.observed.counters import Pairs, read_failures, read_pairs
from storage.query.observed.machine_cpus import MachineCpus, read_machine_cpus
from storage.query.observed.machines import MachineVisits, read_machine_visits
from storage.query.observed.time_used import TimeUsed, read_time_used
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading

LINES = ("l2-lines-in", "l2-misses", "llc-misses")
"""Counters of how fast the shared cache is filled; the one that most visits counted is used, the first among equals."""
_SAME_FREQUENCY = 0.1
MOVED, READ, WRITTEN = "memory-moved", "memory-read", "memory-written"


@dataclass(frozen=True, slots=True)
class InterferenceInputs:
    """Chips of one platform, and the applications observed on them."""

    platform: str
    """"": no usable visit."""
    names: tuple[str, ...]
    """Names of applications. In a visit that did not count application n, its number there is n + len(names): it adds
    pressure on the others, but no CPI of its own."""
    chips: Chips
    solos: Mapping[int, Solo]
    lines: str
    """The counter used for lines brought into the cache."""
    peak_gbs: float
    """Peak bandwidth of the memory; NaN: no usable visit."""
    peak_is_seen: bool
    """The peak is the largest bandwidth of a visit, since it was neither given nor calibrated."""
    inputs: Inputs
    left_out: Mapping[str, int]
    """Unusable visits, by cause."""

    def number(self, application: str) -> int:
        """Number of a counted application; -1: none has that name."""
        return self.names.index(application) if application in self.names else -1


def read_interference_inputs(
    reading: StoreReading, selection: Selection, platform: str, peak_gbs: float | None, target: str
) -> InterferenceInputs:
    """The inputs of a selection on a platform; "": the one with most visits, of `target` unless that is "".

    Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
    """
    connection = reading.connection
    time = replace(selection, event="cpu", unit="")
    visits = read_machine_visits(connection, time)
    used = read_time_used(connection, time, visits)
    cpus = read_machine_cpus(connection, time, visits)
    totals = read_totals(connection, time, visits, (*LINES, MOVED, READ, WRITTEN))
    counted = read_pairs(connection, time, visits, "cycles", "instructions", by_application=True)
    ids = np.unique(np.concatenate([used.application, counted.application]))
    names = tuple(reading.label_values(APPLICATION, ids))
    lines = max(LINES, key=lambda name: int(np.isfinite(totals[name]).sum()))
    moved = np.where(np.isfinite(totals[MOVED]), totals[MOVED], totals[READ] + totals[WRITTEN])
    why = np.full(len(visits), "", "U120")
    has_counted = weight_at(counted.visit, np.ones(len(counted.visit)), len(visits)) > 0
    for reason, lacking in (
        ("its sockets are unknown", ~cpus.placed),
        ("it has several sockets, and the sockets of its applications are unknown", ~cpus.one_socket),
        ("bytes from and to memory were not counted", ~np.isfinite(moved)),
        ("cache lines brought in were not counted", ~np.isfinite(totals[lines])),
        ("no application was counted", ~has_counted),
    ):
        why[lacking & (why == "")] = reason
    at = _platform_at(visits, counted, why == "", platform, ids[[name == target for name in names]])
    why[(why == "") & (visits.values["platform"] != at)] = "it has another platform"
    off = _off_frequency(cpus.hertz, why == "")
    why[(why == "") & off] = "it ran at another frequency than most"
    usable = why == ""
    chips = _chips(usable, cpus, totals[lines], moved, used, counted, ids)
    chosen = visits.names["platform"][at] if at >= 0 else platform
    peak, seen = _peak(reading, chosen, peak_gbs, chips)
    return InterferenceInputs(
        platform=chosen,
        names=names,
        chips=chips,
        solos=_solos(chips, len(names)),
        lines=lines,
        peak_gbs=peak,
        peak_is_seen=seen,
        inputs=inputs_of(
            visits.coverage,
            len(visits),
            int(usable.sum()),
            read_failures(connection, time, visits, (lines, MOVED, READ, WRITTEN, "cycles", "instructions")),
        ),
        left_out={reason: int((why == reason).sum()) for reason in np.unique(why[~usable]).tolist()},
    )


def _off_frequency(hertz: Float, usable: Bool) -> Bool:
    """Marks usable visits whose busy CPUs ran more than a tenth off the median; none where frequency was not measured.

    At a higher frequency an instruction waits for memory for more cycles, which looks like interference.
    """
    there = usable & np.isfinite(hertz)
    if not there.any():
        return np.zeros(len(usable), np.bool_)
    return np.asarray(there & (np.abs(hertz / np.median(hertz[there]) - 1) > _SAME_FREQUENCY))


def _platform_at(visits: MachineVisits, counted: Pairs, usable: Bool, wanted: str, target: Int64) -> int:
    """Index of the platform in the visits' names; -1: no visit has it."""
    names = visits.names["platform"]
    if wanted:
        return names.index(wanted) if wanted in names else -1
    seen = usable.copy()
    if len(target):
        seen &= np.isin(np.arange(len(visits)), counted.visit[counted.application == target[0]])
    if not seen.any():
        seen = usable
    if not seen.any():
        return -1
    return int(np.bincount(visits.values["platform"][seen]).argmax())


def _chips(  # noqa: PLR0917 - columns of one table
    usable: Bool,
    cpus: MachineCpus,
    lines: Float,
    moved: Float,
    used: TimeUsed,
    counted: Pairs,
    ids: Int64,
) -> Chips:
    """One chip for each usable visit; sampled CPU time is scaled to the kernel's accounting."""
    size = len(usable)
    busy, window = cpus.busy_s, cpus.window_s
    sampled = weight_at(used.visit, used.seconds, size)
    usable = usable & (busy > 0) & (sampled > 0) & (window > 0)
    chip = np.cumsum(usable) - 1
    keep = usable[used.visit] & (used.seconds > 0)
    visit, application, seconds = used.visit[keep], used.application[keep], used.seconds[keep]
    place = _places(counted, visit, application)
    there = place >= 0
    cycles, instructions = (
        np.where(there, column[place], 0.0) if len(column) else np.zeros(len(visit))
        for column in (counted.y, counted.x)
    )
    there &= (cycles > 0) & (instructions > 0)
    number = np.searchsorted(ids, application)
    return Chips(
        seconds=window[usable],
        lines=lines[usable] / 1e6,
        gigabytes=moved[usable] / 1e9,
        chip=chip[visit],
        application=np.where(there, number, number + len(ids)),
        cpu_seconds=seconds * busy[visit] / sampled[visit],
        # Placeholders: the values of uncounted applications are not used.
        cycles=np.where(there, cycles, 1.0),
        instructions=np.where(there, instructions, 1.0),
    )


def _places(counted: Pairs, visit: Int64, application: Int64) -> Int64:
    """The place of each pair of a visit and an application among the counted ones; -1: it was not counted."""
    key, wanted = (counted.visit << 32) | counted.application, (visit << 32) | application
    if not len(key):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(key)
    place = order[np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)]
    return np.where(key[place] == wanted, place, -1).astype(np.int64)


def _solos(chips: Chips, names: int) -> dict[int, Solo]:
    """Applications that had a chip to themselves often enough, by both of their numbers."""
    found: dict[int, Solo] = {}
    for application in np.unique(chips.application[chips.application < names]).tolist():
        try:
            solo = alone(chips, application)
        except NotEstimable:
            continue
        found[application] = found[application + names] = solo
    return found


def _peak(reading: StoreReading, platform: str, given: float | None, chips: Chips) -> tuple[float, bool]:
    """Peak bandwidth in GB/s, and whether it is only the largest observed."""
    if given is not None:
        return given, False
    known = calibrations.of_platform(calibrations.read(reading.connection, Kind.MEMORY_BANDWIDTH), platform)
    if known is not None:
        return known.value / 1e9, False
    if not len(chips.seconds):
        return np.nan, True
    return float((chips.gigabytes / chips.seconds).max()), True
