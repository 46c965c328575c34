"""GIVEN profiles with labels WHEN what visits brought is read from profiles alone THEN it is what their stacks add up to."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from storage.database import snapshot
from storage.query import samples
from storage.query.access_path import Planner, Shape
from storage.query.answers.totals import Totals
from storage.query.facts.visit_scan import Facts, Profiles, sample_type_of
from storage.query.models import labelled
from storage.query.models.labelled import Labelled, read_labelled
from storage.query.samples import SampleSource
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from tests.hardware_counter_fleet import write_counting_fleet

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
WHOLE = Selection(NOON, NOON + timedelta(hours=2))
MOST = 100
EXACT = {field.name for field in fields(Totals)} - {
    "path",
    "kept",
    "leaf_symbolized",
    "core_seconds",
    "cores",
    "estimate",
}


@pytest.fixture(scope="module")
def fleet(module_engine: Engine) -> Engine:
    with module_engine.begin() as connection:
        write_counting_fleet(connection, NOON)
    return module_engine


def pairs(found: Labelled) -> dict[tuple[str, bytes], int]:
    contributions = found.contributions
    keys = zip(
        contributions.row.tolist(), contributions.visit.tolist(), contributions.units.tolist(), strict=True
    )
    return {(found.names[row], found.visits.id[visit]): units for row, visit, units in keys}


@pytest.mark.slow
@pytest.mark.parametrize(
    "label",
    ["version", "application", "platform", "datacenter", "compiler", "machine", "team", "shard", "kernel"],
)
@pytest.mark.parametrize("matchers", ["{}", '{application="web"}'])
def test_profiles_say_what_their_stacks_do(fleet: Engine, label: str, matchers: str) -> None:
    selection = replace(WHOLE, matchers=parse_matchers(matchers))
    with snapshot(fleet) as connection:
        reading = StoreReading(connection, SampleSource())
        kind = sample_type_of(connection, selection)
        plan = Planner().plan(connection, selection, kind, Shape(frame="function")).cells
        assert plan is not None
        one = labelled._of_profiles(reading, selection, kind, label, MOST, plan=plan)
        other = labelled._of_samples(reading, selection, label, MOST)
        assert read_labelled(reading, selection, label, MOST).names == one.names
    assert pairs(one) == pairs(other)
    shares = dict(zip(one.names, one.weighted.tolist(), strict=True))
    assert shares == pytest.approx(dict(zip(other.names, other.weighted.tolist(), strict=True)))
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert one.count == other.count == len(one.names)
    assert one.whole == pytest.approx(other.whole)
    for name in ("stratum", "machine", "weight", "group", "selected"):
        assert np.array_equal(getattr(one.visits, name), getattr(other.visits, name)), name
    assert one.totals.estimate is not None
    assert other.totals.estimate is not None
    assert one.totals.estimate.value == pytest.approx(other.totals.estimate.value)
    for name in EXACT:
        assert getattr(one.totals, name) == getattr(other.totals, name), name


def test_a_part_is_read_for_shares_of_stacks_and_everything_else_is_of_all(
    fleet: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts: list[int] = []
    read = samples.scan

    def noted(*args: Any, **options: Any) -> tuple[Profiles, Facts]:
        found = read(*args, **options)
        facts.append(len(found[1].stack))
        return found

    monkeypatch.setattr(samples, "scan", noted)
    with snapshot(fleet) as connection:
        reading = StoreReading(connection, SampleSource())
        whole = read_labelled(reading, WHOLE, "version", MOST)
        monkeypatch.setattr(labelled, "_FACTS", facts[0] // 2)
        part = read_labelled(reading, WHOLE, "version", MOST)
    assert 0 < facts[1] <= facts[0] // 2
    assert not part.totals.approximate
    for name in ("symbolized", "leaf_symbolized", "complete"):
        assert 0 <= getattr(part.totals, name) <= 1
    of_stacks = {"symbolized": 1.0, "leaf_symbolized": 1.0, "complete": 1.0}
    assert replace(part.totals, **of_stacks) == replace(whole.totals, **of_stacks)
    assert pairs(part) == pairs(whole)


def test_what_narrows_stacks_reads_them(fleet: Engine) -> None:
    with snapshot(fleet) as connection:
        reading = StoreReading(connection, SampleSource())
        whole, parse = (
            read_labelled(reading, replace(WHOLE, focus=focus), "version", MOST) for focus in ("", "parse")
        )
    assert 0 < parse.contributions.units.sum() < whole.contributions.units.sum()
    assert parse.totals.kept < 1


def test_the_heaviest_values_are_shown(fleet: Engine) -> None:
    with snapshot(fleet) as connection:
        reading = StoreReading(connection, SampleSource())
        every, three = (read_labelled(reading, WHOLE, "machine", most) for most in (MOST, 3))
    assert three.names == every.names[:3]
    assert three.count == every.count == 16
    assert {key: units for key, units in pairs(every).items() if key[0] in three.names} == pairs(three)
