"""Corrupted symbol files by the thousand, and all that a worker does with one.

    python -m tests.corrupted_elf [--count 10000] [--seed 1] [--builds 10]

Real files of every shape are damaged where it hurts: lengths, offsets and counts in headers, bytes of debug
data, ends cut off, parts of one file in another. Every outcome must be a value or an error of the symbolizer,
within a second's time and a gigabyte beyond what the process has; anything else is a finding, whose input is
written to a file. Every `--builds`th is also built from, in a process of its own as in a worker, where a
crash is allowed and a hang is not. Exit 1 if there was a finding.
"""

import argparse
import contextlib
import faulthandler
import lzma
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import numpy as np

from simulation.elf_writer import Symbol, elf_file
from symbolizer.addresses import ElfVaddrs, FileOffsets, SegmentMap
from symbolizer.dwarf.units import package_ids, units
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import record
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import SymbolizerError
from symbolizer.inspection.inspection import inspect
from symbolizer.inspection.quality import is_skeleton, quality_of
from symbolizer.kernel.kallsyms import kallsyms_of
from symbolizer.kernel.module_file import as_loaded
from symbolizer.sources.joining.alternate import join_alternate
from symbolizer.sources.joining.split import join_split
from symbolizer.sources.layout import layout_of

SECONDS = 10
"""Of one input, on a busy machine; the slowest takes 0.2 s on an idle one."""
MEMORY_BYTES = 1 << 30
BUILD_SECONDS = 60
SOURCE = """
static inline int square(int x) { return x * x + 1; }
__attribute__((noinline)) int work(int n) { int sum = 0; while (n--) sum ^= square(n); return sum; }
int main(int argc, char **argv) { return work(argc) & 1; }
"""
NUMBERS = (
    0,
    1,
    7,
    0x7F,
    0xFF,
    0xFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF,
    250 << 20,
    900 << 20,
    1 << 40,
    1 << 62,
    (1 << 63) - 1,
    (1 << 64) - 1,
)


def whole_files(folder: Path) -> list[bytes]:
    """Undamaged files: by the compiler as far as there is one, and made by hand."""
    files = [elf_file(b"\x01" * 20, [Symbol("_stext", 0x1000, 0), Symbol("vfs_read", 0x1000, 32)])]
    files.append(Path(sys.executable).resolve().read_bytes()[: 1 << 20])
    files.append(b"".join(b"ffffffff81%06x T function_%d\n" % (16 * n, n) for n in range(200)))
    files[-1] = b"ffffffff81000000 T _stext\n" + files[-1]
    if shutil.which("gcc") is None:
        return files
    (folder / "program.c").write_text(SOURCE)

    def run(*command: str) -> None:
        if shutil.which(command[0]):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)

    for name, *options in (
        ("plain",), ("fixed", "-no-pie"), ("pressed", "-gz"), ("four", "-gdwarf-4"),
        ("split", "-gsplit-dwarf"), ("split4", "-gsplit-dwarf", "-gdwarf-4"), ("nameless", "-Wl,--build-id=none"),
    ):  # fmt: skip
        run("gcc", "-O2", "-g", *options, "program.c", "-o", name)
    run("objcopy", "--only-keep-debug", "plain", "apart")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=apart", "plain", "bare")
    (folder / "names.xz").write_bytes(lzma.compress((folder / "apart").read_bytes()))
    run("objcopy", "--add-section", ".gnu_debugdata=names.xz", "bare", "embedded")
    for name in ("one", "two"):
        shutil.copy(folder / "plain", folder / name)
    run("dwz", "-m", "common", "one", "two")
    run("gcc", "-O2", "-g", "-c", "program.c", "-o", "object")
    skipped = {"program.c", "names.xz", "two"}
    return files + [path.read_bytes() for path in sorted(folder.iterdir()) if path.name not in skipped]


def damaged(whole: list[bytes], chance: random.Random) -> bytes:
    """One of the files, damaged once to some dozens of times."""
    data = bytearray(chance.choice(whole))
    for _ in range(chance.choice((1, 1, 2, 4, 16, 64))):
        chance.choice(_DAMAGES)(data, chance)
        if len(data) < 64:
            break
    if chance.random() < 0.05:
        other = chance.choice(whole)
        at, size = chance.randrange(len(data) + 1), chance.randrange(len(other))
        data[at : at + size] = other[:size]
    return bytes(data)


def _noise(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] = chance.randrange(256)


