"""GIVEN visits of machines with one thread a core, and with two WHEN no overlap coefficient is known THEN the first have an APU."""

from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from storage.errors import QuestionDropped
from storage.query.estimation.sampling_design import Coverage
from storage.query.models.machine_loads import CoreTimes, MachineLoads, machine_loads, not_counted
from storage.query.observed.cpus import LogicalCpus
from storage.query.observed.machines import MachineVisits
from storage.query.observed.thread_cycles import ThreadCycles
from storage.query.observed.time_used import TimeUsed
from storage.query.store_reading import StoreReading
from storage.snapshots.query_budget import Budget, Limits, Stop

NONE = np.zeros(0, np.int64)


def times(cores: list[list[int]], busy_s: list[list[float]]) -> CoreTimes:
    """One visit each, of 10 s."""
    count = len(cores)
    zeros = np.zeros(count, np.int64)
    visits = MachineVisits(
        id=np.array([n.to_bytes(2) * 8 for n in range(1, count + 1)], "S16"),
        seconds=np.full(count, 10.0),
        window_s=np.full(count, 10.0),
        hour=zeros,
        weight=np.ones(count),
        group=zeros,
        weights=None,
        coverage=Coverage(random=False, selected_s=10.0),
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
        cast("StoreReading", None),  # nothing is read where no calibrated figure is asked for
        times([[0, 1, 2], [0, 0, 2]], [[10.0, 5.0, 0.0], [10.0, 5.0, 0.0]]),
        None,
        calibrated=False,
    )
    single, paired = found.loads
    assert single is not None
    assert single.apu == single.utilisation == pytest.approx(0.5)
    assert paired is None
    assert dict(found.left_out) == {"the overlap coefficient of Altra is unknown": 1}


def counted(
    cores: list[int],
    why: str = "",
    cpus: int = 0,
    either: float = 15e9,
    *,
    hertz: float = 1e9,
    skew: float = 0.01,
) -> MachineLoads:
    """The load of one visit: half of its threads' time busy at 1 GHz for 10 s, taken to be `hertz`."""
    cycles = ThreadCycles(
        threads=np.array([len(cores) * 5e9]),
        either=np.array([either]),
        per_core=np.array([10 * hertz]),
        cpus=np.array([cpus]),
        skew=np.array([skew]),
        why=np.array([why]),
    )
    one = replace(times([cores], [[5.0] * len(cores)]), cycles=cycles)
    return machine_loads(cast("StoreReading", None), one, 1.4, calibrated=False)


def test_counters_tell_the_load_of_a_machine_of_whole_cores() -> None:
    found = counted([0, 0, 2, 2], cpus=4)
    (load,) = found.counted
    assert load is not None
    # 20e9 cycles of threads, 15e9 of cores, of 20e9: 5e9 with both busy.
    assert load.overlap == pytest.approx(0.25)
    assert load.apu == pytest.approx(0.5 * 0.7 + 0.25)
    assert not found.not_counted
    assert not_counted(found) is None


@pytest.mark.parametrize(
    ("cores", "why", "cpus", "either", "said"),
    [
        ([0, 1, 2], "", 0, 15e9, "its cores have one thread"),
        ([0, 0, 2], "", 0, 15e9, "some of its cores have one thread"),
        ([0, 0, 2, 2], "cycles were not counted", 0, 15e9, "cycles were not counted"),
        ([0, 0, 2, 2], "", 3, 15e9, "do not cover all its logical CPUs"),
        ([0, 0, 2, 2], "", 0, 25e9, "busy for longer"),
    ],
)
def test_where_counters_do_not_tell_it_that_is_said(
    cores: list[int], why: str, cpus: int, either: float, said: str
) -> None:
    found = counted(cores, why, cpus, either)
    assert found.loads[0] is not None
    assert found.counted == [None]
    (reason,) = found.not_counted
    assert said in reason
    unavailable = not_counted(found)
    assert unavailable is not None
    assert said in unavailable.detail


@pytest.mark.parametrize(
    ("hertz", "skew", "right"),
    [
        (1.05e9, 0.01, True),  # 0.476 for 0.5
        (1.1e9, 0.01, False),
        (0.9e9, 0.01, False),
        (2.0e9, 0.01, False),
        (1.1e9, 0.05, True),  # of glances
        (1.25e9, 0.05, False),
    ],
)
def test_a_frequency_that_is_wrong_does_not_pass(hertz: float, skew: float, *, right: bool) -> None:
    found = counted([0, 0, 2, 2], hertz=hertz, skew=skew)
    (load,) = found.counted
    assert (load is not None) == right
    if not right:
        (reason,) = found.not_counted
        assert "different utilisations" in reason


def test_some_visits_have_the_loads_that_they_have_among_all() -> None:
    all_ = times([[0, 1], [0, 0], [0, 0, 2, 2]], [[10.0, 5.0], [10.0, 5.0], [0.0, 1.0, 2.0, 3.0]])
    used = TimeUsed(np.array([2, 0, 2]), np.array([7, 7, 8]), np.array([1.0, 2.0, 3.0]))
    one = np.arange(3.0)
    cycles = ThreadCycles(one, one, one, np.arange(3), one, np.full(3, "no"))
    all_ = replace(all_, used=used, names={7: "a", 8: "b"}, cycles=cycles)
    some = all_.of(np.array([True, False, True]))
    assert some.used.visit.tolist() == [1, 0, 1]
    assert some.used.application.tolist() == [7, 7, 8]
    assert some.cycles is not None
    assert some.cycles.threads.tolist() == [0.0, 2.0]
    reading = cast("StoreReading", None)
    whole = machine_loads(reading, all_, 1.4, calibrated=False).loads
    assert machine_loads(reading, some, 1.4, calibrated=False).loads == [whole[0], whole[2]]


def test_many_visits_are_left_when_nobody_waits_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    many = times([[0, 1]] * 1000, [[10.0, 5.0]] * 1000)
    budget, modelled = Budget(Limits()), []

    def of_cpus(*_: object) -> None:
        modelled.append(1)
        budget.stop(Stop.DROPPED)

    monkeypatch.setattr("storage.query.models.machine_loads.of_cpus", of_cpus)
    with budget.running(), pytest.raises(QuestionDropped):
        machine_loads(cast("StoreReading", None), many, 1.4, calibrated=False)
    assert 0 < len(modelled) < 500
