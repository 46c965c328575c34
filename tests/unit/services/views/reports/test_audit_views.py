"""GIVEN answers of audits WHEN they are shown in a terminal THEN the verdict and what it is by stand there."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from services.views.reports.composition import composition
from services.views.reports.feature import feature
from services.views.reports.load_test import load_test
from services.views.reports.stability import stability
from storage.query.answers.composition import ChangeAnswer, CompositionAnswer, Reached, SharePoint, ValueRow
from storage.query.answers.feature import FeatureAnswer, FeatureRow
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.load_test import DifferingRow, LoadTestAnswer
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.stability import Badge, DayRow, StabilityAnswer
from storage.query.answers.totals import Totals

SIDE = SelectionEcho(
    event="cpu",
    unit="nanoseconds",
    from_="2026-11-17T00:00:00Z",
    to="2026-11-18T00:00:00Z",
    select="{}",
    campaign="fleet",
    focus="",
    ignore="",
    hide="",
    show="",
    show_from="",
)
TOTALS = Totals(
    samples=0,
    units=0,
    seconds=0.0,
    machines=0,
    visits=0,
    profiles=0,
    kept=1.0,
    symbolized=1.0,
    leaf_symbolized=1.0,
    complete=1.0,
    design="random",
    path="chunks",
    approximate=False,
    selected_seconds=86_400.0,
    covered_seconds=86_400.0,
    missing=(),
    estimated_seconds=86_400.0,
    population=1.0,
    uncovered_share=0.0,
    visits_drawn=0,
    visits_ingested=0,
    visits_waiting=0,
    core_seconds=None,
    cores=None,
    estimate=None,
)


def text_of(renderable) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_a_composition_shows_the_last_known_share_and_when_each_level_was_reached():
    points = (
        SharePoint(Figure(0.0, 0.0, 0.05), low_confidence=False),
        SharePoint(Figure(0.8, 0.75, 0.85), low_confidence=True),
        SharePoint(None, low_confidence=False),
    )
    reached = (
        Reached(0.1, "2026-11-17T06:30:00Z", None, "2026-11-17T08:00:00Z"),
        Reached(0.5, "2026-11-17T09:10:00Z", "2026-11-17T08:00:00Z", None),
    )
    change = ChangeAnswer(reached, None, Figure(0.8, 0.75, 0.85), fell_back=True)
    rows = (
        ValueRow("2.1[beta]", 0.4, points, change, None),
        ValueRow("", 0.1, (points[2],) * 3, None, Unavailable("constant", "One share fits every interval.")),
        ValueRow("1.9", 0.1, points, None, Unavailable("unreachable", "Another reason.")),
    )
    times = ("2026-11-17T00:00:00Z", "2026-11-17T08:00:00Z", "2026-11-17T16:00:00Z")
    answer = CompositionAnswer(SIDE, TOTALS, "version", 28_800, times, rows, rows_total=5, because=None)
    lines = text_of(composition(answer)).splitlines()
    of_first, of_none, of_last = (
        next(line for line in lines if name in line) for name in ("2.1[beta]", "(none)", "1.9")
    )
    assert "40.0 %" in of_first
    assert "80.0 % (75.0–85.0) ?" in of_first
    assert "10% 2026-11-17 06:30, 50% 2026-11-17 09:10 fell back" in of_first
    assert "–" in of_none
    assert "no change detected" in of_none
    assert "Another reason." in of_last
    assert any("2 more values" in line for line in lines)


def test_a_feature_shows_what_it_touches_and_saves():
    answer = FeatureAnswer(
        selection=SIDE,
        totals=TOTALS,
        functions="^mem",
        speedup=3.0,
        share=Figure(0.3, 0.27, 0.33),
        low_confidence=True,
        visits=160,
        saved=Figure(0.2, 0.18, 0.22),
        rows=(FeatureRow("memcpy[abi:v1]", 0.2), FeatureRow("memset", 0.1)),
        rows_total=3,
        because=None,
    )
    text = text_of(feature(answer))
    assert "affected: 30.0 % (27.0–33.0) ? of the selection" in text
    assert "3 times as fast: 20.0 % (18.0–22.0)" in text
    assert "memcpy[abi:v1]" in text
    assert "1 more rows" in text
    assert "No sampled function" in text_of(feature(replace(answer, rows=(), rows_total=0)))


COMPARED = LoadTestAnswer(
    selection=SIDE,
    base=SIDE,
    totals=TOTALS,
    base_totals=TOTALS,
    by=("function",),
    representative=False,
    distance=0.31,
    matched=Figure(0.9, 0.8, 1.0),
    floor=Figure(0.5, 0.4, 0.6),
    p=0.0025,
    covered=0.75,
    compared_visits=40,
    compared_samples=12000.0,
    rows=(DifferingRow({"function": "parse"}, 0.15, 0.06, Figure(0.09, 0.08, 0.1)),),
    rows_total=1,
    interval_level=0.95,
    because=None,
)


def test_a_load_test_shows_its_verdict_and_what_makes_the_difference():
    text = text_of(load_test(COMPARED))
    assert "does not represent production" in text
    assert "0.900 (0.800–1.00) for the test, 0.500 (0.400–0.600) for parts of production" in text
    assert "+9.00 pp (+8.00…+10.00)" in text
    assert "parse" in text
    same = text_of(load_test(replace(COMPARED, representative=True, rows=(), rows_total=0)))
    assert "no evidence that the test differs from production" in same
    assert "No row differs" in same


def test_a_test_that_cannot_be_compared_says_why():
    because = Unavailable("too_little", "No visits.")
    nothing = dict.fromkeys(
        (
            "representative",
            "distance",
            "matched",
            "floor",
            "p",
            "covered",
            "compared_visits",
            "compared_samples",
            "interval_level",
        )
    )
    text = text_of(load_test(replace(COMPARED, **nothing, rows=(), rows_total=0, because=because)))
    assert "No result (too_little): No visits." in text
    assert "represent" not in text


@pytest.mark.parametrize(
    ("badge", "means"),
    [("steady", "small rows"), ("shifting", "look at each day"), ("few", "too few visits")],
)
def test_a_badge_says_what_the_profile_may_be_used_for(badge: Badge, means: str):
    few = badge == "few"
    entropy = Figure(4.0, 3.9, 4.1)
    answer = StabilityAnswer(
        selection=SIDE,
        totals=TOTALS,
        by=("function",),
        badge=badge,
        misplaced=None if few else Figure(0.04, 0.035, 0.045),
        samples=4000.0,
        more_visits=None if few else 12.0,
        rows=(
            DayRow("2026-11-17T00:00:00Z", 9, 4000.0, entropy, shifted=False),
            DayRow("2026-11-18T00:00:00Z", 9, 4000.0, entropy, shifted=badge == "shifting"),
        ),
        because=None,
    )
    text = text_of(stability(answer))
    assert f"{badge}: " in text
    assert means in text
    assert ("4.0 % (3.5–4.5) of 4,000 samples" in text) is not few
    assert ("2026-11-18  differs in kind" in text) is (badge == "shifting")
