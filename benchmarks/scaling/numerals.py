"""Number formats of the page: two digits, and suitable units."""

from __future__ import annotations

from typing import Final

_LARGE: Final = 1e6
_UNITS_OF_TIME: Final = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
_ENOUGH: Final = 1.5
"""Least multiple of a unit that is written in that unit."""


def plain(value: float) -> str:
    """Two significant digits, without an exponent."""
    if value == 0:
        return "0"
    if value >= 100:
        return count(float(f"{value:.2g}"))
    text = f"{float(f'{value:.2g}'):.10f}".rstrip("0")
    return text.rstrip(".")


def count(value: float) -> str:
    """A whole number if small, two digits and a power of ten if large."""
    if value >= _LARGE:
        exponent = len(str(int(value))) - 1
        digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
        power = "".join(digits[int(digit)] for digit in str(exponent))
        return f"{value / 10**exponent:.1f} · 10{power}"
    return f"{value:,.0f}".replace(",", " ") if value >= 100 or value == int(value) else f"{value:.3g}"


def size(value: float) -> str:
    """A number of bytes."""
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    step = 0
    while value >= 1000 and step < len(units) - 1:
        value, step = value / 1000, step + 1
    return f"{plain(value)} {units[step]}"


def rounded(value: float) -> str:
    """Two significant digits of a count."""
    return count(float(f"{value:.2g}"))


def duration(seconds: float) -> str:
    """A duration in the largest unit of which it has more than one and a half."""
    for unit, name in _UNITS_OF_TIME:
        if seconds >= _ENOUGH * unit:
            return f"{plain(seconds / unit)} {name}"
    return f"{plain(seconds)} seconds"
