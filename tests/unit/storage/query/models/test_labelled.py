"""GIVEN profiles of visits WHEN shares of their stacks are asked THEN so many visits are read as have about enough facts."""

import numpy as np
import pytest

from storage.query.facts.visit_scan import WHOLE, Profiles
from storage.query.models import labelled


def profiles(facts: dict[int, list[int]]) -> Profiles:
    """Numbers of facts of the profiles of one visit each, by the last byte of its id."""
    visits = np.array([bytes([n]) * 15 + bytes([last]) for n, last in enumerate(facts)], "S16")
    counts = np.array([count for of_visit in facts.values() for count in of_visit], np.int64)
    visit = np.repeat(np.arange(len(facts)), [len(of_visit) for of_visit in facts.values()])
    return Profiles(visits, visit, visit, counts, counts, np.ones_like(counts), {}, stacks=True)


@pytest.mark.parametrize(
    ("facts", "parts"),
    [
        ({}, WHOLE),
        ({0: [5], 255: [5]}, WHOLE),
        ({0: [0], 255: [0]}, WHOLE),
        ({255: [6], 0: [5]}, 255),
        ({3: [5], 7: [4], 9: [2]}, 9),
        ({3: [50], 7: [1]}, 4),
        ({0: [50]}, 1),
        ({255: [50]}, WHOLE),
        ({1: [0, 0, 0, 0], 4: [1]}, 5),
        ({1: [0, 0, 0, 0, 0]}, WHOLE),
    ],
)
def test_so_many_parts_have_about_enough(
    facts: dict[int, list[int]], parts: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(labelled, "MAX_CHUNKS", 4)
    assert labelled.parts_with(profiles(facts), 10) == parts
