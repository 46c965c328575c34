"""CPU models of the simulated fleet, its datacenters, and the kernels its machines run."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Platform:
    """A CPU model as /proc/cpuinfo names it."""

    name: str
    packages: int
    cores_per_package: int
    """Cores per package of its largest machines; smaller ones have a half, a quarter or an eighth of them."""
    nominal_mhz: float
    cpi: float
    """Factor on cycles per instruction."""
    vectorized: float
    """Factor on the cost of copying, clearing and compressing."""
    misses: float
    """Factor on last-level cache misses."""
    latency_ns: float
    """Time that a core waits for a miss, less overlaps (DIGEST D1)."""
    peak_gbs: float
    """Peak of a package's memory, independent of the machine's number of cores."""
    overlap: float
    """Overlap coefficient of all applications' threads there (DIGEST A1)."""
    core_cycles: str
    """Counter of a core's cycles, as in gateway.perf.cpu_models; "" without one."""


PLATFORMS: Final = (
    Platform("AMD EPYC 7763 64-Core Processor", 1, 64, 2450.0, cpi=1.0, vectorized=1.0, misses=1.0,
             latency_ns=20.0, peak_gbs=204.8, overlap=1.5, core_cycles=""),
    Platform("Intel(R) Xeon(R) Platinum 8480+", 2, 32, 2000.0, cpi=0.92, vectorized=0.6, misses=0.8,
             latency_ns=24.0, peak_gbs=307.2, overlap=1.4, core_cycles="cycles-distributed"),
    Platform("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 2, 16, 2400.0, cpi=1.25, vectorized=1.5, misses=1.4,
             latency_ns=22.0, peak_gbs=128.0, overlap=1.6, core_cycles="cycles-any"),
    Platform("AMD EPYC 9654 96-Core Processor", 1, 96, 2400.0, cpi=0.85, vectorized=0.8, misses=0.7,
             latency_ns=18.0, peak_gbs=460.8, overlap=1.3, core_cycles=""),
)  # fmt: skip

DATACENTERS: Final = ("sim-fra", "sim-iad", "sim-sin", "sim-gru")
"""The names mark them as simulated; the day is 5 hours later in each than in the previous one."""

STRATA: Final = tuple(
    (datacenter, platform)
    for datacenter, platform in (
        (0, 0), (1, 0), (0, 1), (1, 2), (2, 1), (1, 3), (2, 2), (2, 3), (3, 0), (3, 2), (0, 2), (3, 1), (2, 0), (0, 3),
        (1, 1), (3, 3),
    )
)  # fmt: skip
"""Datacenter and platform of each stratum, the largest first."""

KERNELS: Final = ("6.1.0-28-amd64", "6.8.0-49-generic")
"""Kernel releases; all machines of a datacenter run the same one."""
KEEPS_APART: Final = 1
"""The kernel whose scheduler fills idle cores first, so that two threads of a core are seldom busy together."""
