"""GIVEN what a gateway measured WHEN figures are made of it THEN they are those of docs/models.md."""

from pathlib import Path

import pytest

from analysis.errors import Contradictory
from collector.calibration_figures import memory_figures, overlap_figure
from collector.calibration_runner import CalibrationResult
from storage.calibrations import Kind

TEXT = " ".join((Path(__file__).parents[3] / "docs/models.md").read_text().split())


def test_the_documents_measurement():
    figure = overlap_figure([1000, 1010, 990], [1400, 1420, 1380], "CPU", machine="node7")
    assert f"OC is 1000 ÷ (1400 ÷ 2) = {figure.value:.3f}," in TEXT
    assert f"is {figure.lo:.3f} … {figure.hi:.3f}." in TEXT
    assert f"A second busy thread adds {2 / figure.value - 1:.0%}".replace("%", " %") in TEXT
    assert (figure.repetitions, figure.measured, figure.machine) == (3, True, "node7")


def test_the_documents_stress_test_has_no_interval():
    figure = overlap_figure([2499904], [2274404], "Intel Xeon", "search")
    assert f"2499904 2274404 --application search` keeps {figure.value:.3f}." in TEXT
    assert (figure.lo, figure.hi, figure.workload) == (None, None, "search")


def test_both_threads_never_do_more_than_twice_ones_work():
    with pytest.raises(Contradictory):
        overlap_figure([1, 1.01], [3, 3.01], "CPU")


def test_memory_has_a_latency_and_a_bandwidth():
    found = CalibrationResult("CPU", "loop", latency_ns=(90.0, 92.0), bytes_per_s=(4e10,))
    latency, bandwidth = memory_figures(found, "node7")
    assert (latency.kind, latency.value, latency.repetitions) == (Kind.MEMORY_LATENCY, 91.0, 2)
    assert latency.lo is not None
    assert 0 < latency.lo < 90
    assert (bandwidth.kind, bandwidth.value, bandwidth.lo) == (Kind.MEMORY_BANDWIDTH, 4e10, None)
