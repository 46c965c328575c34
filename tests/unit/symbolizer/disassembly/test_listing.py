"""GIVEN a program and samples WHEN a function is listed THEN samples, lines and ranges are those of the program."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.disassembly.disassembler import Disassembler
from symbolizer.disassembly.function_ranges import CodeRange
from symbolizer.disassembly.sampled_addresses import SampledAddresses, shown_ranges
from symbolizer.elf.file import ElfFile
from symbolizer.elf.unwind_table import end_of
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, OffsetTable
from symbolizer.sources.chain import Chain
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.source import Found, Missing
from tests.unit.symbolizer.disassembly.listings import (
    built,
    disassembler,
    functions_in,
    identity_of,
    listing,
    sampled_at,
    sought,
)
from tests.unit.symbolizer.images.test_cold import SPLIT

VARIANTS = ("pie", "fixed", "by_lld")


def offset_of(path: Path, address: int) -> int:
    segment = next(
        s for s in ElfFile(path.read_bytes()).segment_map.segments if s.vaddr <= address < s.vaddr + s.filesz
    )
    return segment.offset + address - segment.vaddr


@pytest.mark.parametrize("variant", VARIANTS)
def test_samples_are_at_their_instructions(programs, tmp_path: Path, variant: str):
    path: Path = getattr(programs, variant)
    start, end = functions_in(path)["work"]
    rows = listing(path, tmp_path, sought("work")).rows.rows
    starts = [row.address for row in rows]
    assert (starts[0], starts[-1] + len(rows[-1].instruction.code)) == (start, end)
    samples = {offset_of(path, address): 3 + n for n, address in enumerate(starts[::2])}
    other = functions_in(path)["main"][0]
    found = listing(path, tmp_path, sought("work"), sampled_at({**samples, offset_of(path, other): 99}))
    assert {row.address: row.samples for row in found.rows.rows if row.samples} == {
        address: 3 + n for n, address in enumerate(starts[::2])
    }
    assert all(row.units == 10 * row.samples and row.weight == 20 * row.samples for row in found.rows.rows)
    assert found.rows.inside == 0
    assert (found.origin, found.architecture, found.missing) == (str(path), "x86-64", "")


def test_a_sample_within_an_instruction_counts_there(programs, tmp_path: Path):
    path = programs.pie
    rows = listing(path, tmp_path, sought("work")).rows.rows
    long = next(row for row in rows if len(row.instruction.code) > 2)
    inside = {offset_of(path, long.address + 1): 5, offset_of(path, long.address): 2}
    found = listing(path, tmp_path, sought("work"), sampled_at(inside))
    assert [(row.address, row.samples) for row in found.rows.rows if row.samples] == [(long.address, 7)]
    assert found.rows.inside == 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_lines_are_addr2lines(programs, tmp_path: Path, variant: str):
    path: Path = getattr(programs, variant)
    caches = built(path, tmp_path)
    compared = 0
    for name in ("work", "main", "give_up"):
        rows = listing(path, caches, sought(name)).rows.rows
        said = programs.run(
            "addr2line", "-i", "-f", "-a", "-e", str(path), *(hex(row.address) for row in rows)
        )
        for row, chain in zip(rows, said.split("0x")[1:], strict=True):
            _, *levels = chain.splitlines()
            place = levels[1].split(" (discriminator")[0]
            file, _, line = place.rpartition(":")
            if line not in {"0", "?"}:
                assert (Path(row.place.file).name, row.place.line) == (Path(file).name, int(line))
                compared += 1
            assert row.place.inlined == (levels[0] if len(levels) > 2 else "")
    assert compared > 30


def test_targets_have_names(programs, tmp_path: Path):
    names = {row.target_name for row in listing(programs.pie, tmp_path, sought("main")).rows.rows}
    assert {"printf@plt", "give_up"} <= names or {"__printf_chk@plt", "give_up"} <= names
    inner = [
        row
        for row in listing(programs.pie, tmp_path, sought("work")).rows.rows
        if row.target_name.startswith("work+0x")
    ]
    start = functions_in(programs.pie)["work"][0]
    assert inner
    assert all(row.instruction.target == start + int(row.target_name[5:], 16) for row in inner)


def test_hot_and_cold_part_are_listed(programs, tmp_path: Path):
    (programs.folder / "halves.c").write_text(SPLIT)
    programs.run("gcc", "-O2", "-g", "halves.c", "-o", "halves")
    path = programs.folder / "halves"
    at = functions_in(path)
    found = listing(path, tmp_path, sought("first"))
    assert {(one.symbol, one.start, one.end) for one in found.ranges} == {
        (name, *at[name]) for name in ("first", "first.cold")
    }
    assert [row.address for row in found.rows.rows] == sorted(row.address for row in found.rows.rows)


def test_of_local_functions_with_one_name_the_right_file_is_listed(programs, tmp_path: Path):
    for name in ("left", "right"):
        text = f"static __attribute__((noinline)) int same(int n) {{ return n * {len(name)}; }}\n"
        (programs.folder / f"{name}.c").write_text(text + f"int {name}(int n) {{ return same(n) + 1; }}\n")
    (programs.folder / "both.c").write_text(
        "int left(int), right(int); int main(int n) { return left(n) + right(n); }"
    )
    programs.run("gcc", "-O1", "-g", "-fno-ipa-icf", "both.c", "left.c", "right.c", "-o", "both")
    path = programs.folder / "both"
    caches = built(path, tmp_path)
    assert len(listing(path, caches, sought("same")).ranges) == 2
    folder = str(programs.folder)
    for name in ("left", "right"):
        (one,) = listing(path, caches, sought("same", file=f"{folder}/{name}.c")).ranges
        said = programs.run("addr2line", "-e", str(path), hex(one.start))
        assert f"{name}.c" in said


def test_a_stripped_function_ends_where_its_unwind_entry_says(programs, tmp_path: Path):
    path = programs.stripped("bare")
    whole = functions_in(programs.pie)
    elf = ElfFile(path.read_bytes())
    for name in ("work", "main", "give_up"):
        start, end = whole[name]
        assert end_of(elf, start) == end
        offset = offset_of(path, start)
        found = listing(
            path, tmp_path, sought(f"bare+{offset:#x}", start=offset), sampled_at({offset + 4: 6}, offset)
        )
        assert [(one.start, one.end) for one in found.ranges] == [(start, end)]
        assert sum(row.samples for row in found.rows.rows) == 6
    assert end_of(elf, whole["work"][0] + 1) is None


def test_a_debug_file_has_addresses_and_no_instructions(programs, tmp_path: Path):
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), "only.debug")
    path = programs.folder / "only.debug"
    start, _ = functions_in(path)["work"]
    found = listing(path, tmp_path, sought("work"), sampled_at({offset_of(programs.pie, start): 4}))
    assert [(row.address, row.instruction, row.samples) for row in found.rows.rows] == [(start, None, 4)]
    assert found.upload_helps
    assert "no code" in found.missing
    assert found.origin == ""


def test_a_missing_binary_is_said(programs, tmp_path: Path):
    gone = identity_of(programs.pie)
    gone = type(gone)("ab" * 20, "gone", "/nowhere/gone", b"\xab" * 20, "")
    found = disassembler(tmp_path).listing("file", gone, sought("work"), sampled_at({64: 1}))
    assert (found.rows.rows, found.upload_helps) == ((), True)
    assert "/nowhere/gone is not on this machine." in found.missing
    nameless = disassembler(tmp_path).listing(
        "file", gone, sought("gone+0x40", start=64), sampled_at({64: 1, 70: 2}, 64)
    )
    assert nameless.space == "file"
    assert [(row.address, row.samples) for row in nameless.rows.rows] == [(64, 1), (70, 2)]


def test_another_build_at_the_path_is_not_listed(programs, tmp_path: Path):
    right = identity_of(programs.pie)
    wrong = type(right)("ab" * 20, right.name, right.path, b"\xab" * 20, "")
    found = disassembler(tmp_path).listing("file", wrong, sought("work"), sampled_at({}))
    assert "another build" in found.missing
    assert not found.rows.rows


def test_an_inlined_function_has_no_instructions_of_its_own(programs, tmp_path: Path):
    found = listing(programs.pie, tmp_path, sought("cube"))
    assert "inlined" in found.missing
    assert not found.upload_helps


def test_the_filler_of_a_simulated_fleet_is_not_shown_as_code(tmp_path: Path):
    path = tmp_path / "simulated"
    path.write_bytes(elf_file(b"\x07" * 20, [Symbol("spin", TEXT_OFFSET, 64)]))
    found = listing(path, tmp_path, sought("spin"), sampled_at({TEXT_OFFSET + 5: 2}))
    assert "simulated" in found.missing
    assert not found.upload_helps
    assert [(row.address, row.instruction, row.samples) for row in found.rows.rows] == [
        (TEXT_OFFSET + 5, None, 2)
    ]


class KernelTables(LocalFiles):
    """This machine without any file, whose kernel's own symbols are known."""

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        return Missing("It is not here.")

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        return Missing("It is not here.")

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        starts = np.array([0, 64, 256], np.uint64)
        return Kallsyms(OffsetTable(starts, starts + np.uint64(64), (b"start", b"wait", b"end")), {})


