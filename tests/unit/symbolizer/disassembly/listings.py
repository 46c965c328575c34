"""Listings of functions of compiled programs, and what binutils say about the same files."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np

from symbolizer.builds.build import build_input
from symbolizer.builds.outcome import Built
from symbolizer.builds.symcaches import SymCaches, local_symcaches
from symbolizer.disassembly.disassembler import Disassembler, Listing, SampledOffsets
from symbolizer.disassembly.function_ranges import SoughtFunction
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.sources.chain import Chain
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.opened_elf import open_elf
from symbolizer.sources.source import Found

_LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *(?:\t(.*))?$")


def identity_of(path: Path) -> ImageIdentity:
    build_id = ElfFile(path.read_bytes()).build_id
    return ImageIdentity(build_id.hex(), path.name, str(path), build_id, "")


def sampled_at(samples: dict[int, int], start: int = 0) -> SampledOffsets:
    """Samples by file offset, each of weight 1 for a unit; all in a function that starts at `start`."""
    offsets = np.array(sorted(samples), np.uint64)
    counts = np.array([samples[offset] for offset in sorted(samples)], np.int64)
    starts = np.full(len(offsets), start, np.uint64)
    return SampledOffsets(offsets, starts, counts, 10 * counts, counts * 20.0)


NOTHING = sampled_at({})


def sought(name: str, *, file: str = "", start: int | None = None) -> SoughtFunction:
    return SoughtFunction(name, name, file, start)


def built(path: Path, folder: Path) -> SymCaches:
    """The symbols of the program, as a worker builds them."""
    caches = local_symcaches(folder)
    found = open_elf(path)
    assert isinstance(found, Found)
    with found.content:
        assert isinstance(caches.build(identity_of(path).key, build_input(found, found)), Built)
    return caches


def disassembler(caches: SymCaches | Path, **more: int) -> Disassembler:
    chain = Chain([LocalFiles(debug_roots=())])
    return Disassembler(chain, local_symcaches(caches) if isinstance(caches, Path) else caches, **more)


def listing(
    path: Path, caches: SymCaches | Path, function: SoughtFunction, sampled: SampledOffsets = NOTHING
) -> Listing:
    return disassembler(caches).listing("file", identity_of(path), function, sampled)


def functions_in(path: Path) -> dict[str, tuple[int, int]]:
    """Start and end of each function with a size, as nm lists them; only names that one function has."""
    with OpenedFile(path) as content:
        symbols = read_symbols(ElfFile(content))
        every = [symbols.symbol(i) for i in range(len(symbols)) if symbols.is_sized[i]]
    names = Counter(symbol.name for symbol in every)
    return {one.name: (one.start, one.end) for one in every if names[one.name] == 1 and one.end > one.start}


def objdump(path: Path, start: int, end: int, program: str = "objdump") -> list[tuple[int, str, str]]:
    """Address, bytes and text of each instruction."""
    done = subprocess.run(
        [program, "-d", "-M", "intel", "--insn-width=16",
         f"--start-address={start:#x}", f"--stop-address={end:#x}", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = (_LINE.match(line) for line in done.stdout.splitlines())
    return [(int(m[1], 16), m[2].replace(" ", ""), m[3] or "") for m in found if m]
