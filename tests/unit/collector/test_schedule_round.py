"""GIVEN hours of different densities WHEN a round reaches into them THEN each is drawn from as densely as was decided.

The store is a few dictionaries: what it makes of the draw is in `tests/integration/test_thinned_estimates.py`.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from math import floor
from types import SimpleNamespace

import numpy as np
import pytest

from collector import backpressure, schedule_round
from storage.backlog import NONE, Backlog
from storage.campaigns import Campaign, Definition, EventPlan, State
from storage.inventory import Machine
from storage.thinning import Thinned
from storage.visits import DrawnVisit

HOUR = 490_000
SIZES = {"east": 300, "west": 100}
LATE = Backlog(3000, 900.0)
THINNED_ID = 100
"""Fake stratum ids are a datacenter's place plus so much for every time its visits were halved."""


PACES: dict[float, int] = {0.0: 0}
"""The number of each pace that strata were made for, in this order; it stands in ids tenfold."""


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
            monkeypatch.setattr(schedule_round, name, fake)
        monkeypatch.setattr(schedule_round.coverage, "note_populations", self._note)
        monkeypatch.setattr(schedule_round.coverage, "note_time", lambda *_: self.follows)
        PACES.clear()
        PACES[0.0] = 0
        monkeypatch.setattr(backpressure.thinning, "of_hour", self._of_hour)
        monkeypatch.setattr(backpressure.thinning, "paces", self.paces)
        monkeypatch.setattr(backpressure, "read_backlog", lambda _: self.backlog)

    def thinnings(self) -> dict[int, set[int]]:
        return {
            hour: {stratum // THINNED_ID % 10 for stratum in strata} for hour, strata in self.noted.items()
        }

    def paces(self, _connection, _campaign_id, hours) -> dict[int, float]:
        by_number = {number: pace for pace, number in PACES.items()}
        return {
            hour: max(by_number[stratum // THINNED_ID // 10] for stratum in self.noted[hour])
            for hour in hours
            if self.noted.get(hour)
        }

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


def stratum_ids(_connection, keys, *, thinning=0, visits_per_hour=0.0):
    pace = PACES.setdefault(visits_per_hour, len(PACES))
    return {key: 1 + list(SIZES).index(key[0]) + THINNED_ID * (thinning + 10 * pace) for key in keys}


def draw(period_s, visits_per_round, start, seed=1):
    """The visits of the round that begins `start` hours after `HOUR` does."""
    definition = Definition("fleet", period_s, visits_per_round, (EventPlan("cpu", 5000, rate_hz=99),))
    now = datetime.fromtimestamp((HOUR + start) * 3600, UTC)
    campaign = Campaign(1, definition, State.RUNNING, "", now, -1)
    found = schedule_round.draw_round(None, campaign, now, np.random.default_rng(seed))
    return [scheduled.visit for scheduled in found]


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
    assert {(visit.hour, visit.stratum_id // THINNED_ID % 10) for visit in found} == {
        (HOUR, 0),
        (HOUR + 1, 1),
    }


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


def a_day(store: Store, random: np.random.Generator) -> tuple[list[tuple[float, int]], list[DrawnVisit]]:
    """A day whose pace is changed at random moments: (moment, visits an hour) of each change, and the visits made."""
    changes, made, moment, planned, period_s = [], [], 0.0, 200.0, 600.0
    until = 0.0
    while moment < 24:
        if moment >= until:
            planned, period_s = random.choice([100.0, 300.0, 1500.0]), random.choice([300.0, 600.0, 2400.0])
            # Visits of the old period's round that wait end as lost (`storage.campaigns.create_or_update`).
            made = [visit for visit in made if visit.drawn_at.timestamp() < (HOUR + moment) * 3600]
            until = moment + random.exponential(5) + 0.05
            changes.append((moment, planned))
        made += draw(period_s, planned * period_s / 3600, moment, seed=int(random.integers(1 << 32)))
        next_round = (floor((HOUR + moment) * 3600 / period_s) + 1) * period_s / 3600 - HOUR
        moment = min(next_round, until)
    return changes, [visit for visit in made if visit.hour < HOUR + 24]


@pytest.mark.slow
def test_a_pace_that_changes_within_a_day_weighs_right_at_once(monkeypatch):
    """Days whose load rises from hour to hour: the mean error of 16 days is within two standard errors of none."""
    random = np.random.default_rng(3)
    truth = sum(3600 * (1 + hour) for hour in range(24)) * sum(SIZES.values())
    errors, pooled, changed = [], [], 0
    for _ in range(16):
        store = Store(monkeypatch)
        changes, made = a_day(store, random)
        changed += len(changes) - 1
        machine_s = Counter()
        for hour in range(HOUR, HOUR + 24):
            assert len(store.noted[hour]) == len(SIZES), "an hour has one pace"
            for stratum, population in store.noted[hour].items():
                machine_s[stratum] += population * 3600
        seen, load = Counter(), Counter()
        for visit in made:
            seen[visit.stratum_id] += 1
            load[visit.stratum_id] += 1 + visit.hour - HOUR
        assert seen.keys() == machine_s.keys()
        errors.append(sum(machine_s[s] / seen[s] * load[s] for s in seen) / truth - 1)
        pooled.append(sum(load.values()) / len(made) * sum(machine_s.values()) / truth - 1)
    assert changed > 40
    bias, error = np.mean(errors), np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert abs(bias) <= 2 * error
    assert np.std(errors) < np.std(pooled) / 2, "of strata without a pace the dense hours count for more"
