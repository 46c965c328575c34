"""GIVEN shares of visits that fail WHEN visits' fates are decided THEN they fail as often, and busy ones more."""

from collections import Counter
from uuid import UUID

import numpy as np
import pytest

from simulation.fleet import Fleet, slot_of
from simulation.outcomes import NEVER, Failures, Fate, fate, is_away
from storage.schema import Outcome

FLEET = Fleet(400, seed=7)
SLOT = slot_of(1_763_380_800)
VISITS = 1500
MANY = Failures(away=0.05, garbage=0.06, silent=0.04, busiest=0.5)


def fates(failures: Failures, utilisation: float, visits: int = VISITS) -> Counter[Fate]:
    return Counter(
        fate(
            FLEET, failures, n % FLEET.size, UUID(int=n * 7919).bytes, slot=SLOT + n, utilisation=utilisation
        )
        for n in range(visits)
    )


@pytest.mark.parametrize("utilisation", [0.0, 0.5, 0.97])
def test_shares_are_those_asked_for(utilisation):
    found = fates(MANY, utilisation)
    expected = float(MANY.answering(np.array(utilisation)))
    assert found[Fate.ANSWERS] / VISITS == pytest.approx(expected, abs=0.05)
    assert found[Fate.SILENT] / VISITS == pytest.approx(0.95 * 0.04, abs=0.02)
    garbage = found[Fate.WRONG_SUM] + found[Fate.WRONG_VISIT] + found[Fate.LONG_WINDOW]
    assert garbage / VISITS == pytest.approx(0.95 * 0.06, abs=0.025)


def test_busy_machines_fail_more_and_calm_ones_not_for_their_load():
    calm, busy = fates(Failures(), 0.1), fates(Failures(), 0.97)
    for way in (Fate.REFUSES, Fate.BREAKS, Fate.HANGS):
        assert calm[way] == 0
        assert busy[way] > 20


def test_a_fleet_that_never_fails():
    assert fates(NEVER, 0.97) == {Fate.ANSWERS: VISITS}


def test_a_visit_has_one_fate():
    visit = UUID(int=5).bytes
    found = {fate(FLEET, MANY, 3, visit, slot=SLOT, utilisation=0.9) for _ in range(3)}
    assert len(found) == 1


def test_who_is_away_comes_back():
    every = np.arange(FLEET.size)
    away = np.stack([is_away(FLEET, MANY, SLOT - SLOT % 6 + k, every) for k in range(300)])
    assert away.mean() == pytest.approx(0.05, abs=0.015)
    assert (away.reshape(-1, 6, FLEET.size) == away.reshape(-1, 6, FLEET.size)[:, :1]).all(), "half hours"
    assert not away.all(axis=0).any()


def test_every_fate_has_an_outcome():
    assert {way.outcome for way in Fate} == {
        Outcome.ANSWERED, Outcome.UNREACHABLE, Outcome.TIMEOUT, Outcome.GARBAGE, Outcome.REFUSED, Outcome.FAILED,
    }  # fmt: skip
