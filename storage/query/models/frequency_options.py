"""The options of every query about frequencies: frequencies, performance and memory."""

from dataclasses import dataclass

from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.errors import NotEstimable
from analysis.measured import Measured
from storage.errors import BadSelection
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.slowdowns import Memory, Slowdown

MOST_FREQUENCIES = 50
_MOST_MHZ = 100_000
_STEPS = tuple(tenths / 10 for tenths in range(10, 4, -1))
"""Fractions of the base frequency that are used by default."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options that apply to every application. Raises `BadSelection` for values out of range."""

    base_mhz: float | None = None
    """Frequency that slowdowns refer to; None: the mean frequency of the measurements."""
    frequencies_mhz: tuple[float, ...] = ()
    """(): from the base frequency down to half of it."""
    performance: float = 0.9
    """Share of the performance at the base frequency that must be kept."""
    memory: MemoryChange | None = None
    """Another frequency of the memory; None: unchanged."""

    def __post_init__(self) -> None:
        mhz = [*self.frequencies_mhz, *([] if self.base_mhz is None else [self.base_mhz])]
        if any(not 1 <= each <= _MOST_MHZ for each in mhz):
            raise BadSelection(f"A frequency must be from 1 to {_MOST_MHZ} MHz.")
        if len(self.frequencies_mhz) > MOST_FREQUENCIES:
            raise BadSelection(f"The limit is {MOST_FREQUENCIES} frequencies.")
        if not 0 < self.performance <= 1:
            raise BadSelection(
                "The wanted performance must be a share of the performance at the base frequency, "
                "above 0, at most 1."
            )

    def grid(self, base_mhz: float) -> tuple[float, ...]:
        """The frequencies of the answer, in MHz."""
        return self.frequencies_mhz or tuple(base_mhz * step for step in _STEPS)

    def slowdowns(self, model: FleetSensitivity, base_mhz: float) -> tuple[Slowdown, ...]:
        """The slowdowns at the frequencies of the answer."""
        return tuple(
            Slowdown(
                mhz=mhz,
                slowdown=figure(model.slowdown(mhz * 1e6)),
                naive=base_mhz / mhz - 1,
                at_memory=None
                if self.memory is None
                else figure(model.slowdown(mhz * 1e6, self.memory.waiting)),
            )
            for mhz in self.grid(base_mhz)
        )

    def lowest(
        self, model: FleetSensitivity, waiting: float = 1.0
    ) -> tuple[Measured | None, Unavailable | None]:
        """Lowest frequency in MHz that keeps the performance, or the reason why there is none."""
        try:
            found = model.lowest_frequency(self.performance, waiting)
        except NotEstimable as error:
            return None, Unavailable(error.reason, str(error))
        return Measured(found.value / 1e6, found.lo / 1e6, found.hi / 1e6), None

    def lowest_at_memory(self, model: FleetSensitivity) -> tuple[Measured | None, Unavailable | None]:
        """The same with the requested frequency of the memory; (None, None) if none was requested."""
        return (None, None) if self.memory is None else self.lowest(model, self.memory.waiting)


USUAL = Wanted()
"""The default options."""


def memory_change(
    measured_mhz: float | None, target_mhz: float | None, part: float = 1.0
) -> MemoryChange | None:
    """The requested change of the memory's frequency; None: none was requested. Raises `BadSelection`.

    `part` is the share of the waiting time that depends on the memory's clock, 0…1.
    """
    for name, mhz in (("memory_mhz", measured_mhz), ("memory_target_mhz", target_mhz)):
        if mhz is not None and not 1 <= mhz <= _MOST_MHZ:
            raise BadSelection(f"A frequency must be from 1 to {_MOST_MHZ} MHz.", parameter=name)
    if not 0 <= part <= 1:
        raise BadSelection(
            "The part of a miss that scales with the memory's clock must be from 0 to 1.",
            parameter="memory_part",
        )
    if target_mhz is None:
        return None
    if measured_mhz is None:
        raise BadSelection(
            "Another memory frequency needs the memory frequency of the measurement, too.",
            hint="memory_mhz=3200",
            parameter="memory_mhz",
        )
    return MemoryChange(measured_mhz * 1e6, target_mhz * 1e6, part)


def memory_of(change: MemoryChange | None) -> Memory | None:
    """The requested change of the memory's frequency, as answers have it; None: none was requested."""
    if change is None:
        return None
    return Memory(change.measured_hz / 1e6, change.target_hz / 1e6, change.part, change.waiting)
