"""A walk over all entries of a unit that relocates references to other places.

Entries follow each other without gaps, so no tree is needed: each is its code and the values that its
abbreviation lists. Steps are merged per code to reduce Python's work per entry: half a million entries a
second.
"""

from dataclasses import dataclass
from typing import Final, Literal

from symbolizer.dwarf.byte_cursor import ByteCursor, CutShort
from symbolizer.errors import MalformedElf
from symbolizer.sources.joining.abbreviations import Abbreviations, Action, Addend, Step, action

_SKELETON, _SPLIT = 4, 5
_TYPE_UNITS: Final = frozenset({2, 6})
_HEAD_BYTES: Final = 64

Order = Literal["little", "big"]


@dataclass(frozen=True, slots=True)
class UnitHead:
    """A unit's header; positions count from the start of the section."""

    start: int
    end: int
    """Start of the next unit."""
    entries: int
    """Start of its first entry."""
    version: int
    kind: int
    """DW_UT_…; 1 before DWARF 5."""
    offset_bytes: int
    address_bytes: int
    abbreviations: int
    abbreviations_at: int
    """Position of that number."""
    dwo_id: int | None
    """From the header, since DWARF 5."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The argument `sizes` of `abbreviations.action`."""
        return self.offset_bytes, self.address_bytes, self.version

    @property
    def is_type_unit(self) -> bool:
        """Whether it is a type unit."""
        return self.kind in _TYPE_UNITS


def read_head(section: bytes | bytearray, start: int, order: str) -> UnitHead:
    """The header at `start`. Raises `MalformedElf`."""
    cursor = ByteCursor(bytes(section[start : start + _HEAD_BYTES]), order)
    try:
        size, offset_bytes = cursor.unsigned(4), 4
        if size == 0xFFFFFFFF:
            size, offset_bytes = cursor.unsigned(8), 8
        end = start + cursor.at + size
        version = cursor.unsigned(2)
        if not 2 <= version <= 5:
            raise MalformedElf(f"A unit has the unsupported DWARF version {version}.")
        kind, dwo_id = 1, None
        if version == 5:
            kind, address_bytes = cursor.unsigned(1), cursor.unsigned(1)
            abbreviations_at = start + cursor.at
            abbreviations = cursor.unsigned(offset_bytes)
            if kind in {_SKELETON, _SPLIT}:
                dwo_id = cursor.unsigned(8)
            elif kind in _TYPE_UNITS:
                cursor.skip(8 + offset_bytes)
        else:
            abbreviations_at = start + cursor.at
            abbreviations, address_bytes = cursor.unsigned(offset_bytes), cursor.unsigned(1)
    except CutShort as error:
        raise MalformedElf("A unit's header is cut off.") from error
    entries = start + cursor.at
    if end > len(section) or entries > end:
        raise MalformedElf("A unit is longer than its section.")
    return UnitHead(
        start,
        end,
        entries,
        version,
        kind,
        offset_bytes,
        address_bytes,
        abbreviations,
        abbreviations_at,
        dwo_id,
    )


class Walk:
    """A walk, compiled for units with the same table of abbreviations and the same sizes."""

    def __init__(
        self, table: Abbreviations, sizes: tuple[int, int, int], addend: Addend, order: Order
    ) -> None:
        self._sizes = sizes
        self._addend = addend
        self._order: Order = order
        self._plans = {
            code: _merged([action(a.name, a.form, sizes, addend) for a in attributes])
            for code, attributes in table.entries.items()
        }

    def over(self, data: bytearray, start: int, end: int) -> None:
        """Walk all entries from `start` to `end` and change them in place. Raises `MalformedElf`."""
        plans = self._plans
        at = start
        try:
            while at < end:
                code = data[at]
                at += 1
                if code > 0x7F:
                    code, at = _uleb(data, at - 1)
                if code:
                    for step in plans[code]:
                        if step.step == 0:
                            at += step.amount
                        else:
                            at = self._do(step, data, at)
        except (KeyError, IndexError, OverflowError) as error:
            raise MalformedElf("An entry of a unit does not follow its abbreviations.") from error
        if at != end:
            raise MalformedElf("The last entry of a unit is cut off.")

    def _do(self, action_: Action, data: bytearray, at: int) -> int:
        """Execute a step other than a plain skip; the position of the next one."""
        step, amount = action_.step, action_.amount
        if step == Step.LEB:
            while data[at] > 0x7F:
                at += 1
            return at + 1
        if step == Step.ADD:
            word = data[at : at + amount]
            value = int.from_bytes(word, self._order) + action_.addend
            data[at : at + amount] = value.to_bytes(len(word), self._order)
            return at + amount
        if step == Step.TEXT:
            end = data.find(0, at)
            if end < 0:
                raise IndexError
            return end + 1
        if step == Step.BLOCK_LEB:
            size, at = _uleb(data, at)
            return at + size
        if step == Step.BLOCK:
            return at + amount + int.from_bytes(data[at : at + amount], self._order)
        form, at = _uleb(data, at)
        if form == 0x16:
            raise MalformedElf("A form is indirect twice.")
        inner = action(amount, form, self._sizes, self._addend)
        return at + inner.amount if inner.step == Step.SKIP else self._do(inner, data, at)


def _merged(actions: list[Action]) -> tuple[Action, ...]:
    merged: list[Action] = []
    for action_ in actions:
        if action_.step == Step.SKIP and merged and merged[-1].step == Step.SKIP:
            merged[-1] = Action(Step.SKIP, merged[-1].amount + action_.amount)
        elif action_.step != Step.SKIP or action_.amount:
            merged.append(action_)
    return tuple(merged)


def _uleb(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError
