"""GIVEN answers of the API WHEN they are shown in a terminal THEN nothing is hidden and nothing breaks."""

import io
from dataclasses import replace
from typing import Any

from rich.console import Console, Group

from services.views import terminal
from services.views.measures import Figure, Measure
from storage.query.answers.cost import CostAnswer
from storage.query.answers.figures import Interval
from storage.query.answers.reliability import Fit, ReliabilityAnswer
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.status import (
    CampaignStatus,
    CapturesStatus,
    MachinesStatus,
    MissingSymbols,
    StatusAnswer,
    SymbolsStatus,
    VisitFailure,
    VisitsStatus,
)
from storage.query.answers.table import TableAnswer, TableRow
from storage.query.answers.totals import Totals
from tests.filled_answers import filled

FIRST = filled(
    TableRow,
    key={"function": "malloc<[int]>", "file": "malloc.c", "binary": "libc.so.6", "status": "full"},
    self_share=0.25,
    total_share=0.5,
    self_seconds=3.1,
)
SECOND = filled(
    TableRow,
    key={"function": "libx.so+0x1234", "binary": "[kernel]", "status": "binary_only"},
    self_share=0.125,
    total_share=0.125,
    self_seconds=None,
)
ANSWER = filled(
    TableAnswer,
    totals=filled(
        Totals,
        design="none",
        samples=1234,
        seconds=12.46,
        machines=1,
        visits=12,
        profiles=130,
        symbolized=0.97,
        complete=None,
    ),
    rows=(FIRST, SECOND),
    rows_total=812,
)
CAMPAIGN = filled(CampaignStatus, name="fleet", drawn_share=1.0)
FAILURE = VisitFailure(
    outcome="unreachable",
    detail="Cannot connect within 10 s.",
    visits=12,
    visits_last_hour=10,
    machines=3,
    example="node-17",
    latest="2026-11-21T12:00:00Z",
)
STATUS = filled(
    StatusAnswer,
    campaigns=(
        replace(CAMPAIGN, state="stopped", why="10 of 20 visits failed"),
        replace(CAMPAIGN, name="search", state="running", drawn_share=0.25),
    ),
    captures=filled(CapturesStatus, waiting=2, quarantined=1),
    visits=VisitsStatus({"answered": 10, "unreachable": 10}, (FAILURE,)),
)
HEALTHY = filled(
    StatusAnswer,
    campaigns=(replace(CAMPAIGN, state="running"),),
    visits=VisitsStatus({"answered": 3}, ()),
)


