"""GIVEN APU by counters and by operating systems WHEN it is shown THEN each says of which visits it is, and why not of others."""

from io import StringIO

from rich.console import Console

from services.views.reports.apu import apu
from storage.query.answers.apu import ApuAnswer, ApuRow, HardwareLoad
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, LeftOut
from storage.query.answers.selection_echo import MachineSelectionEcho
from tests.filled_answers import filled

INPUTS = filled(Inputs, visits=12, used=9, design="random", covered_seconds=3600.0, population=5.0)
ASKED = MachineSelectionEcho("2026-11-17T12:00:00Z", "2026-11-17T13:00:00Z", "{}", "fleet")
WHY = "neither cycles-any nor cycles-distributed was counted"


def figure(value: float) -> Figure:
    return Figure(value, value - 0.01, value + 0.01)


def row(value: str, hardware: HardwareLoad | None, visits: int) -> ApuRow:
    return filled(
        ApuRow,
        value=value,
        apu=figure(0.61),
        utilisation=figure(0.5),
        thread_any=figure(0.75),
        simplified=figure(0.6),
        hardware=hardware,
        hardware_visits=visits,
        low_confidence=False,
        visits=6,
        machines=3,
    )


def shown(rows: list[ApuRow], used: int, by: str = "platform") -> str:
    screen = StringIO()
    answer = ApuAnswer(
        selection=ASKED,
        by=by,
        rows=tuple(rows),
        coefficients=(),
        left_out=(),
        hardware_used=used,
        hardware_left_out=(LeftOut(WHY, 9 - used),),
        hardware_because=None,
        inputs=INPUTS,
        because=None,
    )
    Console(width=200, file=screen).print(apu(answer))
    return " ".join(screen.getvalue().split())


def test_both_ways_stand_side_by_side() -> None:
    hardware = HardwareLoad(
        apu=figure(0.7),
        thread_any=figure(0.95),
        overlap=figure(0.05),
        utilisation=figure(0.5),
        system_apu=figure(0.62),
        system_overlap=figure(0.26),
        largest_disagreement=0.34,
    )
    text = shown([row("Xeon [kernel]", hardware, 4), row("EPYC", None, 0)], 4)
    assert "by counters of cycles: 4 of 9 visits" in text
    assert "both busy by systems differs by up to" in text
    assert "70.0 % (69.0–71.0) 62.0 % 95.0 % 5.0 % 26.0 % 34.0 % 4 Xeon [kernel]" in text
    assert f"without counters of cycles: 5 visits, {WHY}" in text
    assert text.count("EPYC") == 1


def test_without_any_counters_it_says_why() -> None:
    text = shown([row("EPYC", None, 0)], 0)
    assert "by counters of cycles: 0 of 9 visits" in text
    assert f"without counters of cycles: 9 visits, {WHY}" in text
    assert "differs by up to" not in text


def test_applications_have_a_figure_by_counters_of_their_own() -> None:
    use = filled(
        ApuRow,
        value="ads",
        core_seconds=12.0,
        per_cpu_second=figure(0.6),
        low_confidence=False,
        visits=6,
        hardware_per_cpu_second=figure(0.7),
        hardware_visits=4,
        hardware=None,
    )
    text = shown([use], 4, by="application")
    assert "by counters" in text
    assert "0.700 (0.690–0.710)" in text
