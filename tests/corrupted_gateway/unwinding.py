"""Unwind tables, expressions and walks by them, of damaged bytes."""

import contextlib
import random
import struct

from gateway.errors import GatewayError
from gateway.process.address_space import AddressSpace
from gateway.process.maps import Vma
from gateway.process.walker import Walker
from gateway.symbols.small_elf import SmallElf
from gateway.unwind.cfi import cie_distance, entry_length, evaluate, read_cie
from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import Read, read_layout
from gateway.unwind.expression import evaluate as evaluate_expression
from gateway.unwind.rules import compile_row
from tests.corrupted_gateway.damage import Act

EXPRESSIONS = [bytes.fromhex(text) for text in (
    "7708800 03f1a3b2a332422".replace(" ", ""), "77a00106", "76780623 08".replace(" ", ""), "0a01000b02000c030000000d04000000112a10808001",
    "2806001228fcff2ffaff96", "1215001614171920 1f1b1d1e21".replace(" ", ""),
)]  # fmt: skip


def reader(data: bytes) -> Read:
    def read(offset: int, size: int) -> bytes:
        assert offset >= 0
        assert 0 <= size <= 16 << 20, "more is asked for than any table may have"
        return data[offset : offset + size]

    return read


def read_unwind_table(data: bytes, chance: random.Random) -> None:
    layout = read_layout(reader(data))
    table = UnwindTable(layout, reader(data))
    for _ in range(24):
        offset = chance.randrange(max(len(data), 1))
        kind, _, rbp, rbx, unusual = table.rule(offset)
        assert 0 <= kind <= 7
        assert rbp <= 0
        assert rbx <= 0
        assert (unusual is not None) == (kind == 7)
        table.function_start(offset)


def without_index(elf: bytes) -> bytes:
    """The file without PT_GNU_EH_FRAME, as GCC links static programs."""
    return elf.replace(struct.pack("<I", 0x6474E550), bytes(4))


def read_entries(data: bytes, chance: random.Random) -> None:
    at = 0
    cie = None
    while at + 8 < len(data):
        try:
            piece = data[at : at + entry_length(data[at:])]
        except GatewayError:
            at += 4
            continue
        with contextlib.suppress(GatewayError):
            cie = read_cie(piece, at)
        with contextlib.suppress(GatewayError):
            cie_distance(piece)
        if cie is not None:
            with contextlib.suppress(GatewayError):
                entry = evaluate(piece, at, cie)
                assert entry.starts == sorted(entry.starts)
                for row in entry.rows:
                    compile_row(row)
        at += len(piece) if chance.random() < 0.8 else 4


def read_expression(data: bytes, chance: random.Random) -> None:
    words = [chance.randrange(1 << 64) for _ in range(16)]
    value = evaluate_expression(
        data, lambda n: words[n & 15], lambda a: words[a & 15], chance.choice((None, 77))
    )
    assert 0 <= value < 1 << 64


class _OneFile:
    """Images of a process that runs one file."""

    is_go = False

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.made = b""
        self.rules = UnwindTable(read_layout(reader(data)), reader(data))

    def open(self, _pid: int, _vma: Vma) -> "_OneFile":
        return self

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size] if offset >= 0 else b""

    def read_memory(self, _pid: int, address: int, size: int) -> bytes:
        return self.made[address % 499 :][:size]


def walk(golden: bytes) -> Act:
    code = Vma(0x40_0000, 0x40_0000 + len(golden), 0, "/bin/x", b"", (8, 1), 7, deleted=False)
    made = Vma(0x90_0000, 0x91_0000, 0, "", b"", (0, 0), 0, deleted=False)
    images = _OneFile(golden)

    def act(data: bytes, chance: random.Random) -> None:
        near = [0x40_03B0 + chance.randrange(0xD00) for _ in range(6)] + [
            0x90_0010,
            0,
            0x7000_0000 + 8 * chance.randrange(80),
        ]
        images.made = data
        words = [
            chance.choice(near) if chance.random() < 0.6 else word
            for (word,) in struct.iter_unpack("<Q", data[: len(data) & ~7])
        ]
        registers = [chance.choice((*near, chance.randrange(1 << 64))) for _ in range(20)]
        registers[7], registers[8] = 0x7000_0000, chance.choice(near)
        stack = memoryview(struct.pack(f"<{len(words)}Q", *words)).cast("Q")
        # The walker takes what is like `Images`; one file is enough of that here.
        walker = Walker(images, max_depth=128)  # type: ignore[arg-type]  # of `Images` it has what is called
        walk = walker.walk(1, AddressSpace([code, made]), tuple(registers), stack, 8 * len(words))
        assert 1 <= len(walk.addresses) <= 128
        assert all(place < len(walk.addresses) for place in (*walk.exact, *walk.by_frame_pointer))

    return act


def read_small_elf(data: bytes, _chance: random.Random) -> None:
    small = SmallElf(reader(data), len(data), lambda: None)
    assert small.raw_bytes < 64 << 20
    for _ in small.pieces():
        pass
