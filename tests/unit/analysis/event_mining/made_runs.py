"""Runs of a program in which a few events decide the IPC and the others are noise."""

import numpy as np

from analysis.event_mining.fusion import Run

PLANTED = ("branch_misses", "l2_lines_in", "stall_frontend")


def runs(
    rng: np.random.Generator, count: int = 30, irrelevant: int = 20, slots: int = 7, length: int = 40
) -> list[Run]:
    """Each run counts `slots` of all events for about `length` seconds; its IPC depends on all the planted ones."""
    names = [*PLANTED, *(f"noise_{number:02}" for number in range(irrelevant))]
    made = []
    for _ in range(count):
        seconds = int(rng.integers(length // 2, 3 * length // 2))
        values = rng.gamma(2, 1e6, (seconds, len(names)))
        a, b, c = (values[:, place] / 2e6 for place in range(3))
        ipc = 2.5 / (1 + 0.7 * a + 0.5 * b**1.5 + 0.7 * c) * rng.normal(1, 0.02, seconds).clip(0.9)
        seen = rng.choice(len(names), slots, replace=False)
        made.append(Run(tuple(names[place] for place in seen), values[:, seen], ipc))
    return made
