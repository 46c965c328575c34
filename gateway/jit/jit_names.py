"""The perf maps of one capture: opened at the first sample in code without a file, updated at each drain.

A name is the map's when the sample is read, at the next drain: up to 0.5 s later. An open map outlives its process. The
map of a process that has ended is opened through its parent's root.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gateway.errors import AccessDenied, ProcessGone
from gateway.jit.map_file import MapRefused, open_map, open_map_of_ended
from gateway.jit.perf_map import Allowance, PerfMap

if TYPE_CHECKING:
    from collections.abc import Callable

# Open maps: one descriptor each.
_MAX_MAPS: Final = 128
# Most run-time code has no map. Drains between two attempts double up to 2 to the power of this: 4 s.
_MAX_FAILED_OPENS: Final = 4
# Refused maps that are reported individually.
_MAX_REPORTED: Final = 4


class _Process:
    """The addresses requested for one process, and its map if there is one."""

    __slots__ = ("failed_opens", "last_drain", "map", "next_open", "requested")

    def __init__(self) -> None:
        self.map: PerfMap | None = None
        self.requested: set[int] = set()
        self.last_drain = -1
        self.next_open = 0
        self.failed_opens = 0


class JitNames:
    """Names of code without a file. Not thread-safe; close it."""

    def __init__(self, *, open_live: Callable[[int], int | None] = open_map) -> None:
        """Nothing is opened yet. Maps of ended processes must have been written from now on."""
        self._open_live = open_live
        self._began = time.time()
        self._allowance = Allowance()
        self._processes: dict[int, _Process] = {}
        self._maps = 0
        self._refused: dict[int, str] = {}
        self._denied: set[int] = set()
        self._left_out: set[int] = set()

    def name(self, pid: int, parent: int | None, address: int, drain: int) -> str:
        """The name of the code at an address of a process; empty: unknown.

        `address` lies in the instruction, `drain` counts up, `parent` is used only if the process has ended.
        """
        process = self._processes.setdefault(pid, _Process())
        process.requested.add(address)
        if process.map is None and drain >= process.next_open:
            self._open_map(pid, parent, process, drain)
        if process.map is None:
            return ""
        name = process.map.name(address)
        self._note_cut(pid, process.map)
        return name

    def refresh(self, pid: int, drain: int) -> set[int]:
        """Read what the process wrote since the last drain; returns addresses whose names may have changed."""
        process = self._processes.get(pid)
        if process is None or process.last_drain == drain:
            return set()
        process.last_drain = drain
        if process.map is None:
            if drain < process.next_open:
                return set()
            self._open_map(pid, None, process, drain)
            return set() if process.map is None else set(process.requested)
        changed = process.map.refresh(process.requested)
        self._note_cut(pid, process.map)
        return changed

    def forget(self, pid: int) -> None:
        """Drop a process: its number was reused, or it runs another program."""
        process = self._processes.pop(pid, None)
        if process is not None and process.map is not None:
            process.map.close()
            self._maps -= 1

    def close(self) -> None:
        """Close every map. `name` still works; it opens the maps again."""
        for pid in tuple(self._processes):
            self.forget(pid)

    def notes(self) -> list[str]:
        """Everything that could not be read, as sentences."""
        notes = []
        if self._denied:
            notes.append(
                f"no access to the perf maps of {len(self._denied)} processes: the gateway lacks "
                "CAP_SYS_PTRACE or CAP_DAC_READ_SEARCH"
            )
        for pid, why in sorted(self._refused.items())[:_MAX_REPORTED]:
            notes.append(f"the perf map of process {pid} was not used: {why}")
        if len(self._refused) > _MAX_REPORTED:
            notes.append(
                f"the perf maps of {len(self._refused) - _MAX_REPORTED} other processes were not used, either"
            )
        if self._left_out:
            notes.append(
                f"the perf maps of {len(self._left_out)} processes were read only partly, or not at "
                "all: they exceed the limits of one capture (size, number, look-ups)"
            )
        return notes

    def _open_map(self, pid: int, parent: int | None, process: _Process, drain: int) -> None:
        """Open the map, if it exists by now, and read it."""
        process.last_drain = drain
        process.next_open = drain + (1 << process.failed_opens)
        process.failed_opens = min(process.failed_opens + 1, _MAX_FAILED_OPENS)
        if self._maps >= _MAX_MAPS:
            self._left_out.add(pid)
            return
        descriptor = self._open(pid, parent)
        if descriptor is None:
            return
        process.map = PerfMap(descriptor, self._allowance)
        self._maps += 1
        self._refused.pop(pid, None)
        process.map.refresh()
        self._note_cut(pid, process.map)

    def _open(self, pid: int, parent: int | None) -> int | None:
        try:
            try:
                return self._open_live(pid)
            except ProcessGone:
                return None if parent is None else open_map_of_ended(pid, parent, since=self._began)
        except ProcessGone:
            return None
        except AccessDenied:
            self._denied.add(pid)
        except MapRefused as reason:
            self._refused[pid] = str(reason)
        return None

    def _note_cut(self, pid: int, perf_map: PerfMap) -> None:
        if perf_map.truncated:
            self._left_out.add(pid)
