"""GIVEN several programs' minings WHEN they are looked at together THEN what stands out and what is common is said."""

import pytest

from analysis.errors import InsufficientData, NotANumber
from analysis.event_mining.findings import findings
from analysis.event_mining.mining import Mined, Ranked, Step


def mined(**importance: float) -> Mined:
    ranking = sorted(importance.items(), key=lambda one: -one[1])
    return Mined(
        (Step(len(ranking), 0.1),),
        tuple(Ranked(name, share, 0.5) for name, share in ranking),
        0.1,
        0.1,
        0.3,
        100,
        10,
    )


AGGREGATION = mined(ISF=0.063, BRE=0.058, BIEB=0.036, IPD=0.03)
KMEANS = mined(ISF=0.3, BIEB=0.05, ITM=0.04)
EVEN = mined(BIEB=0.05, ISF=0.045, LRA=0.043)


def test_one_or_two_events_dominate_a_program() -> None:
    """Two above 5.8 %, the rest below 3.6 %; then one; then none."""
    found = findings({"aggregation": AGGREGATION, "kmeans": KMEANS, "even": EVEN})
    names = {program: [event.name for event in events] for program, events in found.dominating.items()}
    assert names == {"aggregation": ["ISF", "BRE"], "kmeans": ["ISF"], "even": []}


def test_some_are_common_to_all_and_some_to_one() -> None:
    found = findings({"aggregation": AGGREGATION, "kmeans": KMEANS}, mix=EVEN)
    assert found.common == ("ISF", "BIEB")
    assert found.own == {"aggregation": ("BRE", "IPD"), "kmeans": ("ITM",)}
    assert findings({"kmeans": KMEANS}, top=1).common == ("ISF",)


def test_what_cannot_be_said() -> None:
    with pytest.raises(InsufficientData):
        findings({})
    with pytest.raises(NotANumber):
        findings({"kmeans": KMEANS}, top=0)
