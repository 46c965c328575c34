"""Records of the perf ring: bytes in, values out (perf_event_open(2), "MMAP layout").

Strategy: a record's type selects its parser. All events of a ring are opened with sample types that begin with the same
fields (identifier, ip, tid, time), and with `sample_id_all`, so each record that is not a sample ends in (pid, tid, time,
identifier). The identifier says which event wrote a sample: a BPF program's output event writes samples, too. Unneeded
types give None. A sample's stack is not copied: it is a view of the ring and ends with it.
"""

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from gateway.perf.attributes import REGISTER_IP, USER_REGISTER_COUNT, SampleType


class Mode(IntEnum):
    """Mode of the CPU (PERF_RECORD_MISC_CPUMODE_MASK). Guests are machines inside this one."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


class Output(NamedTuple):
    """What a BPF program wrote into the ring about the current thread."""

    pid: int
    tid: int
    time: int
    data: bytes
    """A copy, with up to seven bytes of padding behind it."""


class Sample(NamedTuple):
    """One sample. `kernel` is innermost first; `registers` is empty without a user part."""

    pid: int
    tid: int
    time: int
    mode: int
    ip: int
    kernel: tuple[int, ...]
    registers: tuple[int, ...]
    compat: bool
    """The task ran 32-bit code, so the registers are those of i386."""
    stack: memoryview
    """Copied part of the user stack from its pointer up, as 8-byte words."""
    stack_bytes: int
    """Number of valid bytes in it."""
    outputs: tuple[Output, ...] = ()
    """What BPF programs wrote into the ring since the sample before: this one's, unless samples were lost."""


class Mapped(NamedTuple):
    """A new executable mapping."""

    pid: int
    time: int
    start: int
    end: int
    offset: int
    device: tuple[int, int]
    inode: int
    path: str
    deleted: bool


class Forked(NamedTuple):
    """A thread or process started; a thread has its parent's pid."""

    pid: int
    parent: int
    tid: int
    time: int


class Exited(NamedTuple):
    """A thread ended; with tid == pid, the process's first thread."""

    pid: int
    tid: int
    time: int


class Renamed(NamedTuple):
    """A thread changed its name; `executed`: by exec, which removed its mappings."""

    pid: int
    tid: int
    time: int
    comm: str
    executed: bool


class Lost(NamedTuple):
    """The kernel dropped `records` records; written only before the next one that fits."""

    records: int


class Throttled(NamedTuple):
    """The kernel stopped the event on one CPU until its next tick, because interrupts came too fast."""

    time: int


Record = Sample | Mapped | Forked | Exited | Renamed | Lost | Throttled

_LOST: Final = 2
_COMM: Final = 3
_EXIT: Final = 4
_THROTTLE: Final = 5
_FORK: Final = 7
_SAMPLE: Final = 9
_MMAP2: Final = 10
_MISC_COMM_EXEC: Final = 1 << 13
_MODE_MASK: Final = 7
_ABI_NONE: Final = 0
_ABI_32: Final = 1

_header: Final = struct.Struct("<IHH").unpack_from
_sample_start: Final = struct.Struct("<QIIQ").unpack_from
_half: Final = struct.Struct("<I").unpack_from
_word: Final = struct.Struct("<Q").unpack_from
_registers: Final = struct.Struct(f"<{USER_REGISTER_COUNT}Q").unpack_from
_mmap2: Final = struct.Struct("<IIQQQIIQQII").unpack_from
_pair: Final = struct.Struct("<II").unpack_from
_fork: Final = struct.Struct("<IIIIQ").unpack_from

_SAMPLE_ID_BYTES: Final = 24
_IDENTIFIER_AT: Final = 8
_SAMPLE_AT: Final = 16
_SAMPLE_TIME_AT: Final = 32
_CHAIN_AT: Final = 40
# perf_callchain_context: the chain holds markers between parts; all lie above this.
_CONTEXT_MAX: Final = (1 << 64) - 4095
_NO_STACK: Final = memoryview(b"").cast("Q")
_PROT_EXEC: Final = 4
_DELETED: Final = " (deleted)"

# Plain numbers: `&` of an enum's flags costs a microsecond for every record.
_CALLCHAIN: Final = int(SampleType.CALLCHAIN)
FLAT: Final = int(SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME)
OUTPUT: Final = FLAT | int(SampleType.RAW)
STACKS: Final = FLAT | int(SampleType.CALLCHAIN | SampleType.REGS_USER | SampleType.STACK_USER)


