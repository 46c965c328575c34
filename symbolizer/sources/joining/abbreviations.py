"""Abbreviation tables (DWARF 5 §7.5.3): the layout of entries by their code, as steps of a walk."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from symbolizer.dwarf.byte_cursor import ByteCursor, CutShort
from symbolizer.errors import MalformedElf

MAX_ABBREVIATIONS: Final = 1 << 20
IMPLICIT_CONST: Final = 0x21
_LONGEST_TABLE: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an abbreviation."""

    name: int
    form: int
    form_at: int
    """Position of the form's code, from the start of the section."""
    form_bytes: int


@dataclass(frozen=True, slots=True)
class Abbreviations:
    """One table of abbreviations."""

    start: int
    end: int
    """Position of the 0 that ends the table, after its last abbreviation."""
    entries: dict[int, tuple[Attribute, ...]]


def read_abbreviations(section: bytes, start: int, order: str) -> Abbreviations:
    """The table at `start`. Raises `MalformedElf`."""
    cursor = ByteCursor(section[start : start + _LONGEST_TABLE], order)
    entries: dict[int, tuple[Attribute, ...]] = {}
    total = 0
    try:
        while True:
            end = start + cursor.at
            code = cursor.uleb()
            if code == 0:
                return Abbreviations(start, end, entries)
            cursor.uleb()
            cursor.skip(1)
            attributes = []
            while True:
                name = cursor.uleb()
                form_at = cursor.at
                form = cursor.uleb()
                form_bytes = cursor.at - form_at
                if form == IMPLICIT_CONST:
                    cursor.uleb()
                if not name and not form:
                    break
                attributes.append(Attribute(name, form, start + form_at, form_bytes))
            total += 1 + len(attributes)
            if total > MAX_ABBREVIATIONS:
                raise MalformedElf(f"A table has more than {MAX_ABBREVIATIONS} abbreviations.")
            entries.setdefault(code, tuple(attributes))
    except CutShort as error:
        raise MalformedElf("A table of abbreviations is cut off.") from error


class Step(IntEnum):
    """A walk's action for the next bytes of an entry."""

    SKIP = 0
    """Skip `amount` bytes."""
    LEB = 1
    TEXT = 2
    BLOCK_LEB = 3
    """Skip a length as LEB128, and as many bytes."""
    BLOCK = 4
    """Skip a length of `amount` bytes, and as many bytes."""
    ADD = 5
    """Add `addend` to the word of `amount` bytes."""
    INDIRECT = 6
    """Read the attribute's form here."""


@dataclass(frozen=True, slots=True)
class Action:
    """One step."""

    step: Step
    amount: int = 0
    addend: int = 0


_FIXED: Final = {
    0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x19: 0, 0x1C: 4, 0x1E: 16,
    0x20: 8, 0x21: 0, 0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
_OFFSETS: Final = frozenset({0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})
_LEB: Final = frozenset({0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02})
_BLOCKS: Final = {0x03: 2, 0x04: 4, 0x0A: 1}

Addend = Callable[[int, int], int | None]
"""The number to add to an attribute, by its name and form; None or 0: nothing."""


def form_bytes(form: int, offset_bytes: int, address_bytes: int, version: int) -> int | None:
    """Size of a form in bytes; None: it varies, or the form is unknown."""
    if form in _OFFSETS:
        return offset_bytes
    if form == 0x01:
        return address_bytes
    if form == 0x10:
        return address_bytes if version == 2 else offset_bytes
    return _FIXED.get(form)


def action(name: int, form: int, sizes: tuple[int, int, int], addend: Addend) -> Action:
    """The step for an attribute; `sizes` are those of offsets and addresses, and the DWARF version.

    Raises `MalformedElf` for an unknown form, or for one of variable size that needs an addend.
    """
    added = addend(name, form) or 0
    size = form_bytes(form, *sizes)
    if size is not None:
        return Action(Step.ADD, size, added) if added and size else Action(Step.SKIP, size)
    if added:
        raise MalformedElf(f"A reference of form {form:#x} cannot be moved.")
    if form in _LEB:
        return Action(Step.LEB)
    if form == 0x08:
        return Action(Step.TEXT)
    if form in {0x09, 0x18}:
        return Action(Step.BLOCK_LEB)
    if form in _BLOCKS:
        return Action(Step.BLOCK, _BLOCKS[form])
    if form == 0x16:
        return Action(Step.INDIRECT, name)
    raise MalformedElf(f"An attribute has the unknown form {form:#x}.")
