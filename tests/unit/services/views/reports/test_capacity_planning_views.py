"""GIVEN answers about capacity and machine types WHEN they are shown in a terminal THEN doubt stands beside the figure."""

import io
from dataclasses import replace

from rich.console import Console, RenderableType

from services.views.reports.capacity import capacity
from services.views.reports.machine_types import machine_types
from storage.query.answers.apu import Coefficient
from storage.query.answers.capacity import CapacityAnswer, ForecastAnswer, StepRow
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, LeftOut, Unavailable
from storage.query.answers.machine_types import MachineTypesAnswer, ServedAnswer, TypeRow
from storage.query.answers.selection_echo import MachineSelectionEcho

ASKED = MachineSelectionEcho("2026-11-17T00:00:00Z", "2026-11-18T00:00:00Z", "{}", "fleet")
INPUTS = Inputs("random", 86400.0, 4.0, visits=9, used=9, missing=())
OC = Coefficient("Z80", "", 1.4, None, None, measured=True)
FORECAST = ForecastAnswer(
    limit=Figure(797, 750, None),
    intercept=0.044,
    slope=0.0012,
    r2=0.98,
    observations=24,
    reach=0.75,
    curved=False,
    because=None,
)
TYPES = MachineTypesAnswer(
    selection=ASKED,
    basis="equal_traffic",
    full=None,
    step_seconds=None,
    apu_basis="operating_system",
    price_ratio=1.33,
    utilisation_ratio=Figure(1.414, 1.38, 1.45),
    apu_ratio=Figure(1.271, 1.2, 1.35),
    by_utilisation="new",
    by_apu="unclear",
    stress_test=True,
    utilisation_because=None,
    apu_because=None,
    rows=(),
    coefficients=(OC,),
    left_out=(),
    inputs=INPUTS,
    because=None,
)
ROW = TypeRow(
    platform="Old [1]",
    price=1.0,
    utilisation=Figure(0.82, 0.8, 0.84),
    apu=Figure(0.89, 0.85, 0.93),
    low_confidence=False,
    visits=40,
    machines=9,
    by_utilisation=None,
    by_apu=None,
)


def text_of(renderable: RenderableType) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_both_forecasts_stand_below_their_steps():
    because = Unavailable("too_little", "Nobody calibrated.")
    step = StepRow(
        from_="2026-11-17T03:00:00Z",
        rate=None,
        utilisation=Figure(0.5, 0.4, 0.6),
        apu=None,
        hardware_apu=Figure(0.61, 0.5, 0.7),
        visits=7,
    )
    answer = CapacityAnswer(
        selection=ASKED,
        step_seconds=3600,
        full=0.9,
        by_utilisation=replace(FORECAST, curved=True),
        by_apu=ForecastAnswer(None, None, None, None, None, None, None, because),
        by_hardware=replace(FORECAST, limit=Figure(790, 740, 850)),
        rows=(step,),
        coefficients=(OC,),
        left_out=(),
        inputs=INPUTS,
        because=None,
    )
    text = text_of(capacity(answer))
    assert "by utilisation: 797 (750–…) requests/s at 90.0 % load" in text
    assert "observed up to 75.0 % of this rate" in text
    assert "do not trust this forecast" in text
    assert "by APU: No result (too_little): Nobody calibrated." in text
    assert "by APU of counters: 790 (740–850) requests/s" in text
    assert "61.0 %" in text
    assert "2026-11-17 03:00" in text
    assert "overlap coefficient of Z80: 1.40, measured" in text
    assert "do not trust this forecast" not in text_of(capacity(replace(answer, by_utilisation=FORECAST)))


def test_machine_types_say_who_is_cheaper_and_when_to_test():
    answer = replace(TYPES, left_out=(LeftOut("the overlap coefficient of Z80 is unknown", 3),), rows=(ROW,))
    text = text_of(machine_types(answer))
    assert "only if machines of both types received equal traffic" in text
    assert "replaces 1.41 (1.38–1.45) old ones at 1.33 times the price; the new type costs less" in text
    assert "by APU: one new machine replaces 1.27 (1.20–1.35)" in text
    assert "Run a stress test to decide." in text
    assert "Old [1]" in text
    assert "left out: 3 visits, the overlap coefficient of Z80 is unknown" in text
    assert "APU of counters" not in text
    by_counters = text_of(machine_types(replace(answer, apu_basis="counters")))
    assert "by APU of counters: one new machine replaces 1.27" in by_counters
    assert "APU of counters, 95 %" in by_counters


def test_machine_types_by_request_rates_say_what_a_request_costs():
    served = ServedAnswer(
        rate=Figure(812.0, 790.0, 840.0),
        price=Figure(0.00164, 0.00158, 0.00168),
        observations=24,
        reach=0.6,
        curved=True,
        because=None,
    )
    because = Unavailable("constant", "Old: Load does not rise.")
    unknown = ServedAnswer(None, None, None, None, None, because)
    row = replace(
        ROW,
        platform="New [2]",
        price=1.33,
        utilisation=None,
        apu=None,
        machines=None,
        by_utilisation=served,
        by_apu=unknown,
    )
    answer = replace(
        TYPES,
        basis="request_rates",
        full=0.8,
        step_seconds=3600,
        utilisation_ratio=Figure(1.255, 1.2, 1.31),
        by_utilisation="old",
        apu_ratio=None,
        by_apu=None,
        apu_because=because,
        rows=(row,),
    )
    text = text_of(machine_types(answer))
    assert "requests/s at 80.0 %" in text
    assert "812 (790–840)" in text
    assert "0.00164 (0.00158–0.00168)" in text
    assert "New [2]" in text
    assert "one new machine replaces 1.25 (1.20–1.31) old ones at 1.33 times the price; the old type" in text
    assert "by APU: No result (constant): Old: Load does not rise." in text
    assert "New [2]: the points are not on a line" in text
    assert "Run a stress test to decide." in text
    assert "equal traffic" not in text
