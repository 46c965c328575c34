"""Frequency model of runs timed at several frequencies: T = A/f + B, or T = A/f + B + C/f_mem (extends DIGEST D1).

A time is that of a run, a request, or any other work that is the same at every frequency. Runs at one memory
frequency determine A and B. Runs at several also determine C; B is then independent of both frequencies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.relative_fit import RelativeFit, relative_fit
from analysis.dvfs.terms import Terms
from analysis.errors import Constant, Contradictory, NotEstimable, Unbounded, Unreachable
from analysis.input_checks import enough, positive, positives, same_length, varied
from analysis.measured import Measured

LIMITS = (
    (
        "The model assumes the same work at every frequency: same input, same version, and little else "
        "on the machine."
    ),
    (
        "All time that does not scale with the clock counts as waiting: memory, disks, networks and "
        "other programs are not distinguished."
    ),
    (
        "With as many settings as terms, the fit has no residual to check the model; time it at one more "
        "frequency."
    ),
)
"""Limitations, shown with every prediction."""
FITTED_MEMORY = (
    (
        "Memory time is fitted as cycles of the memory's clock; delays in whole cycles follow the clock "
        "in steps, not evenly."
    ),
)
"""Additional limitations if the memory frequency varied."""
_WHY_NEGATIVE = (
    "Time rises with the frequency: the runs were not the same work, or did not run at these frequencies.",
    "Time falls by more than the frequency rises: the memory got faster too, or the runs were not the same work.",
    "Time rises with the memory's frequency: the runs were not the same work.",
)


@dataclass(frozen=True, slots=True)
class Setting:
    """Runs at one core frequency, and at one memory frequency if it varies."""

    hertz: float
    memory_hz: float | None
    runs: int
    seconds: float
    """Mean of these runs."""
    fitted: float
    held_out: float | None
    """Relative error of the prediction of this setting by all others; None: too few others."""
    naive: float | None
    """The same if all time were on the chip."""


@dataclass(frozen=True, slots=True)
class TimedRuns:
    """The fit and predictions from it. Frequencies in Hz, times in s."""

    settings: tuple[Setting, ...]
    """By frequency."""
    observations: int
    spread: float
    """Relative standard deviation of times around the fit; NaN without degrees of freedom; intervals are then open."""
    clipped: bool
    """A, B or C was negative within its uncertainty, and is set to 0."""
    memory_hz: float | None
    """The memory frequency of all runs, if known and constant."""
    _terms: Terms
    """Coefficients of scale/f, 1 and memory scale/f_mem, in s; the last only if the memory frequency varied."""
    _scale: float
    _memory_scale: float | None

    @property
    def knows_memory(self) -> bool:
        """Whether the memory frequency varied, so that its effect was measured."""
        return self._memory_scale is not None

    @property
    def on_chip_cycles(self) -> Measured:
        """A: core cycles."""
        return self._coefficient(0, self._scale)

    @property
    def fixed_s(self) -> Measured:
        """B: seconds that do not depend on a frequency that varied."""
        return self._coefficient(1, 1.0)

    @property
    def memory_cycles(self) -> Measured | None:
        """C: memory cycles."""
        return None if self._memory_scale is None else self._coefficient(2, self._memory_scale)

    def base(self) -> Setting:
        """The fastest setting, the default base of comparisons."""
        return max(self.settings, key=lambda each: (each.hertz, each.memory_hz or 0.0))

    def time(self, hertz: float, memory: MemoryChange | None = None) -> Measured:
        """Seconds that another run takes, with a prediction interval for one run.

        `memory` is another memory frequency, with its fitted or else its assumed effect; None: as measured, or the
        fastest.
        """
        row = self._row(hertz, memory)
        mean = self._terms.of(row)
        # A prediction interval combines the spread of one run with the uncertainty of the mean.
        own = Terms(np.array([mean.value]), np.array([[(self.spread * mean.value) ** 2]]), self._terms.df)
        half = float(np.hypot(mean.hi - mean.value, own.of([1.0]).hi - mean.value))
        return Measured(mean.value, max(mean.value - half, 0.0), mean.value + half)

    def slowdown(self, hertz: float, base_hz: float, memory: MemoryChange | None = None) -> Measured:
        """Time relative to the base frequency and the memory of `base`, time ratio − 1."""
        found = self._terms.ratio(self._row(hertz, memory), self._row(base_hz, None))
        return Measured(found.value - 1, max(found.lo, 0.0) - 1, found.hi - 1)

    def off_chip_share(self, base_hz: float) -> Measured:
        """Share of the time at the base frequency that does not depend on the core clock, 0…1."""
        row = self._row(base_hz, None)
        waits = row.copy()
        waits[0] = 0.0
        found = self._terms.ratio(waits, row)
        return Measured(found.value, max(found.lo, 0.0), min(found.hi, 1.0))

    def lowest_frequency(
        self, performance: float, base_hz: float, memory: MemoryChange | None = None
    ) -> Measured:
        """Lowest frequency in Hz with performance P relative to the base: f = A/(T0/P − W), W waiting time (DIGEST D7).

        `hi` is ∞ if the upper end is unbounded. Raises Unreachable if no frequency suffices, and Unbounded if
        nothing is on the chip, so that any frequency does.
        """
        wanted = self._row(base_hz, None) / positive("target performance", performance)
        waits = self._row(base_hz, memory)
        waits[0] = 0.0
        left = float((wanted - waits) @ self._terms.value)
        if self._terms.value[0] == 0 and left >= 0:
            raise Unbounded(
                f"Any frequency keeps {performance:.1%} of the performance: no time depends on the "
                "cores' clock."
            )
        if left <= 0:
            raise Unreachable(
                f"No frequency makes it {performance:g} times as fast: waiting takes "
                f"{float(waits @ self._terms.value):.4g} s, and "
                f"{float(wanted @ self._terms.value):.4g} s are allowed."
            )
        on_chip = np.zeros(len(waits))
        on_chip[0] = self._scale
        # The ratio is inverted because cycles on the chip are better known than the rest of the allowed time.
        inverse = self._terms.ratio(wanted - waits, on_chip)
        return Measured(1 / inverse.value, 1 / inverse.hi, 1 / inverse.lo if inverse.lo > 0 else np.inf)

    def _coefficient(self, place: int, scale: float) -> Measured:
        found = self._terms.of(np.eye(len(self._terms.value))[place])
        return Measured(found.value * scale, max(found.lo, 0.0) * scale, found.hi * scale)

    def _row(self, hertz: float, memory: MemoryChange | None) -> Float:
        cores = self._scale / positive("frequency in Hz", hertz)
        if self._memory_scale is None:
            return np.array([cores, 1.0 if memory is None else memory.waiting])
        at = self.base().memory_hz if memory is None else memory.target_hz
        return np.array([cores, 1.0, self._memory_scale / (at or np.nan)])


def from_runs(hertz: ArrayLike, seconds: ArrayLike, memory_hz: ArrayLike | None = None) -> TimedRuns:
    """Fit to runs, with a frequency and a time each, and the memory frequency if known.

    Raises InsufficientData below two runs, or three if the memory frequency varies, Constant if a frequency does not
    vary or the two vary only together, NotANumber, BadShape, and Contradictory if A, B or C is negative beyond its
    uncertainty.
    """
    core, time = positives("frequency in Hz", hertz), positives("seconds", seconds)
    memory = None if memory_hz is None else positives("memory frequency in Hz", memory_hz)
    same_length("Frequencies and times of runs", core, time, *(() if memory is None else (memory,)))
    enough("runs", len(time), 2)
    varied("frequencies of the cores", core)
    varies = memory is not None and float(np.ptp(memory)) > 1e-9 * float(memory.max())
    columns, scales = _columns(core, memory if varies else None)
    enough("runs", len(time), columns.shape[1])
    fit = _fit(columns, time)
    for column in fit.surely_negative():
        raise Contradictory(_WHY_NEGATIVE[column])
    # Coefficients clipped to 0 stay there; the covariance is that of the unclipped fit.
    spread = fit.spread if fit.df > 0 else 0.0
    return TimedRuns(
        settings=_settings(core, memory if varies else None, time, columns, fit),
        observations=len(time),
        spread=fit.spread,
        clipped=fit.clipped,
        memory_hz=None if memory is None or varies else float(memory[0]),
        _terms=Terms(fit.value, fit.inverse * spread**2, fit.df),
        _scale=scales[0],
        _memory_scale=scales[1] if varies else None,
    )


def _columns(core: Float, memory: Float | None) -> tuple[Float, tuple[float, float]]:
    """Columns scaled to about 1, and their scales."""
    scale = float(core.max())
    columns = [scale / core, np.ones(len(core))]
    if memory is None:
        return np.column_stack(columns), (scale, np.nan)
    return np.column_stack([*columns, memory.max() / memory]), (scale, float(memory.max()))


def _fit(columns: Float, time: Float) -> RelativeFit:
    if np.linalg.matrix_rank(columns, tol=1e-6) < columns.shape[1]:
        raise Constant(
            "There are fewer different frequencies than terms of the model, or both frequencies "
            "changed together, so their effects cannot be separated."
        )
    return relative_fit(columns, time)


def _settings(
    core: Float, memory: Float | None, time: Float, columns: Float, fit: RelativeFit
) -> tuple[Setting, ...]:
    both = np.stack([core, np.zeros(len(core)) if memory is None else memory], axis=1)
    different, which = np.unique(both, axis=0, return_inverse=True)
    found = []
    for place, (at, at_memory) in enumerate(different.tolist()):
        here = which.reshape(-1) == place
        mean = float(time[here].mean())
        model, naive = _held_out(columns, time, here)
        found.append(
            Setting(
                hertz=at,
                memory_hz=None if memory is None else at_memory,
                runs=int(here.sum()),
                seconds=mean,
                fitted=float(columns[here][0] @ fit.value),
                held_out=None if model is None else model / mean - 1,
                naive=None if naive is None else naive / mean - 1,
            )
        )
    return tuple(found)


def _held_out(
    columns: Float, time: Float, here: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> tuple[float | None, float | None]:
    """Seconds of a setting predicted by all others: by the model, and if all time were on the chip."""
    others, row = ~here, columns[here][0]
    try:
        enough("runs", int(others.sum()), columns.shape[1])
        model = _fit(columns[others], time[others])
    except NotEstimable:
        return None, None
    naive = relative_fit(columns[others][:, :1], time[others])
    return float(row @ model.value), float(row[0] * naive.value[0])
