"""A gateway daemon as a separate process, called like by a collector and measured from outside."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grpc
import zstandard

from benchmarks.cpu_time import descendants, tree_cpu_s
from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

_READY_S: Final = 30.0
_POLL_S: Final = 0.05
# Each ring in /proc/PID/smaps: its size, and the part that the kernel counts as resident.
_RINGS: Final = re.compile(r"\[perf_event\]\nSize:\s+(\d+) kB\n(?:[A-Z].*\n)*?Rss:\s+(\d+) kB")


class GatewayFailed(Exception):
    """The gateway did not start, or refused; the sentence gives the reason."""


@dataclass(frozen=True, slots=True)
class Captured:
    """One capture: its content, and the whole gateway's CPU time from before the call to after its end."""

    cpu_s: float
    samples: int
    compressed_bytes: int
    lost: int
    frames_per_stack: float
    """Mean over the distinct stacks."""
    rate_hz: float
    """Samples per second and CPU."""
    source: str
    """Name of the event in perf."""
    changes: tuple[str, ...]
    """Changes of the plan by the gateway's limits."""

    @property
    def cpu_ms_per_1000_samples(self) -> float:
        """CPU time in milliseconds."""
        return self.cpu_s * 1e6 / self.samples


class GatewayProcess:
    """A running daemon. Process `pid` waits; a child of it serves during calls."""

    def __init__(self, pid: int, address: str) -> None:
        self.pid: Final = pid
        self._address = address
        self.rings_mib = 0.0
        """Memory of the rings of all CPUs, as observed during captures."""
        self._uncounted_mib = 0.0

    def server(self) -> int | None:
        """Process id of the server; None without recent calls."""
        children = [pid for pid in descendants(self.pid) if pid != self.pid]
        return children[0] if children else None

    def wait_until_alone(self) -> None:
        """Wait until the server has ended."""
        deadline = time.monotonic() + _READY_S
        while self.server() is not None:
            if time.monotonic() > deadline:
                raise GatewayFailed(f"its server still runs after {_READY_S:g} s without a call")
            time.sleep(_POLL_S)

    def call(self) -> None:
        """Call it without sampling, which starts the server."""
        with grpc.insecure_channel(self._address) as channel:
            gateway_pb2_grpc.GatewayStub(channel).Health(
                gateway_pb2.HealthRequest(), wait_for_ready=True, timeout=_READY_S
            )

    def capture(self, seconds: float, rate_hz: float) -> Captured:
        """Take a capture with stacks and counters, like the standing campaign. Raises GatewayFailed."""
        before = tree_cpu_s(self.pid)
        data = bytearray()
        changes: tuple[str, ...] = ()
        with grpc.insecure_channel(self._address) as channel:
            for reply in gateway_pb2_grpc.GatewayStub(channel).Capture(
                _plan(seconds, rate_hz), wait_for_ready=True, timeout=seconds + _READY_S
            ):
                match reply.WhichOneof("reply"):
                    case "begin":
                        changes = tuple(reply.begin.changes)
                    case "progress":
                        self._look_at_rings()
                    case "data":
                        data += reply.data
                    case "refusal":
                        raise GatewayFailed(reply.refusal.message)
        cpu_s = tree_cpu_s(self.pid) - before
        capture = capture_pb2.Capture.FromString(zstandard.ZstdDecompressor().decompress(bytes(data)))
        segments = capture.segments
        sampled_s = sum(segment.duration_ns * len(segment.cpus) for segment in segments) / 1e9
        samples = sum(segment.samples for segment in segments)
        if not samples:
            raise GatewayFailed("its capture is empty")
        thinned = (capture.strings[segment.thinned_why] for segment in segments if segment.thinned_why)
        return Captured(
            cpu_s=cpu_s,
            samples=samples,
            compressed_bytes=len(data),
            lost=sum(sum(segment.lost) for segment in segments),
            frames_per_stack=len(capture.stacks.frames) / len(capture.stacks.length),
            rate_hz=samples / sampled_s,
            source=capture.strings[segments[0].source],
            changes=(*changes, *thinned),
        )

    def rss_mib(self) -> float:
        """Resident memory of the waiting process."""
        return _status_mib(self.pid, "VmRSS")

    def peak_rss_mib(self) -> float:
        """Largest resident memory of the server so far, including its rings.

        Newer kernels do not count rings as resident; they are added.
        """
        server = self.server()
        if server is None:
            raise GatewayFailed("its server has ended")
        return _status_mib(server, "VmHWM") + self._uncounted_mib

    def _look_at_rings(self) -> None:
        server = self.server()
        if server is not None:
            found = _RINGS.findall(Path(f"/proc/{server}/smaps").read_text())
            size, counted = (sum(int(ring[column]) for ring in found) / 1024 for column in (0, 1))
            self.rings_mib = max(self.rings_mib, size)
            self._uncounted_mib = max(self._uncounted_mib, size - counted)


@contextmanager
def running_gateway(folder: Path, *, idle_seconds: float) -> Iterator[GatewayProcess]:
    """A daemon with its usual limits, listening until the end of the block. Raises GatewayFailed."""
    folder.mkdir()
    address, log = f"unix:{folder / 'gateway.sock'}", folder / "log"
    command = [sys.executable, "-m", "gateway", "--listen", address, "--idle-seconds", str(idle_seconds)]
    with log.open("w") as log_file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file)
    try:
        deadline = time.monotonic() + _READY_S
        while "listening on" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise GatewayFailed(f"it does not listen: {log.read_text()[-500:]}")
            time.sleep(_POLL_S)
        yield GatewayProcess(process.pid, address)
    finally:
        process.terminate()
        process.wait()


class Idling:
    """Measures the CPU time of a gateway without calls."""

    def __init__(self, gateway: GatewayProcess) -> None:
        """Start measuring."""
        self._gateway = gateway
        self._began = time.monotonic()
        self._cpu_before = tree_cpu_s(gateway.pid)

    def finish(self, *, at_least_s: float = 0.0) -> float:
        """CPU milliseconds per second since the start; waits until at least `at_least_s` have passed."""
        time.sleep(max(0.0, self._began + at_least_s - time.monotonic()))
        used = tree_cpu_s(self._gateway.pid) - self._cpu_before
        return used * 1000 / (time.monotonic() - self._began)


def _plan(seconds: float, rate_hz: float) -> gateway_pb2.Plan:
    event = gateway_pb2.EventPlan(
        event="cpu", rate_hz=rate_hz, duration_ms=round(seconds * 1000), stacks=True
    )
    return gateway_pb2.Plan(visit_id=uuid.uuid4().bytes, campaign="benchmark", counters=True, events=[event])


def _status_mib(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) / 1024
    raise GatewayFailed(f"/proc/{pid}/status has no {field}")
