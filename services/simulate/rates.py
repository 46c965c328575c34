"""Units of each event that a core-second of an application brings on a platform."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from services.simulate.catalogue import Application, Kind
from services.simulate.platforms import PLATFORMS

_PER_SECOND: Final[Mapping[str, float]] = MappingProxyType(
    {"page-faults": 900.0, "context-switches": 2500.0, "cpu-migrations": 40.0}
)
_PER_THOUSAND_INSTRUCTIONS: Final[Mapping[str, float]] = MappingProxyType(
    {"branches": 180.0, "branch-misses": 3.0, "l1d-misses": 20.0, "dtlb-misses": 1.2}
)
_CPI_OF_KERNEL: Final = 1.7
HARDWARE: Final = frozenset(
    {"cycles", "instructions", "llc-references", "llc-misses", *_PER_THOUSAND_INSTRUCTIONS}
)
"""Events that need a performance monitoring unit, which virtual machines commonly have not."""


def units_per_core_second(event: str, application: Application, platform: int) -> float:
    """Expected units of a generic event (`gateway.perf.events`). Raises ValueError for one that is not known."""
    if event == "cpu":
        return 1e9
    if event in _PER_SECOND:
        return _PER_SECOND[event]
    model = PLATFORMS[platform]
    cycles = model.nominal_mhz * 1e6
    if event == "cycles":
        return cycles
    cpi = _CPI_OF_KERNEL if application.kind is Kind.KERNEL else application.cpi
    instructions = cycles / (cpi * model.cpi)
    if event == "instructions":
        return instructions
    misses = application.misses * model.misses
    per_thousand = {"llc-misses": misses, "llc-references": 8.0 * misses, **_PER_THOUSAND_INSTRUCTIONS}
    if event not in per_thousand:
        raise ValueError(f"There is no rate of {event!r}.")
    return instructions * per_thousand[event] / 1000.0
