"""Joins skeletons with their split units (split DWARF: DWARF 5 §7.3.2, and GNU's extension of DWARF 4).

Each skeleton's unit becomes a whole unit. It gets a new first entry, with lines and addresses from the skeleton
and names from the split unit, followed by the split unit's entries, which are unchanged. References within the
unit are moved by the growth of the first entry. Indexes of strings, addresses and ranges stay and get their base:

    strings      .debug_str_offsets.dwo of the unit, its offsets moved, appended to .debug_str_offsets
    addresses    the skeleton's part of .debug_addr, unchanged
    ranges       .debug_rnglists.dwo of the unit, appended to .debug_rnglists (DWARF 4: .debug_ranges unchanged)

Whole units stay unchanged. Type units are left out, because they are not needed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np

from symbolizer.dwarf.byte_cursor import ByteCursor, CutShort
from symbolizer.dwarf.forms import AttributeValue, read_value
from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile
from symbolizer.errors import MalformedElf
from symbolizer.sources.joining.abbreviations import Abbreviations, read_abbreviations
from symbolizer.sources.joining.rewrite import write_with_sections
from symbolizer.sources.joining.split_parts import SplitPart, parts_of, read_split_file
from symbolizer.sources.joining.walk import Order, UnitHead, Walk, read_head

_NAME, _STMT_LIST, _LOW_PC, _HIGH_PC = 0x03, 0x10, 0x11, 0x12
_LANGUAGE, _COMP_DIR, _RANGES = 0x13, 0x1B, 0x55
_STR_OFFSETS_BASE, _ADDR_BASE, _RNGLISTS_BASE = 0x72, 0x73, 0x74
_GNU_DWO_ID, _GNU_RANGES_BASE, _GNU_ADDR_BASE = 0x2131, 0x2132, 0x2133
_TAG_COMPILE_UNIT, _ADDR, _STRING, _DATA2, _SEC_OFFSET, _STRP = 0x11, 0x01, 0x08, 0x05, 0x17, 0x0E
_DATA8, _ADDRX, _RNGLISTX = 0x07, 0x1B, 0x23
_STRX: Final = frozenset({0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02})
_WITHIN_UNIT: Final = frozenset({0x11, 0x12, 0x13, 0x14, 0x15})
_FIRST_BYTES: Final = 1 << 12
_MAX_TEXT: Final = 1 << 12

_Values = dict[int, AttributeValue]


@dataclass(slots=True)
class _Joined:
    """Growing sections of the joined file."""

    info: bytearray
    abbreviations: bytearray
    strings: bytearray
    string_offsets: bytearray
    range_lists: bytearray


def join_split(elf: ElfFile, content: Source, others: Iterable[ElfFile], output: BinaryIO) -> int:
    """Write `elf` with all units whole whose split unit is available; the number of those units.

    Raises `MalformedElf`, also if there are none, and OSError.
    """
    try:
        return _Joiner(elf, content, others).write(output)
    except OverflowError as error:
        raise MalformedElf("A number of a unit is too large for its field.") from error


class _Joiner:
    def __init__(self, elf: ElfFile, content: Source, others: Iterable[ElfFile]) -> None:
        self._elf = elf
        self._content = content
        self._order: Order = "little" if elf.order == "<" else "big"
        self._info = elf.data(".debug_info") or b""
        self._tables = elf.data(".debug_abbrev") or b""
        own = (elf.data(f".debug_{name}") or b"" for name in ("str", "str_offsets", "rnglists"))
        self._joined = _Joined(bytearray(), bytearray(self._tables), *(bytearray(data) for data in own))
        self._known: dict[tuple[int, int], Abbreviations] = {}
        self._placed: dict[tuple[int, int], int] = {}
        self._parts = self._parts_by_id(others)

    def write(self, output: BinaryIO) -> int:
        joined, at = 0, 0
        while at < len(self._info):
            head = read_head(self._info, at, self._elf.order)
            first, _ = self._first_entry(self._info, head, self._tables, head.abbreviations)
            gnu_id = first.get(_GNU_DWO_ID)
            dwo_id = gnu_id.number if gnu_id else head.dwo_id
            part = self._parts.get(dwo_id) if dwo_id is not None else None
            if part is None or part.head.version != head.version:
                self._joined.info += self._info[head.start : head.end]
            else:
                self._join(head, first, part)
                joined += 1
            at = head.end
        if not joined:
            raise MalformedElf("The split part of a unit is in none of the files.")
        sections = self._joined
        named = {
            ".debug_info": sections.info,
            ".debug_abbrev": sections.abbreviations,
            ".debug_str": sections.strings,
            ".debug_str_offsets": sections.string_offsets,
            ".debug_rnglists": sections.range_lists,
        }
        write_with_sections(
            self._elf, self._content, {name: data for name, data in named.items() if data}, output
        )
        return joined

    def _parts_by_id(self, others: Iterable[ElfFile]) -> dict[int, SplitPart]:
        found: dict[int, SplitPart] = {}
        for elf in others:
            if elf.order != self._elf.order or elf.bits != self._elf.bits:
                continue
            file = read_split_file(elf)
            for part in parts_of(elf, file):
                first, _ = self._first_entry(file.info, part.head, file.abbreviations, part.abbreviations)
                gnu_id = first.get(_GNU_DWO_ID)
                dwo_id = gnu_id.number if gnu_id else part.head.dwo_id
                if dwo_id is not None:
                    found.setdefault(dwo_id, part)
        return found

    def _table(self, tables: bytes, start: int) -> Abbreviations:
        known = self._known.get((id(tables), start))
        if known is None:
            known = self._known[id(tables), start] = read_abbreviations(tables, start, self._elf.order)
        return known

    def _first_entry(self, info: bytes, head: UnitHead, tables: bytes, table_at: int) -> tuple[_Values, int]:
        """A unit's first entry: its attributes, and the position of the next entry."""
        cursor = ByteCursor(info[head.entries : min(head.end, head.entries + _FIRST_BYTES)], self._elf.order)
        reference = head.address_bytes if head.version == 2 else head.offset_bytes
        values: _Values = {}
        try:
            for attribute in self._table(tables, table_at).entries[cursor.uleb()]:
                value = read_value(cursor, attribute.form, head.offset_bytes, head.address_bytes, reference)
                if value is None:
                    raise MalformedElf(f"A unit has an attribute of the unknown form {attribute.form:#x}.")
                values[attribute.name] = value
        except (CutShort, KeyError) as error:
            raise MalformedElf("A unit's first entry does not follow its abbreviations.") from error
        return values, head.entries + cursor.at

    def _join(self, skeleton: UnitHead, first: _Values, part: SplitPart) -> None:
        """Append the whole unit."""
        head, file = part.head, part.file
        table = self._table(file.abbreviations, part.abbreviations)
        theirs, rest = self._first_entry(file.info, head, file.abbreviations, part.abbreviations)
        strings = self._place(file.strings, self._joined.strings, 0, len(file.strings))
        self._place_string_offsets(part, strings)
        ranges = self._place(file.range_lists, self._joined.range_lists, *part.range_lists)
        header_bytes = 8 if head.offset_bytes == 4 else 16
        string_base = self._place(file.string_offsets, self._joined.string_offsets, *part.string_offsets)
        bases = [(_STR_OFFSETS_BASE, string_base + (header_bytes if head.version == 5 else 0))]
        if file.range_lists:
            bases.append((_RNGLISTS_BASE, ranges + header_bytes + 4))
        bases += [(_ADDR_BASE, first[base].number) for base in (_ADDR_BASE, _GNU_ADDR_BASE) if base in first]
        if _STMT_LIST in first:
            bases.append((_STMT_LIST, first[_STMT_LIST].number))
        code = max(table.entries) + 1
        entry, abbreviation = self._new_first_entry(code, skeleton, first, theirs, part, bases)
        abbreviations_at = len(self._joined.abbreviations)
        self._joined.abbreviations += file.abbreviations[table.start : table.end] + abbreviation + b"\0"
        unit = self._header(head, abbreviations_at) + entry
        grown = len(unit) - (rest - head.start)
        body = bytearray(file.info[rest : head.end])
        moved_ranges = self._moved_ranges(head, first, part, ranges)

        def addend(name: int, form: int) -> int | None:
            if form in _WITHIN_UNIT:
                return grown
            if form == _STRP:
                return strings
            return moved_ranges if name == _RANGES and form in {_SEC_OFFSET, 0x06, 0x07} else None

        Walk(table, head.sizes, addend, self._order).over(body, 0, len(body))
        length = len(unit) + len(body) - (4 if head.offset_bytes == 4 else 12)
        place = slice(0, 4) if head.offset_bytes == 4 else slice(4, 12)
        unit[place] = length.to_bytes(head.offset_bytes, self._order)
        self._joined.info += unit + body

    @staticmethod
    def _moved_ranges(head: UnitHead, first: _Values, part: SplitPart, ranges: int) -> int:
        if head.version == 5:
            return ranges - part.range_lists[0]
        return first[_GNU_RANGES_BASE].number if _GNU_RANGES_BASE in first else 0

    def _header(self, head: UnitHead, abbreviations: int) -> bytearray:
        def word(value: int, size: int) -> bytes:
            return value.to_bytes(size, self._order)

        length = bytes(4) if head.offset_bytes == 4 else b"\xff" * 4 + bytes(8)
        version, table = word(head.version, 2), word(abbreviations, head.offset_bytes)
        address = word(head.address_bytes, 1)
        rest = b"\x01" + address + table if head.version == 5 else table + address
        return bytearray(length + version + rest)

    def _new_first_entry(  # noqa: PLR0917 - two halves, and the values that join them
        self,
        code: int,
        skeleton: UnitHead,
        first: _Values,
        theirs: _Values,
        part: SplitPart,
        bases: Sequence[tuple[int, int]],
    ) -> tuple[bytes, bytes]:
        """The entry, and its abbreviation."""
        offset_bytes = part.head.offset_bytes
        attributes: list[tuple[int, int, bytes]] = [
            (name, _SEC_OFFSET, value.to_bytes(offset_bytes, self._order)) for name, value in bases
        ]
        folder = self._own_text(skeleton, first, _COMP_DIR) or self._their_text(part, theirs, _COMP_DIR)
        for name, text in ((_NAME, self._their_text(part, theirs, _NAME)), (_COMP_DIR, folder)):
            attributes.append((name, _STRING, text.replace(b"\0", b"") + b"\0"))
        if _LANGUAGE in theirs:
            attributes.append((_LANGUAGE, _DATA2, theirs[_LANGUAGE].number.to_bytes(2, self._order)))
        attributes += self._places(skeleton, first)
        abbreviation = _leb(code) + _leb(_TAG_COMPILE_UNIT) + b"\x01"
        abbreviation += b"".join(_leb(name) + _leb(form) for name, form, _ in attributes) + b"\0\0"
        return _leb(code) + b"".join(value for _, _, value in attributes), abbreviation

    def _places(self, head: UnitHead, first: _Values) -> list[tuple[int, int, bytes]]:
        """The attributes of the unit's code range, from its skeleton.

        `symbolic` skips a unit at address 0 without ranges: linkers leave such units for discarded code.
        """
        places = []
        if (low := first.get(_LOW_PC)) is not None:
            indexed = low.form != _ADDR
            value = _leb(low.number) if indexed else low.number.to_bytes(head.address_bytes, self._order)
            places.append((_LOW_PC, _ADDRX if indexed else _ADDR, value))
        if (high := first.get(_HIGH_PC)) is not None:
            form = _ADDR if high.form == _ADDR else _DATA8
            size = head.address_bytes if form == _ADDR else 8
            places.append((_HIGH_PC, form, high.number.to_bytes(size, self._order)))
        if (ranges := first.get(_RANGES)) is not None:
            at = ranges.number
            if ranges.form == _RNGLISTX:
                base = first[_RNGLISTS_BASE].number if _RNGLISTS_BASE in first else 0
                slot = base + at * head.offset_bytes
                at = base + int.from_bytes(
                    self._joined.range_lists[slot : slot + head.offset_bytes], self._order
                )
            places.append((_RANGES, _SEC_OFFSET, at.to_bytes(head.offset_bytes, self._order)))
        return places

    def _place(self, whole: bytes, into: bytearray, start: int, size: int) -> int:
        """Position of part of a section in the joined section; the first call copies it there."""
        if not size:
            return 0
        at = self._placed.get((id(whole), start))
        if at is None:
            into += bytes(-len(into) % 8)
            at = self._placed[id(whole), start] = len(into)
            into += whole[start : start + size]
        return at

    def _place_string_offsets(self, part: SplitPart, moved: int) -> None:
        """As `_place`, with every offset moved by the new position of the strings."""
        start, size = part.string_offsets
        whole = part.file.string_offsets
        if not size or (id(whole), start) in self._placed:
            return
        offset_bytes = part.head.offset_bytes
        header = (8 if offset_bytes == 4 else 16) if part.head.version == 5 else 0
        text = whole[start : start + size]
        kind = np.dtype(f"{self._elf.order}u{offset_bytes}")
        words = np.frombuffer(text[header:], kind, (len(text) - header) // offset_bytes) + kind.type(moved)
        into = self._joined.string_offsets
        into += bytes(-len(into) % 8)
        self._placed[id(whole), start] = len(into)
        into += text[:header] + words.astype(kind).tobytes()

    def _own_text(self, head: UnitHead, values: _Values, name: int) -> bytes:
        """A text of the skeleton."""
        value = values.get(name)
        if value is None:
            return b""
        if value.text is not None:
            return value.text.encode("utf-8", "surrogateescape")
        if value.form == _STRP:
            return _text(self._elf.data(".debug_str") or b"", value.number)
        if value.form == 0x1F:
            return _text(self._elf.data(".debug_line_str") or b"", value.number)
        base = values.get(_STR_OFFSETS_BASE)
        if value.form in _STRX and base is not None:
            offsets = self._elf.data(".debug_str_offsets") or b""
            at = base.number + value.number * head.offset_bytes
            offset = int.from_bytes(offsets[at : at + head.offset_bytes], self._order)
            return _text(self._elf.data(".debug_str") or b"", offset)
        return b""

    def _their_text(self, part: SplitPart, values: _Values, name: int) -> bytes:
        """A text of the split unit."""
        value = values.get(name)
        if value is None:
            return b""
        if value.text is not None:
            return value.text.encode("utf-8", "surrogateescape")
        offset_bytes = part.head.offset_bytes
        if value.form in _STRX:
            header = (8 if offset_bytes == 4 else 16) if part.head.version == 5 else 0
            at = part.string_offsets[0] + header + value.number * offset_bytes
            offset = int.from_bytes(part.file.string_offsets[at : at + offset_bytes], self._order)
            return _text(part.file.strings, offset)
        return _text(part.file.strings, value.number) if value.form == _STRP else b""


def _text(table: bytes, at: int) -> bytes:
    return table[at : at + _MAX_TEXT].split(b"\0", 1)[0]


def _leb(value: int) -> bytes:
    parts = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        parts.append(low | (0x80 if value else 0))
        if not value:
            return bytes(parts)
