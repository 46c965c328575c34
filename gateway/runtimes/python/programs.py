"""The BPF programs that read Python frames, loaded before the gateway drops its privileges.

One program per concurrent sampler, because a program cannot tell which event runs it: each has its own range of
`outputs`. All other maps are shared. Loading needs CAP_BPF and CAP_PERFMON, Linux 5.8 and the kernel's type information;
nothing else of the gateway depends on it. The programs outlive the server processes, which inherit their descriptors
and may only write the maps (seccomp.py).
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.errors import BadFormat, BadImage
from gateway.machine.topology import online_cpus
from gateway.runtimes.bpf import system_call
from gateway.runtimes.bpf.kernel_types import read_member_offsets
from gateway.runtimes.bpf.object_file import parse_object

if TYPE_CHECKING:
    from collections.abc import Callable

_OBJECT: Final = "python_frames.bpf.o"
_SECTION: Final = "perf_event"
_NAME: Final = "python_frames"
_OUTPUTS: Final = "outputs"
_SAMPLERS: Final = "samplers"
_PROCESSES: Final = "processes"
_SAMPLER: Final = struct.Struct("<8I")
_KEY: Final = struct.Struct("<II")
_INDEX: Final = struct.Struct("<I")
_WANTED: Final = {"task_struct": ("thread", "real_parent", "tgid"), "thread_struct": ("fsbase",)}
_FIRST_PID_NAMESPACE: Final = "pid:[4026531836]"
_LOCKDOWN: Final = Path("/sys/kernel/security/lockdown")
CODE_BYTES_PER_CPU: Final = 768 << 10
"""Most bytes of code objects that one CPU's ring takes in a second, of all processes."""


class FrameProgram:
    """One loaded program, in use by one sampler at a time."""

    def __init__(self, pool: ProgramPool, number: int, descriptor: int, settings: int) -> None:
        self._pool = pool
        self._number = number
        self._settings = settings
        self.descriptor: Final = descriptor
        """For PERF_EVENT_IOC_SET_BPF."""

    def begin(self, capture: int) -> None:
        """Read the frames of this capture's processes from now on; every code object is new to its reader."""
        self._pool.configure(self._settings, self._number, capture)

    def set_output(self, cpu: int, descriptor: int) -> None:
        """Send the records of a CPU to an opened PERF_COUNT_SW_BPF_OUTPUT event. Raises OSError."""
        self._pool.set_output(self._number, cpu, descriptor)

    def clear_output(self, cpu: int) -> None:
        """Let go of the event of a CPU, which the map would keep open."""
        self._pool.clear_output(self._number, cpu)

    def release(self) -> None:
        """Return it to the pool."""
        self._pool.give_back(self)


