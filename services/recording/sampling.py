"""Samples one program with the gateway's sampler; the result is a capture as from any machine."""

import os
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.capture_resources import CaptureResources
from gateway.capture.capture_runner import CaptureRunner
from gateway.capture.host import Access, find_access, require_supported
from gateway.capture.limits import schedule
from gateway.errors import GatewayError
from gateway.process.thread_lists import threads_of_tree
from gateway.runtimes.python.programs import load_programs
from gateway.settings import Limits, OwnProcesses
from services.errors import CannotRecord
from services.recording.program import PROC, Program
from storage.ingest.decode_capture import MAX_DURATION_NS, decode_capture

LONGEST_S = MAX_DURATION_NS / 1e9
_LIMITS = Limits(
    max_rate_hz=10_000.0,
    max_seconds=LONGEST_S,
    max_concurrent=1,
    cpu_share=1.0,
    max_bytes=512 << 20,
    max_memory_bytes=4 << 30,
    events=("*",),
)
"""A person waits for the result and chose the rate: only what protects the machine's memory is limited."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to record. `rate_hz` 0: use `period`; both 0: the event's default. `seconds` is the longest duration."""

    event: str
    rate_hz: float
    period: int
    seconds: float


def record(
    program: Program, plan: Plan, on_progress: Callable[[float, int], None] = lambda _s, _n: None
) -> capture_pb2.Capture:
    """Sample the program and its descendants until it ends or `plan.seconds` have passed.

    `on_progress` receives the elapsed seconds and the samples so far, at the start and once a second. Raises
    `CannotRecord` if the program cannot be sampled; a command is then killed.
    """
    try:
        return _record(program, plan, on_progress)
    except GatewayError as error:
        program.abandon()
        raise CannotRecord(f"{program.title} cannot be profiled: {error}") from error
    except BaseException:
        program.abandon()
        raise


def _record(program: Program, plan: Plan, on_progress: Callable[[float, int], None]) -> capture_pb2.Capture:
    system = os.uname()
    require_supported(system.sysname, system.release, system.machine)
    access = find_access(OwnProcesses.AUTO)
    owner = (PROC / str(program.pid)).stat().st_uid
    if access is Access.OWN and owner != os.geteuid():
        raise CannotRecord(
            f"Process {program.pid} belongs to user {owner}: record it as that user or as root."
        )
    # Without permission for BPF, interpreted code shows the interpreter.
    programs, _ = load_programs(1) if access is Access.MACHINE else (None, "")
    resources = CaptureResources(access, _LIMITS, {}, frame_programs=programs)
    wanted = gateway_pb2.Plan(
        visit_id=uuid.uuid4().bytes,
        events=[
            gateway_pb2.EventPlan(
                event=plan.event,
                rate_hz=plan.rate_hz,
                period=plan.period,
                duration_ms=round(plan.seconds * 1000),
                stacks=True,
            )
        ],
    )

    def start() -> None:
        program.start()
        on_progress(0.0, 0)

    runner = CaptureRunner(
        resources,
        schedule(wanted, _LIMITS, resources.capacity()),
        wanted.visit_id,
        threads=partial(threads_of_tree, PROC, program.pid),
        ended=program.has_ended,
        started=start,
    )
    for progress in runner.run(threading.Event()):
        on_progress(progress.share * plan.seconds, progress.samples)
    capture = decode_capture(runner.pack().data)
    if not runner.sampled_events:
        raise CannotRecord(f"The event {plan.event} cannot be sampled here: {'; '.join(capture.notes)}")
    return capture
