"""GIVEN answers as the API keeps them WHEN they are shown in a terminal THEN nothing is hidden and names are no markup."""

import io
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from rich.console import Console

from services.views import callers, lines, shared_code
from storage.query.answers.answer import Answer, adapter
from storage.query.answers.callers import CallersAnswer, CallTree
from storage.query.answers.figures import Interval
from storage.query.answers.functions import NamedFunction
from storage.query.answers.lines import LinesAnswer, SourceBuild
from storage.query.answers.shared_code import SharedCodeAnswer, UserCaller, UsersAnswer

GOLDEN = Path(__file__).parents[3] / "golden/api"
AnswerT = TypeVar("AnswerT", bound=Answer)


def answer(kind: type[AnswerT], name: str) -> AnswerT:
    return adapter(kind).validate_json((GOLDEN / f"{name}.json").read_bytes())


def text_of(renderable, width=120) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_callers_stand_above_callees():
    found = answer(CallersAnswer, "callers")
    first, second, *others = found.rows
    renamed = replace(second, key={**second.key, "function": "vec<[int]>::at"})
    found = replace(found, rows=(first, renamed, *others), callees_total=3)
    text = text_of(callers.callers(found))
    assert text.startswith("main  self 0.0 %")
    assert text.index("called by") < text.index("(stacks begin with it)") < text.index("vec<[int]>::at")
    assert "2 more" in text
    assert "design effect" not in text
    assert "design effect" in text_of(callers.callers(replace(found, borrowed=True)))


def test_trees_leave_out_what_is_below_a_hundredth():
    found = answer(CallersAnswer, "callers")
    tree = CallTree(
        functions=tuple(
            NamedFunction(number, name, "", "", "full", "user")
            for number, name in enumerate(("main", "a[b]", "c", "rare"), 1)
        ),
        total=(10.0, 6.0, 6.0, 0.05),
        self=(3.95, 0.0, 6.0, 0.05),
        parent=(-1, 0, 1, 0),
        function=(0, 1, 2, 3),
        pruned_nodes=0,
        pruned_share=0.0,
    )
    text = text_of(callers.trees(replace(found, above=tree)))
    assert "60.0 % a[b]" in text
    assert "rare" not in text
    assert text.index("a[b]") < text.index("60.0 % c")


def test_nobody_is_a_sentence():
    nobody = replace(answer(CallersAnswer, "callers"), functions=(), functions_total=0, rows=())
    assert "No stack" in text_of(callers.callers(nobody))
    assert "No stack" in text_of(callers.trees(nobody))
    assert "No stack" in text_of(lines.lines(replace(answer(LinesAnswer, "lines"), functions=())))
    users = replace(answer(UsersAnswer, "shared-code-users"), rows=())
    assert "No stack" in text_of(shared_code.users(users))
    shared = replace(answer(SharedCodeAnswer, "shared-code"), rows=())
    assert "No code is shared" in text_of(shared_code.shared_code(shared))


def test_lines_stand_below_the_version_of_their_file():
    found = answer(LinesAnswer, "lines")
    builds = tuple(SourceBuild(f"{n:040x}", "prog") for n in range(5))
    other = replace(found.versions[0], sha256="ab" * 32, file="[m].c", builds=builds)
    found = replace(
        found,
        versions=(*found.versions, other),
        rows=(*found.rows, replace(found.rows[0], version=1, line=77)),
        rows_total=9,
        without_line=found.itself.self // 4,
    )
    text = text_of(lines.lines(found))
    assert text.index("text not stored") < text.index(" 12 ") < text.index("[m].c") < text.index(" 77 ")
    assert "text abababababab; prog 000000000000, prog 000000000000, prog 000000000000 and 2 more" in text
    assert "7 more lines" in text
    assert "The line is unknown for 25.0 % of self." in text


@pytest.mark.parametrize(("price", "said"), [(None, "4.8 cores"), (0.04, "1,671 a year")])
def test_a_saving_is_told_in_cores_or_in_money(price: float | None, said: str):
    found = answer(SharedCodeAnswer, "shared-code")
    first, *others = found.rows
    first = replace(first, saved=replace(first.saved, money_a_year=Interval(1671.4, 300.0, 5000.0)))
    found = replace(found, price_per_core_hour=price, rows=(first, *others))
    text = text_of(shared_code.shared_code(found))
    assert said in text
    assert "50.0 % saves" in text
    assert "in 1 applications" in text


def test_users_are_told_with_their_callers():
    found = answer(UsersAnswer, "shared-code-users")
    first, *others = found.rows
    first = replace(first, callers=(*first.callers, UserCaller(None, 0.25)))
    found = replace(found, rows=(first, *others), rows_total=4)
    text = text_of(shared_code.users(found))
    assert "main 100.0 %, (no caller) 25.0 %" in text
    assert "3 more" in text
    assert "An application without samples in any visit has less than 63 %." in text, (
        "three more are seen and not listed"
    )
    assert "A row without samples in any visit has less than 63 %." in text_of(
        shared_code.users(replace(found, by=("version",)))
    )
