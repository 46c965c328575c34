"""Joins a debug file with the common file that `dwz -m` moved data to.

The common file's units, abbreviations and strings are appended to the file's own, and references to the common
file are changed to refer to the appended data:

    DW_FORM_GNU_ref_alt     offset in the common .debug_info    -> DW_FORM_ref_addr, + length of .debug_info
    DW_FORM_GNU_strp_alt    offset in the common .debug_str     -> DW_FORM_strp, + length of .debug_str

The codes of both forms have two bytes, and a one-byte code can be written in two (LEB128 with a continuation),
so tables of abbreviations keep their positions. DWARF 5's names for them (ref_sup4, strp_sup) are one byte.
"""

from typing import BinaryIO, Final

from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile
from symbolizer.errors import MalformedElf
from symbolizer.sources.joining.abbreviations import Abbreviations, Addend, read_abbreviations
from symbolizer.sources.joining.rewrite import write_with_sections
from symbolizer.sources.joining.walk import Order, Walk, read_head

_REF_ADDR, _STRP, _LINE_STRP = 0x10, 0x0E, 0x1F
_REF_ALT: Final = frozenset({0x1F20, 0x1C})
_STRP_ALT: Final = frozenset({0x1F21, 0x1D})
_LINES: Final = 0x10
_NO_ATTRIBUTE: Final = 0x7F
_SECTIONS: Final = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str")


def join_alternate(elf: ElfFile, content: Source, common: ElfFile, output: BinaryIO) -> None:
    """Write `elf` joined with the file that its .gnu_debugaltlink names. Raises `MalformedElf`, OSError."""
    if common.order != elf.order or common.bits != elf.bits:
        raise MalformedElf("Its common debug data has another architecture.")
    own = {name: bytearray(elf.data(name) or b"") for name in _SECTIONS}
    theirs = {name: bytearray(common.data(name) or b"") for name in _SECTIONS}
    info, text = len(own[".debug_info"]), len(own[".debug_str"])
    line_text, tables = len(own[".debug_line_str"]), len(own[".debug_abbrev"])
    order: Order = "little" if elf.order == "<" else "big"

    def in_own(name: int, form: int) -> int | None:  # noqa: ARG001 - of `Addend`
        return info if form in _REF_ALT else text if form in _STRP_ALT else None

    def in_theirs(name: int, form: int) -> int | None:  # noqa: ARG001
        return {_REF_ADDR: info, _STRP: text, _LINE_STRP: line_text}.get(form)

    _change(own, in_own, order, moved=0)
    _change(theirs, in_theirs, order, moved=tables)
    joined = {name: own[name] + theirs[name] for name in _SECTIONS}
    write_with_sections(elf, content, {name: data for name, data in joined.items() if data}, output)


def _change(sections: dict[str, bytearray], addend: Addend, order: Order, *, moved: int) -> None:
    """Add to every reference of all units, and to the units' offsets of their abbreviations."""
    data, tables = sections[".debug_info"], sections[".debug_abbrev"]
    sign = "<" if order == "little" else ">"
    whole = bytes(tables)
    known: dict[int, Abbreviations] = {}
    walks: dict[tuple[int, tuple[int, int, int]], Walk] = {}
    at = 0
    while at < len(data):
        head = read_head(data, at, sign)
        table = known.get(head.abbreviations)
        if table is None:
            table = known[head.abbreviations] = read_abbreviations(whole, head.abbreviations, sign)
        which = head.abbreviations, head.sizes
        if which not in walks:
            walks[which] = Walk(table, head.sizes, addend, order)
        walks[which].over(data, head.entries, head.end)
        place = slice(head.abbreviations_at, head.abbreviations_at + head.offset_bytes)
        try:
            data[place] = (head.abbreviations + moved).to_bytes(head.offset_bytes, order)
        except OverflowError as error:
            raise MalformedElf("Its tables of abbreviations are too large to be joined.") from error
        at = head.end
    for table in known.values():
        _rename(table, tables, is_common=bool(moved))


def _rename(table: Abbreviations, section: bytearray, *, is_common: bool) -> None:
    """Replace the forms of references to the common file by those of references within a file."""
    for attributes in table.entries.values():
        for attribute in attributes:
            form = _REF_ADDR if attribute.form in _REF_ALT else _STRP if attribute.form in _STRP_ALT else None
            if form is not None:
                place = slice(attribute.form_at, attribute.form_at + attribute.form_bytes)
                section[place] = _padded(form, attribute.form_bytes)
            if is_common and attribute.name == _LINES and section[attribute.form_at - 1] == _LINES:
                # The common file's units have no code; their table of file names is not copied.
                section[attribute.form_at - 1] = _NO_ATTRIBUTE


def _padded(value: int, size: int) -> bytes:
    """A number below 128 as LEB128 of `size` bytes."""
    return bytes([value]) if size == 1 else bytes([value | 0x80, *[0x80] * (size - 2), 0])
