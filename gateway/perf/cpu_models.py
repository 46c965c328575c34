"""The CPU events behind generic event names, where the kernel's own generic event means something else.

Encodings are those of the vendors' event lists as perf ships them (tools/perf/pmu-events/arch/x86) and of the
manuals: Intel SDM volume 3B chapter 20, AMD "Processor Programming Reference" 2.1.13. A CPU that is not listed has the
kernel's generic events only: a wrong event would count something else unnoticed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from gateway.machine.topology import PROC

_LINE_LIMIT: Final = 32
"""Lines of /proc/cpuinfo up to the model; the file repeats them for every CPU, and generating it is slow."""


class Microarchitecture(Enum):
    """A group of microarchitectures that share the events below."""

    OTHER = "other"
    SANDY_BRIDGE = "Sandy Bridge to Ivy Bridge"
    HASWELL = "Haswell to Broadwell"
    SKYLAKE = "Skylake to Cascade Lake"
    ICE_LAKE = "Ice Lake to Tiger Lake"
    GOLDEN_COVE = "Sapphire Rapids to Granite Rapids"
    ZEN = "Zen to Zen 3"
    ZEN4 = "Zen 4 and later"


# Model numbers of family 6 (arch/x86/include/asm/intel-family.h).
_INTEL: Final[Mapping[Microarchitecture, frozenset[int]]] = {
    Microarchitecture.SANDY_BRIDGE: frozenset({0x2A, 0x2D, 0x3A, 0x3E}),
    Microarchitecture.HASWELL: frozenset({0x3C, 0x3F, 0x45, 0x46, 0x3D, 0x47, 0x4F, 0x56}),
    Microarchitecture.SKYLAKE: frozenset({0x4E, 0x5E, 0x55, 0x8E, 0x9E, 0xA5, 0xA6}),
    Microarchitecture.ICE_LAKE: frozenset({0x6A, 0x6C, 0x7D, 0x7E, 0x8C, 0x8D, 0xA7}),
    Microarchitecture.GOLDEN_COVE: frozenset({0x8F, 0xCF, 0xAD, 0xAE}),
}
_INTEL_FAMILY: Final = 6
# Zen and Zen 2 (the second is Hygon's); Zen 3 and Zen 4 share a family; Zen 5.
_ZEN_FAMILIES: Final = frozenset({0x17, 0x18})
_ZEN3_FAMILY: Final = 0x19
_ZEN4_MODELS: Final = (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0))
_ZEN5_FAMILY: Final = 0x1A


@dataclass(frozen=True, slots=True)
class Choice:
    """Terms of the CPU's event source, and the unit of one count."""

    terms: str
    unit: str
    period: int


# LS_DMND_FILLS_FROM_SYS: demand fills of the L1 from the L3, another cache or memory; and from memory only.
_BEYOND_L2: Final = Choice("event=0x43,umask=0x5e", "count", 500_009)
_FROM_MEMORY: Final = Choice("event=0x43,umask=0x48", "count", 100_003)
_ZEN_L2_MISSES: Final = Choice("event=0x64,umask=0x9", "count", 200_003)  # L2_CACHE_REQ_STAT.IC_DC_MISS_IN_L2
_L2_MISSES: Final = Choice("event=0x24,umask=0x3f", "count", 200_003)  # L2_RQSTS.MISS
_L2_LINES_IN: Final = Choice("event=0xf1,umask=0x1f", "count", 200_003)  # L2_LINES_IN.ALL
# CPU_CLK_UNHALTED.THREAD_ANY: both threads of a core read the core's cycles. Removed in Ice Lake.
_ANY: Final = Choice("event=0x3c,any=1", "cycles", 5_000_011)
# CPU_CLK_UNHALTED.DISTRIBUTED: the core's cycles, divided among its running threads.
_DISTRIBUTED: Final = Choice("event=0xec,umask=0x2", "cycles", 5_000_011)

