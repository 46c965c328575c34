"""Checks what limits a gateway on this machine, with consequences and fixes (DIGEST G7).

Pure, except `check_node`: facts in, findings out.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

from gateway.capture.host import require_supported
from gateway.doctor.findings import Finding, Grade
from gateway.errors import UnsupportedHost
from gateway.perf.sampler import RING_BYTES, SMALL_RING_BYTES
from gateway.privileges.capabilities import (
    HIGHEST_PARANOID_OF_LINUX,
    IPC_LOCK,
    PERFMON,
    SYS_ADMIN,
    SYSLOG,
    Capability,
    capabilities_to_keep,
)
from gateway.settings import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.doctor.node_facts import NodeFacts

_DEFAULT_RATE_HZ: Final = 99
# Rings, images and sockets, and one descriptor per counter and CPU; without CAP_PERFMON per thread.
_OPEN_FILES_PER_CPU: Final = 40
_OPEN_FILES: Final = 512
_GRANT: Final = "systemd: AmbientCapabilities={name}; container: --cap-add {short}; or start it as root"
_LOWER_LEVEL: Final = (
    "sudo sysctl kernel.perf_event_paranoid=2, the default of Linux, at which CAP_PERFMON suffices; "
    "or grant CAP_SYS_ADMIN, which permits far more"
)
_SLOW_CLOCKS: Final = {"hpet", "acpi_pm", "jiffies"}


def check_node() -> list[Finding]:
    """Check this machine with this process's privileges; more privileges give fewer findings."""
    from gateway.doctor.node_facts import read_node_facts  # noqa: PLC0415 - judging alone needs none of it

    return check_facts(read_node_facts())


def check_facts(facts: NodeFacts) -> list[Finding]:
    """One finding per subject, in the order in which to fix them."""
    try:
        require_supported(facts.system, facts.release, facts.architecture)
    except UnsupportedHost as reason:
        return [Finding("system", Grade.BAD, str(reason), "everything: the gateway does not start")]
    return [
        Finding("system", Grade.FINE, f"Linux {facts.release} on {facts.architecture}, {facts.cpus} CPUs"),
        _perf_events(facts),
        *_capabilities(facts),
        _counters(facts),
        *_where_it_runs(facts),
        _source_frames(facts),
        *_limits(facts),
        *_files(facts),
        *_clock(facts),
    ]


def _perf_events(facts: NodeFacts) -> Finding:
    subject = "perf events"
    if facts.paranoid is None:
        return Finding(
            subject,
            Grade.BAD,
            "this kernel has no perf events (CONFIG_PERF_EVENTS)",
            "everything: nothing can be sampled",
            "run a kernel with CONFIG_PERF_EVENTS=y, as every distribution ships",
        )
    level = f"kernel.perf_event_paranoid is {facts.paranoid}"
    if not facts.machine_errno:
        return Finding(subject, Grade.FINE, f"the whole machine can be sampled ({level})")
    refused = os.strerror(facts.machine_errno)
    if _is_debians_refusal(facts):
        return Finding(
            subject,
            Grade.BAD,
            f"nothing can be sampled: {level}, at which kernels of Debian and Ubuntu require CAP_SYS_ADMIN"
            + (", and CAP_PERFMON does not suffice" if facts.sets.has(PERFMON) else ""),
            "everything",
            _LOWER_LEVEL,
        )
    holds = facts.sets.has(PERFMON) or facts.sets.has(SYS_ADMIN)
    if holds or facts.machine_errno not in {errno.EACCES, errno.EPERM}:
        # With the capability the kernel itself says yes.
        seccomp = f"; a seccomp filter is in force (mode {facts.seccomp})" if facts.seccomp else ""
        return Finding(
            subject,
            Grade.BAD,
            f"perf_event_open is refused: {refused}{seccomp}",
            "everything: nothing can be sampled",
            "docker: --security-opt seccomp=PROFILE with perf_event_open allowed; Kubernetes: seccompProfile; "
            "systemd: SystemCallFilter=@system-service perf_event_open",
        )
    if not facts.own_errno:
        return Finding(
            subject,
            Grade.BAD,
            f"only this user's processes can be sampled ({level}, without CAP_PERFMON)",
            "other users' processes and the kernel, and all counters",
            "grant CAP_PERFMON, see below; or sudo sysctl kernel.perf_event_paranoid=-1",
        )
    return Finding(
        subject,
        Grade.BAD,
        f"nothing can be sampled ({level}, without CAP_PERFMON)",
        "everything",
        "grant CAP_PERFMON, see below; for this user's own processes: sudo sysctl kernel.perf_event_paranoid=2",
    )


