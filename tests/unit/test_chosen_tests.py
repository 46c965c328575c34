"""GIVEN tests of which some are slow WHEN a run says what it wants THEN it gets these tests."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.conftest import chosen

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "tests" / "unit" / f"test_{number}.py" for number in range(30)]


def items() -> list[Any]:
    """Two of each file: the second is slow."""
    return [
        SimpleNamespace(path=path, slow=slow, get_closest_marker=lambda name, slow=slow: slow or None)
        for path in FILES
        for slow in (False, True)
    ]


def run(*paths: str, keyword: str = "", slow: bool = False, part: str = "1/1") -> list[Any]:
    config = SimpleNamespace(
        invocation_params=SimpleNamespace(dir=ROOT), args=list(paths), rootpath=ROOT,
        option=SimpleNamespace(keyword=keyword), getoption=lambda name, default: {"part": part, "slow": slow}[name],
    )  # fmt: skip
    return cast("list[Any]", chosen(cast("pytest.Config", config), items()))


def test_a_run_of_everything_leaves_out_slow_ones() -> None:
    assert [item.slow for item in run("tests")] == [False] * len(FILES)
    assert [item.slow for item in run(str(ROOT / "tests"))] == [False] * len(FILES)


def test_a_run_of_slow_ones_leaves_out_the_others() -> None:
    assert [item.slow for item in run("tests", slow=True)] == [True] * len(FILES)


@pytest.mark.parametrize("wanted", [{"keyword": "name"}, {}])
def test_a_named_test_runs_long_or_not(wanted: dict[str, str]) -> None:
    paths = ["tests"] if wanted else ["tests/unit/test_1.py"]
    assert len(run(*paths, **wanted)) == 2 * len(FILES)


def test_parts_have_each_file_once() -> None:
    parts = [{item.path for item in run("tests", part=f"{number}/3")} for number in (1, 2, 3)]
    assert sorted(path for part in parts for path in part) == sorted(FILES)
    assert all(parts)
