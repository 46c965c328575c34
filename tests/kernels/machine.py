"""qemu without KVM: every instruction is interpreted, so it is slow, and it has no PMU."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kernels.guest import Guest

BOOT_S = 600.0
_APPEND = (
    "console=ttyS0 panic=-1 no_timer_check systemd.show_status=0 systemd.log_level=warning audit=0 mitigations=off "
    "net.ifnames=0 tsc=reliable no_watchdog rcupdate.rcu_cpu_stall_suppress=1"
)


@dataclass(frozen=True, slots=True)
class Machine:
    """A guest that runs: `port` of 127.0.0.1 is its gateway's."""

    port: int
    console: Path
    process: subprocess.Popen[bytes]

    def lines(self, word: str = "") -> list[str]:
        """What the guest said on its console, lines that begin with `GUEST word`."""
        said = self.console.read_text(errors="replace").replace("\r", "").splitlines()
        mark = f"GUEST {word}"
        return [line[line.index(mark) + len(mark) :].strip() for line in said if mark in line]

    def wait(self, what: str, ready: object, seconds: float) -> None:
        """Until `ready()` is true; raises TimeoutError with the console's end."""
        assert callable(ready)
        deadline = time.monotonic() + seconds
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = "\n".join(self.console.read_text(errors="replace").splitlines()[-15:])
                raise TimeoutError(f"waited {seconds:g} s in vain: {what}\n{tail}")
            time.sleep(0.5)


@contextmanager
def booted(guest: Guest, folder: Path, cpus: int, memory_mib: int) -> Iterator[Machine]:
    """The guest after systemd's start; it is ended at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    console = folder / f"{guest.initrd.stem}-{cpus}.console"
    console.write_bytes(b"")
    command = [
        *("nice", "-n", "5", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "Westmere,cx16=off"),
        *("-smp", str(cpus), "-m", str(memory_mib), "-display", "none", "-no-reboot", "-monitor", "none"),
        *("-kernel", guest.kernel, "-initrd", guest.initrd, "-append", _APPEND, "-serial", f"file:{console}"),
        *("-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{port}-:7071,restrict=on"),
    ]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        machine = Machine(port, console, process)
        try:
            machine.wait("the guest is up", lambda: machine.lines("listening"), BOOT_S)
            yield machine
        finally:
            process.terminate()
            process.wait()
