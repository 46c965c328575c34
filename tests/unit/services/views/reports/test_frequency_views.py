"""GIVEN fits of a fleet at several frequencies WHEN they are shown in a terminal THEN what weakens them stands beside them."""

from dataclasses import replace

from services.views.reports.frequency import frequency
from services.views.reports.frequency_fit import frequency_fit
from storage.query.answers.figures import Figure
from storage.query.answers.frequency import FrequencyAnswer, FrequencyRow
from storage.query.answers.frequency_fit import FrequencyFitAnswer, FrequencyFitRow, FrequencyStep
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho
from storage.query.answers.slowdowns import Memory, Slowdown
from tests.unit.services.views.reports.test_report_envelope import text_of

ASKED = MachineSelectionEcho("2026-11-17T00:00:00Z", "2026-11-18T00:00:00Z", "{}", "fleet")
INPUTS = Inputs("random", 86400.0, population=40.0, visits=12, used=3, missing=())
SLOWDOWNS = tuple(
    Slowdown(mhz, Figure(value, value / 2, None), 2000 / mhz - 1, None)
    for mhz, value in ((2000.0, 0.0), (1000.0, 0.8))
)
STEP = FrequencyStep(
    mhz=1600.0, visits=9, machines=4, ns_per_instruction=0.6, fitted=0.6, held_out=0.02, naive=0.1
)
ROW = FrequencyFitRow(
    application="search",
    platform="Z80",
    cpu_seconds=1e6,
    visits=30,
    machines=12,
    base_mhz=2000.0,
    off_chip=Figure(0.2, 0.1, 0.3),
    on_chip_cpi=Figure(0.8, 0.7, 0.9),
    waiting_ns=Figure(0.1, 0.05, 0.15),
    slowdowns=SLOWDOWNS,
    lowest_mhz=Figure(1755.0, 1700.0, 1800.0),
    lowest_at_memory_mhz=None,
    lowest_at_memory_because=None,
    steps=(STEP, replace(STEP, mhz=2000.0, held_out=-0.04)),
    load_correlation=0.2,
    clipped=False,
    low_confidence=False,
    because=None,
)


def shown(*rows: FrequencyFitRow, memory: Memory | None = None) -> str:
    answer = FrequencyFitAnswer(
        selection=ASKED,
        performance=0.9,
        memory=memory,
        rows=rows,
        rows_total=len(rows) + 1,
        limits=("turbo",),
        left_out=(),
        inputs=INPUTS,
        because=None,
    )
    return text_of(frequency_fit(answer))


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


def test_reasons_for_low_confidence_are_shown() -> None:
    assert "search on Z80: frequency and the machines' load are correlated (0.80)" in shown(
        replace(ROW, load_correlation=0.8)
    )
    assert "search on Z80: one term was negative by chance and is set to 0" in shown(
        replace(ROW, clipped=True)
    )
    because = Unavailable("unreachable", "No frequency does.")
    assert "search on Z80: No frequency does." in shown(replace(ROW, lowest_mhz=None, because=because))


def test_a_row_without_a_fit_says_why() -> None:
    because = Unavailable("constant", "One frequency.")
    text = shown(replace(ROW, off_chip=None, slowdowns=(), steps=(), low_confidence=True, because=because))
    assert "search on Z80: One frequency." in text


def test_another_memory_stands_beside() -> None:
    memory = Memory(measured_mhz=3200.0, target_mhz=4800.0, part=0.5, waiting=0.83)
    faster = tuple(replace(each, at_memory=Figure(-0.03, -0.05, -0.01)) for each in SLOWDOWNS)
    text = shown(replace(ROW, slowdowns=faster), memory=memory)
    assert "-3.0 % (-5.0–-1.0)" in text
    assert (
        "→ with memory at 4,800 instead of 3,200 MHz, if 50.0 % of the waiting time scales with the memory's clock"
        in text
    )


def test_the_reason_for_no_lowest_frequency_with_another_memory_is_shown() -> None:
    memory = Memory(measured_mhz=3200.0, target_mhz=320.0, part=1.0, waiting=10.0)
    none = Unavailable("unreachable", "No frequency makes it 0.9 times as fast.")
    text = shown(replace(ROW, lowest_at_memory_because=none), memory=memory)
    assert "1,755 → –" in text
    assert "search on Z80 with that memory: No frequency makes it" in text
    every = Unavailable("unbounded", "Any frequency keeps it.")
    text = shown(replace(ROW, lowest_at_memory_because=every), memory=memory)
    assert "1,755 → any" in text
    assert "search on Z80 with that memory: Any frequency" in text


def test_a_row_that_any_frequency_will_do_for_is_shown_with_that_beside() -> None:
    row = FrequencyRow(
        application="search",
        cpu_seconds=1e6,
        visits=30,
        off_chip=Figure(0.2, 0.1, 0.3),
        slowdowns=SLOWDOWNS,
        lowest_mhz=None,
        lowest_at_memory_mhz=None,
        lowest_at_memory_because=None,
        low_confidence=False,
        because=Unavailable("unbounded", "Any frequency keeps it."),
    )
    answer = FrequencyAnswer(
        selection=ASKED,
        base_mhz=2000.0,
        performance=0.9,
        memory=None,
        rows=(row,),
        rows_total=1,
        latencies=(),
        limits=(),
        left_out=(),
        inputs=INPUTS,
        because=None,
    )
    text = text_of(frequency(answer))
    assert "search: Any frequency keeps it." in text
    assert "+80.0 %" in text
