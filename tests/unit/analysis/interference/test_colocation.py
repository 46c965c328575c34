"""GIVEN a fleet's visits WHEN a target is trained by them THEN it is as if experiments had been made."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import BadShape, InsufficientData, NotANumber
from analysis.interference.advisor import Tenant, place
from analysis.interference.colocation import Chips, alone, training
from analysis.interference.pieces import of_peak
from analysis.interference.target import fit_target

LINES = np.array([4.0, 20.0, 60.0, 150.0])
GIGABYTES = np.array([0.5, 1.5, 3.0, 6.0])
CPI = np.array([0.8, 1.1, 1.5, 2.0])
PEAK = 40.0


def slower(lines: np.ndarray, gigabytes: np.ndarray) -> np.ndarray:
    """True PD of every application at a total pressure."""
    return np.asarray(0.0004 * lines + 0.006 * gigabytes)


def made(rng: np.random.Generator, chips: int = 600, unknown: float = 0.0) -> Chips:
    """Chips with one to four applications, one to three cores each; every fifth has one application alone."""
    chip, application, cores = [], [], []
    for number in range(chips):
        count = 1 if number % 5 == 0 else int(rng.integers(2, 5))
        for chosen in rng.permutation(4)[:count]:
            chip.append(number)
            application.append(chosen)
            cores.append(rng.uniform(1, 3))
        if rng.random() < unknown:
            chip.append(number)
            application.append(9)
            cores.append(2.0)
    chip, application, cores = np.array(chip), np.array(application), np.array(cores)
    there = application < 4
    of = np.where(there, application, 0)
    lines, gigabytes = (
        np.bincount(chip, weights=cores * values[of], minlength=chips) for values in (LINES, GIGABYTES)
    )
    # CPI alone is CPI under the application's own pressure; what neighbours add is what degrades.
    instructions = cores * 5e9 / CPI[of] * rng.normal(1, 0.01, len(chip))
    own = slower(cores * LINES[of], cores * GIGABYTES[of])
    cycles = instructions * CPI[of] * (1 + slower(lines[chip], gigabytes[chip]) - own)
    return Chips(
        seconds=np.full(chips, 5.0),
        lines=5 * lines,
        gigabytes=5 * gigabytes,
        chip=chip,
        application=application,
        cpu_seconds=5 * cores,
        cycles=cycles * rng.normal(1, 0.01, len(chip)),
        instructions=instructions,
    )


def test_solo_figures_are_those_of_chips_alone() -> None:
    chips = made(np.random.default_rng(0))
    for application in range(4):
        found = alone(chips, application)
        assert found.lines_per_cpu_s == pytest.approx(LINES[application])
        assert found.gigabytes_per_cpu_s == pytest.approx(GIGABYTES[application])
        assert found.cpi == pytest.approx(CPI[application], rel=0.02)
        assert found.visits >= 8


def test_visits_train_a_target() -> None:
    chips = made(np.random.default_rng(1))
    solos = {application: alone(chips, application) for application in range(4)}
    found = training(chips, 1, solos)
    assert found.left_out == 0
    beside = chips.chip[(chips.application == 1) & (chips.share < 0.95)]
    assert found.mixes.cache == pytest.approx((chips.lines / 5)[beside])
    assert found.typical.cache == pytest.approx(2 * LINES[1], rel=0.05)
    assert found.own.cache == pytest.approx(LINES[1], rel=0.05)
    target = fit_target(found.own, found.mixes, found.degradation, of_peak(PEAK))
    assert target.error < target.baseline_error / 2
    # With two cores of its own beside one core of the last application and one and a half of the third.
    beside = np.array([[1.5, 1.0] @ values[2:] for values in (LINES, GIGABYTES)])
    expected = slower(*beside)
    assert target.value(2 * LINES[1] + beside[0], 2 * GIGABYTES[1] + beside[1]) == pytest.approx(
        expected, abs=0.02
    )


def test_visits_with_strangers_are_left_out() -> None:
    chips = made(np.random.default_rng(2), unknown=0.3)
    solos = {application: alone(chips, application) for application in range(4)}
    found = training(chips, 1, solos)
    seen = int(((chips.application == 1) & (chips.share < 0.95)).sum())
    strangers = np.isin(chips.chip[chips.application == 1], chips.chip[chips.application == 9])
    assert found.left_out == strangers.sum() > 0
    assert len(found.degradation) == seen - found.left_out


def test_a_program_is_placed_by_its_typical_pressure() -> None:
    """Seen: two programs of 4 busy cores, once of 0.2, were put together at a limit of 5 %; they run 12.8 % longer."""
    rng = np.random.default_rng(5)
    cores = np.column_stack([rng.choice([0.2, 3, 4, 5], 170), rng.choice([0.2, 3, 4, 5], 170)])
    cores[:20], cores[20:40] = (4, 0), (0, 4)
    chip, application = np.nonzero(cores)
    busy, gigabytes = cores[chip, application], 0.8 * cores.sum(axis=1)
    slow = 0.04 * (gigabytes[chip] - 0.8 * busy)
    chips = Chips(
        seconds=np.full(170, 10.0),
        lines=125 * gigabytes,
        gigabytes=10 * gigabytes,
        chip=chip,
        application=application,
        cpu_seconds=10 * busy,
        cycles=1e10 * busy * (1 + slow) * rng.normal(1, 0.005, len(busy)),
        instructions=1e10 * busy,
    )
    solos = {application: alone(chips, application) for application in (0, 1)}
    seen = [training(chips, application, solos) for application in (0, 1)]
    tenants = [
        Tenant(fit_target(one.own, one.mixes, one.degradation, of_peak(12.8), typical=one.typical), 0.05)
        for one in seen
    ]
    together = place(tenants, 1, 2)
    assert together.unmet == (0, 1)
    assert together.degradation == pytest.approx((0.1, 0.1), abs=0.04)
    assert place(tenants, 2, 2).unmet == ()


def test_what_cannot_be_said() -> None:
    chips = made(np.random.default_rng(3), chips=20)
    with pytest.raises(InsufficientData):
        alone(chips, 1)
    with pytest.raises(InsufficientData):
        training(chips, 1, {})
    with pytest.raises(InsufficientData):
        training(chips, 7, {7: alone(made(np.random.default_rng(4)), 1)})
    for change, error in (
        ({"cycles": chips.cycles * np.nan}, NotANumber),
        ({"seconds": chips.seconds * 0}, NotANumber),
        ({"lines": -chips.lines}, NotANumber),
        ({"chip": chips.chip + 100}, BadShape),
        ({"lines": chips.lines[:3]}, BadShape),
        ({"cycles": chips.cycles[:3]}, BadShape),
    ):
        with pytest.raises(error):
            replace(chips, **change)
