"""GIVEN answers of audits WHEN they are shown in a terminal THEN the verdict and what it is by stand there."""

import io

import pytest
from rich.console import Console

from services.views.reports.feature import feature
from services.views.reports.load_test import load_test
from services.views.reports.stability import stability

SIDE = {"from": "2026-11-17T00:00:00Z", "to": "2026-11-18T00:00:00Z", "select": "{}", "campaign": "fleet"}
TOTALS = {"samples": 0}


def text_of(renderable) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def interval(value: float, lo: float, hi: float) -> dict:
    return {"value": value, "lo": lo, "hi": hi}


def test_a_feature_shows_what_it_touches_and_saves():
    answer = {
        "selection": SIDE,
        "totals": TOTALS,
        "because": None,
        "speedup": 3.0,
        "low_confidence": True,
        "visits": 160,
        "share": interval(0.3, 0.27, 0.33),
        "saved": interval(0.2, 0.18, 0.22),
        "rows_total": 3,
        "rows": [{"function": "memcpy[abi:v1]", "share": 0.2}, {"function": "memset", "share": 0.1}],
    }
    text = text_of(feature(answer))
    assert "affected: 30.0 % (27.0–33.0) ? of the selection" in text
    assert "3 times as fast: 20.0 % (18.0–22.0)" in text
    assert "memcpy[abi:v1]" in text
    assert "1 more rows" in text
    assert "No sampled function" in text_of(feature({**answer, "rows": [], "rows_total": 0}))


def compared(**other) -> dict:
    return {
        "selection": SIDE,
        "base": SIDE,
        "totals": TOTALS,
        "base_totals": TOTALS,
        "because": None,
        "by": ["function"],
        "representative": False,
        "distance": 0.31,
        "matched": interval(0.9, 0.8, 1.0),
        "p": 0.0025,
        "covered": 0.75,
        "floor": interval(0.5, 0.4, 0.6),
        "compared_visits": 40,
        "compared_samples": 12000.0,
        "rows_total": 1,
        "interval_level": 0.95,
        "rows": [
            {
                "key": {"function": "parse"},
                "test_share": 0.15,
                "production_share": 0.06,
                "delta": interval(0.09, 0.08, 0.1),
            }
        ],
        **other,
    }


def test_a_load_test_shows_its_verdict_and_what_makes_the_difference():
    text = text_of(load_test(compared()))
    assert "does not represent production" in text
    assert "0.900 (0.800–1.00) for the test, 0.500 (0.400–0.600) for parts of production" in text
    assert "+9.00 pp (+8.00…+10.00)" in text
    assert "parse" in text
    same = text_of(load_test(compared(representative=True, rows=[], rows_total=0)))
    assert "no evidence that the test differs from production" in same
    assert "No row differs" in same


def test_a_test_that_cannot_be_compared_says_why():
    because = {"reason": "too_little", "detail": "No visits."}
    nothing = dict.fromkeys(("representative", "distance", "matched", "floor", "p", "covered"))
    text = text_of(load_test(compared(**nothing, rows=[], rows_total=0, because=because)))
    assert "No result (too_little): No visits." in text
    assert "represent" not in text


@pytest.mark.parametrize(
    ("badge", "means"),
    [("steady", "small rows"), ("shifting", "look at each day"), ("few", "too few visits")],
)
def test_a_badge_says_what_the_profile_may_be_used_for(badge: str, means: str):
    few = badge == "few"
    day = {"visits": 9, "samples": 4000.0, "entropy": interval(4.0, 3.9, 4.1)}
    answer = {
        "selection": SIDE,
        "totals": TOTALS,
        "because": None,
        "badge": badge,
        "samples": 4000.0,
        "misplaced": None if few else interval(0.04, 0.035, 0.045),
        "more_visits": None if few else 12.0,
        "rows": [
            {**day, "day": "2026-11-17T00:00:00Z", "shifted": False},
            {**day, "day": "2026-11-18T00:00:00Z", "shifted": badge == "shifting"},
        ],
    }
    text = text_of(stability(answer))
    assert f"{badge}: " in text
    assert means in text
    assert ("4.0 % (3.5–4.5) of 4,000 samples" in text) is not few
    assert ("2026-11-18  differs in kind" in text) is (badge == "shifting")