class ProgramPool:
    """The loaded programs and their maps. A forked child has its own copy, with all programs free."""

    def __init__(self, programs: int, cpus: int, *, read: Callable[[], bytes] | None = None) -> None:
        """Load so many programs for CPU numbers below `cpus`. Raises OSError, BadFormat, BadImage."""
        found = parse_object((read or _object)(), _SECTION)
        kernel = read_member_offsets(_WANTED)
        self._kernel = (
            kernel["task_struct", "thread"] + kernel["thread_struct", "fsbase"],
            kernel["task_struct", "real_parent"],
            kernel["task_struct", "tgid"],
        )
        self._cpus = cpus
        self._lock = threading.Lock()
        self._free: list[FrameProgram] = []
        with contextlib.ExitStack() as opened:

            def new_map(name: str) -> int:
                each = found.maps[name]
                descriptor = system_call.create_map(
                    name,
                    each.kind,
                    key_bytes=each.key_bytes,
                    value_bytes=each.value_bytes,
                    entries=each.entries or programs * cpus,
                    flags=each.flags,
                )
                opened.callback(os.close, descriptor)
                return descriptor

            maps = {name: new_map(name) for name in found.maps if name != _SAMPLERS}
            self._outputs, self._processes = maps[_OUTPUTS], maps[_PROCESSES]
            for number in range(programs):
                settings = new_map(_SAMPLERS)
                code = found.linked({**maps, _SAMPLERS: settings})
                descriptor = system_call.load_program(_NAME, code, found.licence)
                opened.callback(os.close, descriptor)
                self._free.append(FrameProgram(self, number, descriptor, settings))
            self._resources = opened.pop_all()

    def close(self) -> None:
        """Close the descriptors; the kernel frees what no event uses."""
        self._resources.close()

    def take(self) -> FrameProgram | None:
        """A free program; None: all are in use."""
        with self._lock:
            return self._free.pop() if self._free else None

    def give_back(self, program: FrameProgram) -> None:
        """Make a program free again."""
        with self._lock:
            self._free.append(program)

    def clear_processes(self) -> None:
        """Remove what a killed server process left."""
        with contextlib.suppress(OSError):
            while (key := system_call.first_key(self._processes, _KEY.size)) is not None:
                system_call.delete(self._processes, key)

    def register(self, capture: int, pid: int, process: bytes) -> bool:
        """Read the frames of a process (`struct process`); False: the map is full."""
        try:
            system_call.update(self._processes, _KEY.pack(pid, capture), process)
        except OSError as error:
            if error.errno != errno.E2BIG:
                raise
            return False
        return True

    def unregister(self, capture: int, pid: int) -> None:
        """Read them no more."""
        with contextlib.suppress(OSError):
            system_call.delete(self._processes, _KEY.pack(pid, capture))

    def configure(self, settings: int, number: int, capture: int) -> None:
        """Write a program's `struct sampler`."""
        value = _SAMPLER.pack(
            number * self._cpus, capture, int.from_bytes(os.urandom(4)), *self._kernel, CODE_BYTES_PER_CPU, 0
        )
        system_call.update(settings, _INDEX.pack(0), value)

    def set_output(self, number: int, cpu: int, descriptor: int) -> None:
        """Put an event into the range of a program. Raises OSError."""
        if cpu >= self._cpus:
            raise OSError(errno.E2BIG, f"CPU {cpu} came after the programs were loaded for {self._cpus} CPUs")
        system_call.update(self._outputs, _INDEX.pack(number * self._cpus + cpu), _INDEX.pack(descriptor))

    def clear_output(self, number: int, cpu: int) -> None:
        """Remove it."""
        with contextlib.suppress(OSError):
            system_call.delete(self._outputs, _INDEX.pack(number * self._cpus + cpu))


def load_programs(programs: int) -> tuple[ProgramPool | None, str]:
    """Load the pool; None with the reason, for a person, if this machine or its operator does not permit it."""
    try:
        if (namespace := str(Path("/proc/self/ns/pid").readlink())) != _FIRST_PID_NAMESPACE:
            return None, (
                f"the gateway runs in a pid namespace ({namespace}), and BPF sees the machine's process ids: "
                "docker: --pid=host; Kubernetes: hostPID: true"
            )
        return ProgramPool(programs, max(online_cpus()) + 1), ""
    except BadFormat as error:
        return None, f"{error} (CONFIG_DEBUG_INFO_BTF=y)"
    except BadImage as error:
        return None, str(error)
    except OSError as error:
        return None, why_refused(error, _lockdown())


def why_refused(error: OSError, lockdown: str = "") -> str:
    """A sentence for an error of loading."""
    if "[confidentiality]" in lockdown:
        return "kernel lockdown is confidentiality, which forbids BPF to read memory: boot with lockdown=integrity"
    if error.errno == errno.EPERM:
        return (
            "BPF programs are not permitted: the gateway needs CAP_BPF and CAP_PERFMON (before Linux 5.11 also "
            "RLIMIT_MEMLOCK), and a seccomp profile that allows bpf"
        )
    if error.errno == errno.ENOSYS:
        return "this kernel has no BPF (CONFIG_BPF_SYSCALL)"
    return f"the kernel refused the BPF program: {error.strerror}"


def _lockdown() -> str:
    try:
        return _LOCKDOWN.read_text()
    except OSError:
        return ""


def _object() -> bytes:
    return Path(__file__).with_name(_OBJECT).read_bytes()
