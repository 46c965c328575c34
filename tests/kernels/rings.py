"""`python -m tests.kernels.rings`: a gateway that believes in more CPUs than there are, for what rings of many cost.

It opens a perf event and a ring as often as it believes to have CPUs, several on each real one: memory, locked pages,
descriptors and the work per sample are those of such a machine; that one reader must keep up with all of
them too. What it does not show is many CPUs writing at the same instant.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

from fleetpb import gateway_pb2
from tests.gateway_daemon import ask, perf_descriptors, running

_PROGRAM = """
import sys
import gateway.capture.capture_runner, gateway.capture.capture_resources
from gateway.daemon import main
real, believed = gateway.capture.capture_runner.online_cpus(), int(sys.argv.pop(1))
cpus = [real[number % len(real)] for number in range(believed)]
gateway.capture.capture_runner.online_cpus = gateway.capture.capture_resources.online_cpus = lambda: cpus
sys.exit(main(sys.argv[1:]))
"""


def main() -> None:
    """Print a row for each number of CPUs and rate."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels.rings", description=__doc__)
    parser.add_argument("--cpus", type=int, nargs="*", default=[2, 16, 64])
    parser.add_argument("--rates", type=float, nargs="*", default=[99.0])
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    head = (
        "CPUs",
        "Hz",
        "samples",
        "of",
        "lost",
        "CPU ms/1000",
        "peak RSS MiB",
        "rings MiB",
        "pinned MiB",
        "fds",
        "thinned",
    )
    print(" ".join(f"{word:>12}" for word in head))
    for cpus in options.cpus:
        for rate in options.rates:
            print(" ".join(f"{word:>12}" for word in _row(cpus, rate, options.seconds)), flush=True)


def _row(cpus: int, rate: float, seconds: float) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="rings-") as folder:
        program = (sys.executable, "-c", _PROGRAM, str(cpus))
        with running(Path(folder), program=program) as daemon, daemon.stub() as stub:
            server = daemon.server
            assert server
            seen = _Seen(server)
            event = gateway_pb2.EventPlan(
                event="cpu", rate_hz=rate, duration_ms=round(seconds * 1000), stacks=True
            )
            ask(
                stub, gateway_pb2.Plan(visit_id=uuid.uuid4().bytes, events=[event])
            )  # images are opened, tables read
            plan = gateway_pb2.Plan(visit_id=uuid.uuid4().bytes, events=[event])
            answer = ask(stub, plan, on_begin=seen.begin)
            seen.end()
            taken = answer.capture
    [segment] = taken.segments
    expected = segment.duration_ns / segment.period * cpus
    return [
        str(cpus), f"{rate:g}", str(segment.samples), f"{expected:.0f}", str(sum(segment.lost)),
        f"{taken.cost.cpu_ms / segment.samples * 1000:.0f}", f"{taken.cost.peak_rss_kib / 1024:.1f}",
        f"{seen.rings_mib:.1f}", f"{seen.pinned_mib:.1f}", str(seen.descriptors),
        "yes" if segment.period > segment.requested_period else "no",
    ]  # fmt: skip


class _Seen:
    """What the server holds while it samples, looked at from outside twice a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.rings_mib = self.pinned_mib = 0.0
        self.descriptors = 0

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.5):
            rings = False
            mib = 0.0
            for line in Path(f"/proc/{self._pid}/smaps").read_text().splitlines():
                if "-" in line.partition(" ")[0]:
                    rings = "[perf_event]" in line
                elif rings and line.startswith("Size:"):
                    mib += int(line.split()[1]) / 1024
            status = Path(f"/proc/{self._pid}/status").read_text().splitlines()
            pinned = next((int(line.split()[1]) for line in status if line.startswith("VmPin")), 0)
            self.rings_mib = max(self.rings_mib, mib)
            self.pinned_mib = max(self.pinned_mib, pinned / 1024)
            self.descriptors = max(self.descriptors, perf_descriptors(self._pid))


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"{time.monotonic() - started:.0f} s, {os.cpu_count()} real CPUs, load {os.getloadavg()[0]:.1f}")
