"""GIVEN answers made of counters WHEN they are shown THEN nothing counted is called the fleet's."""

from io import StringIO

from rich.console import Console, RenderableType

from services.views.reports.affinity import affinity
from services.views.reports.ratios import ratios
from services.views.reports.side_by_side import side_by_side
from storage.query.answers.affinity import AffinityAnswer, MoveRow
from storage.query.answers.answer import adapter
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs
from storage.query.answers.ratios import RatioAnswer, RatioRow
from storage.query.answers.selection_echo import MachineSelectionEcho
from storage.query.answers.side_by_side import SideAnswer, SideRow

MEASURED = Figure(1.5, 1.4, 1.6)
MACHINES = MachineSelectionEcho("2026-11-17T12:00:00Z", "2026-11-17T13:00:00Z", "{}", "fleet")
USED = Inputs("random", 3600.0, population=5.0, visits=10, used=9, missing=())
INPUTS = {
    "visits": 10, "used": 9, "design": "random", "covered_seconds": 3600.0, "missing": [], "population": 5.0,
    "machines": 5, "weights": "poststratified",
}  # fmt: skip
ASKED = {"from": "2026-11-17T12:00:00Z", "to": "2026-11-17T13:00:00Z", "select": "{}", "campaign": "fleet"}


def shown(view, **answer) -> str:
    return printed(view({"selection": ASKED, "inputs": INPUTS, "because": None, **answer}))


def printed(report: RenderableType) -> str:
    screen = StringIO()
    Console(width=200, file=screen).print(report)
    return " ".join(screen.getvalue().split())


def test_a_ratios_work_is_what_was_counted():
    row = RatioRow(
        key={"application": "ads"},
        from_=None,
        ratio=MEASURED,
        low_confidence=False,
        visits=9,
        machines=4,
        numerator=15.0,
        denominator=10.0,
    )
    answer = RatioAnswer(
        selection=MACHINES,
        ratio="cycles / instructions",
        unit="cycles per instruction",
        by=("application",),
        step_seconds=0,
        rows=(row,),
        rows_total=1,
        inputs=USED,
        because=None,
    )
    assert "work: instructions counted in the covered time" in printed(ratios(answer))
    numerator = adapter(RatioRow).json_schema()["properties"]["numerator"]
    assert "over what was counted" in numerator["description"]


def test_a_plans_cycles_are_of_what_was_counted():
    answer = AffinityAnswer(
        selection=MachineSelectionEcho("2026-11-17T12:00:00Z", "2026-11-17T13:00:00Z", "{}", "fleet"),
        present=(),
        present_cycles=500.0,
        planned_cycles=400.0,
        saving_cycles=Figure(100.0, 50.0, 150.0),
        certain_cycles=50.0,
        optimism_cycles=10.0,
        unknown=0,
        rows=(),
        rows_total=0,
        inputs=Inputs("random", 3600.0, 5.0, 10, 9, ()),
        because=None,
    )
    text = printed(affinity(answer))
    assert "counted cycles: 500 today, 400 planned" in text
    described = adapter(MoveRow).json_schema()["properties"]["instructions"]["description"]
    assert "Only counted control groups" in described


def test_a_factor_that_few_visits_decide_has_a_mark():
    row = SideRow(
        name="cpi",
        unit="cycles per instruction",
        first=MEASURED,
        second=MEASURED,
        factor=Figure(0.76, 0.69, 0.83),
        p=7e-9,
        significant=True,
        low_confidence=True,
        suspect=False,
        first_visits=657,
        second_visits=164,
    )
    answer = SideAnswer(
        selection=MACHINES,
        first="Zen 3",
        second="Skylake",
        interval_level=0.975,
        rows=(row,),
        inputs=USED,
        because=None,
    )
    text = printed(side_by_side(answer))
    assert "second ÷ first, 97.5 %" in text
    assert "0.760 (0.690–0.830) ? 657, 164" in text
    assert "? low confidence: few visits contribute" in text
