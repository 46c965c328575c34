"""Heads of DWARF units: enough of .debug_info to determine what a file contains and what it left to other files.

DWARF 2 to 5 (DWARF 5 §7.5.1), 32 and 64 bits, and GNU's split DWARF 4. Reads each unit's header and first
entry; `symbolic` reads the entries below. Strategy: the byte reader checks positions; a read past the end is short.
An invalid unit ends the walk, because the next unit's position is then unknown. The walk also ends at its limit of
bytes, because all units may refer to the same bytes. The only error is `MalformedElf`, for sections that do not
decompress.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from symbolizer.dwarf.byte_cursor import ByteCursor, CutShort
from symbolizer.dwarf.forms import AttributeValue, read_value
from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile

MAX_UNITS: Final = 1 << 17
_COMPRESSED_BYTES: Final = 1 << 24
"""Limit of the bytes read from a compressed section."""
_ABBREVIATION_BYTES: Final = 1 << 16
_MAX_ATTRIBUTES: Final = 64
_HEAD_BYTES: Final = 1 << 12
_MAX_STRING: Final = 1 << 12
_TEXT_BYTES: Final = 1 << 26
"""Bytes of the names of one walk's units; 20,000 units of Chromium have 10 MB."""
_ABBREVIATIONS_READ: Final = 1 << 23
"""Bytes of abbreviations, which take Python some seconds; most units need only the first one, 50 bytes."""

_SKELETON, _SPLIT = 4, 5
_TYPE_UNITS: Final = frozenset({2, 6})
_NAME, _LANGUAGE, _COMP_DIR, _PRODUCER, _STR_OFFSETS_BASE = 0x03, 0x13, 0x1B, 0x25, 0x72
_DWO_NAME: Final = frozenset({0x76, 0x2130})
_GNU_DWO_ID: Final = 0x2131
_STRP, _LINE_STRP = 0x0E, 0x1F
_STRX: Final = frozenset({0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02})


@dataclass(frozen=True, slots=True)
class DwarfUnit:
    """One compilation unit, by its head."""

    version: int
    dwo_id: int | None
    """Id that joins a skeleton with its split unit; None: the unit is whole."""
    name: str
    folder: str
    """DW_AT_comp_dir."""
    producer: str
    """Compiler and options."""
    dwo_name: str
    """The compiler's path for the split unit; '' in a whole or split one."""

    @property
    def is_skeleton(self) -> bool:
        """Whether all but its lines and addresses are in another file."""
        return bool(self.dwo_name) and self.dwo_id is not None


def units(elf: ElfFile) -> Iterator[DwarfUnit]:
    """Units of .debug_info or, in a .dwo file, of .debug_info.dwo, in file order; without type units."""
    for prefix, suffix in ((".debug_", ""), (".zdebug_", ""), (".debug_", ".dwo")):
        info = elf.part(f"{prefix}info{suffix}", limit=_COMPRESSED_BYTES)
        if info is not None and len(info):
            yield from _Units(elf, info, prefix, suffix).walk()
            return


def package_ids(elf: ElfFile) -> frozenset[int]:
    """Ids of the split units in a .dwp file, by its .debug_cu_index (DWARF 5 §7.3.5.3)."""
    index = elf.part(".debug_cu_index", limit=_COMPRESSED_BYTES)
    if index is None:
        return frozenset()
    cursor = ByteCursor(index[: 16 + 8 * 2 * MAX_UNITS], elf.order)
    try:
        if cursor.unsigned(2) not in {2, 5}:
            return frozenset()
        cursor.skip(10)
        slots = min(cursor.unsigned(4), 2 * MAX_UNITS)
        return frozenset(cursor.unsigned(8) for _ in range(slots)) - {0}
    except CutShort:
        return frozenset()


