"""Read perf.data files of `perf record --call-graph dwarf`: samples and process events.

Format: tools/perf/Documentation/perf.data-file-format.txt and perf_event_open(2). Only the features that the comparison
of unwinders needs are supported; other recordings are rejected with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from gateway.process.maps import Vma

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAGIC: Final = b"PERFILE2"
_FILE_HEADER: Final = Struct("<8s6Q")
_RECORD: Final = Struct("<IHH")
# Offsets in struct perf_event_attr.
_SAMPLE_TYPE_AT: Final = 24
_REGISTERS_AT: Final = 80
_STACK_BYTES_AT: Final = 88
# The 20 registers that the walker uses: all but the segment registers.
_REGISTERS: Final = 0xFF0FFF
_REGISTER_COUNT: Final = 20

_IP, _TID, _TIME, _ADDR, _READ, _CALLCHAIN, _ID, _CPU, _PERIOD, _STREAM_ID, _RAW = (
    1 << bit for bit in range(11)
)
_REGS_USER: Final = 1 << 12
_STACK_USER: Final = 1 << 13
# Fields behind the stack, which are not read.
_WEIGHT: Final = 1 << 14
_DATA_SRC: Final = 1 << 15
_IDENTIFIER: Final = 1 << 16
_UNDERSTOOD: Final = (_IP | _TID | _TIME | _ADDR | _CALLCHAIN | _ID | _CPU | _PERIOD | _STREAM_ID | _RAW) | (
    _REGS_USER | _STACK_USER | _WEIGHT | _DATA_SRC | _IDENTIFIER
)

_COMM, _FORK, _SAMPLE, _MMAP2 = 3, 7, 9, 10
_MISC_EXEC: Final = 1 << 13
_MISC_BUILD_ID: Final = 1 << 14
_PROT_EXEC: Final = 4
_DELETED: Final = " (deleted)"
_KERNEL_PID: Final = 0xFFFFFFFF

_U32: Final = Struct("<I")
_U64: Final = Struct("<Q")
_IDS: Final = Struct("<II")
_MMAP: Final = Struct("<IIQQQ24sII")


class UnknownRecording(Exception):
    """The file is no perf.data, or uses an unsupported kind of recording."""


class Sample(NamedTuple):
    """One sample with a user part: 20 registers, and the copied stack as words, `size` bytes of it valid."""

    time: int
    pid: int
    tid: int
    registers: tuple[int, ...]
    stack: memoryview[int]
    size: int


class Mapped(NamedTuple):
    """A process mapped executable memory."""

    time: int
    pid: int
    vma: Vma


class Forked(NamedTuple):
    """A process was created (not a thread)."""

    time: int
    pid: int
    parent: int


class Named(NamedTuple):
    """A process got a name; `executed`: by starting another program."""

    time: int
    pid: int
    comm: str
    executed: bool


Event: TypeAlias = Sample | Mapped | Forked | Named


@dataclass(frozen=True, slots=True)
class Recording:
    """A perf.data file: its events ordered by time, and the requested number of stack bytes."""

    events: list[Event]
    stack_bytes: int


def read_recording(path: Path) -> Recording:
    """Read a file. Raises UnknownRecording."""
    data = path.read_bytes()
    try:
        magic, _, attribute_size, attributes_at, attributes, data_at, data_size = _FILE_HEADER.unpack_from(
            data
        )
        if magic != _MAGIC:
            raise UnknownRecording(f"{path} is no perf.data file")
        kinds = {
            (
                _U64.unpack_from(data, at + _SAMPLE_TYPE_AT)[0],
                _U64.unpack_from(data, at + _REGISTERS_AT)[0],
            )
            for at in range(attributes_at, attributes_at + attributes, attribute_size)
        }
        (stack_bytes,) = _U32.unpack_from(data, attributes_at + _STACK_BYTES_AT)
        if len(kinds) != 1:
            raise UnknownRecording(f"{path} holds events with different records")
        sample_type, registers = kinds.pop()
        if sample_type & ~_UNDERSTOOD or registers != _REGISTERS or not sample_type & _STACK_USER:
            raise UnknownRecording(
                f"{path} was not recorded with --call-graph dwarf alone ({sample_type:#x})"
            )
        view = memoryview(data)[data_at : data_at + data_size]
        events = list(_events(view, sample_type))
    except struct_error as reason:
        raise UnknownRecording(f"{path} is cut off") from reason
    # Records of several CPUs are interleaved; sort() keeps the order of those with equal times.
    events.sort(key=lambda event: event.time)
    return Recording(events, stack_bytes)


def _events(data: memoryview, sample_type: int) -> Iterator[Event]:
    position = 0
    while position + _RECORD.size <= len(data):
        kind, misc, size = _RECORD.unpack_from(data, position)
        if size < _RECORD.size:
            raise UnknownRecording("a record has no size")
        record = data[position + _RECORD.size : position + size]
        event: Event | None = None
        if kind == _SAMPLE:
            event = _sample(record, sample_type)
        elif kind == _MMAP2:
            event = _mapped(record, misc, _time(record, sample_type))
        elif kind == _FORK:
            pid, parent = _IDS.unpack_from(record)
            event = Forked(_time(record, sample_type), pid, parent) if pid != parent else None
        elif kind == _COMM:
            pid, tid = _IDS.unpack_from(record)
            if pid == tid:
                named = _text(record[8 : len(record) - _trailer_bytes(sample_type)])
                event = Named(_time(record, sample_type), pid, named, bool(misc & _MISC_EXEC))
        if event is not None:
            yield event
        position += size


def _sample(record: memoryview, sample_type: int) -> Sample | None:
    """Parse a sample in the order of the kernel's perf_output_sample; None without a user part."""
    at = 0
    pid = tid = time = 0
    if sample_type & _IDENTIFIER:
        at += 8
    if sample_type & _IP:
        at += 8
    if sample_type & _TID:
        pid, tid = _IDS.unpack_from(record, at)
        at += 8
    if sample_type & _TIME:
        (time,) = _U64.unpack_from(record, at)
        at += 8
    for bit in (_ADDR, _ID, _STREAM_ID, _CPU, _PERIOD):
        if sample_type & bit:
            at += 8
    if sample_type & _CALLCHAIN:
        at += 8 + 8 * _U64.unpack_from(record, at)[0]
    if sample_type & _RAW:
        at += 4 + _U32.unpack_from(record, at)[0]
    (abi,) = _U64.unpack_from(record, at)
    at += 8
    if not abi:
        return None
    registers = Struct(f"<{_REGISTER_COUNT}Q").unpack_from(record, at)
    at += 8 * _REGISTER_COUNT
    (copied,) = _U64.unpack_from(record, at)
    at += 8
    if not copied:
        return None
    (size,) = _U64.unpack_from(record, at + copied)
    # A view can only be cast if it begins at a word of its buffer.
    stack = memoryview(bytes(record[at : at + (size & ~7)])).cast("Q")
    return Sample(time, pid, tid, registers, stack, size)