def _is_debians_refusal(facts: NodeFacts) -> bool:
    """Linux treats levels above 2 as 2, and permits sampling an own thread; seccomp usually returns EPERM."""
    return (
        facts.machine_errno == facts.own_errno == errno.EACCES
        and (facts.paranoid or 0) > HIGHEST_PARANOID_OF_LINUX
        and not facts.sets.has(SYS_ADMIN)
    )


def _capabilities(facts: NodeFacts) -> Iterator[Finding]:
    paranoid = HIGHEST_PARANOID_OF_LINUX if facts.paranoid is None else facts.paranoid
    for capability in capabilities_to_keep(
        last=facts.last_capability, may_raise_priority=True, paranoid=paranoid
    ):
        if facts.sets.has(capability):
            yield Finding(capability.name, Grade.FINE, capability.purpose)
        else:
            yield Finding(
                capability.name,
                _grade_without(capability, facts),
                "not held",
                capability.costs,
                _LOWER_LEVEL
                if capability is SYS_ADMIN and _is_debians_refusal(facts)
                else _grant(capability),
            )


def _grade_without(capability: Capability, facts: NodeFacts) -> Grade:
    """A note where what it is for works nevertheless."""
    spared = {
        "CAP_PERFMON": not facts.machine_errno,
        "CAP_SYS_ADMIN": not facts.machine_errno,
        "CAP_SYSLOG": facts.kernel_addresses,
        "CAP_IPC_LOCK": _locked_room(facts) >= RING_BYTES,
        "CAP_CHECKPOINT_RESTORE": facts.map_files,
    }
    return Grade.NOTE if spared.get(capability.name) else Grade.BAD


def _grant(capability: Capability) -> str:
    return _GRANT.format(name=capability.name, short=capability.name.removeprefix("CAP_"))


def _counters(facts: NodeFacts) -> Finding:
    if not facts.pmu_errno:
        return Finding("CPU counters", Grade.FINE, "cycles can be counted")
    return Finding(
        "CPU counters",
        Grade.NOTE,
        f"this machine has none (cycles: {os.strerror(facts.pmu_errno)}); virtual machines commonly "
        "lack them",
        "cycles, instructions, cache and branch misses, and so CPI and the models that use it; cpu "
        "is sampled nevertheless",
        "give the virtual machine a PMU (KVM: -cpu host,pmu=on; clouds: metal or larger instance types)",
    )


def _where_it_runs(facts: NodeFacts) -> Iterator[Finding]:
    if facts.host_processes:
        yield Finding("processes", Grade.FINE, "/proc shows the processes of the whole machine")
    else:
        yield Finding(
            "processes",
            Grade.BAD,
            "/proc shows only the processes of one container",
            "programs and stacks outside the container: their samples have no names",
            "docker: --pid=host; Kubernetes: hostPID: true",
        )
    if not facts.first_user_namespace:
        yield Finding(
            "user namespace",
            Grade.BAD,
            "capabilities apply only inside a user namespace (rootless container, userns-remap)",
            "everything except this user's own processes",
            "run the gateway outside the namespace",
        )
    if facts.seccomp and not facts.machine_errno:
        yield Finding("seccomp", Grade.FINE, "a filter is in force and permits perf_event_open")
    if facts.lockdown == "confidentiality":
        yield Finding(
            "kernel lockdown",
            Grade.BAD,
            "confidentiality: perf events may not read the kernel",
            "all samples of the kernel",
            "boot with lockdown=integrity",
        )


def _source_frames(facts: NodeFacts) -> Finding:
    if not facts.no_source_frames:
        return Finding("source-level frames", Grade.FINE, "the functions of Python programs can be read")
    return Finding(
        "source-level frames",
        Grade.NOTE,
        facts.no_source_frames,
        "functions and lines of Python programs: they show the interpreter's C functions",
        "docs/runtimes.md lists what they need",
    )


