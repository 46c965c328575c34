"""Runs one capture: samples a schedule and packs the result."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.limits import loss_factor, shared_factor
from gateway.capture.packer import Packed, Packer, SegmentCounts
from gateway.capture.quota import Quota
from gateway.capture.recorder import Recorder
from gateway.capture.source_frames import SourceFrames
from gateway.errors import EventUnavailable, PlanRefused
from gateway.machine.topology import online_cpus
from gateway.perf.attributes import EventType
from gateway.perf.descriptors import descriptors_for_events
from gateway.perf.sampler import MachineSampler, Sampler, Sampling, Totals
from gateway.perf.thread_sampler import ThreadSampler
from gateway.perf.window_counters import WindowCounters
from gateway.process.thread_lists import threads_of_user
from gateway.process.walker import Walker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event as Signal

    from gateway.capture.capture_resources import CaptureResources
    from gateway.capture.limits import PlannedEvent, Schedule
    from gateway.machine.window_metrics import WindowMetrics
    from gateway.runtimes.python.programs import FrameProgram

PRODUCER: Final = "fleetprof-gateway 0.1.0"

# Types of events at whose samples a BPF program of type perf_event may run.
_PROGRAM_EVENTS: Final = frozenset({EventType.HARDWARE, EventType.SOFTWARE, EventType.CACHE, EventType.RAW})
_PROGRESS_S: Final = 1.0
_NICENESS: Final = -15
_RESCAN_S: Final = 1.0
# How long a segment runs before its cost is compared with the budget.
_COST_CHECK_AFTER_S: Final = 0.5
# For an event of unknown rate: a burst shows soon, and samples that a ring loses cost nothing to read.
_UNKNOWN_COST_CHECK_AFTER_S: Final = 0.1
# By then the busiest control groups have been sampled, and most of the window is still ahead.
_COUNTER_CHECK_AFTER_S: Final = 0.5


class CaptureCancelled(Exception):
    """The caller disconnected or the gateway stops."""


@contextlib.contextmanager
def _raised_priority() -> Iterator[None]:
    """Raise this thread's priority where permitted: a ring that is read late overflows."""
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    # Without CAP_SYS_NICE the priority stays; samples lost on a busy machine are counted.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, thread, min(before, _NICENESS))
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, thread, before)


@dataclass(slots=True)
class _RunningEvent:
    """An event being sampled and its current segment; `began` and `ends` in CLOCK_MONOTONIC seconds."""

    planned: PlannedEvent
    sampler: Sampler
    segment: SegmentCounts
    began: float
    ends: float
    before: Totals
    """Totals of the closed segments."""
    rescanned: float
    rate: float = 0.0
    """Samples per second and CPU at the last check, lost ones included."""

    def close(self) -> None:
        """Close the current sampler."""
        self.sampler.close()


@dataclass(frozen=True, slots=True)
class Progress:
    """Elapsed share of the window, 0…1, and samples so far."""

    share: float
    samples: int


def finish_segment(segment: SegmentCounts, passed: Totals) -> None:
    """Copy the kernel's totals of the event into a closed segment.

    An event that was enabled and never ran is marked NOT_COUNTED: no counter was ever free, or the hypervisor's
    counters do not count. Its 0 samples are not a measurement.
    """
    message = segment.message
    message.lost.extend(passed.lost)
    message.time_enabled_ns, message.time_running_ns = passed.enabled_ns, passed.running_ns
    if passed.enabled_ns and not passed.running_ns and not segment.samples:
        message.support = capture_pb2.SUPPORT_NOT_COUNTED


