"""The frequency model from the counters of one run at one frequency (DIGEST D1, D2).

    T(f) = I·r·t_off + I·(1 − r)·CPI_on/f        r = n/I
    CPI_on = (T0 − I·r·t_off) / (I·(1 − r)/f0)

with I retired instructions, n of them loads that missed the last-level cache, and t_off the platform's mean memory
latency. `visit_sums` sums a fleet's visits in the same way: each has (T − n·t_off)·f cycles on the chip, whatever its
f.
"""

from dataclasses import dataclass

from analysis.dvfs.frequency_model import FrequencyModel
from analysis.errors import Contradictory
from analysis.input_checks import number, positive


@dataclass(frozen=True, slots=True)
class OneRun:
    """The model and ratios of one run's counters."""

    model: FrequencyModel
    miss_share: float
    """r: last-level cache misses per instruction, 0…1."""
    cpi_on_chip: float
    """Cycles per instruction that stays on the chip."""


def from_counters(
    instructions: float, misses: float, seconds: float, hertz: float, latency_s: float
) -> OneRun:
    """The model of a run of `seconds` at `hertz`; `latency_s` is t_off.

    Raises NotANumber, and Contradictory if there are more misses than instructions, or if the misses alone would take
    longer than the run: its misses overlap, and the serial model does not hold.
    """
    count = positive("instructions", instructions)
    missed = number("misses of the last cache", misses, 0)
    time, frequency = positive("seconds", seconds), positive("frequency in Hz", hertz)
    latency = positive("memory latency in s", latency_s)
    if missed >= count:
        raise Contradictory(
            f"{missed:g} of {count:g} instructions missed the last cache: one of the two was not counted."
        )
    off = missed * latency
    if off >= time:
        raise Contradictory(
            f"{missed:g} misses of {latency * 1000000000.0:.0f} ns one after another take {off:.3g} "
            f"s, but the run took {time:.3g} s: the misses overlap, or the latency is not this "
            "platform's."
        )
    on = (time - off) * frequency
    return OneRun(FrequencyModel(on, off), missed / count, on / (count - missed))
