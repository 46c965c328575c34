"""A program's degradation at any pressure: piecewise linear in the total pressure on the chip (DIGEST I2-I4).

Every prediction comes with a baseline, the mean degradation of the training mixes, which is independent of pressure: a
model that is not better is useless.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float
from analysis.errors import Contradictory, InsufficientData, NotANumber, NotEstimable
from analysis.input_checks import enough, numbers, same_length
from analysis.interference.component_regression import PieceFit, fit_piece
from analysis.interference.pieces import NAMES, Cuts
from analysis.interference.pressure import Pressures
from analysis.measured import Measured


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted degradation."""

    degradation: Measured
    """PD, with the prediction interval of a single run of such a mix."""
    baseline: float
    """Mean PD of the training mixes."""
    piece: int
    """0 cache-bound, 1 both, 2 bandwidth-bound."""
    extrapolated: bool
    """The pressures are outside the range of this piece's training mixes."""


@dataclass(frozen=True, slots=True)
class Target:
    """A program with its degradation as a function of the total pressure."""

    own: Pressures
    """Minimum of its own pressure alone, one entry: a lower bound of totals."""
    typical: Pressures
    """Its mean pressure, one entry, equal to `own` if that was measured in one solo run; placements add these up.

    With the minimum, two programs that took 3.2 GB/s each counted as 0.16: a limit of 5 % seemed to hold, and they ran
    12.8 % longer."""
    cuts: Cuts
    pieces: tuple[PieceFit | NotEstimable, ...]
    """The function of each piece, or the reason why it has none."""
    baseline: float
    baseline_error: float
    """Mean absolute error of the baseline on the training mixes, in points of PD."""
    error: float
    """Mean absolute error of the model on the training mixes that its pieces cover; NaN if none does."""
    observations: int

    def predict(self, cache: float, bandwidth: float) -> Prediction:
        """The degradation at a *total* pressure, the target's own included.

        Raises NotANumber if the total is less than the target's own, and the piece's reason if it has no function.
        """
        pressure = np.array([cache, bandwidth])
        piece, found = self._piece(pressure)
        value, half = found.value(pressure), found.half_width(pressure)
        return Prediction(
            Measured(value, value - half, value + half), self.baseline, piece, not found.inside(pressure)
        )

    def value(self, cache: float, bandwidth: float) -> float:
        """The predicted PD alone; raises like `predict`."""
        pressure = np.array([cache, bandwidth])
        return self._piece(pressure)[1].value(pressure)

    def _piece(self, pressure: Float) -> tuple[int, PieceFit]:
        total, own = numbers("total pressure", pressure, 0), self.own.table[0]
        if (total < own * (1 - 1e-9)).any():
            raise NotANumber(
                "The total pressure on the chip includes the target's own pressure, but this total is less."
            )
        piece = int(self.cuts.piece(total[1:])[0])
        found = self.pieces[piece]
        if isinstance(found, PieceFit):
            return piece, found
        raise type(found)(f"The target has no function for a chip that is {NAMES[piece]}: {found}")


def fit_target(
    own: Pressures, mixes: Pressures, degradation: Float, cuts: Cuts, *, typical: Pressures | None = None
) -> Target:
    """Fit the functions of one target to its training mixes: total pressures and its PD in each.

    `typical` is its mean pressure, if `own` is the minimum of many visits (`colocation`); None: they are equal.

    A piece below the target's own bandwidth is impossible and has no function, and neither has one with too few mixes.
    Raises InsufficientData if no piece has one, NotANumber, BadShape, and Contradictory if the typical pressure is less
    than the minimum.
    """
    y = numbers("degradation", degradation)
    same_length("Mixes and degradations", mixes.cache, y)
    enough("targets", len(own.cache), 1)
    enough("training mixes", len(y), 1)
    mean = own if typical is None else typical
    enough("typical pressures of the target", len(mean.cache), 1)
    if (mean.table[0] < own.table[0] * (1 - 1e-9)).any():
        raise Contradictory("A target's typical pressure cannot be below its minimum.")
    piece = cuts.piece(mixes.bandwidth)
    table = mixes.table
    pieces = tuple(_fitted(table[piece == number], y[piece == number]) for number in range(len(NAMES)))
    if not any(isinstance(found, PieceFit) for found in pieces):
        raise InsufficientData(f"No piece has a function: {pieces[int(np.bincount(piece).argmax())]}")
    errors = [
        abs(found.value(row) - seen)
        for row, seen, found in zip(table, y.tolist(), (pieces[place] for place in piece), strict=True)
        if isinstance(found, PieceFit)
    ]
    return Target(
        own=own,
        typical=mean,
        cuts=cuts,
        pieces=pieces,
        baseline=float(y.mean()),
        baseline_error=float(np.abs(y - y.mean()).mean()),
        error=float(np.mean(errors)) if errors else np.nan,
        observations=len(y),
    )


def _fitted(pressure: Float, degradation: Float) -> PieceFit | NotEstimable:
    try:
        return fit_piece(pressure, degradation)
    except NotEstimable as because:
        return because
