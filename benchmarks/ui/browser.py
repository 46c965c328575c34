"""Opens each program's page in one Chromium and measures it from outside."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser, Page, ViewportSize

_PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS: Final = (
    "--headless", "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-gpu-compositing", "--use-angle=swiftshader-webgl", "--enable-unsafe-swiftshader",
)  # fmt: skip
"""The CPU draws: 2D canvases and SVG directly, speedscope's WebGL by SwiftShader."""
PATIENCE_MS: Final = 120_000
VIEWPORT: Final[ViewportSize] = {"width": 1400, "height": 900}

# Sets `benchPainted` when `ready` holds and a frame with it has been painted, as the other pages do themselves.
_WATCH: Final = """
ready => {
  const check = () => {
    if (!ready()) return void requestAnimationFrame(check);
    const files = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/tree.evented.json'));
    window.benchArrived = files.at(-1).responseEnd;
    requestAnimationFrame(() => setTimeout(() => (window.benchPainted = performance.now())));
  };
  requestAnimationFrame(check);
}
"""
# From the event to the second frame after it: the first one draws what the event changed.
_ZOOM: Final = """
type => {
  window.benchZoomed = undefined;
  addEventListener(type, ({ timeStamp }) => {
    const end = () => setTimeout(() => (window.benchZoomed = performance.now() - timeStamp));
    requestAnimationFrame(() => requestAnimationFrame(end));
  }, { capture: true, once: true });
}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A page, and how to use it."""

    name: str
    path: str
    row: tuple[float, float]
    """Where the frame to zoom to is, in pixels."""
    double: bool = False
    """A double click zooms, not a click."""
    ready: str = ""
    """JavaScript that says whether the graph is drawn, for pages that do not tell that themselves."""
    zoomed: str = ""
    """JavaScript that says whether the zoom has happened."""


OURS: Final = Program(
    "fleetprof", "pages/ours.html", (160, 2.5 * 19),
    zoomed="document.querySelector('canvas').flameGraph.shown.zoom > 0",
)  # fmt: skip
D3: Final = Program(
    "d3-flame-graph", "pages/d3.html", (160, 2.5 * 18), zoomed="document.querySelector('.fade') !== null"
)
SPEEDSCOPE: Final = Program(
    "speedscope", "speedscope/index.html#profileURL=/tree.evented.json", (160, 190), double=True,
    ready="() => document.querySelectorAll('canvas').length >= 3",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """One program: medians of the runs, and the largest memory."""

    first_paint_ms: float
    zoom_ms: float
    peak_mib: float
    """Of the page's process, resident."""


def chromium() -> str | None:
    """The installed Chromium."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


def measure(program: str, url: str, wanted: Sequence[Program], runs: int) -> dict[str, Measured]:
    """Open each page `runs` times in turn."""
    found: dict[str, list[Measured]] = {one.name: [] for one in wanted}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        for _ in range(runs):
            for one in wanted:
                found[one.name].append(_once(browser, url, one))
        browser.close()
    return {
        name: Measured(
            median(each.first_paint_ms for each in every),
            median(each.zoom_ms for each in every),
            max(each.peak_mib for each in every),
        )
        for name, every in found.items()
    }


def _once(browser: Browser, url: str, program: Program) -> Measured:
    others = _renderers(browser)
    context = browser.new_context(viewport=VIEWPORT)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    if program.ready:
        page.add_init_script(f"({_WATCH})({program.ready})")
    page.goto(f"{url}/{program.path}")
    page.wait_for_function("window.benchPainted > 0")
    first = float(page.evaluate("window.benchPainted - window.benchArrived"))
    time.sleep(0.5)  # what it does after the first paint is no part of the zoom
    zoom = _zoom(page, program)
    peak = max(map(_peak_mib, _renderers(browser) - others), default=0.0)
    context.close()
    return Measured(first, zoom, peak)


def _zoom(page: Page, program: Program) -> float:
    page.mouse.move(*program.row)
    time.sleep(0.2)
    page.evaluate(_ZOOM, "dblclick" if program.double else "click")
    if program.double:
        page.mouse.dblclick(*program.row)
    else:
        page.mouse.click(*program.row)
    page.wait_for_function("window.benchZoomed > 0")
    if program.zoomed and not page.evaluate(program.zoomed):
        raise RuntimeError(
            f"{program.name} did not zoom: its page looks different from what this benchmark expects"
        )
    return float(page.evaluate("window.benchZoomed"))


def _renderers(browser: Browser) -> set[int]:
    """Processes of pages."""
    session = browser.new_browser_cdp_session()
    listed = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {int(one["id"]) for one in listed if one["type"] == "renderer"}


def _peak_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0
