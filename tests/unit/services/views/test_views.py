"""GIVEN answers as the API keeps them WHEN they are shown in a terminal THEN nothing is hidden and names are no markup."""

import copy
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from services.views import callers, lines, shared_code

GOLDEN = Path(__file__).parents[3] / "golden/api"


def answer(name: str) -> dict:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def text_of(renderable, width=120) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_callers_stand_above_callees():
    found = answer("callers")
    found["rows"][1]["key"]["function"] = "vec<[int]>::at"
    found["callees_total"] = 3
    text = text_of(callers.callers(found))
    assert text.startswith("main  self 0.0 %")
    assert text.index("called by") < text.index("(stacks begin with it)") < text.index("vec<[int]>::at")
    assert "2 more" in text
    assert "design effect" not in text
    assert "design effect" in text_of(callers.callers({**found, "borrowed": True}))


def test_trees_leave_out_what_is_below_a_hundredth():
    found = answer("callers")
    tree = {
        "functions": [{"name": name} for name in ("main", "a[b]", "c", "rare")],
        "total": [10.0, 6.0, 6.0, 0.05],
        "parent": [-1, 0, 1, 0],
        "function": [0, 1, 2, 3],
    }
    text = text_of(callers.trees({**found, "above": tree}))
    assert "60.0 % a[b]" in text
    assert "rare" not in text
    assert text.index("a[b]") < text.index("60.0 % c")


def test_nobody_is_a_sentence():
    nobody = {**answer("callers"), "functions": [], "functions_total": 0, "rows": []}
    assert "No stack" in text_of(callers.callers(nobody))
    assert "No stack" in text_of(callers.trees(nobody))
    assert "No stack" in text_of(lines.lines({**answer("lines"), "functions": []}))
    assert "No stack" in text_of(shared_code.users({**answer("shared-code-users"), "rows": []}))
    assert "No code is shared" in text_of(shared_code.shared_code({**answer("shared-code"), "rows": []}))


def test_lines_stand_below_the_version_of_their_file():
    found = answer("lines")
    other = {**found["versions"][0], "sha256": "ab" * 32, "file": "[m].c"}
    other["builds"] = [{"key": f"{n:040x}", "binary": "prog"} for n in range(5)]
    found["versions"].append(other)
    found["rows"].append({**found["rows"][0], "version": 1, "line": 77})
    found["rows_total"] = 9
    found["without_line"] = found["itself"]["self"] // 4
    text = text_of(lines.lines(found))
    assert text.index("text not stored") < text.index(" 12 ") < text.index("[m].c") < text.index(" 77 ")
    assert "text abababababab; prog 000000000000, prog 000000000000, prog 000000000000 and 2 more" in text
    assert "7 more lines" in text
    assert "The line is unknown for 25.0 % of self." in text


@pytest.mark.parametrize(("price", "said"), [(None, "4.8 cores"), (0.04, "1,671 a year")])
def test_a_saving_is_told_in_cores_or_in_money(price: float | None, said: str):
    found = copy.deepcopy(answer("shared-code"))
    found["price_per_core_hour"] = price
    found["rows"][0]["saved"]["money_a_year"] = {"value": 1671.4, "lo": 300.0, "hi": 5000.0}
    text = text_of(shared_code.shared_code(found))
    assert said in text
    assert "50.0 % saves" in text
    assert "in 1 applications" in text


def test_users_are_told_with_their_callers():
    found = answer("shared-code-users")
    found["rows"][0]["callers"].append({"function": None, "share": 0.25})
    found["rows_total"] = 4
    text = text_of(shared_code.users(found))
    assert "main 100.0 %, (no caller) 25.0 %" in text
    assert "3 more" in text
    assert "An application without samples in any visit has less than 63 %." in text, (
        "three more are seen and not listed"
    )
    assert "A row without samples in any visit has less than 63 %." in text_of(
        shared_code.users({**found, "by": ["version"]})
    )
