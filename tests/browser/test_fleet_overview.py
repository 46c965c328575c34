"""Home, services, releases and changes: what runs, what is new, and what it changed."""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from tests.browser.conftest import Visitor
from tests.browser.ingested import IngestedFleet, Seen
from tests.browser.test_states import violations

pytestmark = pytest.mark.slow

OLD, NEW = "v1", "v2"
VISITS = 10
"""Of each version."""


@pytest.fixture
def fleet(engine: Engine) -> IngestedFleet:
    """The new version of `search` takes half as long again in `malloc`."""
    fleet = IngestedFleet(engine, 1000)
    for k in range(VISITS):
        ago = timedelta(seconds=60 + 5 * k)
        fleet.visit(f"old-{k}", ago=ago, seen=Seen(malloc=20 + k, version=OLD))
        fleet.visit(f"new-{k}", ago=ago, seen=Seen(malloc=45 + k, version=NEW))
    return fleet


def opened(visitor: Visitor, path: str) -> Page:
    visitor.page.goto(f"{visitor.server.url}{path}")
    return visitor.page


def panel(page: Page, name: str):
    return page.get_by_role("region", name=name, exact=True).first


def test_home_leads_to_a_service_and_its_functions(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/")
    services = panel(page, "Services")
    expect(services.get_by_role("link", name="search")).to_be_visible()
    expect(services).to_contain_text("66.67 %")  # 100 of 150 samples
    expect(panel(page, "Hottest functions")).to_contain_text("malloc")
    expect(panel(page, "cores busy").locator("canvas")).to_be_visible()
    services.get_by_role("link", name="search").click()
    expect(page.get_by_role("heading", name="search", exact=True)).to_be_visible()
    expect(panel(page, "Machines")).to_contain_text("new-0")
    panel(page, "Hottest functions").get_by_role("link", name="malloc").click()
    expect(page.get_by_role("heading", name="malloc", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="search", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Fleet", exact=True)).to_be_visible()


def test_the_unit_and_the_range_are_in_the_url(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/?measure=money&from=now-6h")
    expect(panel(page, "Services")).to_contain_text("cost")
    expect(page.get_by_label("unit")).to_have_value("money")
    page.keyboard.press("[")
    expect(page).to_have_url(f"{visitor.server.url}/?from=now-12h&to=now-6h&measure=money")
    expect(page.get_by_text("No samples in this selection.")).to_be_visible()
    page.go_back()
    expect(panel(page, "Services").get_by_role("link", name="search")).to_be_visible()


def test_a_release_is_compared_with_the_one_before(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/releases")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="search"))
    expect(row).to_contain_text("heavier")
    expect(row).to_contain_text("malloc")
    row.get_by_role("link", name="search").click()
    expect(panel(page, "newest version")).to_contain_text(f"{NEW} against {OLD}")
    panel(page, "newest version").get_by_role("link", name=f"Compare {NEW} with {OLD}").click()
    expect(page.locator(".sides")).to_contain_text(f"version = {NEW}")
    expect(page.get_by_role("row").filter(has_text="malloc").first).to_contain_text("▲")


def test_changes_have_their_cause(visitor: Visitor, fleet: IngestedFleet):
    page = opened(visitor, "/changes")
    moved = panel(page, "functions that changed").get_by_role("row").filter(has_text="malloc")
    expect(moved.first).to_contain_text(f"search {OLD} → {NEW}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/service/search", "/releases", "/releases/search", "/changes"])
def test_pages_are_accessible(new_visitor, fleet: IngestedFleet, path: str, scheme: str):
    page = opened(new_visitor(color_scheme=scheme), path)
    expect(page.locator("main")).to_have_attribute("aria-busy", "false")
    assert violations(page) == []


def test_a_phone_needs_no_sideways_scrolling(new_visitor, fleet: IngestedFleet):
    page = opened(new_visitor(viewport={"width": 390, "height": 844}), "/")
    expect(panel(page, "Services").get_by_role("link", name="search")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
