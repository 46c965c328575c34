"""Finds the configuration parameter that moves the events which determine a program's time (DIGEST M7).

Time is fitted on the top events joined with the parameters. The coupling of a parameter to an event is the dependence
of the event's values on the parameter, times the event's importance for the time; the parameter of the tightest pair is
the one to tune. The paper does not specify its measure of dependence. Here it is epsilon squared of Kruskal and Wallis:
the share of the variance of ranks between settings of the parameter, 0…1, which also detects settings that are best in
the middle, and nominal settings. A sample with an unknown parameter is left out for this parameter only.
Source: Kruskal and Wallis, Journal of the American Statistical Association 47 (1952); Kelley, PNAS 21 (1935).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from analysis.arrays import Float, Int
from analysis.errors import BadShape
from analysis.event_mining.boosted_trees import grow
from analysis.false_discovery import FALSE_DISCOVERIES, benjamini_hochberg
from analysis.input_checks import enough, numbers, positives

MOST_EVENTS = 10
_SETTINGS = 6
"""Number of groups that a numeric parameter with many values is cut into, at equal counts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An event and a parameter."""

    event: str
    parameter: str
    coupling: float
    """Dependence × importance of the event, 0…1."""
    dependence: float
    """Share of the variance of the event's ranks between settings, 0…1."""
    significant: bool
    """At most 5 % of the marked pairs are false."""


@dataclass(frozen=True, slots=True)
class Coupling:
    """All pairs, and the importance of events and parameters for the time."""

    pairs: tuple[Pair, ...]
    """Tightest first."""
    event_importance: dict[str, float]
    parameter_importance: dict[str, float]
    """Direct importance in the same model: small if a parameter acts through events in the model."""
    samples: int

    @property
    def tune(self) -> str | None:
        """The parameter of the tightest significant pair; None if there is none."""
        return next((pair.parameter for pair in self.pairs if pair.significant), None)


def couple(
    events: Mapping[str, ArrayLike], parameters: Mapping[str, ArrayLike], seconds: ArrayLike, *, seed: int
) -> Coupling:
    """Couplings of 1…10 events with parameters over N samples; parameters are numbers or codes, NaN if unknown.

    Raises InsufficientData below 50 samples, Constant if the time never varies, NotANumber, BadShape.
    """
    time = positives("execution time", seconds)
    enough("events", len(events), 1)
    enough("parameters", len(parameters), 1)
    if len(events) > MOST_EVENTS:
        raise BadShape(
            f"{len(events)} events exceed the limit of {MOST_EVENTS}: coupling uses the top of a ranking."
        )
    values = {name: numbers(f"event {name}", column) for name, column in events.items()}
    settings = {name: _partly_known(f"parameter {name}", column) for name, column in parameters.items()}
    if any(len(column) != len(time) for column in (*values.values(), *settings.values())):
        raise BadShape("Every sample needs a value of each event and of each parameter.")
    trees = grow(np.column_stack([*values.values(), *map(_filled, settings.values())]), time, seed)
    importance = dict(zip((*values, *settings), trees.importance.tolist(), strict=True))
    names = [(event, parameter) for event in values for parameter in settings]
    found = [dependence(values[event], settings[parameter]) for event, parameter in names]
    q = benjamini_hochberg(np.array([p for _, p in found]))
    pairs = [
        Pair(event, parameter, share * importance[event], share, bool(rate <= FALSE_DISCOVERIES))
        for (event, parameter), (share, _), rate in zip(names, found, q.tolist(), strict=True)
    ]
    return Coupling(
        pairs=tuple(sorted(pairs, key=lambda pair: (-pair.coupling, pair.event, pair.parameter))),
        event_importance={name: importance[name] for name in values},
        parameter_importance={name: importance[name] for name in settings},
        samples=len(time),
    )


def dependence(values: Float, parameter: Float) -> tuple[float, float]:
    """Epsilon squared of values between settings of a parameter, 0…1, and the p-value of independence; (N,) each.

    Over the samples whose parameter is not NaN. 0 and 1 if either does not vary.
    """
    known = ~np.isnan(parameter)
    values, setting = values[known], _settings(parameter[known])
    counts = np.bincount(setting)
    n, k = len(values), len(counts)
    ranks, ties = _ranks(values)
    untied = 1 - ties / (n**3 - n) if n > 1 else 0.0
    if k < 2 or n <= k or untied <= 0:
        return 0.0, 1.0
    sums = np.bincount(setting, weights=ranks)
    h = (12 / (n * (n + 1)) * float((sums**2 / counts).sum()) - 3 * (n + 1)) / untied
    return float(np.clip((h - k + 1) / (n - k), 0.0, 1.0)), float(special.chdtrc(k - 1, max(h, 0.0)))


def _partly_known(what: str, column: ArrayLike) -> Float:
    """The column as floats, finite or NaN, not all NaN. Raises NotANumber."""
    values = np.asarray(column, np.float64)
    known = values[~np.isnan(values)]
    numbers(what, known if len(known) else values)
    return values


def _filled(parameter: Float) -> Float:
    """Replace unknown values by the least informative one, the median: trees cannot skip a row for one column."""
    unknown = np.isnan(parameter)
    return np.where(unknown, np.median(parameter[~unknown]), parameter) if unknown.any() else parameter


def _settings(parameter: Float) -> Int:
    """The setting of each sample, 0, 1, …: its value, or its group of similar values if there are many."""
    distinct, place = np.unique(parameter, return_inverse=True)
    if len(distinct) > _SETTINGS:
        edges = np.quantile(parameter, np.arange(1, _SETTINGS) / _SETTINGS)
        _, place = np.unique(np.searchsorted(edges, parameter), return_inverse=True)
    return place.astype(np.int64)


def _ranks(values: Float) -> tuple[Float, float]:
    """Ranks from 1, averaged over ties, and Σ(t³ − t) over groups of t equal values."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place], float((counts.astype(np.float64) ** 3 - counts).sum())
