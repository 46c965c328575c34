import struct
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.machine.kernel_map import (
    UNKNOWN_LOCATION,
    KernelLocation,
    KernelMap,
    LoadedModules,
    Module,
    build_id_of_notes,
    read_modules,
)

BASE = 0xFFFFFFFF81000000
MODULE = 0xFFFFFFFFC0300000
TRAMPOLINE = 0xFFFFFFFFC0201000
BPF = 0xFFFFFFFFC0500000
LAST_OF_PACK = 0xFFFFFFFFC07FF000
KALLSYMS = f"""\
{BASE:x} T _stext
{BASE:x} T _text
{BASE + 0x100:x} t do_work
{BASE + 0x100:x} W do_work_alias
{BASE + 0x200:x} T another
{BASE + 0x280:x} D not_code
{BASE + 0x1000:x} T _etext
{BASE + 0x5000:x} T _sinittext
{BASE + 0x5010:x} t start_kernel
{MODULE + 0x40:x} t ext4_read\t[ext4]
{MODULE:x} t ext4_init\t[ext4]
{MODULE + 0x20:x} d ext4_data\t[ext4]
{TRAMPOLINE + 0x8000:x} t other_read\t[other]
{TRAMPOLINE:x} t ftrace_trampoline\t[__builtin__ftrace]
{BPF:x} t bpf_prog_6deef7357e7b4530\t[bpf]
{LAST_OF_PACK:x} t bpf_prog_last\t[bpf]
""".encode()
EXT4 = Module("ext4", MODULE, 0x1000, b"\x01\x02")


@pytest.fixture
def kernel() -> KernelMap:
    return KernelMap([KALLSYMS], [EXT4])


@pytest.mark.parametrize(
    ("address", "exact", "place"),
    [
        (BASE + 0x150, True, KernelLocation("", 0x150, 0x100)),
        (BASE + 0x200, True, KernelLocation("", 0x200, 0x200)),
        (BASE + 0x290, True, KernelLocation("", 0x290, 0x200)),  # a datum is no function start
        # the return address behind a call that ends its function belongs to that function
        (BASE + 0x200, False, KernelLocation("", 0x200, 0x100)),
        (BASE + 0x1000, False, KernelLocation("", 0x1000, 0x200)),
        (MODULE + 0x44, True, KernelLocation("ext4", 0x44, 0x40)),
        (MODULE + 0x24, True, KernelLocation("ext4", 0x24, 0)),
        (TRAMPOLINE + 8, True, KernelLocation(None, 0, None, "ftrace_trampoline")),
        (BPF + 4, True, KernelLocation(None, 0, None, "bpf_prog_6deef7357e7b4530")),
        (BPF + 0x5000, True, KernelLocation(None, 0, None, "bpf_prog_6deef7357e7b4530")),
        (LAST_OF_PACK + 0xFFF, True, KernelLocation(None, 0, None, "bpf_prog_last")),
    ],
)
def test_an_address_is_found_in_its_image(
    kernel: KernelMap, address: int, exact: bool, place: KernelLocation
):
    assert kernel.find(address, exact=exact) == place


@pytest.mark.parametrize(
    "address",
    [
        0,
        BASE - 1,
        BASE + 0x1000,  # _etext is the first byte that is no code
        BASE + 0x5010,  # code that is freed after boot
        MODULE + 0x1000,  # behind the module
        TRAMPOLINE + 0x9000,  # in a module whose base is not known
        TRAMPOLINE - 1,
        BPF + 0x10000,  # too far behind for one program
        TRAMPOLINE + 0x1000,  # trampolines have a page each
        LAST_OF_PACK + 0x1000,  # the next pack of programs
        (1 << 64) - 1,
    ],
)
def test_an_address_in_nothing_known_is_not_guessed(kernel: KernelMap, address: int):
    assert kernel.find(address, exact=True) == UNKNOWN_LOCATION


@given(st.lists(st.integers(1, len(KALLSYMS) - 1), max_size=10).map(sorted))
def test_the_pieces_it_is_read_in_do_not_matter(cuts: list[int]):
    bounds = [0, *cuts, len(KALLSYMS)]
    pieces = [KALLSYMS[start:end] for start, end in pairwise(bounds)]
    whole, cut = KernelMap([KALLSYMS], [EXT4]), KernelMap(pieces, [EXT4])
    for address in (BASE + 0x150, BASE + 0x290, MODULE + 0x44, TRAMPOLINE + 8, BPF + 4):
        assert cut.find(address, exact=True) == whole.find(address, exact=True)


@given(st.lists(st.integers(0, 0xFFF), min_size=1, unique=True), st.integers(0, 0xFFF))
def test_the_start_is_the_nearest_one_below(starts: list[int], offset: int):
    lines = [f"{BASE:x} T _stext", *(f"{BASE + start:x} t f{start}" for start in starts)]
    lines.append(f"{BASE + 0x1000:x} T _etext\n")
    found = KernelMap(["\n".join(lines).encode()], ()).find(BASE + offset, exact=True)
    assert found.function_offset == max(start for start in [0, *starts] if start <= offset)


