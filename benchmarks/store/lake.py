"""Size of the history in the lake."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from storage.segments.export import export_day
from storage.segments.location import Lake

if TYPE_CHECKING:
    from benchmarks.store.run import Run


def keep_in_lake(run: Run) -> None:
    """Export the history's last day, and measure the files."""
    folder = run.folder / "lake"
    shutil.rmtree(folder, ignore_errors=True)
    day = run.loaded.calendar.last
    run.say(f"lake: exporting {day}")
    exported = export_day(run.engine, Lake(str(folder)), day)
    if exported is None:
        raise RuntimeError("another process exports this day")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    run.add("lake_bytes_per_fact", size / exported.facts, f"every file of a day of {exported.facts:,} facts")
    shutil.rmtree(folder)
