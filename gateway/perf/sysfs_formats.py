"""How an event source encodes its terms, and the unit of its counts: texts of sysfs in, values out.

Strategy: one pure function per kind of file; an invalid text raises BadFormat. The files are described in
Documentation/ABI/testing/sysfs-bus-event_source-devices-format and …-events.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from gateway.errors import BadFormat

WORDS: Final = ("config", "config1", "config2")
_FIELD: Final = re.compile(r"(config[12]?):(\d{1,2}(?:-\d{1,2})?(?:,\d{1,2}(?:-\d{1,2})?)*)")
_SCALE: Final = re.compile(r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
_DECIMAL: Final = re.compile(r"[0-9]{1,10}")
_WORD_BITS: Final = 64
# Units in the kernel's files, each with its value in our unit. Counts of an unknown unit are not converted.
_UNITS: Final = {
    "joules": ("joules", 1.0),
    "bytes": ("bytes", 1.0),
    "kib": ("bytes", 1024.0),
    "mib": ("bytes", 1048576.0),
    "gib": ("bytes", 1073741824.0),
}


@dataclass(frozen=True, slots=True)
class Field:
    """Bit positions of a term: (first, last) bit of `word`, lowest bits of the value first."""

    word: str
    ranges: tuple[tuple[int, int], ...]

    @property
    def width(self) -> int:
        """Number of bits."""
        return sum(last - first + 1 for first, last in self.ranges)

    def place(self, value: int) -> int:
        """The value's bits in their positions; raises BadFormat if it has too many."""
        if value >> self.width:
            raise BadFormat(f"{value:#x} has more than {self.width} bits")
        placed = 0
        for first, last in self.ranges:
            width = last - first + 1
            placed |= (value & ((1 << width) - 1)) << first
            value >>= width
        return placed

    @property
    def mask(self) -> int:
        """All bits of the field."""
        return self.place((1 << self.width) - 1)


def parse_format(text: str) -> Field:
    """Parse `config:0-7,32-35` of a file in `format`."""
    match = _FIELD.fullmatch(text.strip())
    if not match:
        raise BadFormat(f"{text.strip()!r} is not the position of a term")
    ranges = []
    seen = 0
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        bits = ((1 << (high - low + 1)) - 1) << low if low <= high < _WORD_BITS else 0
        if not bits or bits & seen:
            raise BadFormat(f"{text.strip()!r}: bits {part} are invalid")
        seen |= bits
        ranges.append((low, high))
    return Field(match[1], tuple(ranges))


def parse_scale(text: str) -> float:
    """Parse a `.scale` file: the value of one count, a positive number."""
    scale = float(text.strip()) if _SCALE.fullmatch(text.strip()) else math.nan
    if not math.isfinite(scale) or scale <= 0:
        raise BadFormat(f"{text.strip()!r} is not a scale")
    return scale


def parse_unit(text: str) -> tuple[str, float]:
    """A `.unit` file as our unit and the factor to it: "MiB" is 1048576 bytes; an unknown unit stays as it is."""
    unit = text.strip()
    if not unit or not unit.isprintable() or len(unit) > _WORD_BITS:
        raise BadFormat(f"{unit[:_WORD_BITS]!r} is not a unit")
    return _UNITS.get(unit.lower(), (unit, 1.0))


def parse_id(text: str) -> int:
    """Parse the number in a tracepoint's `id` file, or in `type`."""
    number = text.strip()
    if not _DECIMAL.fullmatch(number) or int(number) >= 1 << 32:
        raise BadFormat(f"{number[:_WORD_BITS]!r} is not an event number")
    return int(number)
