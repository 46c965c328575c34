"""Names of code that programs and the kernel write down, damaged."""

import random

from gateway.jit.map_entries import MAX_NAME, Entries, name_in
from gateway.machine.kernel_map import KernelMap, Module
from gateway.process.address_space import AddressSpace
from gateway.process.maps import Vma
from gateway.symbols.kernel_table import kernel_table

MAPS = [
    b"7f17e9fe28c0 378 JS:~run /tmp/w.js:3:13\n39aefc90f76 5 Eval:~ /tmp/w.js:1:1\n" * 4,
    b"0x00007f40a8ec7640 0x0000000000000130 int W.fib(int)\n7fcb69d0d0a5 b py::f:<frozen importlib._bootstrap>\n",
]
KALLSYMS = b"".join(
    [
        b"ffffffff81000000 T _stext\n",
        *(b"ffffffff81%06x t f%d\n" % (n * 64, n) for n in range(1, 60)),
        b"ffffffff81100000 T _etext\n",
        *(b"ffffffffc0%06x t g%d\t[mod]\n" % (n * 64, n) for n in range(20)),
        b"ffffffffc1000000 t bpf_prog_1_x\t[bpf]\n",
    ]
)


def check_sound(vmas: list[Vma]) -> None:
    space = AddressSpace(vmas)
    for before, after in zip(space.vmas, space.vmas[1:], strict=False):
        assert before.end <= after.start


def read_perf_map(data: bytes, chance: random.Random) -> None:
    entries = Entries(limit=10_000, position=chance.choice((0, 0, 5)))
    cut = chance.randrange(len(data) + 1)
    entries.feed(data[:cut])
    entries.index()
    entries.feed(data[cut:])
    entries.index()
    for start, end in entries.ranges(0):
        assert 0 <= start < end <= 1 << 64
        line = entries.find(start)
        if line is not None:
            name = name_in(data[line - entries.position + len(data) :], start)
            assert len(name) <= MAX_NAME
            assert name.isprintable()


def read_kallsyms(data: bytes, chance: random.Random) -> None:
    modules = [Module("mod", 0xFFFFFFFFC0000000, 0x10000, b"")]
    cut = chance.randrange(len(data) + 1)
    kernel = KernelMap((data[:cut], data[cut:]), modules)
    for address in (0, 0xFFFFFFFF81000040, 0xFFFFFFFFC0000041, 0xFFFFFFFFC1000000, chance.randrange(1 << 64)):
        kernel.find(address, exact=bool(address & 1))
    if kernel.text is not None:
        kernel_table((data[:cut], data[cut:]), bytes(20), kernel.text, modules, lambda: None)