def time_of(record: memoryview) -> int:
    """Time of the record, ns of the event's clock; 0 for one that is too short."""
    kind, _, size = _header(record)
    at = _SAMPLE_TIME_AT if kind == _SAMPLE else size - 16
    try:
        time: int = _word(record, at)[0]
    except struct.error:
        return 0
    return time


def parse(record: memoryview, layout: int) -> Record | None:
    """Parse one record with its header; None for unneeded types and for damaged records."""
    try:
        return _parse(record, layout)
    except (struct.error, TypeError, OverflowError):
        return None


def _parse(record: memoryview, layout: int) -> Record | None:
    kind, misc, size = _header(record)
    if kind == _SAMPLE:
        return _parse_stacks(record, misc) if layout & _CALLCHAIN else _parse_flat(record, misc)
    time: int = _word(record, size - 16)[0]
    if kind == _MMAP2:
        return _parse_mapped(record, size, time)
    if kind == _FORK:
        pid, parent, tid, _, _ = _fork(record, 8)
        return Forked(pid, parent, tid, time)
    if kind == _EXIT:
        pid, _, tid, _, _ = _fork(record, 8)
        return Exited(pid, tid, time)
    if kind == _COMM:
        pid, tid = _pair(record, 8)
        return Renamed(pid, tid, time, _text(record, 16, size), bool(misc & _MISC_COMM_EXEC))
    if kind == _LOST:
        return Lost(_word(record, 16)[0])
    if kind == _THROTTLE:
        return Throttled(time)
    return None


def identifier_of(record: memoryview) -> int:
    """The identifier of the event that wrote a sample; 0: the record is no sample."""
    if _header(record)[0] != _SAMPLE or len(record) < _SAMPLE_AT:
        return 0
    identifier: int = _word(record, _IDENTIFIER_AT)[0]
    return identifier


def parse_output(record: memoryview) -> Output | None:
    """Parse a sample of a BPF program's output event; None for a damaged one."""
    try:
        _, pid, tid, time = _sample_start(record, _SAMPLE_AT)
        size: int = _half(record, _CHAIN_AT)[0]
    except struct.error:
        return None
    data = record[_CHAIN_AT + 4 : _CHAIN_AT + 4 + size]
    return Output(pid, tid, time, bytes(data)) if len(data) == size else None


def _parse_flat(record: memoryview, misc: int) -> Sample:
    ip, pid, tid, time = _sample_start(record, _SAMPLE_AT)
    mode = misc & _MODE_MASK
    return Sample(pid, tid, time, mode, ip, (ip,) if mode == Mode.KERNEL else (), (), False, _NO_STACK, 0)


def _parse_stacks(record: memoryview, misc: int) -> Sample:
    ip, pid, tid, time = _sample_start(record, _SAMPLE_AT)
    length = _word(record, _CHAIN_AT)[0]
    at = _CHAIN_AT + 8
    kernel: tuple[int, ...] = ()
    if length:
        chain = record[at : at + 8 * length].cast("Q")
        kernel = tuple([address for address in chain if address < _CONTEXT_MAX])
        at += 8 * length
    abi = _word(record, at)[0]
    at += 8
    registers: tuple[int, ...] = ()
    if abi != _ABI_NONE:
        registers = _registers(record, at)
        at += 8 * USER_REGISTER_COUNT
    copied = _word(record, at)[0]
    at += 8
    stack, real = _NO_STACK, 0
    if copied:
        real = _word(record, at + copied)[0]
        stack = record[at : at + (real & ~7)].cast("Q")
    return Sample(pid, tid, time, misc & _MODE_MASK, ip, kernel, registers, abi == _ABI_32, stack, real)


def _parse_mapped(record: memoryview, size: int, time: int) -> Mapped | None:
    pid, _, start, length, offset, major, minor, inode, _, protection, _ = _mmap2(record, 8)
    if not protection & _PROT_EXEC:
        return None
    path = _text(record, 72, size)
    if path.startswith("//anon"):
        path = ""
    deleted = path.endswith(_DELETED)
    return Mapped(
        pid, time, start, start + length, offset, (major, minor), inode, path.removesuffix(_DELETED), deleted
    )


def _text(record: memoryview, start: int, size: int) -> str:
    raw = bytes(record[start : size - _SAMPLE_ID_BYTES])
    return raw.split(b"\0", 1)[0].decode("utf-8", "replace")


def user_ip(sample: Sample) -> int:
    """Instruction pointer of the user part: from the registers if present."""
    return sample.registers[REGISTER_IP] if sample.registers else sample.ip
