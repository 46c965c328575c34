"""Chromium in front of the real API over a real PostgreSQL with ingested captures."""

import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from sqlalchemy import Engine

from services.api.app import create_app
from services.api.tokens import Role
from services.fleet.fleet_service import FleetService
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.database import open_engine
from storage.query.query_engine import QueryEngine
from symbolizer.source_text.text import SourceTexts
from tests.access_records import access_of, login_url
from tests.browser.ingested import IngestedFleet

ROOT = Path(__file__).parents[2]
NO_NODE = 3
DEADLINE_MS = 15_000
PRICE = 0.05
"""Of one core-hour."""
VIEWER_TOKEN = "v" * 24
# Debian's Chromium, without what would talk to the outside or need a desktop.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(300))  # the first of them builds the pages


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one file of tests: until it is closed, Playwright's event loop runs in this
    thread, and no other test could have its own."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        expect.set_options(timeout=DEADLINE_MS)
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def built_pages() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "infra" / "build-web.py"], capture_output=True, text=True, check=False
    )
    if done.returncode == NO_NODE:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr


@dataclass
class Server:
    """The API as a browser reaches it."""

    url: str
    state_dir: Path

    def login_url(self, role: Role = Role.ADMIN) -> str:
        return login_url(self.state_dir, self.url, role)


@pytest.fixture
def server(database_url: str, tmp_path: Path, built_pages: None) -> Iterator[Server]:
    engine = open_engine(database_url, application="browser-test")
    queries = QueryEngine(engine)
    listening = socket.create_server(("127.0.0.1", 0))
    state_dir = tmp_path / "state"
    archive = Archive(str(tmp_path / "archive"))
    service = SymbolService(engine, archive, texts=SourceTexts(engine, archive, folder=tmp_path))
    app = create_app(
        queries,
        access_of(state_dir, [f"viewer:{VIEWER_TOKEN}"], engine),
        price_per_core_hour=PRICE,
        symbols=service,
        uploads=tmp_path / "uploads",
        fleet=FleetService(engine),
        shared=engine,
    )
    running = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield Server(f"http://127.0.0.1:{listening.getsockname()[1]}", state_dir)
    running.should_exit = True
    thread.join()
    listening.close()
    queries.close()
    engine.dispose()


@pytest.fixture
def fleet(engine: Engine) -> IngestedFleet:
    """Machines and a campaign; nothing has been sampled."""
    return IngestedFleet(engine)


@dataclass
class Visitor:
    """Somebody at a browser, and what their browser complained about."""

    page: Page
    server: Server
    complaints: list[str] = field(default_factory=list)

    def log_in(self, role: Role = Role.ADMIN) -> None:
        """As the page does it for a link; it is not drawn for that."""
        led_to = self.page.context.request.get(self.server.login_url(role), max_redirects=0)
        _, _, binding = led_to.headers["location"].partition("#session=")
        page = self.page.context.new_page()
        page.goto(f"{self.server.url}/healthz")
        page.evaluate("binding => localStorage.setItem('fleetprof:session', binding)", binding)
        page.close()

    def open(self, query: str = "") -> Page:
        self.page.goto(f"{self.server.url}/{query}")
        return self.page


@pytest.fixture
def new_visitor(chromium: Browser, server: Server) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors; options are those of a browser context. Logged in unless `logged_in=False`."""
    contexts: list[BrowserContext] = []

    def make(*, logged_in: bool = True, role: Role = Role.ADMIN, **options: object) -> Visitor:
        viewport = {"width": 1440, "height": 900}
        context = chromium.new_context(**{"viewport": viewport, "reduced_motion": "reduce", **options})
        contexts.append(context)
        context.set_default_timeout(DEADLINE_MS)
        visitor = Visitor(context.new_page(), server)
        visitor.page.on(
            "console", lambda m: visitor.complaints.append(m.text) if m.type in {"error", "warning"} else None
        )
        visitor.page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
        visitor.page.on(
            "request",
            lambda r: (
                None if r.url.startswith(server.url) else visitor.complaints.append(f"asked for {r.url}")
            ),
        )
        if logged_in:
            visitor.log_in(role)
        return visitor

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def visitor(new_visitor: Callable[..., Visitor]) -> Iterator[Visitor]:
    """A visitor who is logged in; at the end their browser must have had nothing to complain about."""
    somebody = new_visitor()
    yield somebody
    assert somebody.complaints == []
