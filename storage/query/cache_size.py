"""How much a cache of this process holds, for whoever watches its memory."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class CacheSize:
    """What a cache holds at one moment."""

    rows: int
    bytes: int
    """About; without what queries under way hold besides."""


def array_bytes(held: object) -> int:
    """Bytes of the arrays among the fields of a dataclass, those of dataclasses in it included."""
    if isinstance(held, np.ndarray):
        return held.nbytes
    if is_dataclass(held):
        return sum(array_bytes(getattr(held, field.name)) for field in fields(held))
    return 0
