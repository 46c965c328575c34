"""Corrupted input by the thousand for every parser of the gateway.

    python -m tests.corrupted_gateway [--count 10000] [--seed 1] [parser …]

Everything that the gateway reads of processes, files and containers may have been written by somebody who
means harm, and what it reads of the kernel may be damaged. For each parser sound input is damaged once to some
dozens of times; the outcome must be a value or the parser's own error, within a second of CPU time and a
quarter of a gigabyte beyond what the process has. Anything else is a finding, whose input is written to a
file. Exit 1 if there was a finding.
"""

import argparse
import contextlib
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from gateway.containers.control_group import control_group
from gateway.containers.environment import parse_environment
from gateway.containers.labels_file import parse_labels_file
from gateway.containers.placement import place
from gateway.containers.pods import parse_pods
from gateway.errors import GatewayError
from gateway.jit.entries import MAX_NAME, Entries, name_in
from gateway.jit.map_file import is_served_by_a_program
from gateway.machine.frequency import parse_cpuinfo
from gateway.machine.kernel import KernelMap, Module, build_id_of_notes
from gateway.machine.memory import parse_meminfo
from gateway.machine.pressure import parse_pressure
from gateway.machine.topology import parse_cpu_list
from gateway.machine.usage import parse_stat
from gateway.perf.control_groups import parse_mounts
from gateway.perf.event_names import parse_event_name
from gateway.perf.formats import parse_format, parse_id, parse_scale, parse_unit
from gateway.perf.records import FLAT, STACKS, Mapped, Renamed, Sample, parse, time_of
from gateway.perf.ring import Ring
from gateway.process.address_space import AddressSpace
from gateway.process.images import own_vdso
from gateway.process.maps import Vma, parse_maps
from gateway.process.script import script_name
from gateway.process.walker import Walker
from gateway.symbols.kernel_table import kernel_table
from gateway.symbols.small_elf import SmallElf
from gateway.unwind.cfi import cie_distance, entry_length, evaluate, read_cie
from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import Read, read_layout
from gateway.unwind.expression import evaluate as evaluate_expression
from gateway.unwind.machine_code import plt_words
from gateway.unwind.rules import compile_row

SECONDS = 1.0
"""CPU time of one input; the slowest takes 0.05 s."""
MEMORY_BYTES = 256 << 20
GOLDEN = Path(__file__).with_name("golden") / "gateway" / "frames.elf"
NUMBERS = (
    0,
    1,
    7,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
TOKENS = (
    b"0", b"-1", b"18446744073709551616", b"0x", b"f" * 40, b"\0", b"\n", b" ", b":", b"/", b"..", b"\xff\xfe", b"%",
    b"[", b"{" * 300, b"=", b'"', b"(deleted)", b"\\134", "\N{GREEK SMALL LETTER ALPHA}".encode(), b"1e999", b"nan",
)  # fmt: skip

Act = Callable[[bytes, random.Random], object]


@dataclass(frozen=True)
class Parser:
    """One parser: sound inputs, what is done with a damaged one, and whether it is text."""

    whole: Sequence[bytes]
    act: Act
    text: bool = False


def damaged(parser: Parser, chance: random.Random) -> bytes:
    """A sound input, damaged once to some dozens of times."""
    data = bytearray(chance.choice(parser.whole))
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16, 48))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(8)
        if kind == 0 and data:
            data[at % len(data)] = chance.randrange(256)
        elif kind == 1 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 2:
            size = chance.choice((1, 2, 4, 8))
            value = chance.choice((*NUMBERS, chance.randrange(1 << 64))) & ((1 << 8 * size) - 1)
            at = at // size * size if chance.random() < 0.7 else at
            data[at : at + size] = value.to_bytes(size, "little")
        elif kind == 3:
            del data[at : at + chance.choice((1, 2, 8, 64))]
        elif kind == 4:
            other = chance.choice(parser.whole)
            begin = chance.randrange(len(other) + 1)
            data[at:at] = other[begin : begin + chance.choice((4, 16, 64, 256))]
        elif kind == 5 and chance.random() < 0.2:
            del data[at:]
        elif kind == 6 and parser.text:
            data[at : at + chance.randrange(4)] = chance.choice(TOKENS)
        elif kind == 7 and chance.random() < 0.1:
            data[at:at] = data[at : at + 64] * chance.choice((2, 50, 400))
    return bytes(data)


