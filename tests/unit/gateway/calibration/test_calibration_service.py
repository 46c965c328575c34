"""GIVEN a request to calibrate WHEN it may not or cannot be done THEN it is refused with a reason, else figures come."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import gateway_pb2
from gateway.calibration import calibration_service as calibration_desk
from gateway.calibration import measurements
from gateway.calibration.calibration_service import SLICE_S, CalibrationService, plan
from gateway.calibration.pinned_threads import ThreadResult
from gateway.calibration.pointer_chain import PIECE_BYTES
from gateway.capture.capture_runner import CaptureCancelled
from gateway.errors import CalibrationRefused
from gateway.machine.cpu_usage import CpuTimes, Reading
from gateway.machine.topology import CpuLocation, Topology
from gateway.served_visits import ServedVisits
from gateway.settings import CalibrationSettings

Request = gateway_pb2.CalibrateRequest
Refusal = gateway_pb2.CalibrateRefusal
ANYHOW = CalibrationSettings(allowed=True, quiet=1.0, max_bytes=1 << 40)


def desk(limits=ANYHOW, served_visits=None, cpus=(0, 1), virtualization="none"):
    """One that takes the first CPUs that we may run on for the threads of a core."""
    topology = Topology(tuple(cpus), siblings=(tuple(cpus),))
    return CalibrationService(
        limits, served_visits or ServedVisits(), "Test CPU", virtualization, lambda: topology
    )


@pytest.fixture
def core(monkeypatch):
    """Two CPUs that stand for a core, and threads that did as much as the test says: no figure is left to the machine."""
    ours = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1} | set(ours))
    monkeypatch.setattr(measurements, "read_usage", lambda: None)
    monkeypatch.setattr(measurements, "busy_shares", lambda *_: {})

    def script(single, both, ran=1.0):
        def run(steps, seconds, halted):
            assert seconds > 0
            rate = single if len(steps) == 1 else both / 2
            return {cpu: ThreadResult(round(rate), 1.0, 1 / ran) for cpu in steps}

        monkeypatch.setattr(measurements, "run_together", run)

    return script


def refusal(answer):
    with pytest.raises(CalibrationRefused) as refused:
        list(answer)
    return refused.value.reason


def test_one_thread_and_both_are_measured_in_turns(core):
    core(single=1000, both=1400)
    replies = list(desk().answer(Request(what=Request.SMT, repetitions=4), threading.Event()))
    kinds = [reply.WhichOneof("reply") for reply in replies]
    assert kinds == ["begin", "progress", "progress", "progress", "progress", "end"]
    begin, end = replies[0].begin, replies[-1].end
    assert (begin.platform, list(begin.cpus), begin.repetitions) == ("Test CPU", [0, 1], 4)
    assert list(end.single) == [1000.0] * 4
    assert list(end.both) == [1400.0] * 4
    assert [reply.progress.done for reply in replies[1:-1]] == [0.25, 0.5, 0.75, 1.0]
    assert end.engine == "zlib compress"


@pytest.mark.parametrize(("virtualization", "doubts"), [("KVM", 1), ("none", 0), ("", 0)])
def test_what_a_virtual_machine_shows_is_doubted(core, virtualization, doubts):
    core(single=1000, both=1400)
    *_, last = desk(virtualization=virtualization).answer(Request(what=Request.SMT), threading.Event())
    assert len(last.end.doubts) == doubts


def test_a_core_that_others_use_too_gives_no_figure(core):
    core(single=1000, both=1400, ran=0.5)
    answer = desk().answer(Request(what=Request.SMT), threading.Event())
    assert refusal(answer) == Refusal.BUSY


def test_nobody_is_measured_unless_the_operator_allows_it():
    answer = desk(CalibrationSettings()).answer(Request(what=Request.SMT), threading.Event())
    assert refusal(answer) == Refusal.NOT_ALLOWED


def test_a_busy_machine_is_left_alone(monkeypatch):
    ticks = iter([CpuTimes(0, 0, 0, 0, 0, 0), CpuTimes(25, 0, 75, 0, 0, 0)])
    monkeypatch.setattr(calibration_desk, "read_usage", lambda: Reading(0.0, {0: next(ticks)}))
    answer = desk(CalibrationSettings(allowed=True, quiet=0.2)).answer(
        Request(what=Request.SMT), threading.Event()
    )
    with pytest.raises(CalibrationRefused, match="busy for 25%") as refused:
        list(answer)
    assert refused.value.reason == Refusal.BUSY


def test_captures_symbols_and_calibrations_go_first(core):
    core(single=1000, both=1400)
    wanted, stopped = Request(what=Request.SMT), threading.Event()
    runner, sending, served_visits = ServedVisits(), ServedVisits(), ServedVisits()
    busy = desk(served_visits=runner)
    runner.note_active(1)
    assert refusal(busy.answer(wanted, stopped)) == Refusal.BUSY
    busy = desk(served_visits=sending)
    sending.note_sending(sending=True)
    assert refusal(busy.answer(wanted, stopped)) == Refusal.BUSY
    first = desk(served_visits=served_visits)
    running = first.answer(wanted, stopped)
    assert next(running).HasField("begin")
    assert served_visits.is_calibrating
    assert served_visits.is_working
    assert refusal(first.answer(wanted, stopped)) == Refusal.BUSY
    running.close()
    assert not served_visits.is_working
    assert list(first.answer(wanted, stopped))[-1].HasField("end")


def test_a_capture_breaks_it_off_and_so_does_a_caller_who_goes(core):
    core(single=1000, both=1400)
    served_visits, stopped = ServedVisits(), threading.Event()
    running = desk(served_visits=served_visits).answer(Request(what=Request.SMT), stopped)
    next(running)
    served_visits.note_active(1)
    assert refusal(running) == Refusal.BUSY
    served_visits.note_active(0)
    running = desk(served_visits=served_visits).answer(Request(what=Request.SMT), stopped)
    next(running)
    stopped.set()
    with pytest.raises(CaptureCancelled):
        list(running)
    assert not served_visits.is_working


@pytest.fixture
def memory(monkeypatch):
    """One step a CPU of the real loops; `ran` are the shares of the time that each run says it had its CPUs, then all."""
    monkeypatch.setattr(measurements, "last_cache_bytes", lambda _: PIECE_BYTES)

    def script(*ran):
        shares = iter(ran)

        def run(steps, seconds, halted):
            share = next(shares, 1.0)
            done = {cpu: ThreadResult(step(), 1.0, 1.0) for cpu, step in steps.items()}
            slowest = max(done)
            return done | {slowest: ThreadResult(done[slowest].units, share, 1.0)}

        monkeypatch.setattr(measurements, "run_together", run)

    script()
    return script


def test_memory_is_not_measured_while_something_else_runs(memory):
    ours = min(os.sched_getaffinity(0))
    wanted = Request(what=Request.MEMORY, duration_ms=800, repetitions=3)
    memory(1.0, 0.5, 1.0, 0.89)
    end = list(desk(cpus=(ours,)).answer(wanted, threading.Event()))[-1].end
    assert (len(end.latency_ns), len(end.bytes_per_s), end.disturbed) == (2, 2, 2)
    memory(1.0, 1.0, 1.0, 0.5, 0.5)
    assert refusal(desk(cpus=(ours,)).answer(wanted, threading.Event())) == Refusal.BUSY
    memory(0.5, 0.5)
    assert refusal(desk(cpus=(ours,)).answer(wanted, threading.Event())) == Refusal.BUSY


@pytest.mark.parametrize(("nodes", "doubts"), [((0, 1), 1), ((0, 0), 0)])
def test_the_bandwidth_of_a_socket_with_several_nodes_is_doubted(memory, nodes, doubts):
    ours = min(os.sched_getaffinity(0))
    topology = Topology(
        (ours, 900), {ours: CpuLocation(0, 0, nodes[0]), 900: CpuLocation(1, 0, nodes[1])}, ((ours,), (900,))
    )
    asked = CalibrationService(ANYHOW, ServedVisits(), "Test CPU", "none", lambda: topology)
    wanted = Request(what=Request.MEMORY, duration_ms=200, repetitions=1)
    end = list(asked.answer(wanted, threading.Event()))[-1].end
    assert len(end.doubts) == doubts
    assert all("the memory of one node" in doubt for doubt in end.doubts)


def test_memory_that_does_not_exceed_the_cache_is_refused(memory):
    ours = min(os.sched_getaffinity(0))
    wanted = Request(what=Request.MEMORY, duration_ms=200, repetitions=1)
    small = CalibrationSettings(allowed=True, quiet=1.0, max_bytes=2 * PIECE_BYTES)
    assert refusal(desk(small, cpus=(ours,)).answer(wanted, threading.Event())) == Refusal.UNSUPPORTED
    replies = list(desk(cpus=(ours,)).answer(wanted, threading.Event()))
    end = replies[-1].end
    assert end.working_set_bytes == 4 * PIECE_BYTES
    assert end.cache_bytes == PIECE_BYTES
    assert len(end.latency_ns) == len(end.bytes_per_s) == 1
    assert end.latency_ns[0] > 0
    assert end.bytes_per_s[0] > 0
    assert list(end.reading_cpus) == [ours]


@given(
    st.builds(
        Request,
        what=st.integers(0, 5),
        work=st.integers(0, 5),
        duration_ms=st.integers(0, 2**32 - 1),
        repetitions=st.integers(0, 2**32 - 1),
    )
)
def test_whatever_is_asked_the_limits_hold(request_):
    limits = CalibrationSettings(allowed=True, max_seconds=3.0)
    makes_sense = (
        request_.what in {1, 2}
        and request_.work <= 3
        and (not request_.duration_ms or request_.duration_ms >= 200)
    )
    if not makes_sense:
        with pytest.raises(CalibrationRefused) as refused:
            plan(request_, limits)
        assert refused.value.reason == Refusal.INVALID
        return
    planned = plan(request_, limits)
    assert planned.seconds <= 3.0 + 1e-9
    assert planned.slice_s >= SLICE_S - 1e-9
    assert 1 <= planned.repetitions <= 50
    assert bool(planned.changes) == (
        request_.duration_ms > 3000 or request_.repetitions > planned.repetitions
    )
