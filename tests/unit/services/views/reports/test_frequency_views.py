"""GIVEN fits of a fleet at several frequencies WHEN they are shown in a terminal THEN what weakens them stands beside them."""

from typing import Any

from services.views.reports.frequency import frequency
from services.views.reports.frequency_fit import frequency_fit
from tests.unit.services.views.reports.test_report_envelope import answer, text_of

STEP = {"mhz": 1600.0, "visits": 9, "machines": 4, "ns_per_instruction": 0.6, "fitted": 0.6}
ROW: dict[str, Any] = {
    "application": "search",
    "platform": "Z80",
    "cpu_seconds": 1e6,
    "visits": 30,
    "machines": 12,
    "base_mhz": 2000.0,
    "off_chip": {"value": 0.2, "lo": 0.1, "hi": 0.3},
    "slowdowns": [
        {
            "mhz": mhz,
            "slowdown": {"value": value, "lo": value / 2, "hi": None},
            "naive": 2000 / mhz - 1,
            "at_memory": None,
        }
        for mhz, value in ((2000.0, 0.0), (1000.0, 0.8))
    ],
    "lowest_mhz": {"value": 1755.0, "lo": 1700.0, "hi": 1800.0},
    "lowest_at_memory_mhz": None,
    "lowest_at_memory_because": None,
    "steps": [
        {**STEP, "held_out": 0.02, "naive": 0.1},
        {**STEP, "mhz": 2000.0, "held_out": -0.04, "naive": 0.1},
    ],
    "load_correlation": 0.2,
    "clipped": False,
    "low_confidence": False,
    "because": None,
}


def shown(*rows: dict[str, Any], memory: dict[str, Any] | None = None) -> str:
    figures = {"performance": 0.9, "memory": memory, "rows": list(rows), "rows_total": len(rows) + 1}
    return text_of(frequency_fit({**answer(), **figures, "limits": ["turbo"], "left_out": []}))


def test_a_row_says_how_well_it_foretells() -> None:
    text = shown(ROW)
    assert "20.0 % (10.0–30.0)" in text
    assert "+80.0 % (+40.0–…) at 1,000 of 2,000 MHz" in text
    assert "+100.0 %" in text
    assert "1,755" in text
    assert "3.0 %" in text
    assert "1,600, 2,000" in text
    assert "1 more rows" in text
    assert "not in the model: turbo" in text
    assert "search on Z80:" not in text


def test_what_weakens_a_row_is_told() -> None:
    assert "search on Z80: frequency and the machines' load are correlated (0.80)" in shown(
        {**ROW, "load_correlation": 0.8}
    )
    assert "search on Z80: one term was negative by chance and is set to 0" in shown({**ROW, "clipped": True})
    because = {"reason": "unreachable", "detail": "No frequency does."}
    assert "search on Z80: No frequency does." in shown({**ROW, "lowest_mhz": None, "because": because})


def test_a_row_without_a_fit_says_why() -> None:
    nothing = {**ROW, "off_chip": None, "slowdowns": [], "steps": [], "low_confidence": True}
    text = shown({**nothing, "because": {"reason": "constant", "detail": "One frequency."}})
    assert "search on Z80: One frequency." in text


def test_another_memory_stands_beside() -> None:
    memory = {"measured_mhz": 3200.0, "target_mhz": 4800.0, "part": 0.5, "waiting": 0.83}
    faster = [{**each, "at_memory": {"value": -0.03, "lo": -0.05, "hi": -0.01}} for each in ROW["slowdowns"]]
    text = shown({**ROW, "slowdowns": faster}, memory=memory)
    assert "-3.0 % (-5.0–-1.0)" in text
    assert (
        "→ with memory at 4,800 instead of 3,200 MHz, if 50.0 % of the waiting time scales with the memory's clock"
        in text
    )


def test_why_there_is_no_lowest_frequency_with_another_memory_is_told() -> None:
    memory = {"measured_mhz": 3200.0, "target_mhz": 320.0, "part": 1.0, "waiting": 10.0}
    none = {"reason": "unreachable", "detail": "No frequency makes it 0.9 times as fast."}
    text = shown({**ROW, "lowest_at_memory_because": none}, memory=memory)
    assert "1,755 → –" in text
    assert "search on Z80 with that memory: No frequency makes it" in text
    every = {"reason": "unbounded", "detail": "Any frequency keeps it."}
    text = shown({**ROW, "lowest_at_memory_because": every}, memory=memory)
    assert "1,755 → any" in text
    assert "search on Z80 with that memory: Any frequency" in text


def test_a_row_that_any_frequency_will_do_for_is_shown_with_that_beside() -> None:
    because = {"reason": "unbounded", "detail": "Any frequency keeps it."}
    row = {**ROW, "lowest_mhz": None, "because": because}
    figures = {"performance": 0.9, "memory": None, "rows": [row], "rows_total": 1, "base_mhz": 2000.0}
    text = text_of(frequency({**answer(), **figures, "latencies": [], "limits": [], "left_out": []}))
    assert "search: Any frequency keeps it." in text
    assert "+80.0 %" in text