CHOICES: Final[Mapping[str, Mapping[Microarchitecture, Choice]]] = {
    # The kernel's cache-references and cache-misses are those of the L2 on AMD.
    "llc-references": {Microarchitecture.ZEN: _BEYOND_L2, Microarchitecture.ZEN4: _BEYOND_L2},
    "llc-misses": {Microarchitecture.ZEN: _FROM_MEMORY, Microarchitecture.ZEN4: _FROM_MEMORY},
    "l2-misses": {
        Microarchitecture.HASWELL: _L2_MISSES,
        Microarchitecture.SKYLAKE: _L2_MISSES,
        Microarchitecture.ICE_LAKE: _L2_MISSES,
        Microarchitecture.GOLDEN_COVE: _L2_MISSES,
        Microarchitecture.ZEN: _ZEN_L2_MISSES,
        Microarchitecture.ZEN4: _ZEN_L2_MISSES,
    },
    "l2-lines-in": {
        Microarchitecture.SANDY_BRIDGE: Choice("event=0xf1,umask=0x7", "count", 200_003),
        Microarchitecture.HASWELL: Choice("event=0xf1,umask=0x7", "count", 200_003),
        Microarchitecture.SKYLAKE: _L2_LINES_IN,
        Microarchitecture.ICE_LAKE: _L2_LINES_IN,
        Microarchitecture.GOLDEN_COVE: Choice("event=0x25,umask=0x1f", "count", 200_003),
    },
    "memory-stalls": {
        # CYCLE_ACTIVITY.STALLS_L3_MISS, MEMORY_ACTIVITY.STALLS_L3_MISS
        Microarchitecture.SKYLAKE: Choice("event=0xa3,umask=0x6,cmask=0x6", "cycles", 5_000_011),
        Microarchitecture.ICE_LAKE: Choice("event=0xa3,umask=0x6,cmask=0x6", "cycles", 5_000_011),
        Microarchitecture.GOLDEN_COVE: Choice("event=0x47,umask=0x9,cmask=0x9", "cycles", 5_000_011),
    },
    "cycles-any": {
        Microarchitecture.SANDY_BRIDGE: _ANY,
        Microarchitecture.HASWELL: _ANY,
        Microarchitecture.SKYLAKE: _ANY,
    },
    "cycles-distributed": {
        Microarchitecture.ICE_LAKE: _DISTRIBUTED,
        Microarchitecture.GOLDEN_COVE: _DISTRIBUTED,
    },
}
"""Generic name → microarchitecture → event; for one that is not listed, the kernel's generic event, if any."""


def microarchitecture_of(vendor: str, family: int, model: int) -> Microarchitecture:
    """The microarchitecture of a CPU, by CPUID's vendor, family and model."""
    if vendor in {"AuthenticAMD", "HygonGenuine"}:
        later = family == _ZEN3_FAMILY and any(model in models for models in _ZEN4_MODELS)
        if later or family == _ZEN5_FAMILY:
            return Microarchitecture.ZEN4
        return (
            Microarchitecture.ZEN
            if family in _ZEN_FAMILIES or family == _ZEN3_FAMILY
            else Microarchitecture.OTHER
        )
    if vendor == "GenuineIntel" and family == _INTEL_FAMILY:
        for core, models in _INTEL.items():
            if model in models:
                return core
    return Microarchitecture.OTHER


def read_microarchitecture(proc: Path = PROC) -> Microarchitecture:
    """The microarchitecture of this machine's first CPU; OTHER if /proc/cpuinfo does not name a known one."""
    fields: dict[str, str] = {}
    try:
        with (proc / "cpuinfo").open(errors="replace") as file:
            for _, line in zip(range(_LINE_LIMIT), file, strict=False):
                name, _, value = line.partition(":")
                fields.setdefault(name.strip(), value.strip())
    except OSError:
        return Microarchitecture.OTHER
    family, model = fields.get("cpu family", ""), fields.get("model", "")
    if not re.fullmatch(r"[0-9]{1,4}", family) or not re.fullmatch(r"[0-9]{1,4}", model):
        return Microarchitecture.OTHER
    return microarchitecture_of(fields.get("vendor_id", ""), int(family), int(model))