def test_a_kernel_without_its_file_has_addresses_by_its_own_symbols(tmp_path: Path):
    kernel = ImageIdentity("ab" * 20, "[kernel]", "[kernel]", b"\xab" * 20, "")
    alone = Disassembler(Chain([KernelTables()]), local_symcaches(tmp_path))
    found = alone.listing("kernel", kernel, sought("wait"), sampled_at({63: 1, 64: 2, 127: 4, 128: 8}))
    assert (found.space, found.upload_helps) == ("kernel", True)
    assert [(row.address, row.samples) for row in found.rows.rows] == [(64, 2), (127, 4)]
    assert "not here" in found.missing


def test_code_without_a_file_is_said(tmp_path: Path):
    jit = ImageIdentity("path:[jit]", "[jit]", "", b"", "")
    found = disassembler(tmp_path).listing("anonymous", jit, sought("f"), sampled_at({0: 3}))
    assert (found.rows.rows, found.upload_helps) == ((), False)
    assert "no file" in found.missing


def test_a_foreign_architecture_is_said(programs, tmp_path: Path):
    content = bytearray(programs.pie.read_bytes())
    content[18:20] = (243).to_bytes(2, "little")
    path = tmp_path / "foreign"
    path.write_bytes(content)
    found = listing(path, tmp_path, sought("work"))
    assert "riscv" in found.missing
    assert not found.upload_helps


