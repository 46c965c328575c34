"""GIVEN answers about capacity and machine types WHEN they are shown in a terminal THEN doubt stands beside the figure."""

import io

from rich.console import Console

from services.views.reports.capacity import capacity
from services.views.reports.machine_types import machine_types

ASKED = {"from": "2026-11-17T00:00:00Z", "to": "2026-11-18T00:00:00Z", "select": "{}", "campaign": "fleet"}
INPUTS = {
    "design": "random",
    "covered_seconds": 86400.0,
    "population": 4.0,
    "visits": 9,
    "used": 9,
    "missing": [],
}
OC = {"platform": "Z80", "workload": "", "value": 1.4, "measured": True}
ABOUT = {"asked": ASKED, "inputs": INPUTS, "because": None, "left_out": [], "coefficients": [OC]}


def text_of(renderable) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def interval(value: float, lo: float, hi: float | None) -> dict:
    return {"value": value, "lo": lo, "hi": hi}


def forecast(**other) -> dict:
    figures = {"limit": interval(797, 750, None), "intercept": 0.044, "slope": 0.0012, "r2": 0.98}
    return {**figures, "observations": 24, "reach": 0.75, "curved": False, "because": None, **other}


def test_both_forecasts_stand_below_their_steps():
    because = {"reason": "too_little", "detail": "Nobody calibrated."}
    answer = {
        **ABOUT,
        "full": 0.9,
        "by_utilisation": forecast(curved=True),
        "by_apu": dict.fromkeys(forecast()) | {"because": because},
        "by_hardware": forecast(limit=interval(790, 740, 850)),
        "rows": [
            {
                "from": "2026-11-17T03:00:00Z",
                "rate": None,
                "utilisation": interval(0.5, 0.4, 0.6),
                "apu": None,
                "hardware_apu": interval(0.61, 0.5, 0.7),
                "visits": 7,
            }
        ],
    }
    text = text_of(capacity(answer))
    assert "by utilisation: 797 (750–…) requests/s at 90.0 % load" in text
    assert "observed up to 75.0 % of this rate" in text
    assert "do not trust this forecast" in text
    assert "by APU: No result (too_little): Nobody calibrated." in text
    assert "by APU of counters: 790 (740–850) requests/s" in text
    assert "61.0 %" in text
    assert "2026-11-17 03:00" in text
    assert "overlap coefficient of Z80: 1.40, measured" in text
    assert "do not trust this forecast" not in text_of(capacity({**answer, "by_utilisation": forecast()}))


def test_machine_types_say_who_is_cheaper_and_when_to_test():
    row = {
        "apu": interval(0.89, 0.85, 0.93),
        "utilisation": interval(0.82, 0.8, 0.84),
        "low_confidence": False,
    }
    answer = {
        **ABOUT,
        "left_out": [{"why": "the overlap coefficient of Z80 is unknown", "visits": 3}],
        "price_ratio": 1.33,
        "utilisation_ratio": interval(1.414, 1.38, 1.45),
        "apu_ratio": interval(1.271, 1.2, 1.35),
        "by_utilisation": "new",
        "by_apu": "unclear",
        "stress_test": True,
        "basis": "equal_traffic",
        "apu_basis": "operating_system",
        "rows": [{**row, "platform": "Old [1]", "price": 1.0, "visits": 40, "machines": 9}],
    }
    text = text_of(machine_types(answer))
    assert "only if machines of both types received equal traffic" in text
    assert "replaces 1.41 (1.38–1.45) old ones at 1.33 times the price; the new type costs less" in text
    assert "by APU: one new machine replaces 1.27 (1.20–1.35)" in text
    assert "Run a stress test to decide." in text
    assert "Old [1]" in text
    assert "left out: 3 visits, the overlap coefficient of Z80 is unknown" in text
    assert "APU of counters" not in text
    by_counters = text_of(machine_types({**answer, "apu_basis": "counters"}))
    assert "by APU of counters: one new machine replaces 1.27" in by_counters
    assert "APU of counters, 95 %" in by_counters


def test_machine_types_by_request_rates_say_what_a_request_costs():
    served = {
        "rate": interval(812.0, 790.0, 840.0),
        "price": interval(0.00164, 0.00158, 0.00168),
        "observations": 24,
        "reach": 0.6,
        "curved": True,
        "because": None,
    }
    because = {"reason": "constant", "detail": "Old: Load does not rise."}
    unknown = {**dict.fromkeys(served), "because": because}
    row = {
        "utilisation": None,
        "apu": None,
        "low_confidence": False,
        "visits": 40,
        "machines": None,
        "price": 1.33,
    }
    answer = {
        **ABOUT,
        "left_out": [],
        "basis": "request_rates",
        "apu_basis": "operating_system",
        "full": 0.8,
        "price_ratio": 1.33,
        "utilisation_ratio": interval(1.255, 1.2, 1.31),
        "by_utilisation": "old",
        "utilisation_because": None,
        "apu_ratio": None,
        "by_apu": None,
        "apu_because": because,
        "stress_test": True,
        "rows": [{**row, "platform": "New [2]", "by_utilisation": served, "by_apu": unknown}],
    }
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
