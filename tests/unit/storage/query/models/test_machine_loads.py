"""GIVEN visits of machines with one thread a core, and with two WHEN no overlap coefficient is known THEN the first have an APU."""

from typing import cast

import numpy as np
import pytest

from storage.query.models.machine_loads import CoreTimes, machine_loads
from storage.query.observed.cpus import LogicalCpus
from storage.query.observed.machines import MachineVisits
from storage.query.observed.time_used import TimeUsed
from storage.query.reader import Reading
from storage.query.weighing.design import Coverage

NONE = np.zeros(0, np.int64)


def times(cores: list[list[int]], busy_s: list[list[float]]) -> CoreTimes:
    """One visit each, of 10 s."""
    count = len(cores)
    zeros = np.zeros(count, np.int64)
    visits = MachineVisits(
        id=np.array([bytes([n]) * 16 for n in range(1, count + 1)], "S16"),
        seconds=np.full(count, 10.0),
        window_s=np.full(count, 10.0),
        hour=zeros,
        weight=np.ones(count),
        group=zeros,
        weights=None,
        coverage=Coverage(random=False, asked_s=10.0),
        values={"platform": zeros},
        names={"platform": ("Altra",)},
        among=(),
    )
    core = np.concatenate([np.array(each, np.int64) for each in cores])
    cpus = LogicalCpus(
        visit=np.repeat(np.arange(count), [len(each) for each in cores]),
        core=core,
        package=np.zeros(len(core), np.int64),
        busy_s=np.concatenate([np.array(each) for each in busy_s]),
        window_s=np.full(len(core), 10.0),
        mhz=np.full(len(core), np.nan),
    )
    return CoreTimes(visits, cpus, TimeUsed(NONE, NONE, np.zeros(0)), {})


def test_only_cores_of_two_threads_need_a_coefficient() -> None:
    found = machine_loads(
        cast("Reading", None),  # nothing is read where no calibrated figure is asked for
        times([[0, 1, 2], [0, 0, 2]], [[10.0, 5.0, 0.0], [10.0, 5.0, 0.0]]),
        None,
        calibrated=False,
    )
    single, paired = found.loads
    assert single is not None
    assert single.apu == single.utilisation == pytest.approx(0.5)
    assert paired is None
    assert dict(found.left_out) == {"no overlap coefficient of Altra": 1}
