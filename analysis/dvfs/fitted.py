"""The model from times at several frequencies, where nobody can read counters: T = A/f + B (beyond DIGEST D1).

Two frequencies determine it; more of them, or repeated runs, also say how well it holds. Runs are fitted by their relative errors,
as a run's time repeats to a share of itself. A and B cannot be negative: where B would be, as time fell by more
than the frequency rose, it is 0 and `clipped` says so.

Optionally the memory's frequency is a second variable: T = A/f + B + C/f_mem, where B no longer depends on either.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from analysis.arrays import Float
from analysis.dvfs.frequency_model import FrequencyModel
from analysis.errors import Constant, Contradictory
from analysis.evidence import enough, positive, positives, same_length, varied

_NOISE = 0.02
"""Time may rise with the frequency by this much before it contradicts the model: runs repeat to about a percent."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A frequency model and how well it holds."""

    model: FrequencyModel
    observations: int
    frequencies: int
    """Different ones."""
    spread: float
    """Standard deviation of the observed times around the model, relative; NaN where none is left over to say."""
    clipped: bool
    """B is 0 because it would have been negative: memory got faster too, or the runs are noisy."""
    _inverse: Float
    """Of the design's square, of scale/f and 1; (2, 2)."""
    _scale: float
    """Hz."""
    _df: int

    def relative_half_width(self, hertz: ArrayLike, level: float = 0.95) -> Float:
        """Half of the interval that holds another run's time, relative to the prediction; NaN where `spread` is."""
        frequency = positives("frequency in Hz", hertz)
        if self._df < 1:
            return np.full(frequency.shape, np.nan)
        row = (
            np.stack([self._scale / frequency, np.ones_like(frequency)], axis=-1)
            / self.model.time(frequency)[..., None]
        )
        variance = 1 + np.einsum("...i,ij,...j->...", row, self._inverse, row)
        return np.asarray(float(special.stdtrit(self._df, (1 + level) / 2)) * self.spread * np.sqrt(variance))


def from_times(hertz: ArrayLike, seconds: ArrayLike) -> Fitted:
    """The fit to runs' times, one frequency and one time each.

    Raises TooLittle below two runs, Constant with one frequency, NotANumber, BadShape, and Contradictory where the time rises
    with the frequency.
    """
    frequency, time = positives("frequency in Hz", hertz), positives("seconds", seconds)
    same_length("Frequency and time of runs", frequency, time)
    enough("runs", len(time), 2)
    varied("frequencies", frequency)
    slow, fast = (time[frequency == end].mean() for end in (frequency.min(), frequency.max()))
    if fast > slow * (1 + _NOISE):
        raise Contradictory(
            f"The run took {slow:.4g} s at the lowest and {fast:.4g} s at the highest frequency: they were not the same work."
        )
    scale = float(frequency.max())
    design = np.column_stack([scale / frequency, np.ones(len(time))]) / time[:, None]
    (on, off), _ = optimize.nnls(design, np.ones(len(time)))
    residuals = 1 - design @ np.array([on, off])
    df = len(time) - 2
    # Of the design in units in which both terms are near 1, and not of its square. In Hz, 1e-9 beside 1, the term of the frequency
    # was dropped as rounding, and intervals outside of the frequencies fitted were too narrow.
    half = np.linalg.pinv(design)
    inverse = half @ half.T
    return Fitted(
        model=FrequencyModel(float(on) * scale, float(off)),
        observations=len(time),
        frequencies=len(np.unique(frequency)),
        spread=float(np.sqrt(residuals @ residuals / df)) if df > 0 else np.nan,
        clipped=off == 0,
        _inverse=inverse,
        _scale=scale,
        _df=df,
    )


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """T = A/f + B + C/f_mem."""

    on_chip_cycles: float
    fixed_s: float
    memory_cycles: float
    """C: cycles of the memory's clock."""

    def time(self, hertz: ArrayLike, memory_hz: ArrayLike) -> Float:
        """Seconds at these frequencies of the cores and of the memory."""
        cores = self.on_chip_cycles / positives("frequency in Hz", hertz)
        return np.asarray(
            cores + self.fixed_s + self.memory_cycles / positives("memory frequency in Hz", memory_hz)
        )

    def at_memory(self, memory_hz: float) -> FrequencyModel:
        """The model of the cores' frequency with the memory's fixed."""
        waiting = self.fixed_s + self.memory_cycles / positive("memory frequency in Hz", memory_hz)
        return FrequencyModel(self.on_chip_cycles, waiting)


def from_times_of_both(hertz: ArrayLike, memory_hz: ArrayLike, seconds: ArrayLike) -> MemoryModel:
    """The fit to runs at several frequencies of the cores and of the memory.

    Raises TooLittle below three runs, Constant where one of the two frequencies does not vary apart from the other, NotANumber,
    BadShape.
    """
    core, memory, time = (
        positives(what, values)
        for what, values in (
            ("frequency in Hz", hertz),
            ("memory frequency in Hz", memory_hz),
            ("seconds", seconds),
        )
    )
    same_length("Frequencies and times of runs", core, memory, time)
    enough("runs", len(time), 3)
    varied("frequencies of the cores", core)
    varied("frequencies of the memory", memory)
    scales = np.array([core.max(), 1.0, memory.max()])
    design = np.column_stack([scales[0] / core, np.ones(len(time)), scales[2] / memory]) / time[:, None]
    if np.linalg.matrix_rank(design * time[:, None], tol=1e-6) < 3:
        raise Constant("The two frequencies changed together: nothing tells their effects apart.")
    found, _ = optimize.nnls(design, np.ones(len(time)))
    on, fixed, waiting = (found * scales).tolist()
    return MemoryModel(on, fixed, waiting)
