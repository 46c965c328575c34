"""GIVEN a file of request rates WHEN it is read THEN each step has the mean of its own lines, and mistakes are named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.commands.reports.request_rates import means, read_rates
from storage.errors import BadSelection
from storage.query.shapes.steps import Steps

MIDNIGHT = 1_763_337_600  # 2025-11-17T00:00:00Z
OVER = Steps(3600, MIDNIGHT, 3)


def test_a_step_has_the_mean_of_its_lines():
    lines = [
        "time,requests",
        "2025-11-17T00:00:00Z,100",
        f"{MIDNIGHT + 1800}, 300",
        "",
        "2025-11-17T04:59:59+02:00,7.5",
        "2025-11-17T03:00:00Z,9",  # when the last step has ended
        "2025-11-16T23:59:59Z,9",
    ]
    assert means(lines, OVER) == (200.0, None, 7.5)


@given(st.lists(st.tuples(st.integers(-7200, 4 * 3600), st.floats(0, 1e9)), max_size=30))
def test_no_line_counts_twice_and_none_is_lost(points: list[tuple[int, float]]):
    found = means([f"{MIDNIGHT + at},{rate!r}" for at, rate in points], OVER)
    for step, mean in enumerate(found):
        mine = [rate for at, rate in points if step * 3600 <= at < (step + 1) * 3600]
        assert mean == (pytest.approx(sum(mine) / len(mine)) if mine else None)


@pytest.mark.parametrize(
    "line", ["2025-11-17T01:00:00,5", "2025-11-17T01:00:00Z", "1,2,3", "1,-2", "1,nan", "soon,5", "inf,1"]
)
def test_a_line_that_says_nothing_is_named(line: str):
    with pytest.raises(BadSelection, match="Line 2: invalid time") as error:
        means(["2025-11-17T00:00:00Z,100", line], OVER)
    assert error.value.parameter == "rates"


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (f"{MIDNIGHT},5/s", "column 2 is '5/s'"),
        ("2025-11-17T01:00:00,5", "column 1 is '2025-11-17T01:00:00'"),
        ("1,2,3", "it has 3 columns"),
    ],
)
def test_a_first_line_with_a_number_is_no_heading(line: str, where: str):
    with pytest.raises(BadSelection, match=f"Line 1: invalid time and request rate .*; {where}"):
        means([line, f"{MIDNIGHT},5"], OVER)


def test_a_mark_of_the_byte_order_is_no_field(tmp_path: Path):
    path = tmp_path / "rates.csv"
    path.write_text(f"{MIDNIGHT},100\n{MIDNIGHT},200\n", encoding="utf-8-sig")
    assert read_rates(path, OVER) == (150.0, None, None)


def test_a_file_that_is_not_there_is_a_mistake_of_the_caller(tmp_path: Path):
    with pytest.raises(BadSelection, match="Cannot read"):
        read_rates(tmp_path / "none.csv", OVER)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(BadSelection, match="Cannot read"):
        read_rates(tmp_path / "binary", OVER)
    (tmp_path / "some.csv").write_text("2025-11-17T00:00:00Z,100\n")
    assert read_rates(tmp_path / "some.csv", OVER) == (100.0, None, None)
