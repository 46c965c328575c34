"""The ring's protocol, on a file instead of the kernel's memory."""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.errors import GatewayError
from gateway.perf.ring import Ring

DATA_BYTES = mmap.PAGESIZE
HEAD_AT, TAIL_AT = 1024, 1032


class Kernel:
    """The other side: writes records and moves the head."""

    def __init__(self, path: Path, *, start: int = 0) -> None:
        path.write_bytes(bytes(mmap.PAGESIZE + DATA_BYTES))
        self.file = path.open("r+b")
        self.memory = mmap.mmap(self.file.fileno(), 0)
        self.head = start
        struct.pack_into("<QQ", self.memory, HEAD_AT, start, start)

    @property
    def tail(self) -> int:
        (tail,) = struct.unpack_from("<Q", self.memory, TAIL_AT)
        return tail

    def write(self, body: bytes, *, size: int | None = None) -> bool:
        """Append a record; False where there is no room."""
        record = struct.pack("<IHH", 9, 0, 8 + len(body) if size is None else size) + body
        if self.head + len(record) - self.tail > DATA_BYTES:
            return False
        for byte in record:
            self.memory[mmap.PAGESIZE + self.head % DATA_BYTES] = byte
            self.head += 1
        struct.pack_into("<Q", self.memory, HEAD_AT, self.head)
        return True

    def close(self) -> None:
        self.memory.close()
        self.file.close()


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(tmp_path / "ring")
    yield made
    made.close()


def test_records_come_in_order_and_stay_until_they_are_released(kernel: Kernel):
    ring = Ring(kernel.file.fileno(), DATA_BYTES)
    for number in range(3):
        kernel.write(struct.pack("<Q", number))
    found = [(position, bytes(record[8:])) for position, record in ring.records()]
    assert found == [(16 * (n + 1), struct.pack("<Q", n)) for n in range(3)]
    assert kernel.tail == 0
    ring.release(found[1][0])
    assert kernel.tail == ring.tail == 32
    assert [bytes(record[8:]) for _, record in ring.records()] == [struct.pack("<Q", 2)]
    ring.close()


def test_a_misread_head_is_an_error_and_no_endless_loop(kernel: Kernel):
    ring = Ring(kernel.file.fileno(), DATA_BYTES)
    kernel.write(bytes(8), size=0)
    with pytest.raises(GatewayError, match="record of 0 bytes"):
        list(ring.records())
    ring.close()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.integers(0, 60).map(lambda words: 8 * words), min_size=1, max_size=60),
    start=st.integers(0, 2 * DATA_BYTES // 8).map(lambda words: 8 * words),
    drained_every=st.integers(1, 7),
)
def test_every_record_is_read_once_and_whole_however_it_wraps(
    tmp_path: Path, sizes: list[int], start: int, drained_every: int
):
    kernel = Kernel(tmp_path / "ring", start=start)
    ring = Ring(kernel.file.fileno(), DATA_BYTES)
    written: list[bytes] = []
    read: list[bytes] = []

    def drain() -> None:
        for position, record in ring.records():
            read.append(bytes(record[8:]))
            ring.release(position)

    for number, size in enumerate(sizes):
        body = bytes([number % 251]) * size
        if not kernel.write(body):
            drain()
            assert kernel.write(body)
        written.append(body)
        if number % drained_every == 0:
            drain()
    drain()
    assert read == written
    assert ring.tail == kernel.head
    ring.close()
    kernel.close()
