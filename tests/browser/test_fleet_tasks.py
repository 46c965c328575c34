"""Questions of capacity and release engineers, answered from home within two clicks, on a simulated fleet."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.real_stack import Stack, running_stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SLOW_MS = 60_000


@pytest.fixture(scope="module")
def fleet(built_pages: None) -> Iterator[Stack]:
    with running_stack("--simulate", "60", "--past-days", "1") as running:
        yield running


@pytest.fixture
def home(fleet: Stack, chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(SLOW_MS)
    expect.set_options(timeout=SLOW_MS)
    page = context.new_page()
    page.goto(fleet.login_url())
    expect(page.get_by_role("heading", name="Fleet", exact=True)).to_be_visible()
    yield page
    context.close()


def test_two_clicks_name_the_release_that_made_checkout_slower_and_the_function(home: Page):
    home.get_by_role("link", name="Releases", exact=True).first.click()
    row = home.get_by_role("row").filter(has=home.get_by_role("link", name="checkout", exact=True))
    row.get_by_role("link", name="checkout", exact=True).click()
    expect(home).to_have_url(re.compile("/releases/checkout"))
    expect(home.get_by_role("heading", level=1, name=re.compile("checkout"))).to_be_visible()
    changed = home.get_by_role("link").and_(home.locator('a[href*="/fn/"]')).first
    expect(changed).to_be_visible()
    expect(home.get_by_text(re.compile("slower|more CPU|grew|costs", re.IGNORECASE)).first).to_be_visible()


def test_two_clicks_say_how_much_capacity_is_left_on_each_platform(home: Page, fleet: Stack):
    platforms = fleet.answer("/api/v1/table", by="platform")["rows"]
    home.get_by_role("link", name="Reports", exact=True).first.click()
    home.get_by_role("link", name="How much capacity is used in cores with two threads?").click()
    table = home.get_by_role("table").first
    for row in platforms:
        expect(table).to_contain_text(row["key"]["platform"])
