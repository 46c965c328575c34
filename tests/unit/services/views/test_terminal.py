"""GIVEN answers of the API WHEN they are shown in a terminal THEN nothing is hidden and nothing breaks."""

import io

import pytest
from rich.console import Console, Group

from services.views import terminal
from services.views.measures import Figure, Measure

ANSWER = {
    "totals": {
        "samples": 1234,
        "seconds": 12.46,
        "machines": 1,
        "visits": 12,
        "profiles": 130,
        "symbolized": 0.97,
        "complete": None,
    },
    "rows": [
        {
            "key": {"function": "malloc<[int]>", "file": "malloc.c", "binary": "libc.so.6", "status": "full"},
            "self_share": 0.25,
            "total_share": 0.5,
            "self_seconds": 3.1,
        },
        {
            "key": {"function": "libx.so+0x1234", "binary": "[kernel]", "status": "binary_only"},
            "self_share": 0.125,
            "total_share": 0.125,
            "self_seconds": None,
        },
    ],
    "rows_total": 812,
}
STATUS = {
    "campaigns": [
        {"name": "fleet", "state": "stopped", "why": "10 of 20 visits failed", "drawn_share": 1.0},
        {"name": "search", "state": "running", "why": "", "drawn_share": 0.25},
    ],
    "captures": {"waiting": 2, "quarantined": 1},
    "visits": {
        "last_hour": {"answered": 10, "unreachable": 10},
        "failures": [
            {
                "outcome": "unreachable",
                "detail": "Cannot connect within 10 s.",
                "visits": 12,
                "visits_last_hour": 10,
                "machines": 3,
                "example": "node-17",
                "latest": "2026-11-21T12:00:00Z",
            }
        ],
    },
}


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
    long = {**ANSWER["rows"][0], "key": {**ANSWER["rows"][0]["key"], "function": "f" * 200}}
    lines = text_of(terminal.top_table({**ANSWER, "rows": [long]}), width=80).splitlines()
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
    nothing = {"enabled": 3, "total": 3}
    status = {**STATUS, "campaigns": [], "machines": nothing, "symbols": {"missing": []}}
    status["captures"] = {"waiting": 0, "quarantined": 0, "again": 0, "oldest_waiting_s": None}
    (failure,) = STATUS["visits"]["failures"]
    status["visits"] = {**STATUS["visits"], "failures": [failure, {**failure, "machines": 1}]}
    lines = [line.plain for line in terminal.fleet_lines(status)]
    assert not any("fleetprof status" in line for line in lines)
    assert ", 3 machines, latest node-17" in lines[-2]
    assert ", 1 machine, latest node-17" in lines[-1]


def test_whose_functions_have_no_names_is_said_with_the_reason():
    missing = [
        {"binary": "gzip", "path": "/usr/bin/gzip", "reason": "It was stripped.", "share": 0.13},
        {"binary": "dash", "path": "/usr/bin/dash", "reason": "It was stripped.", "share": 0.001},
    ]
    lines = [line.plain for line in terminal.nameless_lines({"symbols": {"missing": missing}})]
    assert lines == ["Functions without names:", "  13.0 % of samples pass through gzip. It was stripped."]
    assert terminal.nameless_lines({"symbols": {"missing": missing[1:]}}) == []


def test_a_healthy_stack_says_nothing():
    healthy = {
        "campaigns": [{"name": "fleet", "state": "running", "why": "", "drawn_share": 1.0}],
        "captures": {"waiting": 0, "quarantined": 0},
        "visits": {"last_hour": {"answered": 3}, "failures": []},
    }
    assert terminal.status_lines(healthy) == []


# --- Estimates --------------------------------------------------------------------------------------

FLEET = {
    "design": "random",
    "samples": 1234,
    "seconds": 12.46,
    "machines": 3,
    "visits": 3,
    "visits_ingested": 12,
    "population": 200.0,
    "asked_seconds": 3600.0,
    "covered_seconds": 1800.0,
    "weighed_seconds": 1350.0,
    "uncovered_share": 0.25,
    "cores": {"value": 50.0, "lo": 40.0, "hi": 62.5},
    "symbolized": 0.97,
    "complete": 1.0,
}
HOUR = {"from": "2026-11-21T04:00:12.5Z", "to": "2026-11-21T05:00:12.5Z", "select": "{}"}
ESTIMATED = {
    "selection": HOUR,
    "totals": FLEET,
    "by": ["function"],
    "rows": [
        {
            "key": {"function": "malloc", "file": "malloc.c", "binary": "libc.so.6", "status": "full"},
            "self_share": 0.123,
            "self_lo": 0.11,
            "self_hi": 0.137,
            "total_share": 0.5,
            "total_lo": 0.4,
            "total_hi": 0.6,
            "self_core_seconds": {"value": 36_000.0, "lo": 18_000.0, "hi": 72_000.0},
            "total_core_seconds": {"value": 360_000.0, "lo": 180_000.0, "hi": 720_000.0},
            "self_seconds": 3.1,
            "total_seconds": 9.3,
            "self_samples": 310,
            "total_samples": None,
            "low_confidence": False,
        },
        {
            "key": {"function": "rare", "file": "", "binary": "x", "status": "full"},
            "self_share": 0.001,
            "self_lo": 0.0,
            "self_hi": 0.2,
            "total_share": 0.001,
            "total_lo": 0.0,
            "total_hi": 0.2,
            "self_core_seconds": None,
            "total_core_seconds": None,
            "self_seconds": None,
            "total_seconds": None,
            "self_samples": None,
            "total_samples": None,
            "low_confidence": True,
        },
    ],
    "rows_total": 2,
}