def test_what_does_not_fit_is_cut_to_the_densest_part(programs, tmp_path: Path):
    body = " ".join(f"x = x * {n} + {n};" for n in range(3, 3000))
    (programs.folder / "long.c").write_text(
        f"volatile int x; void grind(void) {{ {body} }} int main(void) {{ grind(); return 0; }}"
    )
    programs.run("gcc", "-O1", "-g", "long.c", "-o", "long")
    path = programs.folder / "long"
    start, end = functions_in(path)["grind"]
    every = [row.address for row in disassembler(tmp_path, most_bytes=1 << 20).listing(
        "file", identity_of(path), sought("grind"), sampled_at({})
    ).rows.rows]  # fmt: skip
    hot = every[len(every) // 2 : len(every) // 2 + 20]
    samples = {offset_of(path, address): 5 for address in hot} | {offset_of(path, every[0]): 1}
    found = disassembler(tmp_path, most_bytes=256).listing(
        "file", identity_of(path), sought("grind"), sampled_at(samples)
    )
    assert [(one.start, one.end) for one in found.ranges] == [(start, end)]
    assert [(one.start, one.end) for one in found.shown] == [(hot[0], hot[0] + 256)]
    assert sum(row.samples for row in found.rows.rows) == 100
    assert {row.address for row in found.rows.rows} <= set(every)
    assert int(found.sampled.samples.sum()) == 101


@settings(max_examples=300)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    at=st.dictionaries(st.integers(0, 199), st.integers(1, 9), max_size=12),
    most=st.integers(1, 60),
)
def test_the_shown_part_is_within_the_limit_and_the_best(sizes: list[int], at: dict[int, int], most: int):
    ranges = [CodeRange(str(n), 50 * n, 50 * n + size) for n, size in enumerate(sizes)]
    addresses = np.array(sorted(at), np.uint64)
    counts = np.array([at[address] for address in sorted(at)], np.int64)
    sampled = SampledAddresses(addresses, counts, counts, counts.astype(np.float64)).inside(ranges)
    shown = shown_ranges(ranges, sampled, most)
    assert sum(one.end - one.start for one in shown) <= most
    for one in shown:
        whole = ranges[int(one.symbol)]
        assert whole.start <= one.start < one.end <= whole.end
    if sum(sizes) <= most:
        assert list(shown) == ranges
    if len(ranges) == 1 and sizes[0] > most:
        best = max(
            int(sampled.samples[(sampled.address >= a) & (sampled.address < a + most)].sum())
            for a in (0, *(int(address) for address in sampled.address))
        )
        assert int(sampled.inside(shown).samples.sum()) == best


