"""GIVEN rows of a table WHEN pages of them are asked for THEN every row is on one page, ties by name."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import BadSelection, BudgetExceeded, QuestionDropped
from storage.query.shapes import row_order
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.snapshots.query_budget import Budget, Limits, Stop

names = st.lists(st.tuples(st.text("abAB.", max_size=3), st.integers(0, 30), st.integers(0, 3)), max_size=25)


@dataclass
class Rows:
    """Rows of (file, line, weight)."""

    made: list[tuple[str, int, int]]

    def __post_init__(self):
        self.own = np.array([weight for *_, weight in self.made], np.int64)
        self.own_weight = self.own * 0.1
        self.total_weight = (9 - self.own) * 0.1

    def key(self, place: int) -> dict[str, str]:
        file, line, _ = self.made[place]
        return {"file": file, "line": str(line), "status": "full"}


@given(names, st.sampled_from(Sort), st.integers(1, 7))
def test_pages_are_the_whole_cut_into_pieces(made, sort: Sort, size: int):
    rows = Rows(made)
    pages = [ordered(rows, Page(sort, size, offset))[offset : offset + size] for offset in range(0, 25, size)]
    found = [made[place] for page in pages for place in page.tolist()]
    weight = {Sort.SELF: 1, Sort.SELF_DESC: -1, Sort.TOTAL: -1, Sort.TOTAL_DESC: 1}.get(sort, 0)
    expected = sorted(made, key=lambda row: (weight * row[2], row[:2]))
    if sort is Sort.NAME_DESC:
        expected = sorted(made, key=lambda row: row[:2], reverse=True)
    assert [row if weight else row[:2] for row in found] == [row if weight else row[:2] for row in expected]


@given(names, st.text("abB.", max_size=2), st.sampled_from(("", "^a", "[.]", "b$")))
def test_rows_are_found_by_text_and_by_pattern(made, find: str, pattern: str):
    rows = Rows(made)
    found = ordered(rows, Page(Sort.NAME, find=find, find_regex=pattern))
    expected = [r for r in made if find.casefold() in r[0].casefold() and re.search(pattern, r[0])]
    assert sorted(made[place] for place in found.tolist()) == sorted(expected)


def test_what_is_no_name_is_not_found():
    rows = Rows([("a.c", 17, 1)])
    assert len(ordered(rows, Page(find="full"))) == 0
    assert len(ordered(rows, Page(find="17"))) == 0
    with pytest.raises(BadSelection) as caught:
        ordered(rows, Page(find_regex="a("))
    assert caught.value.parameter == "find_regex"


def test_a_name_of_many_rows_is_tested_once(monkeypatch: pytest.MonkeyPatch):
    tested: list[str] = []
    monkeypatch.setattr(row_order, "_test", lambda _: lambda text: not tested.append(text))
    rows = Rows([(f"{n % 3}.c", n, 1) for n in range(3000)])
    assert len(ordered(rows, Page(find="c"))) == 3000
    assert sorted(tested) == ["0.c", "1.c", "2.c"]


@pytest.mark.parametrize("page", [Page(find="x"), Page(Sort.NAME), Page(Sort.SELF)])
def test_naming_rows_ends_soon_after_the_question_is_dropped(page: Page):
    budget, asked = Budget(Limits()), []

    class Dropping(Rows):
        def key(self, place: int) -> dict[str, str]:
            asked.append(place)
            budget.stop(Stop.DROPPED)
            return super().key(place)

    rows = Dropping([(f"{n}.c", 0, 1) for n in range(5000)])
    with budget.running(), pytest.raises(QuestionDropped):
        ordered(rows, page)
    assert len(asked) <= 1000


def test_testing_names_ends_soon_after_the_question_is_dropped(monkeypatch: pytest.MonkeyPatch):
    budget, tested = Budget(Limits()), []

    def test(text: str) -> bool:
        tested.append(text)
        budget.stop(Stop.DROPPED)
        return True

    monkeypatch.setattr(row_order, "_test", lambda _: test)
    with budget.running(), pytest.raises(QuestionDropped):
        ordered(Rows([(f"{n}.c", 0, 1) for n in range(5000)]), Page(find="c"))
    assert len(tested) <= 1000


def test_names_are_of_the_questions_budget():
    rows = Rows([(f"{n}.c", 0, 1) for n in range(5000)])
    with Budget(Limits(bytes=100_000)).running(), pytest.raises(BudgetExceeded):
        ordered(rows, Page(Sort.NAME))


def test_more_names_than_are_sorted_at_once_are_sorted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(row_order, "_RUN", 7)
    rows = Rows([(f"{n * 37 % 101:03}.c", 0, 1) for n in range(101)])
    assert [rows.made[place][0] for place in ordered(rows, Page(Sort.NAME)).tolist()] == [
        f"{n:03}.c" for n in range(101)
    ]