def test_addresses_that_the_kernel_hides_are_not_readable():
    hidden = b"0000000000000000 T _stext\n0000000000000000 t f\n0000000000000000 T _etext\n"
    kernel = KernelMap([hidden], [Module("ext4", 0, 0x1000, b"")])
    assert not kernel.readable
    assert kernel.find(BASE, exact=True) == UNKNOWN_LOCATION
    assert not KernelMap((), ()).readable


def test_a_program_loaded_between_captures_is_not_counted_under_an_old_name():
    def programs(*names: str) -> KernelMap:
        """Each 256 bytes above the one before."""
        lines = [f"{BPF + 0x100 * number:x} t {name}\t[bpf]\n" for number, name in enumerate(names) if name]
        return KernelMap([f"{BASE:x} T _stext\n{BASE + 0x1000:x} T _etext\n{''.join(lines)}".encode()], ())

    now = ["bpf_prog_old"]
    read: list[tuple[str, ...]] = []

    def anew() -> KernelMap:
        read.append(tuple(now))
        return programs(*now)

    kernel = programs(*now)
    kernel.forget_runtime_code(anew)
    assert kernel.find(BPF + 0x110, exact=True).name == "bpf_prog_old"
    assert not read, "the first capture has what was just read"
    now[:] = ["", "bpf_prog_new"]
    kernel.forget_runtime_code(anew)
    assert kernel.find(BASE + 8, exact=True).module == ""
    assert not read, "no run-time code was met"
    assert kernel.find(BPF + 0x110, exact=True).name == "bpf_prog_new"
    assert kernel.find(BPF + 0x10, exact=True) == UNKNOWN_LOCATION
    assert len(read) == 1, "once a capture"


def note(name: bytes, kind: int, value: bytes) -> bytes:
    pad = [b"\0" * (-len(part) % 4) for part in (name, value)]
    return struct.pack("<III", len(name), len(value), kind) + name + pad[0] + value + pad[1]


def test_the_build_id_is_found_among_other_notes():
    build_id = bytes(range(20))
    notes = note(b"Xen\0", 6, b"abcde") + note(b"Linux\0", 3, b"no") + note(b"GNU\0", 3, build_id)
    assert build_id_of_notes(notes) == build_id
    assert build_id_of_notes(note(b"GNU\0", 1, b"abi-")) == b""


@given(st.binary(max_size=200))
def test_damaged_notes_are_no_build_id_and_no_crash(notes: bytes):
    assert build_id_of_notes(notes) in notes


def test_a_build_id_that_is_cut_off_is_none():
    assert build_id_of_notes(note(b"GNU\0", 3, bytes(20))[:-1]) == b""


def test_modules_are_read_from_sysfs_and_built_in_ones_left_out(tmp_path: Path):
    loaded = tmp_path / "module" / "ext4"
    (loaded / "sections").mkdir(parents=True)
    (loaded / "notes").mkdir()
    (loaded / "coresize").write_text("4096\n")
    (loaded / "sections" / ".text").write_text(f"0x{MODULE:x}\n")
    (loaded / "notes" / ".note.gnu.build-id").write_bytes(note(b"GNU\0", 3, b"\x01\x02"))
    (tmp_path / "module" / "printk" / "parameters").mkdir(parents=True)
    hidden = tmp_path / "module" / "fuse"
    hidden.mkdir()
    (hidden / "coresize").write_text("8192\n")
    assert read_modules(tmp_path) == [EXT4, Module("fuse", 0, 8192, b"")]


def test_modules_are_read_anew_only_when_the_list_changes(tmp_path):
    def module(name, size="4096", base="0xffffffffc0000000"):
        folder = tmp_path / "module" / name
        (folder / "sections").mkdir(parents=True, exist_ok=True)
        (folder / "coresize").write_text(f"{size}\n")
        (folder / "sections/.text").write_text(f"{base}\n")

    module("ext4")
    (tmp_path / "modules").write_text("ext4 4096 1 - Live 0xffffffffc0000000\n")
    loaded = LoadedModules(tmp_path, tmp_path)
    first = loaded.read()
    assert [each.name for each in first] == ["ext4"]
    (tmp_path / "modules").write_text("ext4 4096 2 fuse, Live 0xffffffffc0000000\n")
    assert loaded.read() is first
    module("fuse", size="garbage")
    module("nfs", base="garbage")
    (tmp_path / "modules").write_text("ext4 4096 1 - Live 0xf\nnfs 4096 0 - Live 0x0\n")
    assert [(each.name, each.base) for each in loaded.read()] == [("ext4", 0xFFFFFFFFC0000000), ("nfs", 0)]


def test_a_kernel_without_modules(tmp_path):
    assert LoadedModules(tmp_path, tmp_path).read() == []
