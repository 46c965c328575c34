"""GIVEN answers of the API WHEN they are shown in a terminal THEN nothing is hidden and nothing breaks."""

import io

from rich.console import Console

from services import terminal

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
    "campaigns": [{"name": "fleet", "state": "stopped", "why": "10 of 20 visits failed"}],
    "captures": {"waiting": 2, "set_aside": 1},
    "visits": {"last_hour": {"answered": 10, "unreachable": 10}},
}


def text_of(renderable, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_the_table_shows_shares_names_and_what_is_left_out():
    text = text_of(terminal.hottest(ANSWER))
    assert "25.0 %" in text
    assert "malloc<[int]>" in text, "a name is no markup"
    assert "libx.so+0x1234" in text
    assert "[kernel]" in text
    assert "810 more functions" in text
    assert "62.5 %" in text, "the share of what is not shown"


def test_a_narrow_terminal_keeps_every_row_on_its_line_and_every_number():
    """Seen: at 80 columns a name of 60 characters took the room of all three numbers."""
    long = {**ANSWER["rows"][0], "key": {**ANSWER["rows"][0]["key"], "function": "f" * 200}}
    lines = text_of(terminal.hottest({**ANSWER, "rows": [long]}), width=80).splitlines()
    assert len(lines) == 3
    assert lines[1].split()[:5] == ["25.0", "%", "3.10", "50.0", "%"]
    assert "libc.so.6" in lines[1]


def test_what_is_not_known_is_a_dash():
    assert "– of stacks complete" in text_of(terminal.totals_line(ANSWER))


def test_a_stopped_campaign_and_lost_captures_are_said():
    lines = [line.plain for line in terminal.status_lines(STATUS)]
    assert any("10 of 20 visits failed" in line for line in lines)
    assert any("set aside" in line for line in lines)
    assert any("10 unreachable" in line for line in lines)


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
        "campaigns": [{"name": "fleet", "state": "running", "why": ""}],
        "captures": {"waiting": 0, "set_aside": 0},
        "visits": {"last_hour": {"answered": 3}},
    }
    assert terminal.status_lines(healthy) == []