def _mapped(record: memoryview, misc: int, time: int) -> Mapped | None:
    pid, _, start, length, offset, identity, protection, _ = _MMAP.unpack_from(record)
    if not protection & _PROT_EXEC or pid == _KERNEL_PID:
        return None
    build_id = b""
    device = (0, 0)
    inode = 0
    if misc & _MISC_BUILD_ID:
        build_id = identity[4 : 4 + identity[0]]
    else:
        major, minor, inode = Struct("<IIQ").unpack_from(identity)
        device = (major, minor)
    path = _text(record[_MMAP.size :])
    deleted = path.endswith(_DELETED)
    vma = Vma(start, start + length, offset, path.removesuffix(_DELETED), build_id, device, inode, deleted)
    return Mapped(time, pid, vma)


def _time(record: memoryview, sample_type: int) -> int:
    """The time in the fields that end every record except samples (sample_id_all)."""
    at = len(record) - _trailer_bytes(sample_type) + (8 if sample_type & _TID else 0)
    return int(_U64.unpack_from(record, at)[0]) if sample_type & _TIME else 0


def _trailer_bytes(sample_type: int) -> int:
    return 8 * sum(1 for bit in (_TID, _TIME, _ID, _STREAM_ID, _CPU, _IDENTIFIER) if sample_type & bit)


def _text(field: memoryview) -> str:
    return bytes(field).partition(b"\0")[0].decode("utf-8", "replace")
