"""How the page writes numbers: two digits, and units that fit."""

from __future__ import annotations

from typing import Final

_LARGE: Final = 1e6
_UNITS_OF_TIME: Final = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
_ENOUGH: Final = 1.5
"""Of a unit, to be told in it."""


def plain(value: float) -> str:
    """Two significant digits, without an exponent."""
    if value == 0:
        return "0"
    if value >= 100:
        return count(float(f"{value:.2g}"))
    text = f"{float(f'{value:.2g}'):.10f}".rstrip("0")
    return text.rstrip(".")


def count(value: float) -> str:
    """Whole where it is small, a power of ten with two digits where it is large."""
    if value >= _LARGE:
        exponent = len(str(int(value))) - 1
        digits = "⁰¹²³⁴⁵⁶⁷⁸⁹"
        power = "".join(digits[int(digit)] for digit in str(exponent))
        return f"{value / 10**exponent:.1f} · 10{power}"
    return f"{value:,.0f}".replace(",", " ") if value >= 100 or value == int(value) else f"{value:.3g}"


def size(value: float) -> str:
    """Of bytes."""
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    step = 0
    while value >= 1000 and step < len(units) - 1:
        value, step = value / 1000, step + 1
    return f"{plain(value)} {units[step]}"


def rounded(value: float) -> str:
    """Two significant digits of a count."""
    return count(float(f"{value:.2g}"))


def duration(seconds: float) -> str:
    """In the largest unit of which there is more than one and a half."""
    for unit, name in _UNITS_OF_TIME:
        if seconds >= _ENOUGH * unit:
            return f"{plain(seconds / unit)} {name}"
    return f"{plain(seconds)} seconds"