def text_of(renderable, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_the_table_shows_shares_names_and_what_is_left_out():
    text = text_of(terminal.top_table(ANSWER))
    assert "25.0 %" in text
    assert "malloc<[int]>" in text, "a name is no markup"
    assert "libx.so+0x1234" in text
    assert "[kernel]" in text
    assert "810 more functions" in text
    assert "62.5 %" in text, "the share of what is not shown"


def test_a_narrow_terminal_keeps_every_row_on_its_line_and_every_number():
    """Seen: at 80 columns a name of 60 characters took the room of all three numbers."""
    long = replace(FIRST, key={**FIRST.key, "function": "f" * 200})
    lines = text_of(terminal.top_table(replace(ANSWER, rows=(long,))), width=80).splitlines()
    assert len(lines) == 3
    assert lines[1].split()[:5] == ["25.0", "%", "3.10", "50.0", "%"]
    assert "libc.so.6" in lines[1]


def test_what_is_not_known_is_a_dash():
    assert "– of stacks complete" in text_of(terminal.totals_line(ANSWER))


def test_a_stopped_campaign_and_lost_captures_are_said():
    lines = [line.plain for line in terminal.status_lines(STATUS)]
    assert any("10 of 20 visits failed" in line for line in lines)
    assert any("quarantined" in line for line in lines)
    assert any("10 unreachable; `fleetprof status` shows the reasons" in line for line in lines)


def test_the_status_itself_does_not_point_at_the_status():
    status = replace(
        STATUS,
        campaigns=(),
        machines=MachinesStatus(3, 3),
        captures=filled(CapturesStatus),
        visits=replace(STATUS.visits, failures=(FAILURE, replace(FAILURE, machines=1))),
    )
    lines = [line.plain for line in terminal.fleet_lines(status)]
    assert not any("fleetprof status" in line for line in lines)
    assert ", 3 machines, latest node-17" in lines[-2]
    assert ", 1 machine, latest node-17" in lines[-1]


def test_whose_functions_have_no_names_is_said_with_the_reason():
    missing = (
        MissingSymbols("gzip", "/usr/bin/gzip", "It was stripped.", 0.13),
        MissingSymbols("dash", "/usr/bin/dash", "It was stripped.", 0.001),
    )
    lines = [line.plain for line in terminal.nameless_lines(replace(STATUS, symbols=SymbolsStatus(missing)))]
    assert lines == ["Functions without names:", "  13.0 % of samples pass through gzip. It was stripped."]
    assert terminal.nameless_lines(replace(STATUS, symbols=SymbolsStatus(missing[1:]))) == []


def test_a_healthy_stack_says_nothing():
    assert terminal.status_lines(HEALTHY) == []


# --- Estimates --------------------------------------------------------------------------------------

FLEET = filled(
    Totals,
    design="random",
    samples=1234,
    seconds=12.46,
    machines=3,
    visits=3,
    visits_ingested=12,
    population=200.0,
    selected_seconds=3600.0,
    covered_seconds=1800.0,
    estimated_seconds=1350.0,
    uncovered_share=0.25,
    cores=Interval(50.0, 40.0, 62.5),
    symbolized=0.97,
    complete=1.0,
)
HOUR = filled(SelectionEcho, from_="2026-11-21T04:00:12.5Z", to="2026-11-21T05:00:12.5Z", select="{}")
MALLOC = filled(
    TableRow,
    key={"function": "malloc", "file": "malloc.c", "binary": "libc.so.6", "status": "full"},
    self_share=0.123,
    self_lo=0.11,
    self_hi=0.137,
    total_share=0.5,
    total_lo=0.4,
    total_hi=0.6,
    self_core_seconds=Interval(36_000.0, 18_000.0, 72_000.0),
    total_core_seconds=Interval(360_000.0, 180_000.0, 720_000.0),
    self_seconds=3.1,
    total_seconds=9.3,
    self_samples=310,
    total_samples=None,
    low_confidence=False,
)
RARE = filled(
    TableRow,
    key={"function": "rare", "file": "", "binary": "x", "status": "full"},
    self_share=0.001,
    self_lo=0.0,
    self_hi=0.2,
    total_share=0.001,
    total_lo=0.0,
    total_hi=0.2,
    self_core_seconds=None,
    total_core_seconds=None,
    self_seconds=None,
    total_seconds=None,
    self_samples=None,
    total_samples=None,
    low_confidence=True,
)
ESTIMATED = filled(
    TableAnswer, selection=HOUR, totals=FLEET, by=("function",), rows=(MALLOC, RARE), rows_total=2
)


def shown(measure: Measure, price: float | None = None) -> list[str]:
    cost = filled(CostAnswer, price_per_core_hour=price, rows=())
    table = terminal.top_table(ESTIMATED, measure=measure, cost=cost)
    return [" ".join(line.split()) for line in text_of(table, width=80).splitlines()]


def test_an_estimate_stands_beside_its_interval_and_few_visits_are_marked():
    lines = shown(Measure.SHARE)
    assert lines[1].startswith("12.3 % 11.0–13.7 50.0 % malloc")
    assert lines[2].startswith("0.1 % 0.0–20.0 ? 0.1 % rare")
    assert lines[-1] == "? low confidence: few visits contribute, the interval is wide"


def test_an_interval_narrower_than_a_digit_gets_another_digit():
    row = replace(MALLOC, self_lo=0.1226, self_hi=0.1234)
    text = text_of(terminal.top_table(replace(ESTIMATED, rows=(row,))))
    assert "12.30 %" in text
    assert "12.26–12.34" in text


def test_every_measure_follows_from_the_answer():
    assert shown(Measure.CORE_SECONDS)[1].startswith("36,000 18,000–72,000 360,000 malloc")
    assert shown(Measure.CORES)[1].startswith("26.7 13.3–53.3 267 malloc")
    assert shown(Measure.MACHINES)[1].startswith("24.6 22.0–27.4 100 malloc")
    assert shown(Measure.MONEY, 0.05)[1].startswith("0.5 0.25–1 5 malloc")
    assert shown(Measure.SAMPLES)[1].startswith("310 3.10 – malloc")
    assert shown(Measure.CORES)[2].startswith("– ? – rare")
    assert shown(Measure.MONEY)[1].startswith("– – malloc"), "no price is known"


def test_the_line_of_totals_says_what_the_figures_speak_for():
    line = terminal.totals_line(ESTIMATED).plain
    assert "50.0 cores busy (40.0–62.5)" in line
    assert "12 visits of 200 machines" in line
    assert "50.0 % of the time covered" in line
    assert "25.0 % of machine-time unseen" in line


def test_one_machine_is_one_and_its_interval_has_ends():
    totals = replace(FLEET, cores=Interval(1.983, 1.961, 2.004), visits_ingested=1, population=1)
    line = terminal.totals_line(replace(ESTIMATED, totals=totals)).plain
    assert "1.98 cores busy (1.96–2)" in line
    assert "1 visit of 1 machine " in line


def test_an_unobserved_value_is_shown_with_its_upper_bound():
    """Seen: that no samples had ingested, while 691 visits had."""
    none = replace(FLEET, samples=0, cores=Interval(0.0, 0.0, 1.234), visits_ingested=691)

    def line(**changes: Any) -> str:
        return terminal.totals_line(replace(ESTIMATED, totals=replace(none, **changes))).plain

    assert line() == (
        "None of 691 ingested visits has samples of the selection: with 95 % confidence it uses less than 1.23 cores."
    )
    assert line(cores=None) == "None of 691 ingested visits has samples of the selection."
    assert line(visits_ingested=1).startswith("The only ingested visit has no samples of the selection: ")
    assert line(visits_ingested=0, cores=None) == "No profile of this time range has been ingested."
    assert (
        line(visits_ingested=0, design="none", cores=None)
        == "No profile of this time range has been ingested."
    )


def test_visits_that_wait_are_counted():
    line = terminal.totals_line(replace(ESTIMATED, totals=replace(FLEET, visits_waiting=3))).plain
    assert "12 visits of 200 machines · 3 visits not ingested yet" in line


def test_machines_of_a_part_of_the_fleet_are_not_known():
    """Seen: the share of a selection times the machines of the whole campaign."""
    part = replace(ESTIMATED, selection=replace(HOUR, select='{application="x"}'))
    text = text_of(terminal.top_table(part, measure=Measure.MACHINES))
    assert "24.6" not in text
    assert " ".join(text.splitlines()[1].split()).startswith("– – malloc")


def test_the_line_of_totals_says_when_only_a_part_was_read():
    said = "only a random part of the visits was read"
    assert said not in terminal.totals_line(ESTIMATED).plain
    assert said in terminal.totals_line(replace(ESTIMATED, totals=replace(FLEET, approximate=True))).plain


def test_rows_can_be_labels():
    row = replace(MALLOC, key={"application": "nginx", "version": ""})
    text = text_of(terminal.top_table(replace(ESTIMATED, by=("application", "version"), rows=(row,))))
    assert "application, version" in text
    assert "nginx, (none)" in text


def test_trust_says_how_many_visits_would_do():
    measured = Interval(1.0, 0.9, 1.1)
    fit = Fit(
        constant=replace(measured, value=2.0),
        exponent=-0.5,
        scale=1.0,
        bend=20.0,
        samples_per_visit=10.0,
        visits=12,
        points=(),
    )
    answer = filled(
        ReliabilityAnswer,
        totals=filled(Totals, visits_ingested=12),
        rows_total=5,
        entropy=measured,
        manhattan=measured,
        fit=fit,
    )
    lines = [line.strip() for line in text_of(terminal.trust(answer)).splitlines()]
    assert "within 0.1: 400 samples, about 40 visits" in lines
    some = replace(answer, fit=replace(fit, visits=3))
    lines = [line.strip() for line in text_of(terminal.trust(some)).splitlines()]
    assert "within 0.1: 400 samples, about 40 visits that contain the selection, 160 of the campaign" in lines
    assert lines[-1] == "3 of 12 ingested visits contain the selection"
    assert "at most 2, ≈ 2/√samples" in lines[2]
    assert not any("not -0.5" in line for line in lines)
    tail = replace(answer, fit=replace(fit, exponent=-0.31, bend=0.6))
    lines = [line.strip() for line in text_of(terminal.trust(tail)).splitlines()]
    assert lines[3].endswith("(slope -0.31, not -0.5)")
    assert not any(line.startswith("within 0.1: 400") for line in lines)
    alike = replace(answer, fit=replace(fit, constant=replace(measured, value=0.0)))
    assert "all 12 visits that contain the selection have the same profile" in text_of(terminal.trust(alike))
    assert "Too few visits contain the selection" in text_of(terminal.trust(replace(answer, fit=None)))
    nothing = replace(answer, entropy=None, manhattan=None, fit=None)
    assert "No estimate" in text_of(terminal.trust(nothing))


def test_next_to_nothing_is_printed_as_nothing():
    assert Figure(0.38, 1.2e-39, 35.6).text(Measure.CORES) == ("0.38", "0–35.6")


def test_why_visits_failed_is_said_with_a_machine_to_look_at():
    text = text_of(Group(*terminal.failure_lines(STATUS)), width=200)
    assert "12 unreachable" in text
    assert "Cannot connect within 10 s." in text
    assert "node-17" in text
    assert terminal.failure_lines(HEALTHY) == []


def test_a_line_stands_behind_its_function_or_file():
    of_function = {**FIRST.key, "line": "42", "application": "web"}
    keys = (
        of_function,
        {"file": "m.c", "line": "7"},
        {"application": "web", "file": "", "binary": "b", "line": "0"},
    )
    answer = replace(ANSWER, by=("line",), rows=tuple(replace(FIRST, key=key) for key in keys))
    text = text_of(terminal.top_table(answer))
    assert "m.c:7" in text
    assert "web, (none), b" in text
    answer = replace(answer, rows=answer.rows[:1])
    assert "malloc<[int]>:42 · web" in text_of(terminal.top_table(answer))
