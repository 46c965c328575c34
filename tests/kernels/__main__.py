"""`python -m tests.kernels`: boot Debian's kernels in qemu, let systemd start the packaged gateway, and judge it.

Needs root, qemu-system-x86, debootstrap, cpio, gcc and dist/*.deb (`make bundle`); a run takes minutes, for nothing
here has KVM. Written to docs/gateway-kernels.md by hand.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

from fleetpb import gateway_pb2, gateway_pb2_grpc
from tests.kernels.asking import Verdict, capture, channel, judge, kernel_functions
from tests.kernels.guest import Kitchen
from tests.kernels.machine import Machine, booted

ROOT = Path(__file__).parents[2]
IDLE_S = 6
OPTIONS = f"--idle-seconds {IDLE_S} --share-symbols symbols --max-cpu-percent 50"


def main() -> int:
    """1 if any verdict is bad."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels", description=__doc__)
    parser.add_argument(
        "suites", nargs="*", default=["bullseye", "bookworm", "trixie"], help="Debian releases"
    )
    parser.add_argument(
        "--plain", action="store_true", help="without systemd, which takes minutes to start here"
    )
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--memory", type=int, default=3072, metavar="MIB")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a capture")
    parser.add_argument("--rate", type=float, default=99.0, help="samples per second and CPU")
    parser.add_argument("--package", type=Path, help="default: the newest of dist/")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/kernels", help="kept for the next run")
    options = parser.parse_args()
    package = options.package or max((ROOT / "dist").glob("*.deb"), key=lambda file: file.stat().st_mtime)
    kitchen = Kitchen(options.folder)
    certificates = _certificates(options.folder / "certificates")
    bad = 0
    for suite in options.suites:
        guest = kitchen.guest(suite, package, certificates, options.cpus, OPTIONS, plain=options.plain)
        started = time.monotonic()
        with booted(guest, options.folder, options.cpus, options.memory) as machine:
            boot_s = time.monotonic() - started
            verdicts = [Verdict("boot", f"{boot_s:.0f} s")]
            verdicts += _judge(machine, certificates, options)
        print(
            f"\n{suite}: Linux {machine.lines('kernel')[0]}, {options.cpus} CPUs, {options.seconds:g} s at {options.rate:g} Hz"
        )
        for verdict in verdicts:
            print(f"  {_mark(verdict.good):5}{verdict.what:34}{verdict.found}", flush=True)
            bad += verdict.good is False
    return min(bad, 1)


def _judge(machine: Machine, certificates: Path, options: argparse.Namespace) -> list[Verdict]:
    verdicts = [
        Verdict("Python on the machine", machine.lines("python")[0], machine.lines("python")[0] == "0")
    ]
    for verify in machine.lines("verify")[:1]:
        verdicts += [Verdict("systemd-analyze verify", verify or "nothing to say", not verify)]
    verdicts += [Verdict("systemd-analyze security", line) for line in machine.lines("security")[:1]]
    machine.wait("the report", lambda: machine.lines("service"), 60)
    if not options.plain:
        before = machine.lines("service")[-1]
        verdicts += [Verdict("before the first call", before, before.startswith("inactive"))]
    first = uuid.uuid4()
    with channel(machine.port, certificates) as open_channel:
        stub = gateway_pb2_grpc.GatewayStub(open_channel)
        started = time.monotonic()
        stub.Health(gateway_pb2.HealthRequest(), timeout=300, wait_for_ready=True)
        verdicts += [Verdict("first answer", f"{time.monotonic() - started:.1f} s (interpreted by qemu)")]
        for visit in (first, uuid.uuid4()):
            answer = capture(stub, visit, options.seconds, options.rate)
            if answer.capture is None:
                assert answer.refusal is not None
                return [*verdicts, Verdict("capture", answer.refusal.message, good=False)]
            taken = judge(answer.capture, answer.bytes, options.cpus)
            (options.folder / f"{machine.console.stem}.capture").write_bytes(
                answer.capture.SerializeToString()
            )
        verdicts += taken
        functions, why = kernel_functions(stub)
        verdicts += [Verdict("kernel functions named", f"{functions} ({why})", functions > 10_000)]
    said = len(machine.lines("service"))
    machine.wait(
        "it ends when idle",
        lambda: any(line.startswith("inactive") for line in machine.lines("service")[said:]),
        240,
    )
    peak = max(int(line.split()[-1]) for line in machine.lines("service"))
    verdicts += [Verdict("ends when idle", machine.lines("service")[-1], good=True)]
    verdicts += [
        Verdict("memory of its control group", f"{peak / 2**20:.1f} MiB at most, of 256", peak < 192 << 20)
    ]
    with channel(machine.port, certificates) as open_channel:
        answer = capture(gateway_pb2_grpc.GatewayStub(open_channel), first, 0.2, options.rate)
        refused = answer.refusal is not None and answer.refusal.reason == gateway_pb2.Refusal.REPEATED
        verdicts += [
            Verdict("the next process knows the visit", "refused" if refused else "served again", refused)
        ]
    return verdicts


def _certificates(folder: Path) -> Path:
    if not (folder / "caller.crt").exists():
        shutil.rmtree(folder, ignore_errors=True)
        program = [Path(sys.executable).parent / "fleetprof", "certs"]
        made = folder / "made"
        subprocess.run([*program, "init", "--folder", made], check=True, stdout=subprocess.DEVNULL)
        for kind, name in (("gateway", "guest"), ("collector", "main")):
            subprocess.run(
                [*program, "issue", kind, name, "--folder", made], check=True, stdout=subprocess.DEVNULL
            )
        for target, source in (("gateway", "gateway/guest"), ("caller", "collector/main")):
            shutil.copy(made / f"{source}.crt", folder / f"{target}.crt")
            shutil.copy(made / f"{source}.key", folder / f"{target}.key")
        shutil.copy(made / "ca.crt", folder / "ca.crt")
    return folder


def _mark(good: bool | None) -> str:
    return {None: "", True: "ok", False: "BAD"}[good]


if __name__ == "__main__":
    sys.exit(main())
