import errno
import random
import struct
import zlib
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import DebugLink
from symbolizer.elf.notes import build_id_in, notes_in
from symbolizer.elf.records import SHT_DYNSYM, SHT_SYMTAB
from symbolizer.errors import MalformedElf, SymbolizerError


def read(path: Path) -> ElfFile:
    return ElfFile(path.read_bytes())


@pytest.mark.parametrize("variant", ["pie", "fixed", "by_lld"])
def test_segments_sections_symbols_and_build_id_are_pyelftools(programs, variant: str) -> None:
    path = getattr(programs, variant)
    elf = read(path)
    with path.open("rb") as file:
        theirs = ELFFile(file)
        assert [(s["p_offset"], s["p_vaddr"], s["p_filesz"]) for s in theirs.iter_segments("PT_LOAD")] == [
            (s.offset, s.vaddr, s.filesz) for s in elf.segment_map.segments
        ]
        names = {}
        for index, section in enumerate(theirs.iter_sections()):
            names.setdefault(section.name, index)
        assert elf.section_names == names
        for kind, name in ((SHT_SYMTAB, ".symtab"), (SHT_DYNSYM, ".dynsym")):
            section = theirs.get_section_by_name(name)
            assert isinstance(section, SymbolTableSection)
            [(records, text)] = elf.symbols(kind)
            assert [(s.name, s["st_value"], s["st_size"]) for s in section.iter_symbols()] == [
                (text[n : text.index(b"\0", n)].decode(), v, z)
                for n, v, z in zip(*(records[c].tolist() for c in ("name", "value", "size")), strict=True)
            ]
        for section in theirs.iter_sections():
            if isinstance(section, NoteSection) and section.name == ".note.gnu.build-id":
                assert elf.build_id.hex() == next(section.iter_notes())["n_desc"]
        assert elf.build_id or variant == "by_lld"


@pytest.mark.parametrize("method", ["zlib", "zlib-gnu"])
def test_compressed_debug_data_is_seen_and_read(programs, method: str) -> None:
    programs.run("objcopy", f"--compress-debug-sections={method}", str(programs.pie), f"pressed-{method}")
    pressed = programs.folder / f"pressed-{method}"
    assert pressed.stat().st_size < programs.pie.stat().st_size
    assert read(pressed).has_dwarf
    if method == "zlib":
        assert read(pressed).data(".debug_info") == read(programs.pie).data(".debug_info")


def test_the_debug_link_names_the_file_and_its_checksum(programs) -> None:
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), "linked.debug")
    programs.run("objcopy", "--strip-all", "--add-gnu-debuglink=linked.debug", str(programs.pie), "linked")
    crc = zlib.crc32((programs.folder / "linked.debug").read_bytes())
    assert read(programs.folder / "linked").debug_link == DebugLink("linked.debug", crc)
    assert read(programs.pie).debug_link is None
    assert not read(programs.folder / "linked").has_dwarf


def test_a_debug_file_has_sections_without_content(programs) -> None:
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), "only.debug")
    debug = read(programs.folder / "only.debug")
    assert debug.has_dwarf
    assert not debug.has_content(".text")
    assert debug.data(".text") == b""
    assert debug.data(".nothing") is None
    assert debug.build_id == read(programs.pie).build_id


def note(owner: bytes, kind: int, payload: bytes) -> bytes:
    def padded(data: bytes) -> bytes:
        return data + bytes(-len(data) % 4)

    return struct.pack("<III", len(owner), len(payload), kind) + padded(owner) + padded(payload)


def test_a_build_id_is_told_by_its_owner() -> None:
    # /sys/kernel/notes of a guest has Xen's notes, whose type 3 is something else.
    notes = note(b"Xen\0", 3, bytes(8)) + note(b"GNU\0", 3, b"\x01" * 20) + note(b"Linux\0", 3, b"x")
    assert build_id_in(notes_in(notes)) == b"\x01" * 20
    assert build_id_in(notes_in(notes[:40])) == b""


def test_go_has_an_identity_of_its_own() -> None:
    assert [n.owner for n in notes_in(note(b"Go\0\0", 4, b"abc/def"))] == [b"Go"]


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x03\x01\x01" + bytes(64), bytes(4096)]
)
def test_what_is_no_elf_file_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises(MalformedElf):
        ElfFile(content)


def use_everything(content: bytes) -> None:
    from symbolizer.elf.symtab import read_symbols

    elf = ElfFile(content)
    assert elf.segment_map.base >= 0
    assert isinstance(elf.build_id, bytes)
    assert isinstance(elf.go_build_id, str)
    assert elf.debug_link is None or elf.debug_link.name
    assert elf.has_dwarf in {True, False}
    for name in elf.section_names:
        elf.data(name)
    table = read_symbols(elf)
    for index in range(min(len(table), 50)):
        table.symbol(index)


def test_a_damaged_file_is_an_error_of_ours_or_harmless(programs) -> None:
    whole = programs.pie.read_bytes()
    header_at = struct.unpack_from("<Q", whole, 40)[0]
    chance = random.Random(7)
    refused = 0
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 4, 40))):
            # Half of the damage where it hurts: the file's header and its table of sections.
            at = chance.choice(
                (chance.randrange(64), header_at + chance.randrange(64 * 30), chance.randrange(len(whole)))
            )
            damaged[min(at, len(whole) - 1)] = chance.randrange(256)
        if chance.random() < 0.2:
            del damaged[chance.randrange(len(damaged)) :]
        try:
            use_everything(bytes(damaged))
        except SymbolizerError:
            refused += 1
    assert 50 < refused < 400


def test_sizes_are_checked_before_anything_is_read(programs) -> None:
    whole = bytearray(programs.pie.read_bytes())
    struct.pack_into("<H", whole, 60, 0)  # e_shnum 0: the count is in the first section's size
    section_at = struct.unpack_from("<Q", whole, 40)[0]
    struct.pack_into("<Q", whole, section_at + 32, 1 << 40)
    with pytest.raises(MalformedElf, match="sections"):
        ElfFile(bytes(whole))


def test_many_headers_cannot_name_the_same_bytes(programs) -> None:
    """Else a small file of a hundred thousand symbol tables would be read a hundred thousand times."""
    whole = bytearray(programs.pie.read_bytes())
    section_at, count = struct.unpack_from("<Q", whole, 40)[0], struct.unpack_from("<H", whole, 60)[0]
    symtab = next(
        bytes(whole[at : at + 64])
        for at in range(section_at, section_at + 64 * count, 64)
        if struct.unpack_from("<I", whole, at + 4)[0] == SHT_SYMTAB
    )
    struct.pack_into("<H", whole, 60, count + 100)
    del whole[section_at + 64 * count :]
    elf = ElfFile(bytes(whole + symtab * 100))
    with pytest.raises(MalformedElf, match="limit"):
        elf.symbols(SHT_SYMTAB)


class BadDisk(bytes):
    """Its first kilobyte can be read."""

    def __getitem__(self, where: slice) -> bytes:
        if where.stop > 1024:
            raise OSError(errno.EIO, "Input/output error")
        return super().__getitem__(where)


def test_a_disk_that_fails_is_said_like_a_broken_file(programs) -> None:
    with pytest.raises(MalformedElf, match="Input/output error"):
        ElfFile(BadDisk(programs.pie.read_bytes()))
