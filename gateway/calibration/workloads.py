"""Workloads of an SMT measurement: loops of available libraries, some milliseconds per call.

They release Python's lock while they run. `integer` is zlib's compression, with its branches, tables and copies in the
first caches; `float` is the recurrence of libm's Bessel functions: dependent additions, multiplications and divisions.
"""

from __future__ import annotations

import ctypes
import random
import zlib
from enum import Enum
from typing import TYPE_CHECKING, Final

from gateway.calibration import refusals

if TYPE_CHECKING:
    from gateway.calibration.pinned_threads import Step

_TEXT_BYTES: Final = 64 << 10
_LETTERS: Final = b"eeetttaaooiinnsshhrrdlu ,.\n"
_LEVEL: Final = 6
_ORDER: Final = 1_000_000
"""Steps of one recurrence."""


class Workload(Enum):
    """Kinds of work, with their implementation."""

    INTEGER = "zlib compress"
    FLOAT = "libm jn"
    MEMORY = "glibc obstack"


def integer_step() -> Step:
    """Compress a text; a unit is a byte of it."""
    text = bytes(random.Random(2).choices(_LETTERS, k=_TEXT_BYTES))  # noqa: S311 - no secret

    def step() -> int:
        zlib.compress(text, _LEVEL)
        return _TEXT_BYTES

    return step


def float_step() -> Step:
    """Evaluate J_n(2n); a unit is a step of its recurrence. Raises CalibrationRefused if libm lacks it."""
    try:
        bessel = ctypes.CDLL("libm.so.6").jn
    except (OSError, AttributeError):
        raise refusals.unsupported("the C library has no Bessel functions (libm.so.6: jn)") from None
    bessel.restype = ctypes.c_double
    bessel.argtypes = (ctypes.c_int, ctypes.c_double)

    def step() -> int:
        bessel(_ORDER, 2.0 * _ORDER)
        return _ORDER

    return step