def _number(data: bytearray, chance: random.Random) -> None:
    """A word anywhere becomes one that counts and offsets should not be."""
    size = chance.choice((2, 4, 8))
    value = chance.choice((*NUMBERS, len(data), len(data) - 1, chance.randrange(1 << 64)))
    at = chance.randrange(max(len(data) - size, 1))
    data[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _header(data: bytearray, chance: random.Random) -> None:
    head = bytearray(data[:64])
    _number(head, chance)
    data[16:64] = head[16:64]


def _section(data: bytearray, chance: random.Random) -> None:
    """A field of a section's header."""
    if data[:5] != b"\x7fELF\x02":
        return
    table, count = int.from_bytes(data[40:48], "little"), int.from_bytes(data[60:62], "little")
    kind = record("section", 64, "<")
    at = table + kind.itemsize * chance.randrange(max(count, 1))
    if at + kind.itemsize <= len(data):
        field = bytearray(data[at : at + kind.itemsize])
        _number(field, chance)
        data[at : at + kind.itemsize] = field


def _segment(data: bytearray, chance: random.Random) -> None:
    """A field of a segment's header."""
    if data[:5] != b"\x7fELF\x02":
        return
    table, count = int.from_bytes(data[32:40], "little"), int.from_bytes(data[56:58], "little")
    kind = record("segment", 64, "<")
    at = table + kind.itemsize * chance.randrange(max(count, 1)) + 8 * chance.randrange(1, kind.itemsize // 8)
    if at + 8 <= len(data):
        field = bytearray(data[at : at + 8])
        _number(field, chance)
        data[at : at + 8] = field[:8]


def _content(data: bytearray, chance: random.Random) -> None:
    """Bytes within one section: debug data, symbols, strings, notes."""
    try:
        elf = ElfFile(bytes(data))
        section = elf.sections[chance.randrange(len(elf.sections))]
    except (SymbolizerError, ValueError):
        return _noise(data, chance)
    at, size = int(section["offset"]), int(section["size"])
    if size and at + size <= len(data):
        part = bytearray(data[at : at + size])
        chance.choice((_noise, _number))(part, chance)
        data[at : at + size] = part[:size]
    return None


def _cut(data: bytearray, chance: random.Random) -> None:
    if chance.random() < 0.2:
        del data[chance.randrange(len(data)) :]


_DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _noise, _number, _header, _section, *[_segment] * 4, *[_content] * 12, _cut,
)  # fmt: skip


Act = tuple[str, Callable[[], object]]


def acts(content: bytes, whole: list[bytes]) -> Iterator[Act]:
    """All that a worker does with a file in its own process, and what its children do but building."""
    yield "inspect", lambda: inspect(content)
    try:
        elf = ElfFile(content)
    except SymbolizerError:
        return
    yield from _own_acts(elf)
    for name in _SECTIONS:
        yield "read sections", lambda name=name: elf.data(name)
    with contextlib.suppress(SymbolizerError):
        yield from _own_acts(ElfFile(Holed(content)), of=" before a hole")
    others = [ElfFile(data) for data in whole if data[:4] == b"\x7fELF"]
    with tempfile.TemporaryFile() as nowhere:
        for other in others[-3:]:
            yield "join with common data", lambda other=other: join_alternate(elf, content, other, nowhere)
            yield "join as common data", lambda other=other: join_alternate(other, whole[0], elf, nowhere)
        yield "join skeletons", lambda: join_split(elf, content, others, nowhere)
        for other in others:
            if is_skeleton(other):
                yield "join halves", lambda other=other: join_split(other, whole[0], [elf], nowhere)


def _own_acts(elf: ElfFile, of: str = "") -> Iterator[Act]:
    """What a worker does in the process that ingests captures."""
    yield f"rank{of}", lambda: quality_of(elf)
    yield f"lay out{of}", lambda: layout_of(elf)
    yield f"place{of}", lambda: _place(elf, 1 << 20)
    yield (
        f"identify{of}",
        lambda: (elf.debug_link, elf.alt_link, elf.build_id, elf.go_build_id, elf.compression),
    )
    yield f"read units{of}", lambda: (list(units(elf)), package_ids(elf))
    yield f"read symbols{of}", lambda: _find(elf)
    yield f"read as a kernel{of}", lambda: kallsyms_of(elf)
    yield f"load as a module{of}", lambda: ElfFile(as_loaded(elf, debug=False))


class Holed:
    """A file that has two gigabytes of nothing behind its content: on the disk they take no room."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __len__(self) -> int:
        return 2 << 30

    def __getitem__(self, where: slice) -> bytes:
        start, stop, _ = where.indices(len(self))
        part = self._content[start:stop]
        return part + bytes(stop - start - len(part)) if stop > max(start, len(self._content)) else part


_NEVER_RAISE = ("rank", "lay out")
_SECTIONS = (
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_str",
    ".symtab",
    ".gnu_debugdata",
    ".zdebug_info",
)


def _place(elf: ElfFile, size: int) -> None:
    offsets = FileOffsets(np.linspace(0, size, 50).astype(np.uint64))
    for segments in (layout_of(elf), elf.segment_map):
        if isinstance(segments, SegmentMap):
            segments.to_vaddrs(offsets).relative_to(segments.base)


def _find(elf: ElfFile) -> None:
    symbols = read_symbols(elf)
    symbols.find(ElfVaddrs(symbols.starts[:1000]))
    symbols.find_name("work")
    for index in range(min(len(symbols), 100)):
        symbols.symbol(index)


class Hang(BaseException):
    """No `Exception`, so that nobody who catches those takes it for his own."""


def outcome(act: Callable[[], None]) -> str:
    """What came of it; a finding begins with `!`."""

    def stop(_signal: int, frame: FrameType | None) -> None:
        where = frame.f_code.co_qualname if frame else ""
        raise Hang(where)

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        act()
    except SymbolizerError as error:
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
        signal.alarm(0)
    return "used"


def build_outcome(path: Path) -> str:
    """What building from the file comes to, in a forked process; only one that does not end is a finding."""
    child = os.fork()
    if child == 0:
        status = 9
        try:
            faulthandler.disable()
            resource.setrlimit(resource.RLIMIT_CPU, (20, 21))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 2)
            from symbolizer.builds.child import Request
            from symbolizer.builds.work import NotBuildable, build

            try:
                descriptor = os.open(path, os.O_RDONLY)
                output = path.with_suffix(".built")
                output.touch()
                build(Request(str(output), 0, 0, 0, "fuzz", descriptor))
                status = 0
            except NotBuildable:
                status = 3
        finally:
            os._exit(status)
    deadline = time.monotonic() + BUILD_SECONDS
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "!build does not end"
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(status)
    return {0: "built", 3: "not buildable"}.get(code, f"build ended by {code}")


def inputs(whole: list[bytes], seed: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Inputs by number; each is the same whatever came before it."""
    for number in range(count):
        yield number, damaged(whole, random.Random(seed * 1_000_003 + number))


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Trial:
    """Inputs tried so far, and what came of them."""

    def __init__(self, folder: Path, builds: int) -> None:
        self._folder = folder
        self._builds = builds
        (folder / "whole").mkdir()
        self.whole = whole_files(folder / "whole")
        self.tally: Counter[tuple[str, str]] = Counter()
        self.findings = 0
        self.slowest = 0.0

    def limit_memory(self) -> None:
        """From now on this process may have a gigabyte more than it has."""
        for content in self.whole:
            for _, act in acts(content, self.whole):
                outcome(act)  # what numpy and others allocate once
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))

    def add(self, number: int, content: bytes) -> None:
        """Try one."""
        started = time.process_time()
        for name, act in acts(content, self.whole):
            came = outcome(act)
            never = name.startswith(_NEVER_RAISE) and came != "used"
            self._note(number, content, name, f"!{came}" if never else came)
        self.slowest = max(self.slowest, time.process_time() - started)
        if self._builds and number % self._builds == 0:
            path = self._folder / "input"
            path.write_bytes(content)
            self._note(number, content, "build", build_outcome(path))

    def _note(self, number: int, content: bytes, name: str, came: str) -> None:
        self.tally[name, came.partition(":")[0]] += 1
        if came.startswith("!"):
            self.findings += 1
            kept = Path(tempfile.gettempdir()) / f"corrupted-elf-{number}"
            kept.write_bytes(content)
            say(f"input {number}, {name}: {came[1:]} ({kept})")


def main() -> int:
    """Try them all; what was found is printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--builds", type=int, default=10, help="build from every so manyth; 0: from none")
    options = parser.parse_args()
    if options.builds:
        import symbolic.debuginfo  # noqa: F401 - before the forks, which then need not
    faulthandler.enable()
    with tempfile.TemporaryDirectory(prefix="corrupted-elf-") as name:
        trial = Trial(Path(name), options.builds)
        trial.limit_memory()
        for number, content in inputs(trial.whole, options.seed, options.count):
            trial.add(number, content)
    for (act, came), count in sorted(trial.tally.items()):
        say(f"{count:8} {act}: {came}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(
        f"{options.count} inputs, {trial.findings} findings; slowest {trial.slowest:.2f} CPU s, peak {peak:.0f} MiB"
    )
    return bool(trial.findings)


if __name__ == "__main__":
    sys.exit(main())
