"""Split units with their own parts of sections, from .dwo files and .dwp packages.

In a package every unit has a row of offsets and sizes (DWARF 5 §7.3.5; GNU's draft of it for DWARF 4).
"""

from dataclasses import dataclass
from typing import Final

from symbolizer.dwarf.byte_cursor import ByteCursor, CutShort
from symbolizer.elf.file import ElfFile
from symbolizer.errors import MalformedElf
from symbolizer.sources.joining.walk import UnitHead, read_head

_INFO, _ABBREV, _STR_OFFSETS, _RNGLISTS = 1, 3, 6, 8
_MAX_CELLS: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class SplitFile:
    """Sections of a .dwo or .dwp file."""

    info: bytes
    abbreviations: bytes
    strings: bytes
    string_offsets: bytes
    range_lists: bytes


@dataclass(frozen=True, slots=True)
class SplitPart:
    """One unit in a split file, and the positions of its own parts of the other sections."""

    file: SplitFile
    head: UnitHead
    abbreviations: int
    """Start of its table."""
    string_offsets: tuple[int, int]
    """Start and size."""
    range_lists: tuple[int, int]


def read_split_file(elf: ElfFile) -> SplitFile:
    """Read the sections that joining needs. Raises `MalformedElf`."""
    names = ("info", "abbrev", "str", "str_offsets", "rnglists")
    return SplitFile(*(elf.data(f".debug_{name}.dwo") or b"" for name in names))


def parts_of(elf: ElfFile, file: SplitFile) -> list[SplitPart]:
    """The compilation units in the file. Raises `MalformedElf`."""
    index = elf.data(".debug_cu_index")
    if index:
        return _indexed(index, file, elf.order)
    whole = (0, len(file.string_offsets)), (0, len(file.range_lists))
    found = []
    at = 0
    while at < len(file.info):
        head = read_head(file.info, at, elf.order)
        if not head.is_type_unit:
            found.append(SplitPart(file, head, head.abbreviations, *whole))
        at = head.end
    return found


def _indexed(index: bytes, file: SplitFile, order: str) -> list[SplitPart]:
    cursor = ByteCursor(index, order)
    try:
        cursor.skip(4)
        columns, units, slots = (cursor.unsigned(4) for _ in range(3))
        if columns * units > _MAX_CELLS or slots > _MAX_CELLS:
            raise MalformedElf("The index of a package is too large.")
        cursor.skip(12 * slots)
        kinds = [cursor.unsigned(4) for _ in range(columns)]
        offsets = [[cursor.unsigned(4) for _ in kinds] for _ in range(units)]
        sizes = [[cursor.unsigned(4) for _ in kinds] for _ in range(units)]
    except CutShort as error:
        raise MalformedElf("The index of a package is cut off.") from error
    found = []
    for starts, lengths in zip(offsets, sizes, strict=True):
        cell = {kind: (at, size) for kind, at, size in zip(kinds, starts, lengths, strict=True)}
        head = read_head(file.info, cell.get(_INFO, (0, 0))[0], order)
        found.append(
            SplitPart(
                file,
                head,
                cell.get(_ABBREV, (0, 0))[0] + head.abbreviations,
                cell.get(_STR_OFFSETS, (0, 0)),
                cell.get(_RNGLISTS, (0, 0)),
            )
        )
    return found
