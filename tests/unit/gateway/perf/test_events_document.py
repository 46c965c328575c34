"""docs/events.md says of every generic event, counter and verdict what it is."""

import re
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from gateway.perf.cpu_models import CHOICES
from gateway.perf.event_lookup import GENERIC_NAMES
from gateway.perf.events import EVENTS
from gateway.perf.uncore import READ, TRANSFERRED, WRITTEN
from gateway.perf.window_counters import STANDING, TASK_CLOCK

DOCUMENT = (Path(__file__).parents[4] / "docs/events.md").read_text()


@pytest.mark.parametrize("name", [*GENERIC_NAMES, READ, WRITTEN, TRANSFERRED, TASK_CLOCK.name])
def test_every_event_and_counter_is_in_it(name: str):
    assert f"`{name}`" in DOCUMENT


def row_of(name: str) -> str:
    return next(line for line in DOCUMENT.splitlines() if re.match(rf"\| [^|]*`{name}`", line))


@pytest.mark.parametrize("name", sorted(set(EVENTS) | set(CHOICES)))
def test_units_and_periods_are_the_catalogues(name: str):
    units = {EVENTS[name].unit} if name in EVENTS else {choice.unit for choice in CHOICES[name].values()}
    (unit,) = units
    assert f"| {unit} |" in row_of(name)
    if unit == "count":
        periods = (
            {EVENTS[name].default_period} if name in EVENTS else {c.period for c in CHOICES[name].values()}
        )
        assert all(f"{period:,}".replace(",", " ") in row_of(name) for period in periods)


def test_every_verdict_is_explained():
    for name in capture_pb2.Support.DESCRIPTOR.values_by_name:
        verdict = name.removeprefix("SUPPORT_").lower()
        assert verdict == "unspecified" or f"| `{verdict}` |" in DOCUMENT
    assert "| `counts only` |" in DOCUMENT


def test_the_standing_groups_are_listed_as_they_are():
    listed = DOCUMENT.partition("## Counters")[2].split("\n\n")[2].replace("\n", " ")
    assert [tuple(re.findall(r"`([^`]+)`", group)) for group in listed.split(" · ")] == list(STANDING)