def shown(measure: Measure, price: float | None = None) -> list[str]:
    table = terminal.top_table(ESTIMATED, measure=measure, price_per_core_hour=price)
    return [" ".join(line.split()) for line in text_of(table, width=80).splitlines()]


def test_an_estimate_stands_beside_its_interval_and_few_visits_are_marked():
    lines = shown(Measure.SHARE)
    assert lines[1].startswith("12.3 % 11.0–13.7 50.0 % malloc")
    assert lines[2].startswith("0.1 % 0.0–20.0 ? 0.1 % rare")
    assert lines[-1] == "? low confidence: few visits contribute, the interval is wide"


def test_an_interval_narrower_than_a_digit_gets_another_digit():
    row = {**ESTIMATED["rows"][0], "self_lo": 0.1226, "self_hi": 0.1234}
    text = text_of(terminal.top_table({**ESTIMATED, "rows": [row]}))
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
    cores = {"value": 1.983, "lo": 1.961, "hi": 2.004}
    totals = {**ESTIMATED["totals"], "cores": cores, "visits_ingested": 1, "population": 1}
    line = terminal.totals_line({**ESTIMATED, "totals": totals}).plain
    assert "1.98 cores busy (1.96–2)" in line
    assert "1 visit of 1 machine " in line


def test_what_no_visit_saw_is_told_with_what_it_may_be():
    """Seen: that no samples had ingested, while 691 visits had."""
    cores = {"value": 0.0, "lo": 0.0, "hi": 1.234}
    none = {**FLEET, "samples": 0, "cores": cores, "visits_ingested": 691}

    def line(**changes: object) -> str:
        return terminal.totals_line({**ESTIMATED, "totals": {**none, **changes}}).plain

    assert line() == (
        "None of 691 ingested visits has samples of the selection: with 95 % confidence it uses less than 1.23 cores."
    )
    assert line(cores=None) == "None of 691 ingested visits has samples of the selection."
    assert line(visits_ingested=1).startswith("The only ingested visit has no samples of the selection: ")
    assert line(visits_ingested=0, cores=None) == "No samples have been ingested yet."
    assert line(visits_ingested=0, design="none", cores=None) == "No samples have been ingested yet."


def test_visits_that_wait_are_counted():
    line = terminal.totals_line({**ESTIMATED, "totals": {**ESTIMATED["totals"], "visits_waiting": 3}}).plain
    assert "12 visits of 200 machines · 3 visits not ingested yet" in line


def test_machines_of_a_part_of_the_fleet_are_not_known():
    """Seen: the share of a selection times the machines of the whole campaign."""
    part = {**ESTIMATED, "selection": {**HOUR, "select": '{application="x"}'}}
    text = text_of(terminal.top_table(part, measure=Measure.MACHINES))
    assert "24.6" not in text
    assert " ".join(text.splitlines()[1].split()).startswith("– – malloc")


def test_the_line_of_totals_says_when_only_a_part_was_read():
    said = "only a random part of the visits was read"
    assert said not in terminal.totals_line(ESTIMATED).plain
    assert said in terminal.totals_line({"totals": {**FLEET, "approximate": True}}).plain


COMPARED = {
    "selection": HOUR,
    "base": {"from": "2026-11-20T23:30:00Z", "to": "2026-11-21T00:30:00Z", "select": '{version="1"}'},
    "totals": FLEET,
    "base_totals": {**FLEET, "samples": 77, "approximate": True},
    "by": ["function"],
    "rows": [],
    "power": None,
    "part": 1.0,
    "interval_level": 0.9998,
}


def test_both_sides_of_a_comparison_say_their_times_and_what_stands_behind_them():
    now, base = text_of(terminal.sides(COMPARED), width=300).splitlines()
    assert now.startswith("now   2026-11-21 04:00–05:00 UTC: 1,234 samples · 50.0 cores busy")
    assert base.startswith(
        'base  2026-11-20 23:30–2026-11-21 00:30 UTC {version="1"}: 77 samples · 50.0 cores busy'
    )
    assert "only a random part" in base
    assert "only a random part" not in now


@pytest.mark.parametrize(
    ("side", "said"),
    [
        ("base_totals", "There are no samples to compare with: nothing was sampled in 2026-11-20 23:30"),
        ("totals", "There are no samples to compare: nothing was sampled in 2026-11-21 04:00–05:00 UTC."),
    ],
)
def test_nothing_is_compared_with_nothing(side, said):
    """Seen: against a base without samples every function was a change."""
    empty = {**COMPARED, side: {**FLEET, "samples": 0}}
    assert text_of(terminal.differences(empty), width=200).startswith(said)