class CaptureRunner:
    """Runs one schedule. `run` samples, `pack` builds the capture; call each once."""

    def __init__(
        self,
        resources: CaptureResources,
        schedule: Schedule,
        visit_id: bytes,
        *,
        threads: Callable[[], Iterator[int]] | None = None,
        started: Callable[[], None] = lambda: None,
        ended: Callable[[], bool] = lambda: False,
    ) -> None:
        """`threads` lists the threads to sample; None: all of the machine, or of this user without CAP_PERFMON.

        `started` is called when each turn's sampling is on. The capture ends early, with the samples so far, when
        `ended` returns true.
        """
        if threads is None and resources.own_only:
            threads = partial(threads_of_user, Path("/proc"), os.geteuid())
        self._threads = threads
        self._started, self._ended = started, ended
        self._resources = resources
        self._schedule = schedule
        self._packer = Packer()
        self._walker = Walker(resources.images, max_depth=schedule.max_depth)
        pool = resources.frame_programs
        self._source_frames = (
            None
            if pool is None
            else SourceFrames(
                self._packer,
                resources.images,
                pool,
                max_depth=schedule.max_depth,
                keep=resources.keep_interpreter,
            )
        )
        self._recorder = Recorder(
            self._packer,
            resources.images,
            self._walker,
            resources.kernel,
            kernel_build_id=resources.kernel_build_id,
            max_depth=schedule.max_depth,
            own_labels=resources.label_sources.of_process,
            source_frames=self._source_frames,
            jvm_layouts=resources.jvm_layouts,
        )
        self._capture = capture_pb2.Capture(
            visit_id=visit_id, producer=PRODUCER, machine=resources.machine, notes=schedule.changes
        )
        self._cpus = online_cpus()
        self._began = 0.0
        self._drain_s = 0.0
        self._counters: WindowCounters | None = None
        self._counters_split = False
        self._quota = Quota(resources.limits)
        self._end_reason = ""
        self._counter_check_after_s = min(_COUNTER_CHECK_AFTER_S, schedule.seconds / 4)
        self.utilisation = 0.0
        self.seconds = 0.0
        self.sampled_events = 0

    @property
    def samples(self) -> int:
        """Samples so far."""
        return self._recorder.samples

    def seen(self) -> Iterator[tuple[str, int, str]]:
        """Yield (build-id or content key, process, path) of each binary with frames in the capture."""
        for image, pid in self._recorder.seen.items():
            if key := image.build_id.hex() or image.content_key:
                yield key, pid, image.path

    def run(self, stopped: Signal) -> Iterator[Progress]:
        """Sample all turns; raises CaptureCancelled soon after `stopped` is set, with everything closed."""
        cpu_before, entries_before = time.process_time(), self._resources.images.entries_evaluated
        if not self._resources.own_only:
            # Every capture of the machine needs it; reading it while the rings fill would overflow them.
            self._resources.kernel().forget_runtime_code()
        self._resources.label_sources.begin()
        window = self._resources.metrics.open_window()
        self._began = time.monotonic()
        self._capture.window.wall_start_ns = time.time_ns()
        self._capture.window.monotonic_start_ns = round(self._began * 1e9)
        with contextlib.ExitStack() as resources:
            resources.enter_context(self._resources.images_in_use())
            resources.callback(self._recorder.close)
            resources.enter_context(_raised_priority())
            self._counters = self._open_counters(resources)
            for turn in self._schedule.turns:
                if not (self._end_reason or self._ended()):
                    yield from self._run_turn(turn, stopped, window)
            if self._counters:
                self._capture.counters.extend(self._counters.read(self._packer.text))
        self._capture.window.duration_ns = round((time.monotonic() - self._began) * 1e9)
        self.utilisation = window.close(self._capture)
        self._capture.notes.extend(self._recorder.notes())
        cost = self._capture.cost
        cost.cpu_ms = (time.process_time() - cpu_before) * 1000
        cost.peak_rss_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cost.unwind_entries = self._resources.images.entries_evaluated - entries_before
        cost.stacks_walked = self._walker.stacks_walked
        self._resources.note_cost(self._drain_s, self.samples)

    def pack(self) -> Packed:
        """The finished capture."""
        names = self._resources.label_sources.finish()
        labels = {who: names.labels(who.cgroup, who.labels) for who in self._packer.identities}
        self._capture.notes.extend(names.notes())
        return self._packer.pack(self._capture, labels)

    def _open_counters(self, resources: contextlib.ExitStack) -> WindowCounters | None:
        schedule = self._schedule
        if not (schedule.counters or schedule.counter_events or schedule.counted_cgroups):
            return None
        if self._resources.own_only:
            self._capture.notes.append("counters were left out: they need CAP_PERFMON")
            return None
        # Counters open before the samplers of all turns, which a visit cannot do without, so they leave them room.
        samplers = max(map(len, schedule.turns)) * len(self._cpus)
        most = descriptors_for_events(self._resources.limits.max_concurrent) - samplers
        return resources.enter_context(
            WindowCounters(self._cpus, schedule.counter_events, standing=schedule.counters, most=most)
        )

    def _adjust_counters(self, now: float) -> None:
        """Once per capture: split groups that get no turn, and count the busiest control groups."""
        if self._counters is None or self._counters_split or now - self._began < self._counter_check_after_s:
            return
        self._counters_split = True
        self._counters.split_idle()
        if self._schedule.counted_cgroups:
            samples = self._packer.samples_by_process()
            self._capture.notes.extend(self._counters.count_cgroups(samples, self._schedule.counted_cgroups))

    def _run_turn(
        self, turn: Sequence[PlannedEvent], stopped: Signal, window: WindowMetrics
    ) -> Iterator[Progress]:
        # No sampler follows processes between turns, so their state may be outdated.
        self._recorder.forget_processes()
        with contextlib.ExitStack() as samplers:
            running = self._start(turn, samplers)
            self._started()
            now = reported = time.monotonic()
            while running:
                pause = min(min(event.sampler.wait_s, event.ends - now) for event in running)
                if stopped.wait(max(0.0, pause)):
                    raise CaptureCancelled
                now = time.monotonic()
                for event in tuple(running):
                    if now >= event.ends:
                        self._finish_event(event)
                        running.remove(event)
                    else:
                        self._update(event, now, running)
                self._adjust_counters(now)
                if running and self._ended():
                    for event in running:
                        self._finish_event(event)
                    return
                if running and (why := self._quota.exceeded(self._packer.estimate_bytes())):
                    self._end_early(running, now, why)
                    return
                if now - reported >= _PROGRESS_S:
                    reported = now
                    window.sample_frequencies()
                    yield Progress(min(1.0, (now - self._began) / self._schedule.seconds), self.samples)

    def _end_early(self, running: Sequence[_RunningEvent], now: float, why: str) -> None:
        """End the capture with the samples so far and a note; raises PlanRefused for an exact plan."""
        lasted, asked = now - self._began, self._schedule.seconds
        if self._schedule.exact:
            raise PlanRefused(
                gateway_pb2.Refusal.NOT_ALLOWED,
                f"the plan is exact, but after {lasted:.1f} of {asked:g} s {why}",
            )
        self._end_reason = why
        for event in running:
            self._finish_event(event)
        self._capture.notes.append(f"the capture ended after {lasted:.1f} of {asked:g} s: {why}")

    def _start(self, turn: Sequence[PlannedEvent], samplers: contextlib.ExitStack) -> list[_RunningEvent]:
        """Open the events of a turn, then enable them; the sampler that runs longest follows processes."""
        opened: list[tuple[PlannedEvent, Sampler]] = []
        for planned in sorted(turn, key=lambda event: -event.seconds):
            try:
                sampler = samplers.enter_context(self._open(planned, follow=not opened, together=len(turn)))
            except EventUnavailable as reason:
                self._report_unavailable(planned, reason)
            else:
                opened.append((planned, sampler))
        running = []
        for planned, sampler in opened:
            now = time.monotonic()
            segment = self._segment(planned, planned.period, planned.thinned_why, now, sampler)
            event = _RunningEvent(planned, sampler, segment, now, now + planned.seconds, Totals(), now)
            samplers.callback(event.close)
            running.append(event)
            sampler.enable()
            self.sampled_events += 1
        return running

    def _open(self, planned: PlannedEvent, *, follow: bool, together: int) -> Sampler:
        if planned.event is None:
            assert planned.unavailable is not None
            raise planned.unavailable
        sampling = Sampling(
            planned.event,
            planned.period,
            planned.stacks,
            self._schedule.stack_bytes,
            follow=follow,
            together=together,
        )
        return self._open_sampler(sampling)

    def _open_sampler(self, sampling: Sampling) -> Sampler:
        program = self._frame_program(sampling)
        sampler: Sampler
        if self._threads is None:
            sampler = MachineSampler(sampling, self._cpus, program)
        else:
            user_only = self._resources.own_only
            sampler = ThreadSampler(sampling, self._cpus, self._threads, user_only=user_only, program=program)
        if sampler.program_refused:
            self._capture.notes.append(
                f"{sampling.event.name}: no source-level frames: a BPF program cannot run at its samples: "
                f"{sampler.program_refused}"
            )
        return sampler

    def _frame_program(self, sampling: Sampling) -> FrameProgram | None:
        """A program that reads source-level frames for a sampler; None: there is none, or the event runs none."""
        # Tracepoints take programs of another type; other event sources have no samples in a process.
        if not (self._source_frames and sampling.stacks and sampling.event.type in _PROGRAM_EVENTS):
            return None
        assert self._resources.frame_programs is not None
        program = self._resources.frame_programs.take()
        if program is None:
            self._capture.notes.append(
                f"{sampling.event.name}: no source-level frames: all programs that read them are in use"
            )
            return None
        program.begin(self._source_frames.capture)
        return program

    def _segment(
        self, planned: PlannedEvent, period: int, thinned_why: str, now: float, sampler: Sampler
    ) -> SegmentCounts:
        assert planned.event is not None
        return self._packer.segment(
            capture_pb2.Segment(
                event=self._packer.text(planned.name),
                source=self._packer.text(planned.event.source),
                unit=self._packer.text(planned.event.unit),
                support=capture_pb2.SUPPORT_OK,
                period=period,
                requested_period=planned.requested_period,
                thinned_why=self._packer.text(thinned_why),
                stacks=planned.stacks,
                start_offset_ns=round((now - self._began) * 1e9),
                cpus=sampler.cpus,
                unprivileged=self._resources.own_only,
            )
        )

    def _report_unavailable(self, planned: PlannedEvent, reason: EventUnavailable) -> None:
        self._capture.notes.append(str(reason))
        source = planned.event.source if planned.event else ""
        self._packer.segment(
            capture_pb2.Segment(
                event=self._packer.text(planned.name),
                source=self._packer.text(source),
                unit=self._packer.text(planned.event.unit if planned.event else ""),
                support=capture_pb2.Support.Name(reason.support),
                errno=reason.errno,
                stacks=planned.stacks,
            )
        )

    def _update(self, event: _RunningEvent, now: float, running: Sequence[_RunningEvent]) -> None:
        if isinstance(event.sampler, ThreadSampler) and now - event.rescanned >= _RESCAN_S:
            event.rescanned = now
            self._drain(event, rescan=True)
            return
        self._drain(event)
        lasted = now - event.began
        counts_time = event.sampler.sampling.event.counts_time
        if lasted < (_COST_CHECK_AFTER_S if counts_time else _UNKNOWN_COST_CHECK_AFTER_S):
            return
        limits, capacity = self._resources.limits, self._resources.capacity()
        kept, lost = event.segment.samples, self._lost(event)
        # Lost samples count: with a full ring any rate would look affordable.
        event.rate = (kept + lost) / lasted / len(self._cpus)
        factor = shared_factor(event.rate, [each.rate for each in running], capacity.max_rate(limits))
        if factor > 1:
            dearer = f"more than {limits.cpu_share:.3g} of the machine or half a core"
            if self._schedule.exact:
                raise PlanRefused(
                    gateway_pb2.Refusal.NOT_ALLOWED,
                    f"the plan is exact, but {event.planned.name} occurred {event.rate:.0f} times per "
                    f"second and CPU, which would cost {dearer}",
                )
            self._thin(event, factor, f"{event.rate:.0f} samples per second and CPU would have cost {dearer}")
        elif not self._schedule.exact and (factor := loss_factor(kept, lost)) > 1:
            # The plan's rate is affordable, but on this machine the rings are read too late.
            self._thin(
                event,
                factor,
                f"{lost} of {kept + lost} samples were lost, because they were not read in time",
            )
        event.rate /= factor

    def _lost(self, event: _RunningEvent) -> int:
        """Samples of the segment that the ring has lost so far."""
        if event.sampler.sampling.event.counts_time and not event.segment.lost_records:
            return 0  # saves a system call for each CPU
        lost = event.sampler.totals().since(event.before).lost
        return sum(lost) if lost else event.segment.lost_records

    def _thin(self, event: _RunningEvent, factor: int, why: str) -> None:
        """Continue with a longer period in a new segment."""
        period = event.segment.message.period * factor
        self._close_segment(event)
        event.began = time.monotonic()
        event.segment = self._segment(
            event.planned,
            period,
            why,
            event.began,
            event.sampler,
        )
        if isinstance(event.sampler, ThreadSampler):
            # The kernel sets the period of the given thread only, not of threads that inherited the event.
            self._reopen(event, period)
        else:
            event.sampler.set_period(period)
        event.sampler.enable()

    def _reopen(self, event: _RunningEvent, period: int) -> None:
        self._capture.cost.ring_bytes += event.sampler.bytes_read
        event.sampler.close()
        event.sampler = self._open_sampler(replace(event.sampler.sampling, period=period))
        event.before = Totals()
        # The records miss processes that started or ended meanwhile.
        self._recorder.forget_processes()

    def _finish_event(self, event: _RunningEvent) -> None:
        self._close_segment(event)
        self._capture.cost.ring_bytes += event.sampler.bytes_read
        if isinstance(event.sampler, ThreadSampler) and event.sampler.left_out:
            self._capture.notes.append(
                f"{event.sampler.left_out} threads were left out: RLIMIT_NOFILE allows no more descriptors"
            )
        event.sampler.close()

    def _close_segment(self, event: _RunningEvent) -> None:
        event.sampler.disable()
        ended = time.monotonic()
        self._drain(event, everything=True)
        self._recorder.count_early()
        message = event.segment.message
        message.duration_ns = round((ended - event.began) * 1e9)
        totals = event.sampler.totals()
        passed, event.before = totals.since(event.before), totals
        if message.throttled:
            self._capture.notes.append(
                f"{event.planned.name}: the kernel paused sampling until its next tick "
                f"{message.throttled} times, because interrupts exceeded "
                "kernel.perf_event_max_sample_rate"
            )
        finish_segment(event.segment, passed)
        self.seconds = max(self.seconds, ended - event.began)

    def _drain(self, event: _RunningEvent, *, everything: bool = False, rescan: bool = False) -> None:
        began = time.thread_time()
        with self._resources.images_lock:
            consume = self._recorder.consumer(event.segment, has_program=event.sampler.has_program)
            if rescan and isinstance(event.sampler, ThreadSampler):
                event.sampler.rescan(consume)
            else:
                event.sampler.drain(consume, everything=everything)
        self._drain_s += time.thread_time() - began
