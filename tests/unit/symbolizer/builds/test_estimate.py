from pathlib import Path

from symbolizer.builds.estimate import DebugSize, debug_size
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.sources.source import Found


def size_of(path: Path) -> DebugSize:
    with OpenedFile(path) as content:
        return debug_size(Found(content, ElfFile(content), path.name))


def sections_of(programs, path: Path) -> dict[str, int]:
    """Sizes of debug sections, by readelf."""
    lines = programs.run("readelf", "-SW", str(path)).replace("[ ", "[").splitlines()
    rows = [line.split() for line in lines if ".debug_" in line]
    return {row[1]: int(row[5], 16) for row in rows}


def test_all_debug_sections_count_and_nothing_else(programs) -> None:
    size = size_of(programs.pie)
    assert size.plain == sum(sections_of(programs, programs.pie).values())
    assert size.compressed == 0
    assert size.file == programs.pie.stat().st_size


def test_compressed_sections_are_expected_to_grow(programs) -> None:
    compressed = programs.compiled("packed", "-gz=zlib", "-g3")
    size, plain = size_of(compressed), size_of(programs.compiled("macros", "-g3"))
    assert size.compressed > 0
    assert size.plain + size.compressed == sum(sections_of(programs, compressed).values())
    assert size.seconds > DebugSize(size.file, size.plain + size.compressed, 0).seconds
    assert plain.seconds / 3 < size.seconds < plain.seconds * 3
    assert size.memory_bytes > size.file


def test_a_stripped_file_has_none(programs) -> None:
    size = size_of(programs.stripped("nothing"))
    assert (size.plain, size.compressed) == (0, 0)


def test_what_section_headers_claim_is_bounded_by_the_file(programs) -> None:
    content = bytearray(programs.pie.read_bytes())
    elf = ElfFile(bytes(content))
    at = int.from_bytes(content[40:48], "little")  # section headers of 64 bytes, their size at 32
    for name, index in elf.section_names.items():
        if name.startswith(".debug_"):
            content[at + 64 * index + 32 : at + 64 * index + 40] = (1 << 50).to_bytes(8, "little")
    path = programs.folder / "boastful"
    path.write_bytes(content)
    size = size_of(path)
    assert size.plain <= size.file
    assert size.seconds < 1


def test_small_programs_are_small_and_gigabytes_are_not(programs) -> None:
    assert size_of(programs.pie).seconds < 1
    assert DebugSize(700 << 20, 650 << 20, 0).seconds > 10