def parsers(folder: Path) -> dict[str, Parser]:
    """All of them by name."""
    elf = [GOLDEN.read_bytes(), own_vdso(), Path("/lib64/ld-linux-x86-64.so.2").read_bytes()[: 256 << 10]]
    golden = GOLDEN.read_bytes()
    tables = golden[0x1158:0x12DC]  # its .eh_frame
    records = _records()
    status = Path("/proc/self/status").read_bytes()
    return {
        "perf record, stacks": Parser(records, lambda data, _: _record(data, STACKS)),
        "perf record, flat": Parser(records, lambda data, _: _record(data, FLAT)),
        "ring": Parser([b"".join(records)], _ring(folder)),
        "ELF headers and notes": Parser(elf, lambda data, _: read_layout(_reader(data))),
        ".eh_frame_hdr and .eh_frame": Parser(elf, _unwind_table),
        ".eh_frame without an index": Parser([_without_index(golden)], _unwind_table),
        "CIE and FDE": Parser([tables], _entries),
        "CFI expression": Parser(_EXPRESSIONS, _expression),
        "walk of a stack": Parser([os.urandom(512)], _walk(golden)),
        "PLT stub": Parser([bytes.fromhex("ff251afc1c006802000000e9c0ffffff") * 2], lambda data, c: plt_words(data, c.randrange(32))),
        "small ELF": Parser(elf, _small_elf),
        "/proc/PID/maps": Parser([Path("/proc/self/maps").read_bytes()], lambda data, _: _sound(parse_maps(data)), text=True),
        "perf map": Parser(_MAPS, _perf_map, text=True),
        "/proc/PID/mountinfo": Parser([Path("/proc/self/mountinfo").read_bytes()], lambda data, _: is_served_by_a_program(data), text=True),
        "/proc/kallsyms": Parser([_KALLSYMS], _kallsyms, text=True),
        "kernel notes": Parser([_NOTE * 2], lambda data, _: build_id_of_notes(data)),
        "/proc/PID/cgroup": Parser(_CGROUPS, lambda data, _: place(control_group(_text(data))), text=True),
        "/proc/PID/cmdline": Parser([b"/usr/bin/python3\0-X\0dev\0-m\0http.server\0", b"java\0-cp\0a.jar\0@f\0Main\0", status],
                                    lambda data, c: script_name(c.choice(("/usr/bin/python3", "/bin/node", "java", "perl")), data), text=True),
        "/proc/PID/environ": Parser([b"A=1\0TEAM=x\0PATH=/bin\0"], lambda data, _: parse_environment(data, {b"TEAM": "team", b"A": "a"}), text=True),
        "/proc/stat": Parser([Path("/proc/stat").read_bytes()[:2000]], lambda data, _: parse_stat(_text(data)), text=True),
        "/proc/cpuinfo": Parser([Path("/proc/cpuinfo").read_bytes()[:3000]], lambda data, _: parse_cpuinfo(_text(data)), text=True),
        "/proc/meminfo": Parser([Path("/proc/meminfo").read_bytes()], lambda data, _: parse_meminfo(_text(data)), text=True),
        "pressure": Parser([b"some avg10=1.50 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"],
                           lambda data, _: parse_pressure(_text(data)), text=True),
        "CPU list": Parser([b"0-3,8,10-127\n", b"0 1 2 3"], lambda data, _: parse_cpu_list(_text(data)), text=True),
        "mounts": Parser([Path("/proc/self/mounts").read_bytes(), b"cgroup /sys/fs/cgroup/perf\\040event cgroup rw,perf_event 0 0\n"],
                         lambda data, _: parse_mounts(_text(data)), text=True),
        "event's name": Parser([b"pmu:cpu:event=0x3c,umask=0", b"tracepoint:sched:sched_switch", b"raw:0x1c2", b"page-faults"],
                               lambda data, _: parse_event_name(_text(data)), text=True),
        "event source's files": Parser([b"config:0-7,32-35\n", b"2.3283064365386962890625e-10\n", b"MiB\n", b"332\n"], _source_files, text=True),
        "pods of a kubelet": Parser([_PODS], lambda data, _: parse_pods(_text(data), ("app",)), text=True),
        "labels file": Parser([b"container 0123abcd team=a cost='b c'\ncgroup /a/*/b env=prod # why\nunit x.service a=b\n"] ,
                              lambda data, _: parse_labels_file(_text(data)), text=True),
    }  # fmt: skip