class _Units:
    """A walk over one section."""

    def __init__(self, elf: ElfFile, info: Source, prefix: str, suffix: str) -> None:
        self._order = elf.order
        self._info = info
        self._suffix = suffix
        parts = [f"{prefix}{name}{suffix}" for name in ("abbrev", "str", "str_offsets")]
        self._abbreviations, self._strings, self._string_offsets = (
            elf.part(name, limit=_COMPRESSED_BYTES) or b"" for name in parts
        )
        self._line_strings = elf.part(f"{prefix}line_str", limit=_COMPRESSED_BYTES) or b""
        self._known: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._text_left = _TEXT_BYTES
        self._abbreviations_left = _ABBREVIATIONS_READ

    def walk(self) -> Iterator[DwarfUnit]:
        at = 0
        for _ in range(MAX_UNITS):
            if at >= len(self._info):
                return
            head = ByteCursor(self._info[at : at + _HEAD_BYTES], self._order)
            try:
                size = head.unsigned(4)
                offset_bytes = 4
                if size == 0xFFFFFFFF:
                    size, offset_bytes = head.unsigned(8), 8
                start = head.at
                unit = self._unit(head, offset_bytes)
            except CutShort:
                return
            if unit is not None:
                yield unit
            if self._text_left < 0 or self._abbreviations_left < 0:
                return
            at += start + size
            if size < 7:  # no unit is shorter than its header
                return

    def _unit(self, head: ByteCursor, offset_bytes: int) -> DwarfUnit | None:
        version = head.unsigned(2)
        if not 2 <= version <= 5:
            raise CutShort
        kind, dwo_id = 1, None
        if version == 5:
            kind, address_bytes = head.unsigned(1), head.unsigned(1)
            abbreviations = head.unsigned(offset_bytes)
            if kind in {_SKELETON, _SPLIT}:
                dwo_id = head.unsigned(8)
            elif kind in _TYPE_UNITS:
                return None
        else:
            abbreviations, address_bytes = head.unsigned(offset_bytes), head.unsigned(1)
        values = self._first_entry(head, abbreviations, offset_bytes, address_bytes, version)
        if (gnu_id := values.get(_GNU_DWO_ID)) is not None:
            dwo_id = gnu_id.number
        text = {
            name: self._text(values.get(name), offset_bytes, values.get(_STR_OFFSETS_BASE))
            for name in (_NAME, _COMP_DIR, _PRODUCER, *_DWO_NAME)
        }
        self._text_left -= sum(map(len, text.values()))
        return DwarfUnit(
            version,
            dwo_id,
            text[_NAME],
            text[_COMP_DIR],
            text[_PRODUCER],
            next((text[name] for name in sorted(_DWO_NAME) if text[name]), ""),
        )

    def _first_entry(
        self, head: ByteCursor, abbreviations: int, offset_bytes: int, address_bytes: int, version: int
    ) -> dict[int, AttributeValue]:
        """Attributes of the unit's first entry, up to the first of an unknown form."""
        values: dict[int, AttributeValue] = {}
        code = head.uleb()
        reference_bytes = address_bytes if version == 2 else offset_bytes
        for name, form in self._attributes(abbreviations, code):
            value = read_value(head, form, offset_bytes, address_bytes, reference_bytes)
            if value is None:
                break
            values.setdefault(name, value)
        return values

    def _attributes(self, at: int, code: int) -> list[tuple[int, int]]:
        known = self._known.get((at, code))
        if known is None:
            known = self._known[at, code] = self._read_attributes(at, code)
        return known

    def _read_attributes(self, at: int, code: int) -> list[tuple[int, int]]:
        """(name, form) of the abbreviation `code` in the table at `at`; none if it does not exist."""
        cursor = ByteCursor(self._abbreviations[at : at + _ABBREVIATION_BYTES], self._order)
        try:
            while found := cursor.uleb():
                cursor.uleb()
                cursor.skip(1)
                attributes = []
                while True:
                    name, form = cursor.uleb(), cursor.uleb()
                    if form == 0x21:  # DW_FORM_implicit_const: the value is here
                        cursor.uleb()
                    if not name and not form:
                        break
                    attributes.append((name, form))
                if found == code:
                    return attributes[:_MAX_ATTRIBUTES]
        except CutShort:
            pass
        finally:
            self._abbreviations_left -= cursor.at
        return []

    def _text(self, value: AttributeValue | None, offset_bytes: int, base: AttributeValue | None) -> str:
        if value is None:
            return ""
        if value.text is not None:
            return value.text
        if value.form == _STRP:
            return _string(self._strings, value.number)
        if value.form == _LINE_STRP:
            return _string(self._line_strings, value.number)
        if value.form in _STRX:
            # A .dwo file has no base: its only table begins after its header (DWARF 5 §7.26).
            first = (
                base.number if base else (2 * offset_bytes if self._suffix and value.form != 0x1F02 else 0)
            )
            at = first + value.number * offset_bytes
            entry = ByteCursor(self._string_offsets[at : at + offset_bytes], self._order)
            try:
                return _string(self._strings, entry.unsigned(offset_bytes))
            except CutShort:
                return ""
        return ""


def _string(table: Source, at: int) -> str:
    return table[at : at + _MAX_STRING].split(b"\0", 1)[0].decode("utf-8", "replace")
