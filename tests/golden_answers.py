"""Answers that are kept beside what they are made of, and compared but for rounding.

A wanted change: FLEETPROF_WRITE_GOLDEN=1 writes what the product answers now; `git diff` shows what that is.
"""

import json
import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden/api"
_IDS = {"function_id", "id"}
"""What a database gives."""


def check_golden(name: str, answer: object) -> None:
    """Hold an answer to the one that is kept under this name."""
    path = GOLDEN / f"{name}.json"
    if os.environ.get("FLEETPROF_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(answer, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    assert close(answer, json.loads(path.read_text()))


def close(one: object, other: object) -> bool:
    """Alike but for rounding, and the ids a database gives."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one.keys() - _IDS)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return bool(one == pytest.approx(other, rel=1e-6, abs=1e-9))
    return one == other