@pytest.mark.slow
def test_no_damage_to_a_file_raises(programs, tmp_path: Path):
    rng = np.random.default_rng(7)
    original = programs.pie.read_bytes()
    identity = identity_of(programs.pie)
    start = offset_of(programs.pie, functions_in(programs.pie)["work"][0])
    path = tmp_path / "damaged"
    moved = type(identity)(identity.key, path.name, str(path), identity.build_id, "")
    listed = 0
    for _ in range(300):
        content = bytearray(original)
        for _ in range(int(rng.integers(1, 6))):
            header = bool(rng.integers(2))
            places = (0, 1024) if header else (0, len(content))
            content[int(rng.integers(*places))] = int(rng.integers(256))
        # Section headers, too: they are at the end.
        content[-int(rng.integers(1, 2400))] = int(rng.integers(256))
        path.write_bytes(content)
        for function in (sought("work"), sought("x", start=start)):
            found = disassembler(tmp_path / "none").listing(
                "file", moved, function, sampled_at({start: 1}, start)
            )
            listed += bool(found.origin)
            assert found.origin or found.missing
    assert listed > 100


def test_a_section_that_claims_terabytes_is_refused(programs, tmp_path: Path):
    elf = ElfFile(programs.pie.read_bytes())
    index = elf.section_names[".text"]
    content = bytearray(programs.pie.read_bytes())
    table = int.from_bytes(content[40:48], "little")
    size_at = table + 64 * index + 32
    content[size_at : size_at + 8] = (1 << 45).to_bytes(8, "little")
    path = tmp_path / "huge"
    path.write_bytes(content)
    found = listing(path, tmp_path, sought("work"))
    assert found.rows.rows or found.missing
    far = ElfFile(bytes(content)).code_at
    with pytest.raises(Exception, match="beyond the end of the file"):
        far(int(elf.sections["addr"][index]) + len(content), 16)


def test_readelf_agrees_on_where_code_is(programs):
    elf = ElfFile(programs.pie.read_bytes())
    start, end = functions_in(programs.pie)["main"]
    dumped = subprocess.run(
        ["objcopy", "-O", "binary", "-j", ".text", str(programs.pie), "/dev/stdout"],
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    text = int(elf.sections["addr"][elf.section_names[".text"]])
    assert elf.code_at(start, end - start) == dumped[start - text : end - text]
