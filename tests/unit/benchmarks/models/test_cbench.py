"""GIVEN runs at several frequencies on disk WHEN the benchmark reads them THEN the middle one is foretold from the others."""

from pathlib import Path

import pytest

from benchmarks.models.cbench import NoData, measure

KHZ = (1_000_000, 1_500_000, 2_000_000)


def written(folder: Path, names: str, *, slower: float = 1.0) -> None:
    """One run whose program takes 10/f + 2 seconds, f in GHz; the middle frequency `slower` times as long."""
    for khz in KHZ:
        path = folder / names.format(khz=khz)
        path.mkdir(parents=True)
        seconds = (10e6 / khz + 2) * (slower if khz == KHZ[1] else 1)
        path.joinpath("benchmarks.data").write_text(
            f"#Name\tStart(ns)\tEnd(ns)\nprogram\t5000\t{5000 + round(seconds * 1e9)}\n"
        )


@pytest.mark.parametrize("names", ["list1-run1-{khz}", "events_list_1/Run_1/{khz}"])
def test_both_ways_of_naming_folders_are_read(tmp_path: Path, names: str) -> None:
    written(tmp_path, names)
    found = measure(tmp_path)
    assert found.model.tolist() == [pytest.approx(0, abs=1e-9)]
    assert found.naive.tolist() == [pytest.approx(1 - (12 / 1.5) / (10 / 1.5 + 2))]
    assert (found.programs, found.runs) == (1, 1)


def test_what_runs_differ_by_is_the_floor(tmp_path: Path) -> None:
    written(tmp_path, "list1-run1-{khz}")
    written(tmp_path, "list1-run2-{khz}", slower=1.01)
    found = measure(tmp_path)
    assert sorted(found.model) == [pytest.approx(0, abs=1e-9), pytest.approx(1 - 1 / 1.01)]
    assert found.again.mean() == pytest.approx(0.01, rel=0.02)


def test_without_data_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="No folder"):
        measure(None)
    with pytest.raises(NoData, match="three frequencies"):
        measure(tmp_path)
