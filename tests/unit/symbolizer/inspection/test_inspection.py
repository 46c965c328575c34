import hashlib
import random
import zlib
from pathlib import Path

import pytest

from storage.symbols.kinds import FileKind, Quality
from symbolizer.elf.file import ElfFile
from symbolizer.errors import MalformedImage, SymbolizerError, SymbolsHidden
from symbolizer.files import OpenedFile
from symbolizer.inspection.inspection import Inspection, inspect
from symbolizer.inspection.inspector import InspectionLimits, NotInspected, inspect_in_child


def inspected(path: Path) -> Inspection:
    with OpenedFile(path) as content:
        return inspect(content)


def readelf_build_id(programs, path: Path) -> str:
    return programs.run("readelf", "-n", str(path)).partition("Build ID: ")[2].split()[0]


@pytest.mark.parametrize(
    ("name", "command", "kind", "quality"),
    [
        ("whole", "cp {pie} {to}", FileKind.EXECUTABLE, Quality.DWARF),
        ("bare", "objcopy --strip-all {pie} {to}", FileKind.EXECUTABLE, Quality.NONE),
        ("plain", "objcopy --strip-debug {pie} {to}", FileKind.EXECUTABLE, Quality.SYMTAB),
        ("apart", "objcopy --only-keep-debug {pie} {to}", FileKind.DEBUGINFO, Quality.DWARF),
        (
            "names",
            "objcopy --only-keep-debug --remove-section=.debug_* {pie} {to}",
            FileKind.SYMBOLS,
            Quality.SYMTAB,
        ),
        ("pressed", "objcopy --compress-debug-sections=zlib {pie} {to}", FileKind.EXECUTABLE, Quality.DWARF),
    ],
)
def test_a_file_is_told_by_what_is_in_it(
    programs, name: str, command: str, kind: FileKind, quality: Quality
) -> None:
    to = programs.folder / f"inspected-{name}"
    programs.run(*command.format(pie=programs.pie, to=to).split())
    found = inspected(to)
    assert (found.kind, found.machine, found.bits) == (kind, "x86-64", 64)
    assert found.quality == quality or (name == "bare" and found.quality == Quality.DYNSYM)
    assert found.key == found.build_id == readelf_build_id(programs, programs.pie)
    assert found.sha256 == hashlib.sha256(to.read_bytes()).hexdigest()
    assert found.crc32 == zlib.crc32(to.read_bytes())
    assert found.compression == (("zlib",) if name == "pressed" else ())
    assert found.is_loadable == (kind == FileKind.EXECUTABLE)
    assert ("GNU C" in found.producer) == (quality == Quality.DWARF)
    assert Inspection.from_json(found.to_json()) == found


def test_without_a_build_id_the_content_is_the_key(programs) -> None:
    whole = programs.compiled("nameless", "-Wl,--build-id=none")
    found = inspected(whole)
    assert found.key == f"sha256:{hashlib.sha256(whole.read_bytes()).hexdigest()}"
    programs.run("objcopy", "--only-keep-debug", str(whole), "nameless.debug")
    programs.run("objcopy", "--strip-all", "--add-gnu-debuglink=nameless.debug", str(whole), "nameless.bare")
    apart, bare = (inspected(programs.folder / name) for name in ("nameless.debug", "nameless.bare"))
    assert bare.debug_link is not None
    assert apart.key == f"crc32:{bare.debug_link.crc32:08x}"


def test_split_files_are_joined_with_their_program_by_id(programs) -> None:
    for version in ("4", "5"):
        program = inspected(programs.compiled(f"split{version}", "-gsplit-dwarf", f"-gdwarf-{version}"))
        assert program.quality == Quality.SYMTAB
        assert program.split_name == f"split{version}-program.dwo"
        half = inspected(programs.folder / program.split_name)
        assert (half.kind, half.quality) == (FileKind.SPLIT, Quality.DWARF)
        assert half.key == f"dwo:{program.split_ids[0]}"
        assert half.split_ids == program.split_ids


def test_what_dwz_moves_out_is_a_file_of_its_own(programs) -> None:
    for name in ("first", "second"):
        (programs.folder / f"dwz-{name}").write_bytes(programs.pie.read_bytes())
    programs.run("dwz", "-m", "common.dwz", "dwz-first", "dwz-second")
    first, common = inspected(programs.folder / "dwz-first"), inspected(programs.folder / "common.dwz")
    assert first.alt_link is not None
    assert first.alt_link.path == "common.dwz"
    assert first.alt_link.build_id.hex() == common.key
    assert common.kind == FileKind.ALTLINK
    assert first.kind == FileKind.EXECUTABLE


def test_kallsyms_are_known_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_text("ffffffff81000000 T _stext\nffffffff81000000 T first\nffffffff81000040 t second\n")
    found = inspected(path)
    assert (found.kind, found.key, found.quality) == (FileKind.KALLSYMS, "", Quality.SYMTAB)
    assert found.functions == 2
    path.write_text("0000000000000000 T _stext\n0000000000000000 T first\n")
    with pytest.raises(SymbolsHidden):
        inspected(path)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n" * 10, b"0123456789abcdef", bytes(9000)])
def test_what_is_of_no_use_says_why(content: bytes) -> None:
    with pytest.raises(MalformedImage, match=r"\.$"):
        inspect(content)


def test_a_core_dump_is_refused(programs) -> None:
    core = bytearray(programs.pie.read_bytes())
    core[16] = 4  # e_type ET_CORE: memory of a process, which is nobody's symbols
    with pytest.raises(MalformedImage, match="core"):
        inspect(bytes(core))


def test_inspecting_apart_says_the_same(programs) -> None:
    assert inspect_in_child(programs.pie) == inspected(programs.pie)
    nothing = inspect_in_child(programs.folder / "program.c")
    assert nothing == NotInspected("It is not an ELF file.")


@pytest.mark.slow
def test_an_inspection_ends_at_its_limit_of_memory(programs, tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"0000000000001000 T _stext\n" + b"0000000000001000 T f\n" * 1_000_000)
    ended = inspect_in_child(path, limits=InspectionLimits(memory_bytes=300 << 20))
    assert isinstance(ended, NotInspected)
    assert "MiB" in ended.reason


def test_damaged_files_end_in_a_value_or_in_an_error_of_ours(programs) -> None:
    """The seeds are fixed; `make fuzz-elf` tries ten thousand others."""
    whole = [path.read_bytes() for path in (programs.pie, programs.compiled("split5", "-gsplit-dwarf"))]
    chance = random.Random(11)
    outcomes = {True: 0, False: 0}
    for _ in range(100):
        damaged = bytearray(chance.choice(whole))
        for _ in range(chance.choice((1, 8, 64))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            inspect(bytes(damaged))
        except SymbolizerError:
            outcomes[False] += 1
        else:
            outcomes[True] += 1
    assert min(outcomes.values()) > 0


def test_the_key_is_what_captures_call_the_binary(programs) -> None:
    assert inspected(programs.pie).key == ElfFile(programs.pie.read_bytes()).build_id.hex()