def _limits(facts: NodeFacts) -> Iterator[Finding]:
    need = _OPEN_FILES + _OPEN_FILES_PER_CPU * facts.cpus
    if 0 <= facts.open_files < need:
        yield Finding(
            "open files",
            Grade.BAD,
            f"RLIMIT_NOFILE allows {facts.open_files}, and {need} may be needed on {facts.cpus} CPUs",
            "counters of some groups; without CAP_PERFMON threads beyond the limit",
            f"systemd: LimitNOFILE={max(need, 65536)}; shell: ulimit -Hn {need}",
        )
    else:
        yield Finding("open files", Grade.FINE, f"RLIMIT_NOFILE allows {_unlimited(facts.open_files)}")
    room = _locked_room(facts)
    if room < RING_BYTES:
        yield Finding(
            "locked memory",
            Grade.BAD if room < SMALL_RING_BYTES else Grade.NOTE,
            f"a ring has at most {room >> 10} KiB per CPU (kernel.perf_event_mlock_kb is "
            f"{facts.mlock_kb}, RLIMIT_MEMLOCK {_unlimited(facts.locked_bytes)})",
            "everything: rings need 512 KiB per CPU"
            if room < SMALL_RING_BYTES
            else "samples at high rates on busy CPUs, counted as lost",
            "grant CAP_IPC_LOCK; or LimitMEMLOCK=infinity; or sudo sysctl kernel.perf_event_mlock_kb=1028",
        )
    else:
        yield Finding("locked memory", Grade.FINE, f"rings can have {RING_BYTES >> 10} KiB per CPU and more")
    rate, highest = facts.max_sample_rate, Limits().max_rate_hz
    if rate is not None and rate < highest:
        yield Finding(
            "sample rate",
            Grade.BAD if rate < _DEFAULT_RATE_HZ else Grade.NOTE,
            f"kernel.perf_event_max_sample_rate is {rate}; the kernel lowers it when sampling takes too long",
            f"samples of events by frequency above {rate} a second",
            f"sudo sysctl kernel.perf_event_max_sample_rate=100000 (perf_cpu_time_max_percent: {facts.cpu_time_max_percent})",
        )
    else:
        yield Finding("sample rate", Grade.FINE, f"the kernel allows {rate} a second")


def _locked_room(facts: NodeFacts) -> int:
    """Bytes of a ring that a CPU may have: perf_event_mlock_kb is each CPU's, what RLIMIT_MEMLOCK adds is shared."""
    free = facts.sets.has(IPC_LOCK) or (facts.paranoid is not None and facts.paranoid < 0)
    if free or facts.locked_bytes < 0:
        return 1 << 62
    # One page more than the ring is needed, for its header.
    return (facts.mlock_kb or 0) * 1024 + facts.locked_bytes // max(1, facts.cpus) - 4096


def _files(facts: NodeFacts) -> Iterator[Finding]:
    if facts.kernel_addresses:
        yield Finding("kernel addresses", Grade.FINE, "/proc/kallsyms shows them")
    else:
        yield Finding(
            "kernel addresses",
            Grade.BAD,
            f"/proc/kallsyms hides them (kernel.kptr_restrict is {facts.kptr_restrict})",
            SYSLOG.costs,
            "sudo sysctl kernel.kptr_restrict=1" if facts.kptr_restrict == 2 else _grant(SYSLOG),
        )
    if facts.map_files:
        yield Finding("map_files", Grade.FINE, "binaries can be opened by the mapping a process has of them")
    else:
        yield Finding(
            "map_files",
            Grade.BAD,
            "links of other processes cannot be followed",
            "stacks through binaries that were deleted or replaced, and in chroots",
            "grant CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH together",
        )
    if facts.ptrace_scope == 3:
        yield Finding(
            "ptrace scope",
            Grade.NOTE,
            "kernel.yama.ptrace_scope is 3: no process can be attached to",
            "nothing: the gateway reads maps and does not attach; the setting blocks debuggers",
        )
    if facts.tracefs_errno:
        missing = facts.tracefs_errno == errno.ENOENT
        yield Finding(
            "tracepoints",
            Grade.NOTE,
            "tracefs is not mounted"
            if missing
            else f"no access to tracefs: {os.strerror(facts.tracefs_errno)}",
            "events tracepoint:…",
            "sudo mount -t tracefs tracefs /sys/kernel/tracing" if missing else "grant CAP_DAC_READ_SEARCH",
        )
    else:
        yield Finding("tracepoints", Grade.FINE, "tracefs can be read")
    if facts.control_groups:
        yield Finding("control groups", Grade.FINE, f"can be counted, by {facts.control_groups}")
    else:
        yield Finding(
            "control groups",
            Grade.NOTE,
            "no hierarchy that perf events support is mounted where the gateway can see it",
            "counters of single control groups; samples still have the names of their control groups",
            "docker: -v /sys/fs/cgroup:/sys/fs/cgroup:ro --cgroupns=host",
        )


def _clock(facts: NodeFacts) -> Iterator[Finding]:
    if facts.clocksource in _SLOW_CLOCKS:
        yield Finding(
            "clock source",
            Grade.BAD,
            f"it is {facts.clocksource}: each reading takes microseconds",
            "a multiple of the usual overhead for every sample",
            "boot with tsc=reliable if the CPUs' counters are in step (dmesg | grep -i tsc shows the "
            "reason if not)",
        )
    else:
        yield Finding("clock source", Grade.FINE, facts.clocksource or "unknown")
    if facts.clock_kept:
        yield Finding("clock", Grade.FINE, "it is synchronised")
    else:
        yield Finding(
            "clock",
            Grade.NOTE,
            "it is not synchronised (adjtimex(2))",
            "the time shown in a capture; its day and hour come from the collector's clock",
            "sudo timedatectl set-ntp true",
        )


def _unlimited(value: int) -> str:
    return "any number" if value < 0 else str(value)