_EXPRESSIONS = [bytes.fromhex(text) for text in (
    "7708800 03f1a3b2a332422".replace(" ", ""), "77a00106", "76780623 08".replace(" ", ""), "0a01000b02000c030000000d04000000112a10808001",
    "2806001228fcff2ffaff96", "1215001614171920 1f1b1d1e21".replace(" ", ""),
)]  # fmt: skip
_MAPS = [
    b"7f17e9fe28c0 378 JS:~run /tmp/w.js:3:13\n39aefc90f76 5 Eval:~ /tmp/w.js:1:1\n" * 4,
    b"0x00007f40a8ec7640 0x0000000000000130 int W.fib(int)\n7fcb69d0d0a5 b py::f:<frozen importlib._bootstrap>\n",
]
_KALLSYMS = b"".join(
    [
        b"ffffffff81000000 T _stext\n",
        *(b"ffffffff81%06x t f%d\n" % (n * 64, n) for n in range(1, 60)),
        b"ffffffff81100000 T _etext\n",
        *(b"ffffffffc0%06x t g%d\t[mod]\n" % (n * 64, n) for n in range(20)),
        b"ffffffffc1000000 t bpf_prog_1_x\t[bpf]\n",
    ]
)
_NOTE = struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
_CGROUPS = [
    b"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_0000_1111_2222_333344445555.slice/cri-containerd-" + b"ab" * 32 + b".scope\n",
    b"12:cpu,cpuacct:/docker/" + b"0f" * 32 + b"\n1:name=systemd:/system.slice/ssh.service\n0::/\n",
    b"0::/ecs/task/0123456789abcdef0123456789abcdef-1234567890\n0::/machine.slice/machine-a\\x2db.scope\n",
]  # fmt: skip
_PODS = (
    b'{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"web-6d4b75cb6d-x2v9k","namespace":"shop",'
    b'"uid":"0a1b2c3d-0000-1111-2222-333344445555","labels":{"app":"web","pod-template-hash":"6d4b75cb6d"},"annotations":'
    b'{"kubernetes.io/config.hash":"0123456789abcdef0123456789abcdef"},"ownerReferences":[{"kind":"ReplicaSet","name":'
    b'"web-6d4b75cb6d","controller":true}]},"status":{"containerStatuses":[{"name":"web","image":"docker.io/shop/web:1.2",'
    b'"containerID":"containerd://' + b"ab" * 32 + b'"}]}}]}'
)


def _records() -> list[bytes]:
    """A record of each kind, laid out as the kernel does it (perf_event_open(2))."""

    def record(kind: int, body: bytes, misc: int = 2) -> bytes:
        body += bytes(-len(body) % 8)
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    who = struct.pack("<IIQ", 100, 101, 123_456_789)
    head = struct.pack("<QIIQ", 0xABC, 100, 101, 123_456_789)
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


def _reader(data: bytes) -> Read:
    def read(offset: int, size: int) -> bytes:
        assert offset >= 0
        assert 0 <= size <= 16 << 20, "more is asked for than any table may have"
        return data[offset : offset + size]

    return read


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _record(data: bytes, layout: int) -> None:
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


def _ring(folder: Path) -> Act:
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


def _unwind_table(data: bytes, chance: random.Random) -> None:
    layout = read_layout(_reader(data))
    table = UnwindTable(layout, _reader(data))
    for _ in range(24):
        offset = chance.randrange(max(len(data), 1))
        kind, _, rbp, rbx, unusual = table.rule(offset)
        assert 0 <= kind <= 7
        assert rbp <= 0
        assert rbx <= 0
        assert (unusual is not None) == (kind == 7)
        table.function_start(offset)


def _without_index(elf: bytes) -> bytes:
    """The file without PT_GNU_EH_FRAME, as GCC links static programs."""
    return elf.replace(struct.pack("<I", 0x6474E550), bytes(4))


def _entries(data: bytes, chance: random.Random) -> None:
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


def _expression(data: bytes, chance: random.Random) -> None:
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
        self.rules = UnwindTable(read_layout(_reader(data)), _reader(data))

    def open(self, _pid: int, _vma: Vma) -> "_OneFile":
        return self

    def read(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size] if offset >= 0 else b""

    def read_memory(self, _pid: int, _address: int, size: int) -> bytes:
        return bytes(size)


def _walk(golden: bytes) -> Act:
    code = Vma(0x40_0000, 0x40_0000 + len(golden), 0, "/bin/x", b"", (8, 1), 7, deleted=False)
    made = Vma(0x90_0000, 0x91_0000, 0, "", b"", (0, 0), 0, deleted=False)
    images = _OneFile(golden)

    def act(data: bytes, chance: random.Random) -> None:
        near = [0x40_03B0 + chance.randrange(0xD00) for _ in range(6)] + [
            0x90_0010,
            0,
            0x7000_0000 + 8 * chance.randrange(80),
        ]
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


def _small_elf(data: bytes, _chance: random.Random) -> None:
    small = SmallElf(_reader(data), len(data), lambda: None)
    assert small.raw_bytes < 64 << 20
    for _ in small.pieces():
        pass


