"""Determines a binary's memory layout from any of its files.

Most uploads are debug files without their executable. Their PT_LOAD headers equal the executable's
if `eu-strip -f` made them. `objcopy --only-keep-debug` destroys file offsets: sizes in the file become
0. GNU's linkers and gold place executable segments so that the offset is the address less the first
segment's; LLD and mold do not (offset 0x640 is address 0x1640), and name themselves in .comment.
"""

from typing import Final

from symbolizer.addresses import Segment, SegmentMap
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import ET_EXEC, PF_X, PT_LOAD
from symbolizer.errors import MalformedElf, MalformedImage
from symbolizer.kernel.kallsyms import start_of_kernel
from symbolizer.sources.source import Missing

_OTHER_LINKERS: Final = (b"LLD ", b"mold ")
_KERNEL_SECTIONS: Final = frozenset({".init.text", ".data..percpu"})
_MAX_COMMENT: Final = 1 << 16


def layout_of(elf: ElfFile) -> SegmentMap | Missing:
    """Segments of the executable, from an executable, a debug file or a file of symbols."""
    try:
        return _layout(elf)
    except MalformedElf as error:
        return Missing(f"Cannot read its segments. {error}")


def is_kernel(elf: ElfFile) -> bool:
    """Whether the file is a kernel (vmlinux), or the debug file of one."""
    return elf.type == ET_EXEC and elf.section_names.keys() >= _KERNEL_SECTIONS


def _of_kernel(elf: ElfFile, stated: SegmentMap) -> SegmentMap | Missing:
    """A kernel's layout: captures count its addresses from `_stext`, wherever that is in the file and in memory."""
    try:
        start = start_of_kernel(elf)
    except MalformedImage as error:
        return Missing(f"It is a kernel without a start address. {error}")
    code = next((s for s in stated.segments if s.executable and s.vaddr <= start), None)
    loads = elf.segments[elf.segments["type"] == PT_LOAD]
    if code is None:
        return Missing("It is a kernel without a segment for its code.")
    end = max(int(s["vaddr"]) + int(s["memsz"]) for s in loads if int(s["vaddr"]) == code.vaddr)
    return SegmentMap((Segment(0, stated.base, 0, False), Segment(0, start, max(end - start, 0), True)))


def _layout(elf: ElfFile) -> SegmentMap | Missing:
    stated = elf.segment_map
    if is_kernel(elf):
        return _of_kernel(elf, stated)
    code = [segment for segment in stated.segments if segment.executable]
    if not code:
        return Missing("It has no executable segment, so no offset of the binary is an address in it.")
    if any(segment.filesz for segment in code):
        return stated
    comment = elf.part(".comment", limit=_MAX_COMMENT)
    if comment is None or not len(comment):
        return Missing("Its segments are empty, and it does not name its linker.")
    if any(name in comment[0:_MAX_COMMENT] for name in _OTHER_LINKERS):
        return Missing(
            "Its segments are empty, and its linker's layout is unknown without the executable. Add "
            "the executable, or a debug file by `eu-strip -f`."
        )
    loads = elf.segments[elf.segments["type"] == PT_LOAD]
    return SegmentMap(
        tuple(
            Segment(int(s["vaddr"]) - stated.base, int(s["vaddr"]), int(s["memsz"]), True)
            if s["flags"] & PF_X
            else Segment(0, int(s["vaddr"]), 0, False)
            for s in loads
            if int(s["vaddr"]) >= stated.base
        )
    )
