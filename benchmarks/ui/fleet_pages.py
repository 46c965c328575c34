"""Opens the start page and the explorer of a simulated fleet in Chromium, and measures until they show what they promise."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

from benchmarks.soak.deployment import READY_S, SoakDeployment, soak_deployment
from benchmarks.ui.browser import ARGUMENTS, PATIENCE_MS, VIEWPORT
from services.api.login_links import mint_login_url
from services.api.signing import session_secret
from services.api.tokens import Role

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

_INGESTED_S: Final = 900.0
_ROWS: Final = 'const rows = (panel) => document.querySelectorAll(`[aria-label="${panel}"] tbody tr`).length;'
_HOME: Final = (
    "() => { " + _ROWS + " return rows('Services') > 0 && rows('Hottest functions') > 0 && "
    "document.querySelector('[aria-label=\"cores busy\"] canvas') !== null; }"
)
_EXPLORE: Final = (
    "() => document.querySelectorAll('main [role=grid] [role=row]').length > 1 && "
    "document.querySelector('.canvas canvas')?.flameGraph?.firstAt > 0"
)
# Sets `benchShown` when the frame with what `ready` wants has been painted; milliseconds since the navigation began.
_WATCH: Final = """
ready => {
  const check = () => {
    if (!ready()) return void requestAnimationFrame(check);
    requestAnimationFrame(() => setTimeout(() => (window.benchShown = performance.now())));
  };
  requestAnimationFrame(check);
}
"""


@dataclass(frozen=True, slots=True)
class Loads:
    """Medians of a page's loads, in milliseconds."""

    cold: float
    """By an API process that has answered nothing: the range is read, decoded and summed."""
    warm: float
    """Again, by a browser and a server that have it all in their caches."""


def measure_pages(program: str, machines: int, past_days: int, runs: int) -> dict[str, Loads]:
    """Loads of `home` and `explore` with their default range, `runs` times each with a new API process."""
    with soak_deployment(machines, past_days=past_days) as fleet, sync_playwright() as playwright:
        _wait_for_samples(fleet, past_days)
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        found = {
            name: [_loads(browser, fleet.home, path, ready) for _ in range(runs)]
            for name, path, ready in (("home", "/", _HOME), ("explore", "/explore", _EXPLORE))
        }
        browser.close()
    return {
        name: Loads(median(one.cold for one in every), median(one.warm for one in every))
        for name, every in found.items()
    }


def _wait_for_samples(fleet: SoakDeployment, past_days: int) -> None:
    """Return when the past is ingested and merged; then no machine is visited until the end, so that loads compare."""
    end = time.monotonic() + _INGESTED_S
    while True:
        fleet.check()
        counts = fleet.counts()
        if counts["ingested"] and (not past_days or not counts["waiting"]):
            break
        if time.monotonic() > end:
            raise RuntimeError(f"{counts['waiting']:.0f} captures still wait after {_INGESTED_S:.0f} s")
        time.sleep(1.0)
    _run(["campaigns", "stop", "fleet"], fleet.home)
    while any(fleet.counts()[name] for name in ("waiting", "to_merge")) and time.monotonic() < end:
        time.sleep(1.0)


def _loads(browser: Browser, home: Path, path: str, ready: str) -> Loads:
    """A load by a new API process and a new browser profile, and another one after it."""
    with _api(home) as url:
        context = browser.new_context(viewport=VIEWPORT)
        context.set_default_timeout(PATIENCE_MS)
        _sign_in(context, mint_login_url(session_secret(home), url, Role.ADMIN))
        cold, warm = (_load(context.new_page(), url + path, ready) for _ in range(2))
        context.close()
    return Loads(cold, warm)


def _sign_in(context: BrowserContext, link: str) -> None:
    """Open the link without its page, whose questions would fill the server's caches."""
    answer = context.request.get(link, max_redirects=0)
    binding = answer.headers["location"].partition("#session=")[2]
    if not binding:
        raise RuntimeError(f"the login link was answered with {answer.status}, without a session")
    context.add_init_script(f"localStorage.setItem('fleetprof:session', '{binding}')")


def _load(page: Page, address: str, ready: str) -> float:
    """Milliseconds from the beginning of the navigation to the frame with everything wanted."""
    page.add_init_script(f"({_WATCH})({ready})")
    page.goto(address)
    end = time.monotonic() + PATIENCE_MS / 1000
    # Not `wait_for_function`, which evaluates text: the pages' content security policy forbids that.
    while not (shown := float(page.evaluate("window.benchShown ?? 0"))):
        if time.monotonic() > end:
            raise RuntimeError(f"{address} did not show what it promises in {PATIENCE_MS / 1000:.0f} s")
        time.sleep(0.05)
    page.close()
    return shown


@contextmanager
def _api(home: Path) -> Iterator[str]:
    """The address of a new API process over the fleet's database, during the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    output = home / "log" / "bench-api.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            [*_SERVICES, "api", "--port", str(port)],
            env=os.environ | {"FLEETPROF_STATE_DIR": str(home)},
            stdout=log,
            stderr=log,
        )
    try:
        end = time.monotonic() + READY_S
        while not _is_ready(url):
            if process.poll() is not None or time.monotonic() > end:
                said = output.read_text(errors="replace")[-1000:]
                raise RuntimeError(f"the API process on port {port} did not become ready:\n{said}")
            time.sleep(0.1)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


_SERVICES: Final = (sys.executable, "-P", "-m", "services")


def _run(arguments: list[str], home: Path) -> None:
    subprocess.run(
        [*_SERVICES, *arguments],
        env=os.environ | {"FLEETPROF_STATE_DIR": str(home)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False