def _sound(vmas: list[Vma]) -> None:
    space = AddressSpace(vmas)
    for before, after in zip(space.vmas, space.vmas[1:], strict=False):
        assert before.end <= after.start


def _perf_map(data: bytes, chance: random.Random) -> None:
    entries = Entries(limit=10_000, position=chance.choice((0, 0, 5)))
    cut = chance.randrange(len(data) + 1)
    entries.feed(data[:cut])
    entries.settle()
    entries.feed(data[cut:])
    entries.settle()
    for start, end in entries.ranges(0):
        assert 0 <= start < end <= 1 << 64
        line = entries.find(start)
        if line is not None:
            name = name_in(data[line - entries.position + len(data) :], start)
            assert len(name) <= MAX_NAME
            assert name.isprintable()


def _kallsyms(data: bytes, chance: random.Random) -> None:
    modules = [Module("mod", 0xFFFFFFFFC0000000, 0x10000, b"")]
    cut = chance.randrange(len(data) + 1)
    kernel = KernelMap((data[:cut], data[cut:]), modules)
    for address in (0, 0xFFFFFFFF81000040, 0xFFFFFFFFC0000041, 0xFFFFFFFFC1000000, chance.randrange(1 << 64)):
        kernel.find(address, exact=bool(address & 1))
    if kernel.text is not None:
        kernel_table((data[:cut], data[cut:]), bytes(20), kernel.text, modules, lambda: None)


def _source_files(data: bytes, _chance: random.Random) -> None:
    for read in (parse_format, parse_scale, parse_unit, parse_id):
        with contextlib.suppress(GatewayError):
            read(_text(data))


class Hang(BaseException):
    """No `Exception`, so that nobody who catches those takes it for his own."""


def outcome(act: Act, data: bytes, chance: random.Random) -> str:
    """What came of it; a finding begins with `!`."""

    def stop(_signal: int, frame: FrameType | None) -> None:
        raise Hang(frame.f_code.co_qualname if frame else "")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        act(data, chance)
    except GatewayError as error:
        return type(error).__name__
    except Hang as error:
        return f"!hang in {error}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else ""
        return f"!{type(error).__name__} in {where}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "used"


@dataclass
class Tried:
    """What came of one parser's inputs."""

    name: str
    inputs: int
    outcomes: Counter[str]
    findings: int
    slowest_s: float


def trials(folder: Path, *, count: int, seed: int, only: Sequence[str] = ()) -> Iterator[Tried]:
    """Try each parser on so many inputs; an input is the same whatever came before it."""
    for name, parser in parsers(folder).items():
        if only and name not in only:
            continue
        tried = Tried(name, 0, Counter(), 0, 0.0)
        for number in range(count):
            chance = random.Random(f"{name} {seed} {number}")
            data = damaged(parser, chance)
            began = time.process_time()
            came = outcome(parser.act, data, chance)
            tried.slowest_s = max(tried.slowest_s, time.process_time() - began)
            tried.inputs += 1
            tried.outcomes[came.partition(":")[0]] += 1
            if came.startswith("!"):
                tried.findings += 1
                kept = (
                    Path(tempfile.gettempdir())
                    / f"corrupted-gateway-{name.replace('/', '-').replace(' ', '-')}-{number}"
                )
                if tried.findings <= 3:
                    kept.write_bytes(data)
                    sys.stdout.write(f"{name}, input {number}: {came[1:]} ({kept})\n")
        yield tried


def limit_memory() -> None:
    """From now on this process may have a quarter of a gigabyte more than it has."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))


def main() -> int:
    """Try them all; what was found is printed."""
    parser = argparse.ArgumentParser(prog="tests.corrupted_gateway", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="inputs of each parser (default: 10000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("parser", nargs="*", help="by name; default: all")
    options = parser.parse_args()
    limit_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs = findings = names = 0
    with tempfile.TemporaryDirectory(prefix="corrupted-gateway-") as folder:
        for tried in trials(Path(folder), count=options.count, seed=options.seed, only=options.parser):
            inputs, findings, names = inputs + tried.inputs, findings + tried.findings, names + 1
            said = ", ".join(f"{came} {number}" for came, number in tried.outcomes.most_common())
            sys.stdout.write(
                f"{tried.inputs:8} {tried.name}: {tried.findings} findings; slowest {tried.slowest_s * 1000:.1f} ms; {said}\n"
            )
            sys.stdout.flush()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sys.stdout.write(
        f"{inputs} inputs of {names} parsers, {findings} findings; memory grew by {grown:.0f} MiB\n"
    )
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
