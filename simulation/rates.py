"""Units of each event per core-second of an application on a platform.

Time per instruction = A/f + B (DIGEST D1): A cycles on the core, and B waiting for memory, by the platform's latency of
a miss. Beside other programs an instruction takes more cycles (`contention`), and also while the core's other thread is
busy (`threads`); the misses per second are unchanged.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from simulation.catalogue import Application, Kind
from simulation.contention import bytes_per_line, lines_per_miss
from simulation.platforms import PLATFORMS

_PER_SECOND: Final[Mapping[str, float]] = MappingProxyType(
    {"page-faults": 900.0, "context-switches": 2500.0, "cpu-migrations": 40.0}
)
_PER_THOUSAND_INSTRUCTIONS: Final[Mapping[str, float]] = MappingProxyType(
    {"branches": 180.0, "branch-misses": 3.0, "l1d-misses": 20.0, "dtlb-misses": 1.2}
)
_CPI_OF_KERNEL: Final = 1.7
OF_INSTRUCTIONS: Final = frozenset({"instructions", *_PER_THOUSAND_INSTRUCTIONS})
"""Events that come with instructions: fewer where pressure slows the instructions."""
HARDWARE: Final = OF_INSTRUCTIONS | {"cycles", "ref-cycles", "llc-references", "llc-misses", "l2-lines-in"}
"""Events that need a performance monitoring unit, which virtual machines usually lack."""
RATED: Final = HARDWARE | {"cpu", *_PER_SECOND}
"""Events with a rate."""
MEMORY: Final = ("memory-read", "memory-written")
"""Counters of bytes; only sockets have them."""


def waiting_s(application: Application, platform: int) -> float:
    """Mean seconds that an instruction waits for memory: B of DIGEST D1."""
    model = PLATFORMS[platform]
    return application.misses * model.misses / 1000.0 * model.latency_ns * 1e-9


def cycles_per_instruction(application: Application, platform: int, mhz: float) -> float:
    """CPI without pressure at a frequency; at the nominal one, the product of the application's and the platform's."""
    model = PLATFORMS[platform]
    nominal = (_CPI_OF_KERNEL if application.kind is Kind.KERNEL else application.cpi) * model.cpi
    return nominal + waiting_s(application, platform) * (mhz - model.nominal_mhz) * 1e6


@lru_cache(maxsize=65536)
def units_per_core_second(
    event: str, application: Application, platform: int, mhz: float | None = None
) -> float:
    """Expected units of a generic event (`gateway.perf.events`), or bytes of `MEMORY`, without pressure.

    `mhz` None is the platform's nominal frequency. Raises ValueError for an unknown event.
    """
    if event == "cpu":
        return 1e9
    if event in _PER_SECOND:
        return _PER_SECOND[event]
    model = PLATFORMS[platform]
    at_mhz = model.nominal_mhz if mhz is None else mhz
    cycles = at_mhz * 1e6
    if event == "cycles":
        return cycles
    if event == "ref-cycles":
        return model.nominal_mhz * 1e6
    instructions = cycles / cycles_per_instruction(application, platform, at_mhz)
    if event == "instructions":
        return instructions
    misses = application.misses * model.misses
    lines = misses * lines_per_miss(application)
    per_thousand = {
        "llc-misses": misses,
        "llc-references": 8.0 * misses,
        "l2-lines-in": lines,
        **_PER_THOUSAND_INSTRUCTIONS,
    }
    for name, each in zip(MEMORY, bytes_per_line(application), strict=True):
        per_thousand[name] = lines * each
    if event not in per_thousand:
        raise ValueError(f"Unknown rate of {event!r}.")
    return instructions * per_thousand[event] / 1000.0
