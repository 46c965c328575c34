"""GIVEN counters of cycles in visits WHEN they are put together THEN cores' cycles and frequencies follow, or what is missing is said."""

import numpy as np
import pytest

from storage.query.observed.cpus import LogicalCpus
from storage.query.observed.thread_cycles import NAMES, Counted, ThreadCycles, combined

CPUS, SECONDS = 8, 10.0
NOMINAL, BUSY = 2.0e9, 3.0e9
BUSY_S = 40.0
"""Of 80 CPU seconds."""


def counted(value: float | None, cpus: int = CPUS) -> Counted:
    there = np.array([np.nan if value is None else value])
    return Counted(there, np.array([cpus if value is not None else 0]), np.array([SECONDS]))


def found(nominal: float = NOMINAL, mhz: float = np.nan, **values: float | Counted) -> ThreadCycles:
    """One visit of `BUSY_S` at 3 GHz; names have _ for -."""
    given = {name.replace("_", "-"): value for name, value in values.items()}
    counters = {
        name: value if isinstance(value := given.get(name), Counted) else counted(value) for name in NAMES
    }
    zeros = np.zeros(CPUS, np.int64)
    cpus = LogicalCpus(
        zeros,
        np.arange(CPUS) // 2,
        zeros,
        np.full(CPUS, BUSY_S / CPUS),
        np.full(CPUS, SECONDS),
        np.full(CPUS, mhz),
    )
    return combined(counters, np.array([nominal]), cpus)


def hertz(cycles: ThreadCycles) -> float:
    return float(cycles.per_core[0]) / SECONDS


THREADS = BUSY_S * BUSY


def test_cores_cycles_are_counted_on_both_threads_or_shared_out() -> None:
    common = {"cycles": THREADS, "ref_cycles": BUSY_S * NOMINAL}
    twice, shared = found(**common, cycles_any=60e9), found(**common, cycles_distributed=30e9)
    assert twice.either[0] == shared.either[0] == 30e9
    assert twice.threads[0] == THREADS
    assert twice.why[0] == shared.why[0] == ""
    assert twice.cpus[0] == CPUS


def test_cycles_are_of_the_frequency_that_busy_threads_ran_at() -> None:
    core = {"cycles": THREADS, "cycles_any": 60e9}
    by_reference = found(**core, ref_cycles=BUSY_S * NOMINAL)
    assert hertz(by_reference) == pytest.approx(BUSY)
    by_registers = found(**core, aperf=THREADS, mperf=BUSY_S * NOMINAL)
    assert hertz(by_registers) == pytest.approx(BUSY)
    # The clock's own rate goes before what the firmware calls nominal.
    by_clock = found(**core, nominal=1.9e9, ref_cycles=BUSY_S * NOMINAL, tsc=CPUS * SECONDS * NOMINAL)
    assert hertz(by_clock) == pytest.approx(BUSY)
    by_glances = found(**core, mhz=2900.0)
    assert hertz(by_glances) == pytest.approx(2.9e9)
    assert by_glances.skew[0] > by_reference.skew[0]


def test_the_nominal_frequency_is_never_taken_for_the_actual_one() -> None:
    unknown = found(cycles=THREADS, cycles_any=60e9)
    assert "frequency" in unknown.why[0]
    idle = found(cycles=0.0, cycles_any=0.0)
    assert idle.why[0] == ""
    assert hertz(idle) == NOMINAL


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cycles_any": 60e9}, "cycles were not counted"),
        ({"cycles": THREADS}, "neither cycles-any nor cycles-distributed"),
        ({"cycles": THREADS, "cycles_any": counted(60e9, 4)}, "counted on different CPUs"),
        (
            {"cycles": THREADS, "cycles_any": 60e9, "ref_cycles": BUSY_S * NOMINAL, "nominal": np.nan},
            "frequency",
        ),
    ],
)
def test_what_is_missing_is_said(values: dict[str, float | Counted], said: str) -> None:
    assert said in found(**values).why[0]
