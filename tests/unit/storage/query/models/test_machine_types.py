"""GIVEN two machine types, with counters or without WHEN they are compared THEN APU is by the same way of both."""

import pytest

from storage.query.answers.figures import Interval, figure
from storage.query.models.compared_types import type_row
from storage.query.models.load_rows import CountedRow, LoadRow
from storage.query.models.machine_types import _counted, _type

BY_TIMES, BY_COUNTERS = Interval(0.6, 0.5, 0.7), Interval(0.66, 0.6, 0.72)


def row(counted: int, visits: int = 20) -> LoadRow:
    known = CountedRow(
        apu=BY_COUNTERS,
        thread_any=BY_COUNTERS,
        overlap=BY_COUNTERS,
        utilisation=BY_TIMES,
        system_apu=BY_TIMES,
        system_overlap=BY_TIMES,
        largest_disagreement=0.1,
        visits=counted,
    )
    return LoadRow(
        value="Z80",
        utilisation=Interval(0.5, 0.4, 0.6),
        thread_any=BY_TIMES,
        apu=BY_TIMES,
        simplified=BY_TIMES,
        counted=known if counted else None,
        low_confidence=False,
        visits=visits,
        machines=2,
    )


@pytest.mark.parametrize(("counted", "enough"), [(20, True), (18, True), (17, False), (0, False)])
def test_counters_stand_for_a_type_that_has_them_in_nine_of_ten_visits(counted: int, *, enough: bool) -> None:
    assert _counted(row(counted)) == enough


def test_a_type_without_visits_has_no_counters() -> None:
    assert not _counted(None)


@pytest.mark.parametrize(("counted", "apu"), [(True, BY_COUNTERS), (False, BY_TIMES)])
def test_what_is_compared_is_what_is_shown(counted: bool, apu: Interval) -> None:
    found = _type(1.0, row(20), counted=counted).apu
    assert (found.value, found.lo, found.hi) == (apu.value, apu.lo, apu.hi)
    shown = type_row("Z80", 1.0, row(20), None, counted=counted)
    assert shown.apu == figure(apu)
    assert (shown.platform, shown.price, shown.visits, shown.machines) == ("Z80", 1.0, 20, 2)
    assert shown.utilisation == figure(row(20).utilisation)
    assert shown.by_utilisation is shown.by_apu is None