def test_rows_can_be_labels():
    row = {**ESTIMATED["rows"][0], "key": {"application": "nginx", "version": ""}}
    text = text_of(terminal.top_table({**ESTIMATED, "by": ["application", "version"], "rows": [row]}))
    assert "application, version" in text
    assert "nginx, (none)" in text


def test_differences_by_chance_are_said_to_be_so():
    row = {
        "key": {"function": "f", "binary": "b", "status": "full"},
        "a_share": 0.2, "b_share": 0.1, "delta": 0.1, "lo": 0.05, "hi": 0.15,
        "p": 0.001, "q": 0.002, "significant": True, "low_confidence": False,
    }  # fmt: skip
    chance = {**row, "key": {"function": "g"}, "significant": False, "low_confidence": True}
    power = {"factor": 1.5, "share": 0.01, "power": 0.83}
    answer = {**COMPARED, "rows": [row, chance], "power": power}
    lines = [" ".join(line.split()) for line in text_of(terminal.differences(answer)).splitlines()]
    assert lines[0] == "change 99.98 % self, now base function"
    assert lines[1] == "+10.00 pp +5.00…+15.00 20.0 % 10.0 % f b"
    assert "+15.00 ?" in lines[2]
    assert lines[3].startswith("1 of 2 rows differ by more than chance")
    assert "83.0 %" in lines[4]
    assert len(lines) == 5
    thinned = text_of(terminal.differences({**answer, "part": 0.16}))
    assert "tested on a random 16.0 % of the visits" in " ".join(thinned.split())
    unknown = {**row, "lo": None, "hi": None, "significant": False}
    assert "not known" in text_of(terminal.differences({**answer, "rows": [unknown], "power": None}))


def test_trust_says_how_many_visits_would_do():
    measured = {"value": 1.0, "lo": 0.9, "hi": 1.1}
    fit = {
        "constant": {**measured, "value": 2.0},
        "exponent": -0.5,
        "scale": 1.0,
        "bend": 20.0,
        "samples_per_visit": 10.0,
        "visits": 12,
        "points": [],
    }
    answer = {"totals": FLEET, "rows_total": 5, "entropy": measured, "manhattan": measured, "fit": fit}
    lines = [line.strip() for line in text_of(terminal.trust(answer)).splitlines()]
    assert "within 0.1: 400 samples, about 40 visits" in lines
    some = {**answer, "fit": {**fit, "visits": 3}}
    lines = [line.strip() for line in text_of(terminal.trust(some)).splitlines()]
    assert "within 0.1: 400 samples, about 40 visits that contain the selection, 160 of the campaign" in lines
    assert lines[-1] == "3 of 12 ingested visits contain the selection"
    assert "at most 2, ≈ 2/√samples" in lines[2]
    assert not any("not -0.5" in line for line in lines)
    tail = {**answer, "fit": {**fit, "exponent": -0.31, "bend": 0.6}}
    lines = [line.strip() for line in text_of(terminal.trust(tail)).splitlines()]
    assert lines[3].endswith("(slope -0.31, not -0.5)")
    assert not any(line.startswith("within 0.1: 400") for line in lines)
    alike = {**answer, "fit": {**fit, "constant": {**measured, "value": 0.0}}}
    assert "all 12 visits that contain the selection have the same profile" in text_of(terminal.trust(alike))
    assert "Too few visits contain the selection" in text_of(terminal.trust({**answer, "fit": None}))
    nothing = {**answer, "entropy": None, "manhattan": None, "fit": None}
    assert "No estimate" in text_of(terminal.trust(nothing))


def test_next_to_nothing_is_printed_as_nothing():
    assert Figure(0.38, 1.2e-39, 35.6).text(Measure.CORES) == ("0.38", "0–35.6")


def test_why_visits_failed_is_said_with_a_machine_to_look_at():
    text = text_of(Group(*terminal.failure_lines(STATUS)), width=200)
    assert "12 unreachable" in text
    assert "Cannot connect within 10 s." in text
    assert "node-17" in text
    well = {"visits": {"last_hour": {"answered": 3}, "failures": []}}
    assert terminal.failure_lines(well) == []


def test_a_line_stands_behind_its_function_or_file():
    of_function = {**ANSWER["rows"][0]["key"], "line": "42", "application": "web"}
    keys = (
        of_function,
        {"file": "m.c", "line": "7"},
        {"application": "web", "file": "", "binary": "b", "line": "0"},
    )
    answer = {**ANSWER, "by": ["line"], "rows": [{**ANSWER["rows"][0], "key": key} for key in keys]}
    text = text_of(terminal.top_table(answer))
    assert "m.c:7" in text
    assert "web, (none), b" in text
    answer["rows"] = answer["rows"][:1]
    assert "malloc<[int]>:42 · web" in text_of(terminal.top_table(answer))
