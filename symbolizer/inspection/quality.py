"""Ranks the candidate files of a binary by how much they contain about its functions."""

from itertools import islice
from typing import Final

from storage.symbols.kinds import Quality
from symbolizer.dwarf.units import units
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHT_DYNSYM
from symbolizer.errors import MalformedElf

_UNITS_LOOKED_AT: Final = 64


def quality_of(elf: ElfFile) -> Quality:
    """The quality of a file by its sections, whose content is not checked. Never raises.

    Skeletons alone (split DWARF without its split units) do not count as DWARF: they name no function.
    """
    try:
        return _quality(elf)
    except MalformedElf:
        return Quality.NONE


def _quality(elf: ElfFile) -> Quality:
    if elf.has_dwarf and not is_skeleton(elf):
        return Quality.DWARF
    if elf.has_symbol_table or elf.has_content(".gnu_debugdata"):
        return Quality.SYMTAB
    return Quality.DYNSYM if (elf.sections["type"] == SHT_DYNSYM).any() else Quality.NONE


def is_skeleton(elf: ElfFile) -> bool:
    """Whether most of the first units left their functions to .dwo files. Never raises.

    Not all units do: assembly has none.
    """
    try:
        first = list(islice(units(elf), _UNITS_LOOKED_AT))
    except MalformedElf:
        return False
    return 2 * sum(unit.is_skeleton for unit in first) > len(first)
