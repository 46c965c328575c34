"""Uncore counters, which belong to a socket and not to a CPU: memory traffic and energy, where available.

Memory: Intel's integrated memory controllers (uncore_imc*); AMD's (amd_umc*, since Linux 6.8 on Zen 4; on Zen to
Zen 3 the data fabric, amd_df); or the L3's monitor by resctrl. Energy: RAPL (`power`). For each the kernel gives the
CPU to open it on, the value of one count and its unit.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from gateway.errors import EventUnavailable
from gateway.machine.topology import PROC, SYS
from gateway.perf.cpu_models import Microarchitecture, read_microarchitecture
from gateway.perf.event_names import SourceName, Term, parse_terms
from gateway.perf.event_sources import find_in_source, has_source, sources_folder
from gateway.perf.events import Event

READ: Final = "memory-read"
WRITTEN: Final = "memory-written"
TRANSFERRED: Final = "memory-moved"
"""Reads and writes together, where they are not counted separately."""

_IMC: Final = re.compile(r"uncore_imc(_[0-9]+)?")
_UMC: Final = re.compile(r"amd_umc_[0-9]+")
# Since Granite Rapids a memory controller counts its two halves separately.
_IMC_HALVES: Final = ("", "_sch0", "_sch1")
_LINE_BYTES: Final = 64.0
# DRAM_CHANNEL_DATA_CONTROLLER_0…7 of AMD's data fabric, lines of 64 bytes each.
_DF_CHANNELS: Final = ("0x7", "0x47", "0x87", "0xc7", "0x107", "0x147", "0x187", "0x1c7")
_ENERGY: Final = {
    "energy-pkg": "energy-package",
    "energy-ram": "energy-memory",
    "energy-cores": "energy-cores",
}


def uncore_groups(sys: Path = SYS, proc: Path = PROC) -> list[tuple[Event, ...]]:
    """Groups to read together; empty if the machine, its kernel or its hypervisor offers none."""
    folder = sources_folder(sys)
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
    groups = [group for name in names if _IMC.fullmatch(name) for group in _imc(name, sys)]
    if not groups:
        groups = [group for name in names if _UMC.fullmatch(name) for group in _umc(name, sys)]
    if not groups and "amd_df" in names and read_microarchitecture(proc) is Microarchitecture.ZEN:
        groups = [
            (event,)
            for channel in _DF_CHANNELS
            if (event := _lines("amd_df", f"event={channel},umask=0x38", TRANSFERRED, sys))
        ]
    if has_source("power", sys):
        energy = tuple(
            event for kernels, ours in _ENERGY.items() if (event := _named("power", kernels, ours, sys))
        )
        if energy:
            groups.append(energy)
    return groups


def _imc(source: str, sys: Path) -> Iterator[tuple[Event, ...]]:
    for half in _IMC_HALVES:
        read = _named(source, f"cas_count_read{half}", READ, sys)
        written = _named(source, f"cas_count_write{half}", WRITTEN, sys)
        if read and written:
            yield read, written


def _umc(source: str, sys: Path) -> Iterator[tuple[Event, ...]]:
    read = _lines(source, "event=0xa,rdwrmask=0x1", READ, sys)
    written = _lines(source, "event=0xa,rdwrmask=0x2", WRITTEN, sys)
    if read and written:
        yield read, written


def _named(source: str, event: str, called: str, sys: Path) -> Event | None:
    if not (sources_folder(sys) / source / "events" / event).exists():
        return None
    try:
        return find_in_source(SourceName(source, (Term(event, None),)), called, sys)
    except EventUnavailable:
        return None


def _lines(source: str, terms: str, called: str, sys: Path) -> Event | None:
    try:
        event = find_in_source(SourceName(source, parse_terms(terms)), called, sys)
    except EventUnavailable:
        return None
    return replace(event, unit="bytes", scale=_LINE_BYTES)
