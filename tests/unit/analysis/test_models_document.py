"""GIVEN the examples of docs/models.md WHEN they are computed again THEN the document says what comes out."""

from pathlib import Path

import numpy as np
import pytest

from analysis.audits.feature import Touched
from analysis.cross_check import core_seconds
from analysis.dvfs.frequency_model import naive
from analysis.dvfs.one_run import from_counters
from analysis.dvfs.timed_runs import from_runs
from analysis.interference.component_regression import Plane
from analysis.measured import Measured, given
from analysis.movers.decomposition import decompose
from analysis.placement.affinity import assign
from analysis.smt.apu import apu
from analysis.smt.machine import of_cpus
from analysis.smt.overlap import from_throughput
from analysis.smt.states import from_utilisation
from analysis.stability import Badge, judge
from tests.unit.analysis.dvfs.published import BASE, GHZ, MCF, POVRAY
from tests.unit.analysis.placement.test_affinity import TABLE_1
from tests.unit.analysis.test_ratios import of_dense
from tests.unit.analysis.test_stability import fit

TEXT = " ".join((Path(__file__).parents[3] / "docs/models.md").read_text().split())


def said(sentence: str) -> bool:
    return sentence in TEXT


def test_ratios() -> None:
    cycles, instructions = np.array([[10.0], [4000.0]]), np.array([[20.0], [1000.0]])
    ratio, mean = of_dense(cycles, instructions).value[0], (cycles / instructions).mean()
    assert said(f"have a CPI of {ratio:.2f}, not of {mean:.2f}")
    assert said(f"are {core_seconds(4000, 1e7, 0.01, 2e9):,.0f} core-seconds".replace(",", " "))


def test_the_badge() -> None:
    found = judge(fit(30), 20_000)
    assert found.badge is Badge.FAIR
    assert found.misplaced is not None
    assert said(
        f"20 000 samples misplace {100 * found.misplaced.value:.1f} %, at most {100 * found.misplaced.hi:.1f} %"
    )


def test_a_roll_out() -> None:
    now, before = np.array([[60.0, 40.0]]), np.array([[95.0, 5.0]])
    share = np.array([0.06, 0.15])
    found = decompose(now * share, now, before * share, before)
    assert found.mix.sum() == pytest.approx(found.delta[0])
    was, is_ = 100 * (before @ share)[0] / 100, 100 * (now @ share)[0] / 100
    assert said(
        f"`parse` goes from {was:.2f} to {is_:.2f} % of the whole, by {100 * found.delta[0]:.2f} points"
    )


def test_affinity() -> None:
    found = assign(TABLE_1)
    assert said(f"Today costs {found.present:.0f} cycles, the plan {found.cycles:.0f}.")


def test_two_threads() -> None:
    assert said(
        f"2 499 904 operations on one thread and 2 274 404 on both are {from_throughput(2_499_904, 2_274_404).coefficient:.3f}"
    )
    first, second = (apu(from_utilisation(*pair), 1.4)[0] for pair in ((1.0, 0.2), (0.5, 0.5)))
    machine = of_cpus(np.array([0, 0, 1, 1]), [1.0, 0.2, 0.5, 0.5], 1.4)
    assert said(f"0.8 · 0.7 + 0.2 = {first:.2f}")
    assert said(f"0.5 · 0.7 + 0.25 = {second:.2f}")
    assert said(f"Utilisation is {machine.utilisation:.2f}")
    assert said(f"The machine's APU is {machine.apu:.2f}")
    assert said(f"any thread busy, {machine.thread_any:.3f}, is full too early")
    assert said(f"mean utilisation alone gives {machine.simplified:.3f}")
    assert said(f"one with two at {apu(from_utilisation(1, 1), 2.198)[0]:.3f} (OC 2.198)")


def test_frequency() -> None:
    model = from_counters(**MCF).model
    assert said(f"B = {model.off_chip_s:.1f} s, A = {model.on_chip_cycles / GHZ:.1f} s·GHz")
    assert said(f"At 2.0 GHz it is {model.performance(2 * GHZ, BASE):.3f} times as fast")
    assert said(f"(the naive model: {naive(2 * GHZ, BASE):.3f};")
    assert said(f"at 1.0 GHz it takes {100 * model.slowdown(1 * GHZ, BASE):.1f} % longer")
    assert said(f"90 % of its speed needs {model.lowest_frequency(0.9, BASE) / GHZ:.3f} GHz")
    assert said(f"more than {model.best_performance(BASE):.2f} times as fast")
    _, a, b = POVRAY
    assert said(f"but a/1.2 + b is {a / 1.2 + b:.2f}")


def test_interference_and_features() -> None:
    assert said(f"it runs {100 * Plane(0.363, 0.039, 0.059).at(-1, 2):.1f} % longer")
    saved = Touched(given(0.3), low_confidence=False, visits=9).saved(3)
    assert saved == Measured(*[pytest.approx(0.2)] * 3)
    assert said("30 % made three times as fast save 20 %")


def test_timed_runs() -> None:
    runs = from_runs(np.array([1200, 1800, 2400]) * 1e6, [18.3, 12.9, 10.1])
    assert said(f"A = {runs.on_chip_cycles.value / GHZ:.1f} s·GHz, B = {runs.fixed_s.value:.1f} s")
    assert said(f"{100 * runs.off_chip_share(2.4e9).value:.1f} % of the time at 2400 MHz waits")
    model, plain = (
        np.mean([abs(getattr(each, how)) for each in runs.settings]) for how in ("held_out", "naive")
    )
    assert said(f"here {100 * model:.1f} % off on average, naive {100 * plain:.1f}")
