"""GIVEN hours of different densities WHEN a round reaches into them THEN each is drawn from as densely as was decided.

The store is a few dictionaries: what it makes of the draw is in `tests/integration/test_thinned_estimates.py`.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from collector import appointments, pressure
from storage.backlog import NONE, Backlog
from storage.campaigns import Campaign, Definition, EventPlan, State
from storage.inventory import Machine
from storage.thinning import Thinned

HOUR = 490_000
SIZES = {"east": 300, "west": 100}
LATE = Backlog(3000, 900.0)
THINNED_ID = 100
"""Fake stratum ids are a datacenter's place plus so much for every time its visits were halved."""


class Store:
    """What a draw reads and writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noted: dict[int, dict[int, int]] = defaultdict(dict)
        """By hour the population of each stratum."""
        self.written: list[tuple[int, int]] = []
        """(stratum, hour), as they were noted."""
        self.backlog = NONE
        self.follows = True
        """Rounds were drawn just before."""
        machines = [a_machine(n, name) for name, size in SIZES.items() for n in range(size)]
        machines = [replace(machine, machine_id=n) for n, machine in enumerate(machines)]
        fakes = {
            "campaigns": SimpleNamespace(begin_round=lambda *_: True),
            "inventory": SimpleNamespace(machines=lambda _: machines, stratum_ids=stratum_ids),
            "visits": SimpleNamespace(record_draw=lambda *_: None),
        }
        for name, fake in fakes.items():
            monkeypatch.setattr(appointments, name, fake)
        monkeypatch.setattr(appointments.coverage, "note_populations", self._note)
        monkeypatch.setattr(appointments.coverage, "note_time", lambda *_: self.follows)
        monkeypatch.setattr(pressure.thinning, "of_hour", self._of_hour)
        monkeypatch.setattr(pressure, "read_backlog", lambda _: self.backlog)

    def thinnings(self) -> dict[int, set[int]]:
        return {hour: {stratum // THINNED_ID for stratum in strata} for hour, strata in self.noted.items()}

    def _note(self, _connection, _campaign_id, populations, hours):
        for stratum in sorted(populations):
            for hour in sorted(hours):
                self.noted[hour][stratum] = populations[stratum]
                self.written.append((stratum, hour))

    def _of_hour(self, _connection, _campaign_id, hour):
        known = {h: max(thinnings) for h, thinnings in self.thinnings().items()}
        before = known[max(h for h in known if h < hour)] if any(h < hour for h in known) else 0
        return Thinned(known.get(hour), before)


@pytest.fixture
def store(monkeypatch) -> Store:
    return Store(monkeypatch)


def a_machine(machine_id: int, datacenter: str) -> Machine:
    return Machine(
        machine_id, f"{datacenter}-{machine_id}", "h:1", datacenter, "", "", "", "", None, None, None, None, None,
        None, {}, None, True,
    )  # fmt: skip


def stratum_ids(_connection, keys, *, thinning=0):
    return {key: 1 + list(SIZES).index(key[0]) + THINNED_ID * thinning for key in keys}


def draw(period_s, visits_per_round, start, seed=1):
    """The visits of the round that begins `start` hours after `HOUR` does."""
    definition = Definition("fleet", period_s, visits_per_round, (EventPlan("cpu", 5000, rate_hz=99),))
    now = datetime.fromtimestamp((HOUR + start) * 3600, UTC)
    campaign = Campaign(1, definition, State.RUNNING, "", now, -1)
    found = appointments.draw_round(None, campaign, now, np.random.default_rng(seed))
    return [appointment.visit for appointment in found]


def test_a_campaign_that_wishes_more_than_there_are_is_thinned_all_the_same(store):
    """It used to be drawn whole: a thirty-second of ten times the machines is a third of them, not a thirty-second."""
    store.backlog = LATE
    found = draw(600, 100 * sum(SIZES.values()), 0)
    assert len(found) == sum(SIZES.values()) / 2
    assert {visit.probability for visit in found} == {0.5}


def test_a_campaign_of_few_visits_is_not_thinned(store):
    store.backlog = LATE
    assert len(draw(3600, 40, 0)) == 40
    assert store.thinnings() == {HOUR: {0}}


@pytest.mark.parametrize("denser_first", [True, False])
def test_a_round_in_hours_of_different_densities(store, denser_first):
    """Of all the machines, drawn over two hours, one of which was thinned to a quarter."""
    thin, whole = (HOUR + 1, HOUR) if denser_first else (HOUR, HOUR + 1)
    store.noted[thin] = {1 + 2 * THINNED_ID: 0}
    store.noted[whole] = {1: 0}
    found = draw(7200, 400, 0)
    by_hour = Counter(visit.hour for visit in found)
    assert by_hour[whole] == 200, "moments are spread evenly"
    assert 28 <= by_hour[thin] <= 72, "a quarter of 200, within four deviations"
    for visit in found:
        halved = 2 if visit.hour == thin else 0
        assert visit.stratum_id // THINNED_ID == halved
        assert visit.probability == 0.5**halved
        assert visit.population == list(SIZES.values())[visit.stratum_id % THINNED_ID - 1]
    of_stratum = Counter(visit.stratum_id for visit in found)
    assert {visit.stratum_id: visit.drawn for visit in found} == of_stratum
    assert store.noted[whole] == {1: 300, 2: 100}
    assert store.noted[thin] == {1 + 2 * THINNED_ID: 300, 2 + 2 * THINNED_ID: 100}
    assert store.written == sorted(store.written), "in the order that others lock them in"


def test_a_round_that_reaches_into_the_next_hour_does_not_decide_it_by_its_first(store):
    """Rounds of 61 s, which begin with an hour once in a hundred."""
    store.backlog = NONE
    draw(61, 400, 0)
    store.backlog = LATE
    period_h = 61 / 3600
    last_of_hour = (int((HOUR + 1) / period_h)) * period_h - HOUR
    found = draw(61, 400, last_of_hour)
    assert store.thinnings() == {HOUR: {0}, HOUR + 1: {1}}
    assert {(visit.hour, visit.stratum_id // THINNED_ID) for visit in found} == {(HOUR, 0), (HOUR + 1, 1)}


@pytest.mark.parametrize("late_s", [1, 30, 54])
def test_after_a_pause_what_is_left_of_a_round_is_drawn_from_as_densely(store, late_s):
    store.follows = False
    found = draw(60, 120, late_s / 3600)
    assert len(found) == 2 * (60 - late_s)
    assert [visit.probability for visit in found] == pytest.approx([(60 - late_s) / 200] * len(found))
    begins = HOUR * 3600
    assert all(begins + late_s <= visit.drawn_at.timestamp() <= begins + 60 for visit in found)


def test_a_draw_that_is_only_as_late_as_draws_are_is_of_a_whole_round(store):
    assert len(draw(60, 120, 1 / 3600)) == 120
