"""What every page of webui/src/app/pages.ts has in common: it fits its window, everybody can read it, and its URL is
its state."""

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Visitor
from tests.browser.fetch_answers import answer_to
from tests.browser.ingested import IngestedFleet, Seen
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

PAGES = Path(__file__).parents[2] / "webui" / "src" / "app" / "pages.ts"
PATHS = re.findall(r"\bpage\('([^']+)'", PAGES.read_text())
PHONE = {"width": 390, "height": 844}
LAPTOP = {"width": 1366, "height": 768}
PARTS = {":app": "search", ":binary": "search", ":kind": "capacity", ":name": "new-0"}
"""Of paths; functions have numbers, which the database gives."""


@pytest.fixture
def fleet(engine: Engine) -> IngestedFleet:
    """Two versions of `search` and enough functions for a full screen of rows."""
    fleet = IngestedFleet(engine, 1000)
    for k in range(4):
        ago = timedelta(seconds=60 + 5 * k)
        fleet.visit(f"old-{k}", ago=ago, seen=Seen(malloc=20 + k, version="v1"))
        fleet.visit(f"new-{k}", ago=ago, seen=Seen(malloc=45 + k, version="v2"))
    return fleet


def opened(visitor: Visitor, path: str, query: str = "") -> Page:
    """The page of this pattern, when it has loaded."""
    page = visitor.open("healthz")
    row = answer_to(page, "table", find="malloc")["rows"][0]
    for name, value in {**PARTS, ":id": row["function_id"], ":fn": row["function_id"]}.items():
        path = path.replace(name, quote(str(value)))
    page.goto(f"{visitor.server.url}{path}{query}")
    expect(page.locator("main:not(.page-loading)")).to_be_visible()
    expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
    return page


def overflowing(page: Page) -> list[str]:
    """The elements that make the page wider than its window, or scroll sideways in the shell."""
    found: list[str] = page.evaluate(
        """() => {
          const wide = document.documentElement.scrollWidth > innerWidth ? ['the page'] : [];
          const shell = [...document.querySelectorAll('.nav, .selection-bar, main')];
          const scrolls = shell.filter((e) => e.scrollWidth > e.clientWidth + 1);
          return [...wide, ...scrolls.map((e) => e.className)];
        }"""
    )
    return found


def test_the_list_of_pages_is_read():
    assert {"/", "/explore", "/machines/:name", "/settings"} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_no_page_scrolls_sideways(new_visitor, fleet: IngestedFleet, path: str):
    page = opened(new_visitor(viewport=PHONE), path)
    assert overflowing(page) == []
    page.set_viewport_size(LAPTOP)
    assert overflowing(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_every_page_is_accessible_in_both_themes(new_visitor, fleet: IngestedFleet, path: str):
    page = opened(new_visitor(color_scheme="light"), path)
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []
