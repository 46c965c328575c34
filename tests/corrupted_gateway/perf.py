"""Records of the kernel and their ring, read from damaged bytes."""

import mmap
import os
import random
import struct
from pathlib import Path

from gateway.perf.records import STACKS, Mapped, Renamed, Sample, parse, time_of
from gateway.perf.ring import Ring
from tests.corrupted_gateway.damage import Act


def sound_records() -> list[bytes]:
    """A record of each kind, laid out as the kernel does it (perf_event_open(2))."""

    def record(kind: int, body: bytes, misc: int = 2) -> bytes:
        body += bytes(-len(body) % 8)
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    who = struct.pack("<IIQQ", 100, 101, 123_456_789, 77)
    head = struct.pack("<QQIIQ", 77, 0xABC, 100, 101, 123_456_789)
    registers = struct.pack("<Q20Q", 2, *range(1000, 1020))
    stack = struct.pack("<Q", 64) + bytes(range(64)) + struct.pack("<Q", 48)
    chain = struct.pack("<4Q", 3, (1 << 64) - 128, 0xFFFFFFFF81000010, 0xFFFFFFFF81000020)
    mapped = (
        struct.pack("<IIQQQIIQQII", 100, 101, 0x7000, 0x2000, 0, 8, 1, 42, 7, 5, 2)
        + b"/usr/lib/libc.so.6\0\0\0\0\0\0"
    )
    return [
        record(9, head + chain + registers + stack, 1), record(9, head + struct.pack("<QQQ", 0, 0, 0)), record(9, head),
        record(10, mapped + who), record(7, struct.pack("<IIIIQ", 1, 2, 3, 4, 5) + who), record(4, struct.pack("<IIIIQ", 1, 2, 3, 4, 5) + who),
        record(3, struct.pack("<II", 100, 101) + b"python\0\0" + who, 1 << 13), record(2, struct.pack("<QQ", 1, 77) + who),
    ]  # fmt: skip


def read_record(data: bytes, layout: int) -> None:
    if len(data) < 8:
        return
    # As the ring hands it out: of the size that the header says.
    size = max(8, min(int.from_bytes(data[6:8], "little"), len(data)))
    view = memoryview(bytearray(data[:size]))
    time_of(view)
    value = parse(view, layout)
    if isinstance(value, Sample):
        assert len(value.stack) * 8 <= size
        assert len(value.kernel) * 8 <= size
    elif isinstance(value, Mapped | Renamed):
        str(value).encode()


def read_ring(folder: Path) -> Act:
    data_bytes = mmap.PAGESIZE

    def act(data: bytes, chance: random.Random) -> None:
        with (folder / "ring").open("w+b") as file:
            file.truncate(mmap.PAGESIZE + data_bytes)
            start = chance.choice((0, data_bytes - 40, 12345 * 8, chance.randrange(1 << 60) * 8))
            for at, byte in enumerate(data[:data_bytes]):
                os.pwrite(file.fileno(), bytes([byte]), mmap.PAGESIZE + (start + at) % data_bytes)
            written = min(len(data), data_bytes)
            head = start + chance.choice((written, written & ~7, data_bytes, chance.randrange(data_bytes)))
            if chance.random() < 0.1:
                head = chance.choice((0, (1 << 64) - 1, start - 8 & (1 << 64) - 1))
            os.pwrite(file.fileno(), struct.pack("<QQ", head, start), 1024)
            ring = Ring(file.fileno(), data_bytes)
            try:
                for position, record in ring.records():
                    time_of(record)
                    parse(record, STACKS)
                    ring.release(position)
            finally:
                ring.close()

    return act
