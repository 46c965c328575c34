"""The real gateway as a process, a caller of it, and what is in a capture, for integration tests."""

import hashlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
import zstandard
from elftools.elf.elffile import ELFFile

from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc
from gateway.calibration.cpu_selection import last_cache_bytes
from gateway.calibration.measurements import LEAST_CACHES
from gateway.machine.meminfo import meminfo
from gateway.perf.events import EVENTS, probe

ROOT = Path(__file__).parents[1]
PROGRAM = (sys.executable, "-m", "gateway")
DEADLINE_S = 30.0
CALIBRATION_MIB = 1536
"""Of memory that tests spread loads over at most: seen was a last cache of 480 MiB, and three times as much is needed."""


def require_perf_events() -> None:
    """Skip where the kernel does not let us sample the machine."""
    code = probe(EVENTS["cpu"], own=False)
    if code:
        pytest.skip(f"perf events are not permitted here: {os.strerror(code)}")


def status(call: Callable[[], object]) -> grpc.StatusCode:
    """The status with which a call ends."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def require_calibration_memory() -> None:
    """Skip where memory cannot be measured with `CALIBRATION_MIB`."""
    cache = last_cache_bytes(0)
    if LEAST_CACHES * cache > CALIBRATION_MIB << 20:
        pytest.skip(f"rare: a last cache of {cache >> 20} MiB needs more memory than a test should take")
    if meminfo().get("MemAvailable", 0) < 4 * CALIBRATION_MIB << 20:
        pytest.skip(f"rare: {CALIBRATION_MIB} MiB are not to be had here")


def wait_until(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S:g} s in vain: {what}"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def perf_descriptors(pid: int) -> int:
    """How many perf events a process holds open."""
    held = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            held += "[perf_event]" in str(entry.readlink())
        except FileNotFoundError:
            continue
    return held


@dataclass
class Daemon:
    """A running gateway: `target` is what gRPC connects to."""

    process: subprocess.Popen[bytes]
    target: str
    log: Path

    @property
    def server(self) -> int | None:
        """Pid of the gRPC server; None while nobody calls."""
        return next(iter(children(self.process.pid)), None)

    @property
    def perf_descriptors(self) -> int:
        return sum(perf_descriptors(pid) for pid in (self.process.pid, *children(self.process.pid)))

    @property
    def is_measuring(self) -> bool:
        """Whether it has perf events open."""
        return self.perf_descriptors > 0

    def wait_until_closed(self) -> None:
        """Return once it has no perf event open."""
        wait_until("perf events are closed", lambda: not self.is_measuring)

    @contextmanager
    def stub(
        self,
        credentials: grpc.ChannelCredentials | None = None,
        options: Sequence[tuple[str, object]] = (),
    ) -> Iterator[gateway_pb2_grpc.GatewayStub]:
        channel = (
            grpc.secure_channel(self.target, credentials, options)
            if credentials
            else grpc.insecure_channel(self.target, options)
        )
        with channel:
            yield gateway_pb2_grpc.GatewayStub(channel)

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE_S)


def command(*options: str) -> list[str]:
    return [*PROGRAM, *options]


@contextmanager
def running(
    folder: Path, *options: str, listen: str = "", program: Sequence[str] = PROGRAM
) -> Iterator[Daemon]:
    """A gateway that listens, on a Unix socket in the folder unless told otherwise."""
    log = folder / f"gateway-{uuid.uuid4().hex[:8]}.log"
    address = listen or f"unix:{folder}/gateway.sock"
    with (
        log.open("wb") as stderr,
        subprocess.Popen([*program, "--listen", address, *options], cwd=ROOT, stderr=stderr) as process,
    ):
        try:
            wait_until(
                "the gateway listens",
                lambda: "listening on" in log.read_text() or process.poll() is not None,
            )
            assert process.poll() is None, log.read_text()
            bound = next(line for line in log.read_text().splitlines() if "listening on" in line)
            yield Daemon(process, bound.rpartition("listening on ")[2], log)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(DEADLINE_S)


def plan(
    *events: gateway_pb2.EventPlan,
    seconds: float = 0.5,
    rate_hz: float = 99,
    visit_id: bytes | None = None,
    **fields: object,
) -> gateway_pb2.Plan:
    """A plan of these events, or of `cpu` with stacks."""
    chosen = events or (
        gateway_pb2.EventPlan(event="cpu", rate_hz=rate_hz, duration_ms=round(seconds * 1000), stacks=True),
    )
    return gateway_pb2.Plan(
        visit_id=uuid.uuid4().bytes if visit_id is None else visit_id, events=chosen, **fields
    )


@dataclass(frozen=True)
class StackOf:
    """One stack of a group: frames are (path, offset, start of the function or None, exact)."""

    frames: tuple[tuple[str, int, int | None, bool], ...]
    end: int
    count: int


@dataclass
class Answer:
    """All that one call brought."""

    begin: gateway_pb2.Begin | None = None
    progress: list[gateway_pb2.Progress] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    end: gateway_pb2.End | None = None
    refusal: gateway_pb2.Refusal | None = None

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def capture(self) -> capture_pb2.Capture:
        """The capture, after the checks that every capture must pass."""
        assert self.refusal is None, self.refusal
        assert self.begin is not None
        assert self.end is not None
        assert hashlib.sha256(self.data).digest() == self.end.sha256
        assert len(self.data) == self.end.bytes
        assert all(0 < len(piece) <= 256 << 10 for piece in self.pieces)
        raw = zstandard.ZstdDecompressor().decompress(self.data)
        assert len(raw) == self.end.raw_bytes
        capture = capture_pb2.Capture.FromString(raw)
        check(capture)
        assert sum(segment.samples for segment in capture.segments) == self.end.samples
        return capture


def check(capture: capture_pb2.Capture) -> None:
    """Assert what capture.proto promises of the columns and indexes of any capture."""
    assert capture.format == 1
    assert capture.strings[0] == ""
    assert len(set(capture.strings)) == len(capture.strings)
    frames, stacks = capture.frames, capture.stacks
    assert len(frames.mapping) == len(frames.offset) == len(frames.into_function) == len(frames.flags)
    assert all(index < len(capture.mappings) for index in frames.mapping)
    assert len(stacks.length) == len(stacks.end)
    assert sum(stacks.length) == len(stacks.frames)
    assert all(index < len(frames.mapping) for index in stacks.frames)
    assert all(length > 0 for length in stacks.length)
    assert all(mapping.path < len(capture.strings) for mapping in capture.mappings)
    for segment in capture.segments:
        counted = 0
        for profile in segment.profiles:
            assert profile.group < len(capture.groups)
            assert len(profile.stack_delta) == len(profile.count)
            assert sum(profile.stack_delta) < len(stacks.length)
            assert all(profile.stack_delta[1:]), "a stack is there twice"
            assert all(profile.count)
            counted += sum(profile.count)
        assert counted == segment.samples


def ask(
    stub: gateway_pb2_grpc.GatewayStub,
    wanted: gateway_pb2.Plan,
    *,
    on_begin: Callable[[], object] = lambda: None,
    on_sampling: Callable[[], object] = lambda: None,
) -> Answer:
    """Call Capture and read the stream to its end; `on_sampling` is called at the first progress."""
    answer = Answer()
    for reply in stub.Capture(wanted, timeout=DEADLINE_S, wait_for_ready=True):
        match reply.WhichOneof("reply"):
            case "begin":
                answer.begin = reply.begin
                on_begin()
            case "progress":
                if not answer.progress:
                    on_sampling()
                answer.progress.append(reply.progress)
            case "data":
                answer.pieces.append(reply.data)
            case "end":
                answer.end = reply.end
            case "refusal":
                answer.refusal = reply.refusal
    return answer


def function_starts(binary: Path) -> dict[str, int]:
    """File offsets of the functions of an ELF file, by pyelftools."""
    with binary.open("rb") as file:
        elf = ELFFile(file)
        segments = [segment.header for segment in elf.iter_segments("PT_LOAD")]
        symbols = elf.get_section_by_name(".symtab").iter_symbols()
        return {
            symbol.name: symbol["st_value"] - segment.p_vaddr + segment.p_offset
            for symbol in symbols
            for segment in segments
            if symbol["st_info"]["type"] == "STT_FUNC"
            and segment.p_vaddr <= symbol["st_value"] < segment.p_vaddr + segment.p_filesz
        }


def groups_where(capture: capture_pb2.Capture, **labels: str) -> list[int]:
    """Indexes of the groups that have these labels."""
    return [
        index
        for index, group in enumerate(capture.groups)
        if all(capture.strings[getattr(group, name)] == value for name, value in labels.items())
    ]


def stacks_of(capture: capture_pb2.Capture, groups: Sequence[int], segment: int = 0) -> list[StackOf]:
    """The stacks of some groups in one segment."""
    starts = [0]
    for length in capture.stacks.length:
        starts.append(starts[-1] + length)
    found = []
    for profile in capture.segments[segment].profiles:
        if profile.group not in groups:
            continue
        stack = 0
        for delta, count in zip(profile.stack_delta, profile.count, strict=True):
            stack += delta
            frames = tuple(
                frame_of(capture, index) for index in capture.stacks.frames[starts[stack] : starts[stack + 1]]
            )
            found.append(StackOf(frames, capture.stacks.end[stack], count))
    return found


def frame_of(capture: capture_pb2.Capture, index: int) -> tuple[str, int, int | None, bool]:
    table = capture.frames
    path = capture.strings[capture.mappings[table.mapping[index]].path]
    exact = bool(table.flags[index] & 1)
    offset, into = table.offset[index], table.into_function[index]
    start = offset - (0 if exact else 1) - (into - 1) if into else None
    return path, offset, start, exact


def ends_of(stacks: Sequence[StackOf]) -> Counter[str]:
    """Samples by how their walk ended."""
    counted: Counter[str] = Counter()
    for stack in stacks:
        counted[capture_pb2.StackEnd.Name(stack.end).removeprefix("STACK_END_")] += stack.count
    return counted
