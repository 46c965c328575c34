"""The same answers as llvm-symbolizer, on addresses of real and of compiled programs."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from storage.ingest.symbolized import ResolvedFrames, Status
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles

pytestmark = pytest.mark.integration

LLVM = next(
    filter(None, map(shutil.which, ("llvm-symbolizer-19", "llvm-symbolizer", "llvm-symbolizer-14"))), None
)

SOURCE = """
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
struct Tree {
    std::map<std::string, std::vector<int>> leaves;
    template <class F> int each(F f) { int n = 0; for (auto& leaf : leaves) n += f(leaf.second); return n; }
    int grow(int n) {
        for (int i = 0; i < n; i++) leaves[std::to_string(i % 97)].push_back(i * 7 % 13);
        return each([](std::vector<int>& v) { std::sort(v.begin(), v.end()); return v.empty() ? 0 : v.back(); });
    }
};
int main(int argc, char**) { Tree tree; std::printf("%d\\n", tree.grow(argc * 1000)); }
"""

Chain = list[tuple[str, str, int]]


def llvm(path: Path, addresses: list[int]) -> list[Chain]:
    assert LLVM is not None
    text = "\n".join(map(hex, addresses)) + "\n"
    command = [LLVM, "--output-style=JSON", "--inlines", f"--obj={path}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [
        [
            (plain(level["FunctionName"]), Path(level["FileName"]).name, int(level["Line"]))
            for level in json.loads(line).get("Symbol", [])
        ]
        for line in done.stdout.splitlines()
    ]


def plain(name: str) -> str:
    """Without what the two spell apart: clones' suffixes, symbol versions, spaces between brackets."""
    name = name.replace("> >", ">>").replace("> >", ">>").partition("@")[0]
    for suffix in (".isra", ".part", ".cold", ".constprop", ".lto_priv"):
        name = name.split(suffix, maxsplit=1)[0].removesuffix(" (")
    return name


def ours(path: Path, addresses: list[int], cache: Path) -> tuple[list[Chain], ResolvedFrames]:
    elf = ElfFile(path.read_bytes())
    capture = capture_pb2.Capture(format=1, strings=["", str(path)])
    capture.mappings.add(kind=capture_pb2.Mapping.FILE, path=1, build_id=elf.build_id)
    for address in addresses:
        offset = next(
            address - s.vaddr + s.offset
            for s in elf.segment_map.segments
            if s.vaddr <= address < s.vaddr + s.filesz
        )
        capture.frames.mapping.append(0)
        capture.frames.offset.append(offset)
        capture.frames.into_function.append(0)
        capture.frames.flags.append(1)
    resolved = Resolver(LocalFiles(), cache).resolve(capture)
    chains = []
    for frame in range(len(addresses)):
        entries = range(resolved.offsets[frame], resolved.offsets[frame + 1])
        functions = [resolved.functions[resolved.function[entry]] for entry in entries]
        lines = resolved.line[entries.start : entries.stop].tolist()
        chains.append(
            [(plain(f.name), Path(f.file).name, line) for f, line in zip(functions, lines, strict=True)]
        )
    return chains, resolved


def in_functions(path: Path, count: int) -> list[int]:
    """Random addresses inside sized functions: between them llvm names the one before."""
    symbols = read_symbols(ElfFile(path.read_bytes()))
    chance = random.Random(11)
    found = [symbols.symbol(chance.randrange(len(symbols))) for _ in range(count)]
    return [
        chance.randrange(s.start, s.end) for s in found if s.end > s.start and not s.name.endswith("@plt")
    ]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    (folder / "tree.cc").write_text(SOURCE)
    if shutil.which("g++") is None or LLVM is None:
        pytest.skip("g++ and llvm-symbolizer are needed (apt-get install g++ llvm)")
    for name, options in {
        "pie": [],
        "fixed": ["-no-pie"],
        "dwarf4": ["-gdwarf-4"],
        "lines": ["-g1"],
        "clones": ["-O3", "-fipa-cp-clone"],
    }.items():
        subprocess.run(["g++", "-O2", "-g", *options, "tree.cc", "-o", name], cwd=folder, check=True)
    return folder


def agreement(mine: list[Chain], theirs: list[Chain], same_name: Callable[[str, str], bool]) -> float:
    """Share of equal chains of functions and lines, where llvm knows lines.

    Files are left out: ours is where the function begins, llvm's where the line is.
    """
    equal = [
        len(chain) == len(other)
        and all(
            same_name(a, b) and line == line_b
            for (a, _, line), (b, _, line_b) in zip(chain, other, strict=True)
        )
        for chain, other in zip(mine, theirs, strict=True)
        if all(line for _, _, line in other)
    ]
    assert len(equal) > len(theirs) // 2
    return sum(equal) / len(equal)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["pie", "fixed", "dwarf4", "lines", "clones"])
def test_chains_of_functions_and_lines_agree(tree: Path, tmp_path: Path, variant: str) -> None:
    path = tree / variant
    addresses = in_functions(path, 3000)
    mine, resolved = ours(path, addresses, tmp_path / "cache")
    theirs = llvm(path, addresses)
    assert agreement(mine, theirs, str.__eq__) >= 0.98
    leaves = [(chain[0][1], other[0][1]) for chain, other in zip(mine, theirs, strict=True) if other[0][2]]
    assert sum(a == b for a, b in leaves) / len(leaves) >= 0.95
    assert (resolved.status == Status.FULL).mean() >= len(leaves) / len(addresses) - 0.01


def test_the_c_library_agrees_through_its_separate_debug_file(tmp_path: Path) -> None:
    path = Path("/lib/x86_64-linux-gnu/libc.so.6")
    if LLVM is None or not path.exists():
        pytest.skip("llvm-symbolizer and a Debian C library are needed")
    build_id = ElfFile(path.read_bytes()).build_id.hex()
    debug = Path("/usr/lib/debug/.build-id") / build_id[:2] / f"{build_id[2:]}.debug"
    if not debug.exists():
        pytest.skip("its debug file is not installed (apt-get install libc6-dbg)")
    addresses = in_functions(path, 3000)
    mine, _ = ours(path, addresses, tmp_path / "cache")
    table = subprocess.run(["nm", str(debug)], capture_output=True, text=True, check=True).stdout
    at = {
        fields[2].partition("@")[0]: fields[0]
        for line in table.splitlines()
        if len(fields := line.split()) == 3
    }

    def aliases(a: str, b: str) -> bool:
        return a == b or at.get(a, a) == at.get(b, b)

    assert agreement(mine, llvm(debug, addresses), aliases) >= 0.98
    assert {"malloc", "qsort", "printf"} <= {name for chain in named(path, tmp_path) for name, _, _ in chain}


def named(path: Path, tmp_path: Path) -> list[Chain]:
    """Chains at the first instruction of every function of the file."""
    symbols = read_symbols(ElfFile(path.read_bytes()))
    starts = [s.start for s in map(symbols.symbol, range(len(symbols))) if not s.name.endswith("@plt")]
    return ours(path, starts, tmp_path / "cache")[0]
