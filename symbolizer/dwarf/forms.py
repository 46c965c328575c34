"""Values of DWARF attributes by their form (DWARF 5 §7.5.6 and table 7.6; GNU's forms of split DWARF 4 and dwz)."""

from dataclasses import dataclass
from typing import Final

from symbolizer.dwarf.byte_cursor import ByteCursor

_FIXED: Final = {
    0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x1C: 4, 0x1E: 16,
    0x20: 8, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
"""Bytes of the forms of a fixed size: data, flag, reference, string and address indexes."""
_OFFSETS: Final = frozenset({0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})
_LEB: Final = frozenset({0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02})
_BLOCK_LENGTH: Final = {0x03: 2, 0x04: 4, 0x0A: 1}
_ADDRESS, _STRING, _BLOCK, _REF_ADDRESS, _INDIRECT, _EXPRESSION = 0x01, 0x08, 0x09, 0x10, 0x16, 0x18
_NO_BYTES: Final = frozenset({0x19, 0x21})


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """A number (including an index or offset, by `form`) or a text; blocks are 0."""

    form: int
    number: int
    text: str | None = None


def read_value(
    cursor: ByteCursor, form: int, offset_bytes: int, address_bytes: int, reference_bytes: int
) -> AttributeValue | None:
    """The value at the cursor, which moves past it; None: the form is unknown. Raises `CutShort`."""
    if form == _INDIRECT:
        form = cursor.uleb()
        if form == _INDIRECT:
            return None
    if form in _NO_BYTES:
        return AttributeValue(form, 0)
    if form == _STRING:
        return AttributeValue(form, 0, cursor.string())
    if form in _LEB:
        return AttributeValue(form, cursor.uleb())
    if form in {_BLOCK, _EXPRESSION}:
        cursor.skip(cursor.uleb())
        return AttributeValue(form, 0)
    if form in _BLOCK_LENGTH:
        cursor.skip(cursor.unsigned(_BLOCK_LENGTH[form]))
        return AttributeValue(form, 0)
    if form == _ADDRESS:
        return AttributeValue(form, cursor.unsigned(address_bytes))
    if form == _REF_ADDRESS:
        return AttributeValue(form, cursor.unsigned(reference_bytes))
    if form in _OFFSETS:
        return AttributeValue(form, cursor.unsigned(offset_bytes))
    size = _FIXED.get(form)
    return None if size is None else AttributeValue(form, cursor.unsigned(size))
