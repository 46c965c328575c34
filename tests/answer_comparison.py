"""Whether two answers say the same: counts exactly, estimates as far as sums in another order allow."""

import dataclasses
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

RELATIVE = 1e-9


def differences(a: Any, b: Any, at: str = "answer", *, relative: float = RELATIVE) -> list[str]:
    """Where they differ, with both values; nothing: they are alike."""
    if dataclasses.is_dataclass(a) and not isinstance(a, type) and type(a) is type(b):
        names = [field.name for field in dataclasses.fields(a)]
        return _each([(f"{at}.{n}", getattr(a, n), getattr(b, n)) for n in names], relative)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        a, b = a.tolist(), b.tolist()
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return [f"{at}: {sorted(a)} and {sorted(b)}"]
        return _each([(f"{at}[{key!r}]", a[key], b[key]) for key in a], relative)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return [f"{at}: {len(a)} and {len(b)} of them"]
        return _each([(f"{at}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))], relative)
    if isinstance(a, float) and isinstance(b, float) and not isinstance(a, Enum):
        alike = math.isclose(a, b, rel_tol=relative, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
        return [] if alike else [f"{at}: {a!r} and {b!r}"]
    return [] if a == b else [f"{at}: {a!r} and {b!r}"]


def _each(pairs: list[tuple[str, Any, Any]], relative: float) -> list[str]:
    return [found for at, a, b in pairs for found in differences(a, b, at, relative=relative)]
