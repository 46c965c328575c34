"""Two days of a fleet in which one function's share may change for a reason that is known."""

from collections.abc import Callable

import numpy as np

from analysis.movers.function_parts import Parts

DIMENSIONS = ("version", "compiler", "kernel", "platform", "datacenter")
Share = Callable[[dict[str, np.ndarray]], np.ndarray]


def day(
    rng: np.random.Generator, number: int, share: Share, *, visits: int = 150, **rolled_out: float
) -> Parts:
    """Visits of machines in 3 datacenters × 2 platforms; `rolled_out`: part of a dimension's work that has value 1.

    A visit brings two applications of versions of their own; a machine has one kernel.
    """
    stratum = rng.integers(0, 6, visits)
    visit = np.repeat(np.arange(visits), 2)
    drawn = {
        "version": rng.random(2 * visits) < rolled_out.get("version", 0),
        "compiler": rng.random(2 * visits) < rolled_out.get("compiler", 0),
        "kernel": (rng.random(visits) < rolled_out.get("kernel", 0.3))[visit],
    }
    if "together" in rolled_out:
        drawn["version"] = drawn["compiler"] = rng.random(2 * visits) < rolled_out["together"]
    values = {name: column.astype(np.int64) for name, column in drawn.items()}
    values |= {"platform": stratum[visit] % 2, "datacenter": stratum[visit] // 2}
    x = rng.gamma(2, 500, 2 * visits)
    wanted = share(values) * rng.gamma(20, 1 / 20, 2 * visits)
    return Parts(
        key=number * 10_000 + np.arange(visits),
        stratum=stratum,
        weight=np.ones(visits),
        visit=visit,
        values=np.column_stack([values[name] for name in DIMENSIONS]),
        y=rng.binomial(x.astype(np.int64), wanted.clip(0, 1)).astype(float),
        x=np.floor(x),
    )


def flat(values: dict[str, np.ndarray]) -> np.ndarray:
    """The same share everywhere."""
    return np.full(len(values["version"]), 0.05)
