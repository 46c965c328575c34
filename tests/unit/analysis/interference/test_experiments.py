"""GIVEN runs that somebody measured WHEN a target is trained by them THEN it is by their law, or it is said what is wrong with them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import BadShape, Constant, Contradictory, InsufficientData, NotANumber, NotEstimable
from analysis.interference.experiments import Metric, Program, Run, programs, training
from analysis.interference.pieces import of_peak
from analysis.interference.target import fit_target

PEAK = 12.8
PRESSURE = {
    "web": (8.0, 1.0),
    "feed": (30.0, 2.5),
    "etl": (12.0, 0.8),
    "batch": (50.0, 3.0),
    "cron": (1.0, 0.1),
}
OTHERS = ("feed", "etl", "batch")


def alone(
    name: str, metric: Metric | None = Metric.CPI, value: float | None = 1.0, cores: float = 1.0
) -> Run:
    lines, gigabytes = PRESSURE[name]
    return Run(name, (), metric, value, lines, gigabytes, cores)


def true(beside: tuple[str, ...]) -> float:
    """PD of web."""
    return sum(0.002 * PRESSURE[name][0] + 0.01 * PRESSURE[name][1] for name in beside)


def made(
    rng: np.random.Generator, count: int = 60, metric: Metric = Metric.CPI, solo: float = 1.6
) -> list[Run]:
    """Runs of web beside one to three others, and every program alone."""
    runs = [alone("web", metric, solo), *(alone(name, None, None) for name in OTHERS)]
    for _ in range(count):
        beside = tuple(rng.choice(OTHERS, rng.integers(1, 4)).tolist())
        slower = (1 + true(beside)) * rng.normal(1, 0.002)
        runs.append(Run("web", beside, metric, solo / slower if metric is Metric.IPC else solo * slower))
    return runs


@pytest.mark.parametrize("metric", list(Metric))
def test_every_metric_gives_the_same_degradation(metric: Metric) -> None:
    found = training(made(np.random.default_rng(3), metric=metric), "web", PEAK)
    assert len(found.degradation) == 60
    assert (found.own.cache[0], found.own.bandwidth[0]) == PRESSURE["web"]
    assert found.typical == found.own
    target = fit_target(found.own, found.mixes, found.degradation, of_peak(PEAK))
    lines, gigabytes = (8 + 30 + 12, 1.0 + 2.5 + 0.8)
    assert target.value(lines, gigabytes) == pytest.approx(true(("feed", "etl")), abs=0.01)
    assert target.error < target.baseline_error / 4


def test_pressures_are_sums_of_runs_alone_whoever_they_are_of() -> None:
    runs = [*made(np.random.default_rng(0), 0), Run("web", ("feed", "feed"), Metric.CPI, 1.7)]
    found = training(runs, "web", PEAK)
    assert found.mixes.cache.tolist() == [68.0]
    assert found.mixes.bandwidth.tolist() == [6.0]
    assert found.degradation == pytest.approx([1.7 / 1.6 - 1])


def test_runs_alone_are_averaged() -> None:
    one, other = alone("web", Metric.IPC, 0.5, 4.0), replace(alone("web", Metric.IPC, 0.4, 4.0), lines=10.0)
    found = programs([one, other])["web"]
    assert isinstance(found, Program)
    assert (found.slowness, found.lines, found.gigabytes, found.cores, found.runs) == (2.25, 9.0, 1.0, 4.0, 2)
    pressed = programs([alone("etl", None, None)])["etl"]
    assert isinstance(pressed, Program)
    assert pressed.metric is None
    assert np.isnan(pressed.slowness)


def test_too_few_runs_do_not_train() -> None:
    runs = made(np.random.default_rng(1))
    with pytest.raises(InsufficientData, match="runs of etl beside others: 0"):
        training(runs, "etl", PEAK)
    with pytest.raises(InsufficientData, match="No run of web alone has its cpi"):
        training(runs[1:], "web", PEAK)
    with pytest.raises(InsufficientData, match="No run of web alone has its cpi"):
        training([alone("web", None, None), *runs[1:]], "web", PEAK)
    with pytest.raises(InsufficientData, match=r"No run of (batch, )?etl"):
        training([run for run in runs if run.beside or run.target in {"web", "feed"}], "web", PEAK)
    few = training(runs[:9], "web", PEAK)
    with pytest.raises(InsufficientData, match="8 needed"):
        fit_target(few.own, few.mixes, few.degradation, of_peak(PEAK))


def test_what_never_varies_does_not_train() -> None:
    same = [run if not run.beside else replace(run, value=1.7) for run in made(np.random.default_rng(1))]
    with pytest.raises(Constant, match="all 60 runs of web beside others do not vary"):
        training(same, "web", PEAK)
    runs = made(np.random.default_rng(1), 0)
    alike = [Run("web", ("feed",), Metric.CPI, 1.7 + 0.001 * number) for number in range(12)]
    found = training([*runs, *alike], "web", PEAK)
    with pytest.raises(NotEstimable, match="same pressure"):
        fit_target(found.own, found.mixes, found.degradation, of_peak(PEAK))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([alone("web", Metric.CPI, 2.5)], "runs of web alone differ by a factor of 1.56"),
        ([alone("web", Metric.TIME, 1.6)], "more than one metric: cpi, time"),
        ([alone("feed", None, None, 2.0)], "runs of feed alone keep different numbers of cores"),
        ([Run("web", ("etl", "feed"), Metric.CPI, 9.0)], "beside etl, feed differ by a factor"),
        ([Run("web", ("etl",), Metric.TIME, 1.7)], "different metrics alone and beside others"),
    ],
)
def test_what_cannot_all_be_true_is_told(more: list[Run], said: str) -> None:
    with pytest.raises(Contradictory, match=said):
        training([*made(np.random.default_rng(1)), *more], "web", PEAK)


def test_contradictions_of_others_do_not_matter() -> None:
    runs = made(np.random.default_rng(1))
    other = [alone("cron", Metric.CPI, 1.0), alone("cron", Metric.CPI, 5.0)]
    found = training([*runs, *other], "web", PEAK)
    assert found.degradation.tolist() == training(runs, "web", PEAK).degradation.tolist()
    assert isinstance(programs([*runs, *other])["cron"], Contradictory)


def test_an_ipc_that_is_called_a_cpi_is_noticed() -> None:
    runs = [
        replace(run, metric=Metric.CPI) if run.metric else run
        for run in made(np.random.default_rng(2), metric=Metric.IPC)
    ]
    with pytest.raises(Contradictory, match="ran faster beside others than alone"):
        training(runs, "web", PEAK)


def test_a_program_moves_no_more_than_the_memory_can() -> None:
    with pytest.raises(
        Contradictory, match=r"^web alone moved 1 GB/s, but the peak bandwidth of a chip's memory is 0\.5"
    ):
        training(made(np.random.default_rng(1)), "web", 0.5)
    with pytest.raises(
        Contradictory, match=r"^batch alone moved 3 GB/s, but the peak bandwidth of a chip's memory is 2\.4"
    ):
        training(made(np.random.default_rng(1)), "web", 2.4)
    others = [Run("feed", ("web",), Metric.CPI, 1.0 + at / 30) for at in range(9)]
    found = training([*made(np.random.default_rng(1)), alone("feed"), *others], "feed", 2.4)
    assert len(found.degradation) == 9
    with pytest.raises(NotANumber):
        training(made(np.random.default_rng(1)), "web", np.nan)


@pytest.mark.parametrize(
    "figures",
    [
        {"metric": Metric.CPI},
        {"value": 1.0},
        {"beside": ("a",)},
        {"beside": ("a",), "metric": Metric.CPI, "value": 1.0, "lines": 1.0},
        {"beside": ("a",), "metric": Metric.CPI, "value": 1.0, "cores": 1.0},
        {"lines": 1.0},
        {"lines": 1.0, "gigabytes": 1.0},
    ],
)
def test_a_run_has_the_figures_of_its_kind(figures: dict[str, Any]) -> None:
    with pytest.raises(BadShape):
        Run("web", **figures)


@given(
    st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0]),
    st.sampled_from(["value", "lines", "gigabytes", "cores"]),
)
def test_what_is_no_figure_is_no_run(odd: float, where: str) -> None:
    good: dict[str, Any] = {"metric": Metric.CPI, "value": 1.0, "lines": 1.0, "gigabytes": 1.0, "cores": 1.0}
    if odd == 0 and where in {"lines", "gigabytes"}:
        Run("web", **good | {where: odd})
        return
    with pytest.raises(NotANumber):
        Run("web", **good | {where: odd})


slower = st.floats(1.0, 1.4).map(lambda value: round(value, 6))


@given(st.lists(slower, min_size=1, max_size=12), st.floats(0.7, 1.0))
def test_degradation_is_that_of_times_whatever_the_metric(values: list[float], solo: float) -> None:
    """1/IPC and CPI are one figure: any file has the same answer in both."""

    def told(metric: Metric) -> list[float] | str:
        def of(value: float) -> float:
            return 1 / value if metric is Metric.IPC else value

        mixes = [Run("web", ("feed",) * (1 + at % 3), metric, of(value)) for at, value in enumerate(values)]
        runs = [alone("web", metric, of(solo)), alone("feed", None, None), *mixes]
        try:
            return [round(each, 9) for each in training(runs, "web", PEAK).degradation.tolist()]
        except NotEstimable as error:
            return error.reason

    cpi, ipc = told(Metric.CPI), told(Metric.IPC)
    if isinstance(cpi, str):
        assert ipc == cpi
    else:
        assert ipc == pytest.approx(cpi, abs=1e-8)
