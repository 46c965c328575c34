"""GIVEN answers made of counters WHEN they are shown THEN nothing counted is called the fleet's."""

from io import StringIO

from rich.console import Console

from services.api.analysis.affinity import MoveRow
from services.api.analysis.ratios import RatioRow
from services.views.reports.affinity import affinity
from services.views.reports.ratios import ratios
from services.views.reports.side_by_side import side_by_side

FIGURE = {"value": 1.5, "lo": 1.4, "hi": 1.6}
INPUTS = {
    "visits": 10, "used": 9, "design": "random", "covered_seconds": 3600.0, "missing": [], "population": 5.0,
    "machines": 5, "weights": "poststratified",
}  # fmt: skip
ASKED = {"from": "2026-11-17T12:00:00Z", "to": "2026-11-17T13:00:00Z", "select": "{}", "campaign": "fleet"}


def shown(view, **answer) -> str:
    screen = StringIO()
    console = Console(width=200, file=screen)
    console.print(view({"asked": ASKED, "inputs": INPUTS, "because": None, **answer}))
    return " ".join(screen.getvalue().split())


def test_a_ratios_work_is_what_was_counted():
    row = {
        "key": {"application": "ads"},
        "from": None,
        "ratio": FIGURE,
        "low_confidence": False,
        "visits": 9,
        "machines": 4,
    }
    text = shown(
        ratios,
        ratio="cycles / instructions",
        unit="cycles per instruction",
        by=["application"],
        step_seconds=0,
        rows=[row | {"numerator": 15.0, "denominator": 10.0}],
        rows_total=1,
    )
    assert "work: instructions counted in the covered time" in text
    assert "over what was counted" in str(RatioRow.model_fields["numerator"].description)


def test_a_plans_cycles_are_of_what_was_counted():
    text = shown(
        affinity,
        present_cycles=500.0,
        planned_cycles=400.0,
        saving_cycles={"value": 100.0, "lo": 50.0, "hi": 150.0},
        certain_cycles=50.0,
        optimism_cycles=10.0,
        unknown=0,
        rows=[],
        rows_total=0,
    )
    assert "counted cycles: 500 today, 400 planned" in text
    assert "Only counted control groups" in str(MoveRow.model_fields["instructions"].description)


def test_a_factor_that_few_visits_decide_has_a_mark():
    row = {
        "name": "cpi",
        "unit": "cycles per instruction",
        "first": FIGURE,
        "second": FIGURE,
        "factor": {"value": 0.76, "lo": 0.69, "hi": 0.83},
        "p": 7e-9,
        "significant": True,
        "low_confidence": True,
        "suspect": False,
        "first_visits": 657,
        "second_visits": 164,
    }
    text = shown(side_by_side, first="Zen 3", second="Skylake", interval_level=0.975, rows=[row])
    assert "second ÷ first, 97.5 %" in text
    assert "0.760 (0.690–0.830) ? 657, 164" in text
    assert "? low confidence: few visits contribute" in text
