"""GIVEN what the benchmark simulates WHEN models are held against it THEN the bars are met with fewer of everything, too."""

import numpy as np

from benchmarks.models import counted_runs, interference
from benchmarks.models.shared_chip import made


def test_counters_of_one_run_foretell_the_rest() -> None:
    found = counted_runs.measure(40, seed=3)
    assert found.noise.mean() < found.model.mean() < 0.03 < found.naive.mean()


def test_a_chips_programs_suffer_from_each_other() -> None:
    chip = made(np.random.default_rng(0), 12)
    alone = chip.degradation(np.array([3]))
    pair, crowd = chip.degradation(np.array([3, 7])), chip.degradation(np.array([3, 7, 9, 11]))
    assert abs(alone[0]) < 1e-3
    assert 0 < pair[0] < crowd[0]


def test_unseen_mixes_are_not_among_the_trained() -> None:
    """Some were, by chance."""
    random = np.random.default_rng(1)
    trained = interference.random_mixes(random, 3, 120)
    seen = {frozenset(mix) for mix in trained.tolist()}
    unseen = interference.random_mixes(random, 3, 2_000, besides=trained)
    assert not seen & {frozenset(mix) for mix in unseen.tolist()}
    assert (unseen[:, 0] == 3).all()
