"""GIVEN applications with a measured CPI WHEN some are pinned THEN each of them is in the plan, or the question is refused."""

from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from analysis.measured import Measured
from storage.errors import BadSelection
from storage.query.answers.affinity import AffinityAnswer
from storage.query.answers.inputs import Inputs
from storage.query.models import affinity
from storage.query.models.affinity import AffinityQuestion
from storage.query.models.ratios import DERIVED, CountedRatio, CountedRatios
from storage.query.selections.selection import Selection

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOUR = Selection(NOON, NOON + timedelta(hours=1))
INPUTS = cast("Inputs", None)  # handed on, never looked at
LOADS = {"search": 300.0, "ads": 200.0, "mail": 100.0}


def planned(*pinned: str, applications: int = 3) -> AffinityAnswer:
    rows = tuple(
        CountedRatio(
            {"application": name, "platform": platform},
            None,
            Measured(cpi, 0.9 * cpi, 1.1 * cpi),
            low_confidence=False,
            visits=10,
            machines=10,
            y=cpi * load,
            x=load,
        )
        for name, load in LOADS.items()
        for platform, cpi in (("old", 2.0), ("new", 1.0))
    )
    ratios = CountedRatios(DERIVED["cpi"], rows, len(rows), INPUTS, None)
    question = AffinityQuestion(HOUR, applications, pinned, room=10.0, cautious=False)
    return affinity._answer(question, ratios)


def test_what_is_pinned_stays():
    answer = planned("ads")
    assert answer.because is None
    assert {move.application for move in answer.rows} == {"search", "mail"}


def test_a_pin_that_nobody_counted_is_refused():
    with pytest.raises(BadSelection, match="'serach' is pinned") as refused:
        planned("search", "serach")
    assert refused.value.parameter == "pinned"
    assert "Remove the pin" in refused.value.hint


def test_a_pin_below_the_plans_applications_says_how_many_to_ask_for():
    with pytest.raises(BadSelection, match="it has rank 3") as refused:
        planned("mail", applications=2)
    assert (refused.value.parameter, refused.value.hint) == ("pinned", "applications=3")
    present = planned("mail", applications=3).present
    assert tuple(dict.fromkeys(each.application for each in present)) == ("search", "ads", "mail")
