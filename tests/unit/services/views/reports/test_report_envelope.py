"""GIVEN figures of a model WHEN they are shown in a terminal THEN nothing that is not known looks like a number."""

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from services.views.reports.report_envelope import amount, figure, inputs, render_report
from services.views.terminal import share
from storage.query.answers.apu import ApuAnswer
from storage.query.answers.figures import Figure
from storage.query.answers.inputs import Inputs, MissingCounter, Unavailable
from storage.query.answers.selection_echo import MachineSelectionEcho
from tests.filled_answers import filled

ASKED = MachineSelectionEcho("2026-11-17T00:00:00Z", "2026-11-18T00:00:00Z", "{}", "fleet")
INPUTS = Inputs("random", 86400.0, 40.0, visits=12, used=3, missing=())


def missing(name: str, visits: int = 9) -> MissingCounter:
    return MissingCounter(name, "not_counted", errno=2, platform="Z80", visits=visits)


def text_of(renderable) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def answer(because: Unavailable | None = None, *missed: MissingCounter) -> ApuAnswer:
    return filled(ApuAnswer, selection=ASKED, because=because, inputs=replace(INPUTS, missing=missed))


def test_an_answer_stands_between_its_selection_and_its_inputs():
    found = answer(None, missing("aperf"), missing("mperf"), missing("cycles", 2))
    lines = text_of(render_report(found, lambda: Text("X"), inputs(found.inputs)))
    assert lines.splitlines() == [
        "2026-11-17 00:00 – 2026-11-18 00:00 UTC · campaign fleet",
        "X",
        "based on 3 of 12 ingested visits of 40 machines, 24.0 h covered",
        "missing: aperf, mperf, not counted in 9 visits of Z80 (errno 2)",
        "missing: cycles, not counted in 2 visits of Z80 (errno 2)",
    ]


def test_without_an_answer_the_reason_stands_there_and_no_figure():
    def body() -> Text:
        pytest.fail("there is nothing to show")

    assert "No result (too_little): Nobody counts." in text_of(
        render_report(answer(Unavailable("too_little", "Nobody counts.")), body, [])
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (1.0, "1.00"), (-4.56, "-4.56"), (123.4, "123"), (999.7, "1.00 k"), (2.5e18, "2.50 E")],
)
def test_amounts_have_three_digits(value: float, text: str):
    assert amount(value) == text


@given(st.floats(-1e20, 1e20))
def test_an_amount_is_its_value(value: float):
    number, _, prefix = amount(value).partition(" ")
    scale = 1000 ** ["", "k", "M", "G", "T", "P", "E"].index(prefix)
    assert float(number) * scale == pytest.approx(value, rel=0.006, abs=1e-300)


def test_a_missing_figure_is_a_dash_and_an_open_end_is_no_number():
    assert figure(None) == "–"
    assert figure(Figure(1.5, 1.25, None)) == "1.50 (1.25–…)"
    assert figure(Figure(0.5, 0.25, 0.75), share, low_confidence=True) == "50.0 % (25.0–75.0) ?"
