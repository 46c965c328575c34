"""Reads the inputs of event mining: runs of one application with counts of events and instructions per cycle.

A visit in which the application has nearly all of a machine's CPU time is an interval. Visits of one machine that
counted the same events form a run: runs must not be split, or a model would learn a run's mean from one part and use it
for the other (`analysis.event_mining.mining`). Machines differ in load, so events are counted per thousand
instructions; the paper counts them per second of one program.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import select

from storage.arrays import Bool, Float, Int64, weight_at
from storage.errors import BadSelection
from storage.query.answers.inputs import Inputs
from storage.query.facts.selection_echo import inputs_of
from storage.query.observed.counter_totals import read_totals
from storage.query.observed.counters import read_failures
from storage.query.observed.machine_cpus import read_machine_cpus
from storage.query.observed.machines import MachineVisits, read_machine_visits
from storage.query.observed.systems import read_settings
from storage.query.observed.time_used import read_time_used
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.schema import capture_counter, visit

CYCLES, INSTRUCTIONS = "cycles", "instructions"
OF_TIME = frozenset(
    {
        CYCLES,
        INSTRUCTIONS,
        "ref-cycles",
        "cycles-any",
        "cycles-distributed",
        "aperf",
        "mperf",
        "tsc",
        "task-clock",
        "memory-stalls",
        "stalled-frontend",
        "stalled-backend",
    }
)
"""Counters of time and of work done: they are to be explained, and cannot explain."""
UNITS_OF_TIME = frozenset({"cycles", "nanoseconds", "joules"})
"""Units of other counters that grow with time alone; power is nearly constant, so energy is among them."""
MOST_EVENTS = 200
_MACHINE_LABELS = ("platform", "datacenter", "cluster", "kernel")
_MHZ_STEP = 100.0


@dataclass(frozen=True, slots=True)
class EventInputs:
    """N intervals × E events, and the machines' configuration."""

    events: tuple[str, ...]
    values: Float
    """Per thousand instructions; (N, E), NaN where not counted."""
    ipc: Float
    seconds: Float
    """CPU time of 10⁹ instructions."""
    run: Int64
    """Number of each interval's run, from 0."""
    parameters: Mapping[str, Float]
    """Numbers, or codes of names, for each interval, NaN if unknown; only parameters that vary."""
    inputs: Inputs
    left_out: Mapping[str, int]


def read_event_inputs(
    reading: StoreReading, selection: Selection, application: str, least_share: float
) -> EventInputs:
    """The intervals of an application with at least `least_share` of a machine's CPU time.

    Raises `BadSelection` (also if more than `MOST_EVENTS` events were counted), `UnknownCampaign`, `DatabaseError`.
    """
    connection = reading.connection
    time = replace(selection, event="cpu", unit="")
    visits = read_machine_visits(connection, time)
    names = _counted(reading, time, visits)
    totals = read_totals(connection, time, visits, (CYCLES, INSTRUCTIONS, *names))
    cpus = read_machine_cpus(connection, time, visits)
    busy = cpus.busy_s
    share = _share(reading, time, visits, application)
    cycles, instructions = totals[CYCLES], totals[INSTRUCTIONS]
    values = np.stack([totals[name] for name in names], axis=1) if names else np.zeros((len(visits), 0))
    why = np.full(len(visits), "", "U80")
    for reason, lacking in (
        ("the application had too small a share of the machine's CPU time", ~(share >= least_share)),
        ("cycles and instructions were not counted", ~((cycles > 0) & (instructions > 0))),
        ("no other events were counted", ~np.isfinite(values).any(axis=1)),
        ("its CPU time is not known", ~(busy > 0)),
    ):
        why[lacking & (why == "")] = reason
    kept = np.flatnonzero(why == "")
    machines = visits.of(kept)
    counted = np.isfinite(values[kept])
    return EventInputs(
        events=names,
        values=values[kept] / instructions[kept, None] * 1e3,
        ipc=instructions[kept] / cycles[kept],
        seconds=busy[kept] / instructions[kept] * 1e9,
        run=_runs(machines, counted),
        parameters=_parameters(
            machines,
            read_settings(connection, time, machines),
            cpus.hertz[kept] / 1e6,
        ),
        inputs=inputs_of(
            visits.coverage,
            len(visits),
            len(kept),
            read_failures(connection, time, visits, (CYCLES, INSTRUCTIONS, *names)),
        ),
        left_out={reason: int((why == reason).sum()) for reason in np.unique(why[why != ""]).tolist()},
    )


def explaining(counted: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The counters, of (name, unit), that may explain time; those with a unit of time anywhere may not."""
    names: set[str] = set()
    of_time = set(OF_TIME)
    for name, unit in counted:
        names.add(name)
        if unit in UNITS_OF_TIME:
            of_time.add(name)
    return tuple(sorted(names - of_time))


def varies(parameter: Float) -> bool:
    """Whether at least two different settings are known; unknown ones do not count."""
    return len(np.unique(parameter[~np.isnan(parameter)])) > 1


def _counted(reading: StoreReading, selection: Selection, visits: MachineVisits) -> tuple[str, ...]:
    """Names of the events counted for whole machines."""
    c = capture_counter.c
    rows = reading.connection.execute(
        select(c.name, c.unit)
        .distinct()
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(
            c.day >= selection.start.date(),
            c.day <= selection.end.date(),
            *visits.among,
            c.status == "ok",
            c.application == 0,
            c.cgroup == "",
        )
    )
    names = explaining((row.name, row.unit) for row in rows)
    if len(names) > MOST_EVENTS:
        raise BadSelection(
            f"{len(names)} events were counted; the limit is {MOST_EVENTS}.",
            hint="Choose a shorter time range.",
        )
    return names


def _share(reading: StoreReading, selection: Selection, visits: MachineVisits, application: str) -> Float:
    """The application's share of each visit's CPU time, by samples."""
    used = read_time_used(reading.connection, selection, visits)
    ids = np.unique(used.application)
    names = reading.label_values(APPLICATION, ids)
    chosen = np.isin(used.application, ids[np.array([name == application for name in names], np.bool_)])
    whole = weight_at(used.visit, used.seconds, len(visits))
    part = weight_at(used.visit, np.where(chosen, used.seconds, 0.0), len(visits))
    return np.divide(part, whole, out=np.zeros(len(visits)), where=whole > 0)


def _runs(visits: MachineVisits, counted: Bool) -> Int64:
    """The same number for all visits of a machine that counted the same events."""
    if not len(visits):
        return np.zeros(0, np.int64)
    _, events = np.unique(counted, axis=0, return_inverse=True)
    keys = np.stack([visits.values["machine"], events.reshape(-1)], axis=1)
    return np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _parameters(
    visits: MachineVisits, settings: Mapping[str, Sequence[str]], mhz: Float
) -> Mapping[str, Float]:
    """Possible parameters of the visits: codes of names, and the frequency in steps of 100 MHz; NaN if unknown."""
    found: dict[str, Float] = {label: visits.values[label].astype(np.float64) for label in _MACHINE_LABELS}
    for name, texts in settings.items():
        read = np.array(texts, np.str_)
        codes = np.unique(read, return_inverse=True)[1].reshape(-1).astype(np.float64)
        found[name] = np.where(read == "", np.nan, codes)
    found["frequency"] = np.round(mhz / _MHZ_STEP) * _MHZ_STEP
    return {name: column for name, column in found.items() if varies(column)}
