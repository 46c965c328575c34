"""Questions of capacity and release engineers, answered from home within two clicks, on a simulated fleet."""

import re
import time
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from simulation.catalogue import APPLICATIONS
from simulation.fleet import Fleet, slot_of
from simulation.groups import version
from simulation.stack_table import stack_table
from tests.browser.real_stack import Stack, running_stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SLOW_MS = 60_000
MACHINES = 60
CHECKOUT = next(number for number, a in enumerate(APPLICATIONS) if a.name == "checkout")
SEEN = 0.2
"""A release of `checkout` on fewer of its machines has too few profiles to be compared; its roll-out takes 43 hours."""


@pytest.fixture(scope="module")
def fleet(built_pages: None) -> Iterator[Stack]:
    with running_stack("--simulate", str(MACHINES), "--past-days", "1") as running:
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


def newest_release() -> int:
    """Of `checkout`, by the model of the fleet."""
    model = Fleet(MACHINES)
    runs = np.flatnonzero(model.base[:, CHECKOUT] > 0)
    releases = model.releases(slot_of(time.time()), runs)[:, CHECKOUT]
    newest = int(releases.max())
    if np.mean(releases == newest) < SEEN:
        pytest.skip(f"rare: {version(newest)} of checkout has just begun to roll out in the simulated fleet")
    return newest


def test_two_clicks_name_the_release_that_made_checkout_slower_and_the_function(home: Page):
    """Odd releases have a slow function. The date decides whether the newest release brings it or takes it back."""
    newest = newest_release()
    table = stack_table(APPLICATIONS[CHECKOUT], Fleet(MACHINES).seed)
    slow = table.functions[table.regressed_function].symbol
    verdict, sign = ("heavier", "▲") if newest % 2 else ("lighter", "▼")
    home.get_by_role("link", name="Releases", exact=True).first.click()
    row = home.get_by_role("row").filter(has=home.get_by_role("link", name="checkout", exact=True))
    row.get_by_role("link", name="checkout", exact=True).click()
    expect(home).to_have_url(re.compile("/releases/checkout"))
    expect(home.get_by_role("heading", level=1, name=re.compile("checkout"))).to_be_visible()
    panel = home.get_by_role("region", name="newest version")
    releases = f"{version(newest)} against {version(newest - 1)}:"
    expect(panel.locator(".panel-title")).to_contain_text(re.compile(f"{releases}.*{sign}.*{verdict}"))
    changed = panel.get_by_role("row").filter(has=home.locator('a[href*="/fn/"]'))
    expect(changed.first).to_contain_text(slow)
    expect(changed.first).to_contain_text(sign)


def test_two_clicks_say_how_much_capacity_is_left_on_each_platform(home: Page, fleet: Stack):
    platforms = fleet.answer("/api/v1/table", by="platform")["rows"]
    home.get_by_role("link", name="Reports", exact=True).first.click()
    home.get_by_role("link", name="How much capacity is used in cores with two threads?").click()
    table = home.get_by_role("table").first
    for row in platforms:
        expect(table).to_contain_text(row["key"]["platform"])
