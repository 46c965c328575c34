"""The web UI in Chromium: a flame graph of 300,000 frames beside two other programs, and pages of a simulated fleet.

    make bench-ui             # five minutes; SIZE=smallest: 20,000 frames and 20 machines, once

One tree, served from this machine to three pages of one Chromium: the web UI's own decoder and view with the API's binary
form, d3-flame-graph with nested JSON, and speedscope with its own format. The first paint counts from the last byte of
the tree to the frame with the graph on the screen, a zoom from the click to the second frame after it. d3-flame-graph
is measured without animation and without frames narrower than a pixel, because with them it takes minutes. The peers are
installed once from npm into $XDG_CACHE_HOME/fleetprof-bench; without them the table has our figures only.

Memory is the largest resident size of a page's process.

`home_ms` is the start page of `up --simulate 1000 --past-days 2` with its default range, the last day: from the
navigation to the frame with the services, the hottest functions and the series. `explore_ms` is the explorer with its
table and flame graph. These bars are of a new API process, which has read and decoded nothing, and a browser without
any of the pages' files. The `_again_ms` are of the same two a moment later, when both have them in their caches. Sampling
is paused once the past is ingested, so that the simulated machines take none of this machine's time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.report import Report, at_most
from benchmarks.size import Size, chosen, skip
from benchmarks.ui.browser import D3, OURS, SPEEDSCOPE, Measured, chromium, measure
from benchmarks.ui.call_tree import grow
from benchmarks.ui.file_server import serve
from benchmarks.ui.fleet_pages import Loads, measure_pages
from benchmarks.ui.pages import PEERS, Builder, CannotBuildError, bundle_kib_gz

_FRAMES: Final = {Size.SMALLEST: 20_000, Size.DEFAULT: 300_000, Size.FULL: 300_000}
_RUNS: Final = {Size.SMALLEST: 1, Size.DEFAULT: 3, Size.FULL: 9}
_FLEETS: Final = {Size.SMALLEST: (20, 0), Size.DEFAULT: (1000, 2), Size.FULL: (1000, 2)}
"""Machines, and days of past."""


def report(frames: int, found: dict[str, Measured], pages: dict[str, Loads], bundle: float) -> Report:
    """The figures with their bars."""
    ours = found[OURS.name]
    peers = {name: measured for name, measured in found.items() if name != OURS.name}

    def beside(key: str) -> str:
        return ", ".join(f"{name} {getattr(measured, key):,.0f}" for name, measured in peers.items())

    table = Report("ui", peer="d3-flame-graph, speedscope")
    table.add("frames", frames)
    table.add("first_paint_ms", ours.first_paint_ms, at_most(150), peer=beside("first_paint_ms"))
    table.add("zoom_ms", ours.zoom_ms, at_most(50), peer=beside("zoom_ms"))
    table.add("peak_mib", ours.peak_mib, peer=beside("peak_mib"))
    for program, key in ((D3, "d3"), (SPEEDSCOPE, "speedscope")):
        if (peer := peers.get(program.name)) is None:
            continue
        table.add(f"speedup_vs_{key}", peer.first_paint_ms / ours.first_paint_ms, peer="first paint")
        table.add(f"zoom_speedup_vs_{key}", peer.zoom_ms / ours.zoom_ms)
        table.add(f"memory_vs_{key}", peer.peak_mib / ours.peak_mib)
    for name, loads in pages.items():
        table.add(f"{name}_ms", loads.cold, at_most(1000), peer="new API process and browser")
        table.add(f"{name}_again_ms", loads.warm, peer="all in their caches")
    table.add("bundle_kib_gz", bundle, at_most(110), peer="scripts and styles of the first page")
    for name, version in PEERS.items():
        table.note(f"{name}_version", version)
    return table


def main() -> int:
    """Measure, print the table, and write the results; 1 if a bar is missed."""
    size = chosen()
    program = chromium()
    if program is None:
        skip("no Chromium; on Debian: apt-get install chromium")
    try:
        builder = Builder()
    except CannotBuildError as error:
        skip(str(error))
    wanted = [OURS, D3, SPEEDSCOPE]
    peers: Path | None = None
    try:
        peers = builder.install_peers()
    except CannotBuildError as error:
        print(f"without peers: {error}", flush=True)
        wanted = [OURS]
    tree = grow(_FRAMES[size])
    with tempfile.TemporaryDirectory(prefix="bench-ui-", dir="/tmp") as folder:
        place = Path(folder)
        builder.build(place, peers)
        (place / "tree.fpfl").write_bytes(tree.columns())
        if peers is not None:
            (place / "tree.json").write_text(tree.nested())
            (place / "tree.evented.json").write_text(tree.evented())
        with serve(place) as url:
            found = measure(program, url, wanted, _RUNS[size])
    pages = measure_pages(program, *_FLEETS[size], _RUNS[size])
    result = report(len(tree), found, pages, bundle_kib_gz())
    result.show(Console())
    print(result.written())
    return result.status


if __name__ == "__main__":
    sys.exit(main())
