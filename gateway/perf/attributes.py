"""`struct perf_event_attr` and its system calls (include/uapi/linux/perf_event.h).

The structure has the 136-byte layout of Linux 6.3 (PERF_ATTR_SIZE_VER8); an older kernel accepts it as long as the
fields that it does not know are zero, and returns E2BIG otherwise.
"""

import ctypes
import os
from enum import IntEnum, IntFlag
from typing import Final

# x86-64 only, like the registers and the ring's memory order (see ring.py).
_NR_PERF_EVENT_OPEN: Final = 298
_PERF_FLAG_PID_CGROUP: Final = 4
_PERF_FLAG_FD_CLOEXEC: Final = 8

IOC_ENABLE: Final = 0x2400
IOC_DISABLE: Final = 0x2401
IOC_PERIOD: Final = 0x40082404
IOC_SET_OUTPUT: Final = 0x2405
IOC_ID: Final = 0x80082407
IOC_SET_BPF: Final = 0x40042408

SOFTWARE_DUMMY: Final = 9
SOFTWARE_BPF_OUTPUT: Final = 10

# ax bx cx dx si di bp sp ip flags cs ss r8…r15: what a DWARF unwinder needs, 20 values
# (arch/x86/include/uapi/asm/perf_regs.h; ds, es, fs and gs are left out).
USER_REGISTERS: Final = 0xFF0FFF
USER_REGISTER_COUNT: Final = 20
REGISTER_SP: Final = 7
REGISTER_IP: Final = 8

# The kernel limits one record to 64 KiB, so the stack copy must leave room for the rest of the sample.
MAX_STACK_BYTES: Final = 65528
# kernel.perf_event_max_stack as every distribution ships it; a larger value is refused with EOVERFLOW.
KERNEL_STACK_DEPTH: Final = 127


class EventType(IntEnum):
    """perf_type_id. Every other event source has the number in its folder of /sys/bus/event_source."""

    HARDWARE = 0
    SOFTWARE = 1
    TRACEPOINT = 2
    CACHE = 3
    RAW = 4


class SampleType(IntFlag):
    """perf_event_sample_format: the fields of a sample record, in the kernel's order."""

    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    CALLCHAIN = 1 << 5
    RAW = 1 << 10
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    IDENTIFIER = 1 << 16


class ReadFormat(IntFlag):
    """perf_event_read_format."""

    TOTAL_TIME_ENABLED = 1 << 0
    TOTAL_TIME_RUNNING = 1 << 1
    GROUP = 1 << 3
    LOST = 1 << 4  # Linux 6.0; older kernels refuse with EINVAL


class Flag(IntFlag):
    """The bit field of perf_event_attr."""

    DISABLED = 1 << 0
    INHERIT = 1 << 1
    EXCLUDE_KERNEL = 1 << 5
    EXCLUDE_HV = 1 << 6
    EXCLUDE_IDLE = 1 << 7
    MMAP = 1 << 8
    COMM = 1 << 9
    TASK = 1 << 13
    WATERMARK = 1 << 14
    SAMPLE_ID_ALL = 1 << 18
    EXCLUDE_CALLCHAIN_KERNEL = 1 << 21
    EXCLUDE_CALLCHAIN_USER = 1 << 22
    MMAP2 = 1 << 23
    COMM_EXEC = 1 << 24
    USE_CLOCKID = 1 << 25


class Attributes(ctypes.Structure):
    """perf_event_attr. Unions are named by the member used here."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup_watermark", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
        ("branch_sample_type", ctypes.c_uint64),
        ("sample_regs_user", ctypes.c_uint64),
        ("sample_stack_user", ctypes.c_uint32),
        ("clockid", ctypes.c_int32),
        ("sample_regs_intr", ctypes.c_uint64),
        ("aux_watermark", ctypes.c_uint32),
        ("sample_max_stack", ctypes.c_uint16),
        ("reserved_2", ctypes.c_uint16),
        ("aux_sample_size", ctypes.c_uint32),
        ("reserved_3", ctypes.c_uint32),
        ("sig_data", ctypes.c_uint64),
        ("config3", ctypes.c_uint64),
    )


_libc: Final = ctypes.CDLL(None, use_errno=True)


def open_event(
    attributes: Attributes, *, pid: int, cpu: int, group: int = -1, in_cgroup: bool = False
) -> int:
    """A new descriptor for the event, closed on exec; raises OSError with the kernel's errno.

    `pid` −1 with a CPU: everything on that CPU; a thread id with a CPU: that thread while it runs there.
    `in_cgroup`: `pid` is a descriptor of a control group's directory; the event counts its tasks.
    """
    attributes.size = ctypes.sizeof(Attributes)
    descriptor: int = _libc.syscall(
        _NR_PERF_EVENT_OPEN,
        ctypes.byref(attributes),
        pid,
        cpu,
        group,
        ctypes.c_ulong(_PERF_FLAG_FD_CLOEXEC | (_PERF_FLAG_PID_CGROUP if in_cgroup else 0)),
    )
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return descriptor
