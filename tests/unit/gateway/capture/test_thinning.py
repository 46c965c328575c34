"""GIVEN a machine of 64 CPUs on which an event happens far too often WHEN it is captured THEN the gateway takes fewer of
them, says so, and what a sample stands for keeps the total right."""

import time
import uuid
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest
import zstandard

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture import capture_resources, capture_runner
from gateway.capture.capture_resources import CaptureResources
from gateway.capture.capture_runner import CaptureRunner
from gateway.capture.host import Access
from gateway.capture.limits import schedule
from gateway.machine.kernel_map import KernelMap
from gateway.perf import descriptors
from gateway.perf.records import Lost, Mode, Record, Sample
from gateway.perf.sampler import Sampler, Sampling, Totals
from gateway.perf.window_counters import WindowCounters
from gateway.settings import Limits

CPUS = list(range(64))
PERIOD = 97
FAULTS_PER_S = 60_000.0
"""On each CPU: 619 samples a second at the period above."""


class Clock:
    """Time passes when somebody waits, so that what a busy test machine keeps waiting is seen by nobody."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += max(seconds, 0.001)
        return False


CLOCK = Clock()


class BusySampler(Sampler):
    """Takes one of `period` faults that all CPUs make at an even pace while it is enabled; its ring is endless."""

    def __init__(self, sampling: Sampling, cpus: list[int], program: object = None) -> None:
        assert program is None
        super().__init__(sampling, cpus)
        self.period = sampling.period
        self.enabled_at: float | None = None
        self.units = 0.0

    def descriptors(self) -> Iterator[int]:
        return iter(())

    def totals(self) -> Totals:
        return Totals((0,) * len(self.cpus))

    def enable(self) -> None:
        self.enabled_at = CLOCK.now

    def disable(self) -> None:
        self._happen()
        self.enabled_at = None

    def set_period(self, period: int) -> None:
        assert self.enabled_at is None
        self.period = period

    def drain(self, consume: Callable[[Record], None], *, everything: bool = False) -> None:
        self._happen()
        due = int(self.units / self.period)
        self.units -= due * self.period
        one = Sample(0, 0, 0, Mode.KERNEL, 1, (1,), (), False, memoryview(b"").cast("Q"), 0)
        for _ in range(due):
            consume(one)

    def _happen(self) -> None:
        if self.enabled_at is not None:
            now = CLOCK.now
            self.units += (now - self.enabled_at) * FAULTS_PER_S * len(self.cpus)
            self.enabled_at = now

    @property
    def wait_s(self) -> float:
        return 0.05


class StarvedSampler(Sampler):
    """64 busy CPUs sampled by time, of which a starved reader gets `READABLE_PER_S`; it says so as the kernel does."""

    READABLE_PER_S = 2000.0

    def __init__(self, sampling: Sampling, cpus: list[int], program: object = None) -> None:
        assert program is None
        super().__init__(sampling, cpus)
        self.period = sampling.period
        self.drained_at = CLOCK.now
        self.enabled = False
        self.lost = self.untold = 0

    def descriptors(self) -> Iterator[int]:
        return iter(())

    def totals(self) -> Totals:
        return Totals((self.lost,) + (0,) * (len(self.cpus) - 1))

    def enable(self) -> None:
        self.enabled, self.drained_at = True, CLOCK.now

    def disable(self) -> None:
        pass

    def set_period(self, period: int) -> None:
        self.period = period

    def drain(self, consume: Callable[[Record], None], *, everything: bool = False) -> None:
        passed, self.drained_at = CLOCK.now - self.drained_at, CLOCK.now
        due = round(passed * 1e9 / self.period * len(self.cpus))
        fits = min(due, round(passed * self.READABLE_PER_S))
        if self.untold and fits:
            # The kernel tells of losses before the next record that fits, which may be in the next segment.
            consume(Lost(self.untold))
            self.untold = 0
        one = Sample(0, 0, 0, Mode.KERNEL, 1, (1,), (), False, memoryview(b"").cast("Q"), 0)
        for _ in range(fits):
            consume(one)
        self.lost += due - fits
        self.untold += due - fits

    @property
    def wait_s(self) -> float:
        return 0.05


def captured(
    monkeypatch: pytest.MonkeyPatch,
    sampler: type[Sampler],
    event: gateway_pb2.EventPlan,
    *,
    exact: bool = False,
    counters: bool = False,
) -> capture_pb2.Capture:
    monkeypatch.setattr(capture_runner, "MachineSampler", sampler)
    own_costs = {name: getattr(time, name) for name in ("time_ns", "process_time", "thread_time")}
    monkeypatch.setattr(capture_runner, "time", SimpleNamespace(monotonic=CLOCK.monotonic, **own_costs))
    monkeypatch.setattr(capture_runner, "online_cpus", lambda: CPUS)
    monkeypatch.setattr(capture_resources, "online_cpus", lambda: CPUS)
    monkeypatch.setattr(capture_resources, "read_kernel_map", lambda: KernelMap((), ()))
    # The test's own process may hold more than a gateway may.
    here = CaptureResources(Access.MACHINE, Limits(max_memory_bytes=1 << 40), {})
    plan = gateway_pb2.Plan(visit_id=uuid.uuid4().bytes, events=[event], exact=exact, counters=counters)
    taken = CaptureRunner(here, schedule(plan, here.limits, here.capacity()), plan.visit_id)
    for _ in taken.run(CLOCK):
        pass
    data = zstandard.ZstdDecompressor().decompress(taken.pack().data)
    return capture_pb2.Capture.FromString(data)


@pytest.fixture
def segments(monkeypatch: pytest.MonkeyPatch) -> list[capture_pb2.Segment]:
    event = gateway_pb2.EventPlan(event="page-faults", period=PERIOD, duration_ms=1500)
    return list(captured(monkeypatch, BusySampler, event).segments)


CPU = gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=3000)


def test_what_a_starved_reader_loses_thins_an_event_whose_rate_is_affordable(monkeypatch: pytest.MonkeyPatch):
    capture = captured(monkeypatch, StarvedSampler, CPU)
    first, *others = capture.segments
    assert (first.period, sum(first.lost) > 0.5 * first.samples) == (first.requested_period, True)
    assert len(others) == 1, "what was lost before is not held against the new period"
    (rest,) = others
    assert rest.period % first.period == 0
    assert "were not read in time" in capture.strings[rest.thinned_why]
    assert sum(rest.lost) == 0
    assert rest.samples * rest.period / rest.duration_ns == pytest.approx(len(CPUS), rel=0.05)


def test_counters_leave_the_descriptors_of_the_largest_turn_to_samplers(monkeypatch: pytest.MonkeyPatch):
    granted: list[int] = []

    class NoCounters(WindowCounters):
        def __init__(self, cpus: list[int], asked: tuple[str, ...], *, standing: bool, most: int) -> None:
            granted.append(most)
            super().__init__(cpus, asked, standing=standing, most=0)

    monkeypatch.setattr(capture_runner, "WindowCounters", NoCounters)
    monkeypatch.setattr(descriptors, "raise_descriptor_limit", lambda: 1024)
    captured(monkeypatch, BusySampler, CPU, counters=True)
    ours = (1024 - 256) // Limits().max_concurrent
    assert granted == [ours - len(CPUS)]


def test_each_capture_reads_run_time_code_anew(monkeypatch: pytest.MonkeyPatch):
    forgotten: list[KernelMap] = []

    def forget(kernel: KernelMap) -> None:
        forgotten.append(kernel)

    monkeypatch.setattr(KernelMap, "forget_runtime_code", forget)
    captured(monkeypatch, BusySampler, CPU)
    assert len(forgotten) == 1


def test_an_exact_plan_keeps_its_period_and_counts_its_losses(monkeypatch: pytest.MonkeyPatch):
    (only,) = captured(monkeypatch, StarvedSampler, CPU, exact=True).segments
    assert only.period == only.requested_period
    assert sum(only.lost) > only.samples


def test_it_is_thinned_told_and_unbiased(segments: list[capture_pb2.Segment]) -> None:
    assert len(segments) > 1, "nothing was thinned"
    assert [segment.requested_period for segment in segments] == [PERIOD] * len(segments)
    assert segments[0].period == PERIOD
    assert not segments[0].thinned_why
    for before, after in pairwise(segments):
        assert after.period > before.period
        assert after.period % before.period == 0, "a whole factor, so that no pace is favoured"
        assert after.thinned_why
        assert after.start_offset_ns >= before.start_offset_ns + before.duration_ns
    # What each segment says of the machine, by its own period, is what all of them say.
    for segment in segments:
        seconds = segment.duration_ns / 1e9
        if segment.samples > 200:
            pace = segment.samples * segment.period / seconds / len(CPUS)
            assert pace == pytest.approx(FAULTS_PER_S, rel=0.05)
    watched = sum(segment.duration_ns for segment in segments) / 1e9
    units = sum(segment.samples * segment.period for segment in segments)
    assert units / watched / len(CPUS) == pytest.approx(FAULTS_PER_S, rel=0.05)


def test_what_is_left_is_within_the_budget(segments: list[capture_pb2.Segment]) -> None:
    last = segments[-1]
    rate = FAULTS_PER_S / last.period
    allowed = min(0.03, 0.5 / len(CPUS)) / 30e-6
    assert rate <= 1.5 * allowed
