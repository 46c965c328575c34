"""Which hours are read from cells, and which from the chunks of the few visits in them."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.query.access_path import MOST_LEFT, MOST_VISITS, CellPlan, cheapest, prefer_rollup
from storage.query.estimation.strata import Drawn
from storage.rollup.cubes import APPLICATION, EVENT
from storage.rollup.time_cover import Cover

OF_ONE = CellPlan(APPLICATION, (7,), 0, 100, by_application=False)
OF_ALL = CellPlan(EVENT, None, 0, 100, by_application=False)


def sums(plan: CellPlan, *, some: bool = False) -> CellPlan:
    return replace(plan, stacks=False, some_functions=some)


def drawn(*rows: tuple[int, int, int]) -> Drawn:
    """Of (hour, cell, visits)."""
    hour, cell, visits = np.array(rows, np.int64).reshape(-1, 3).T
    return Drawn(hour, cell, visits)


def test_a_run_of_hours_with_a_visit_or_two_a_cell_is_left_to_the_chunks():
    visits = drawn((3, 1, 2), (3, 2, 2), (4, 1, 1), (80, 1, 9), (81, 1, 9))
    cover = Cover(hours=(3, 4, 80, 81), days=(1, 2))
    assert cheapest(cover, visits, OF_ONE) == Cover(hours=(80, 81), days=(1, 2), rest=((3, 5),))
    assert cheapest(cover, visits, OF_ALL) == cover, "everything a visit brought is more than its cells"


def test_sums_by_function_are_less_than_the_stacks_of_a_single_visit():
    visits = drawn((3, 1, 1), (4, 1, 1))
    cover = Cover(hours=(3, 4), days=(1, 2))
    for plan in (OF_ONE, OF_ALL):
        assert cheapest(cover, visits, plan).rest == ((3, 5),)
        assert cheapest(cover, visits, sums(plan)) == cover
    alone = [(24 + n % 24, n, 1) for n in range(160)]
    assert not prefer_rollup(cover, drawn(*alone), OF_ONE)
    assert prefer_rollup(cover, drawn(*alone), sums(OF_ONE))
    assert not prefer_rollup(cover, visits, sums(OF_ONE)), "so few are soon read, and know more"


def test_a_few_functions_of_one_application_are_read_of_visits_unless_several_share_a_cell():
    cover = Cover(hours=(3, 4, 80, 81))
    visits = drawn((3, 1, 2), (4, 1, 1), (80, 1, 60), (81, 1, 60))
    assert cheapest(cover, visits, sums(OF_ONE, some=True)) == Cover(hours=(80, 81), rest=((3, 5),))
    assert cheapest(cover, visits, sums(OF_ALL, some=True)) == cover, "of a fleet a visit is sixty chunks"
    alone = drawn(*((3, n, 1) for n in range(160)))
    assert not prefer_rollup(Cover(hours=(3,)), alone, sums(OF_ONE, some=True))
    assert prefer_rollup(Cover(hours=(3,)), alone, sums(OF_ALL, some=True))


def test_what_is_left_to_the_chunks_touches_what_was_before():
    cover = Cover(hours=(5, 6), rest=((0, 5),))
    assert cheapest(cover, drawn((5, 1, 1)), OF_ONE) == Cover(rest=((0, 7),))


def test_an_hour_nobody_was_drawn_in_costs_nothing_either_way():
    cover = Cover(hours=(5, 6), days=(1,))
    assert cheapest(cover, drawn(), OF_ONE) == cover
    assert prefer_rollup(cover, drawn(), OF_ONE)


def test_cells_are_worth_it_when_many_visits_share_them():
    cover = Cover(hours=(3,), days=(1,), weighted=((1, 1),))
    several = [(3, 1, 2), (30, 1, 1), *((hour, 1, 1) for hour in range(31, 33)), (100, 1, 2)]
    assert not prefer_rollup(cover, drawn(*several), OF_ONE), "7 visits in 3 cells"
    assert not prefer_rollup(cover, drawn(*several), OF_ALL), "so few are soon read, and know more"
    assert prefer_rollup(cover, drawn((3, 1, 2), (30, 1, 5), (100, 1, 20)), OF_ONE), "unless they are as one"
    spread = [(24 + n % 24, n, 2) for n in range(80)]
    assert prefer_rollup(cover, drawn(*spread), OF_ALL), "two a cell are enough where a visit is sixty chunks"
    assert not prefer_rollup(cover, drawn(*spread), OF_ONE)
    assert not prefer_rollup(Cover(hours=(3,)), drawn((3, 1, 2), (5, 1, 100)), OF_ONE), "others do not count"


def test_no_more_is_left_to_the_chunks_than_can_be_read():
    half = MOST_LEFT // 2
    dear = [(3, cell, 2) for cell in range(half // 2)]
    dearer = [(5, cell, 1) for cell in range(half)]
    last = [(8, 1, 2), (8, 2, 3)]
    everything = drawn(*dear, *dearer, *last)
    left = cheapest(Cover(hours=(3, 5, 8)), everything, OF_ONE)
    assert left == Cover(hours=(8,), rest=((3, 4), (5, 6)))
    taken = Cover(hours=(3, 5), rest=((8, 9),))
    assert cheapest(taken, everything, OF_ONE) == Cover(hours=(3,), rest=((5, 6), (8, 9))), (
        "where a visit has a cell of its own comes first, and what is left already counts"
    )


def test_a_month_of_many_visits_stays_with_its_cells():
    hours = range(1000, 1000 + 30 * 24)
    month = drawn(*((hour, cell, 2) for hour in hours for cell in range(500)))
    for step in (1, 2):
        found = cheapest(Cover(hours=tuple(hours)[::step]), month, OF_ONE)
        beside = [hour for first, end in found.rest for hour in range(first, end)]
        assert 1000 * len(beside) <= MOST_VISITS // 2, "or all of it would be read from chunks"
        assert len(found.hours) + len(beside) == len(hours) // step
        assert prefer_rollup(found, month, OF_ONE), (
            "what was kept for its number is not given up for its cells"
        )


@given(
    hours=st.sets(st.integers(0, 40)),
    rows=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(1, 9)), max_size=40),
    before=st.tuples(st.integers(41, 45), st.integers(46, 50)),
)
def test_every_hour_is_read_once(hours: set[int], rows: list[tuple[int, int, int]], before: tuple[int, int]):
    cover = Cover(hours=tuple(sorted(hours)), rest=(before,))
    found = cheapest(cover, drawn(*rows), OF_ONE)
    read = [*found.hours, *(hour for first, end in found.rest for hour in range(first, end))]
    assert sorted(read) == sorted([*hours, *range(*before)])
    assert list(found.hours) == sorted(found.hours)
